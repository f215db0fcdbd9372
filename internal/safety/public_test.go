package safety

import (
	"bufio"
	"cmp"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// What strangers say to each other breaks few rules. REVERIE_TEST_TALK names files with a
// line of chat in each of their lines, whose names begin with their language and a dot, and
// which nobody has read while the rules were written; REVERIE_TEST_ALARMS prints those of a
// rule. No such files are kept here.
func TestPublicTalk(t *testing.T) {
	files, err := filepath.Glob(os.Getenv("REVERIE_TEST_TALK"))
	if err != nil || len(files) == 0 {
		t.Skip("REVERIE_TEST_TALK names no files")
	}
	const orders = RuleInstruction + " or " + RuleSuspicious
	limits := map[Rule]float64{orders: 0.0005, RuleSuspicious: 0.0002, RuleSecret: 0.0005}
	lines, alarms := map[string]int{}, map[string]map[Rule]int{}
	for _, file := range files {
		language, _, _ := strings.Cut(filepath.Base(file), ".")
		f, err := os.Open(file)
		if err != nil {
			t.Fatal(err)
		}
		for in := bufio.NewScanner(f); in.Scan(); {
			line := in.Text()
			if alarms[language] == nil {
				alarms[language] = map[Rule]int{}
			}
			lines[language]++
			var broken *StatementError
			if errors.As(CheckStatement(line), &broken) {
				if strings.Contains(os.Getenv("REVERIE_TEST_ALARMS"), string(broken.Rule)) {
					t.Logf("%s %s: %s\t%s", language, broken.Rule, line, broken.Detail)
				}
				if broken.Rule == RuleSuspicious || broken.Rule == RuleInstruction {
					alarms[language][orders]++
				}
				alarms[language][broken.Rule]++
			}
		}
		f.Close()
	}
	for language, n := range lines {
		for rule, count := range alarms[language] {
			share := float64(count) / float64(n)
			t.Logf("%s: %d of %d lines break %s, %.4f%%", language, count, n, rule, 100*share)
			if limit := cmp.Or(limits[rule], 1); share > limit {
				t.Errorf("%s: more than %.3f%% break %s", language, 100*limit, rule)
			}
		}
	}
}
