package gitleaks

import (
	"io"
	"maps"
	"os"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/zricethezav/gitleaks/v8/config"
	"github.com/zricethezav/gitleaks/v8/detect"

	"reverie/internal/safety"
)

const (
	letters = "q7Rk2mZx9TvB4nLw8YpC1sJd6HgF3aKe5VuQ0iNo"
	hex     = "9f3a1c7e5b2d8064af1be93c70d25e8846c1fb07a9d3e215"
)

// samples are tokens that only gitleaks knows, and the texts around them.
func samples() map[string]string {
	return map[string]string{
		"dynatrace-api-token":             "dt0c01." + letters[:24] + "." + letters + letters[:24],
		"shippo-api-token":                "shippo_live_" + hex[:40],
		"duffel-api-token":                "duffel_test_" + letters + "abc",
		"readme-api-token":                "rdme_" + strings.ToLower(letters + letters)[:70],
		"easypost-api-token":              "EZAK" + letters + letters[:14],
		"frameio-api-token":               "fio-u-" + letters + letters[:24],
		"prefect-api-token":               "pnu_" + letters[:36],
		"settlemint-service-access-token": "sm_sat_" + letters[:16],
	}
}

func TestFind(t *testing.T) {
	for rule, token := range samples() {
		for _, around := range [][2]string{{"", ""}, {"use ", " please"}, {"新的是", "，别外传"}, {"新令：", "。"}, {"第一行\n", "\n第三行"}, {"(", ")"}, {"# gitleaks:allow ", " # gitleaks:allow"}, {strings.Repeat("好", 5000), strings.Repeat("吗", 5000)}} {
			text := around[0] + token + around[1]
			found := safety.FindSecrets(text)
			if len(found) != 1 || found[0].Rule != rule || text[found[0].Start:found[0].End] != token {
				t.Errorf("%s between %.40q and %.40q: found %+v", rule, around[0], around[1], found)
			}
		}
	}
}

// After an update of the module, copy its config/gitleaks.toml and LICENSE anew.
func TestRulesAreThoseOfTheModule(t *testing.T) {
	if string(gitleaksRules) != config.DefaultConfig {
		t.Error("gitleaks/rules.toml is not the file of the gitleaks in go.mod")
	}
}

func TestRuleNames(t *testing.T) {
	name := regexp.MustCompile(`^[a-z0-9-]{1,40}$`) // as a mask has it
	for _, r := range rules().rules {
		if !name.MatchString(r.name) {
			t.Errorf("%q cannot stand in a mask", r.name)
		}
	}
	n := len(rules().rules)
	t.Logf("%d rules of gitleaks", n)
	if n < 180 {
		t.Errorf("%d rules are left", n)
	}
	d, err := detect.NewDetectorDefaultConfig()
	if err != nil {
		t.Fatal(err)
	}
	for id, why := range rules().dropped {
		if _, ok := d.Config.Rules[id]; !ok {
			t.Errorf("%s is dropped (%s), but gitleaks has no such rule", id, why)
		}
	}
}

// Every expression must have been freed of what is slow, or of ends that chats do not keep.
func TestAdapted(t *testing.T) {
	for _, r := range rules().rules {
		for _, left := range []string{`[\w.-]{0,50}?`, `|\\[nr]|$)`, `\?=|,)[`} {
			if strings.Contains(r.re.String(), left) {
				t.Errorf("%s still has %s: %s", r.name, left, r.re)
			}
		}
	}
}

func TestConcurrentAndQuiet(t *testing.T) {
	old := os.Stderr
	in, out, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	os.Stderr = out
	var wait sync.WaitGroup
	for range 16 {
		wait.Go(func() {
			for rule, token := range samples() {
				if masked := safety.MaskSecrets("新的是" + token + "。"); masked != "新的是[secret:"+rule+"]。" {
					t.Errorf("masked: %s", masked)
				}
			}
		})
	}
	wait.Wait()
	os.Stderr = old
	out.Close()
	if said, err := io.ReadAll(in); err != nil || len(said) > 0 {
		t.Errorf("it says %q, %v", said, err)
	}
}

// A token that begins far behind one keyword and with the next is found once, and whole.
func TestWindows(t *testing.T) {
	token := samples()["shippo-api-token"]
	for _, gap := range []int{0, 1, after - 60, after - 20, after, after + 1, 3 * after} {
		text := "shippo_ " + strings.Repeat("x ", gap/2) + token + ", shippo_live"
		found := safety.FindSecrets(text)
		if len(found) != 1 || text[found[0].Start:found[0].End] != token {
			t.Errorf("gap %d: found %+v", gap, found)
		}
	}
	long := "ops_eyJ" + strings.Repeat(letters, 40)
	if found := safety.FindSecrets("ops_ " + long + "."); len(found) != 1 || found[0].End-found[0].Start != len(long) {
		t.Errorf("a token of %d bytes: found %+v", len(long), found)
	}
}

func BenchmarkFind(b *testing.B) {
	texts := map[string]string{
		"english": strings.Repeat("The group meets on Fridays, bring snacks! My code review took 3 hours; token budgets are fun. Did you ask?\n", 1000),
		"chinese": strings.Repeat("大家周五聚餐，小王订位。代码评审花了三个小时，密码的事以后再说。\n", 1000),
		"logs":    strings.Repeat(`2026-01-15T12:30:00Z INFO request method=GET path=/api/v1/users/42 status=200 trace=4bf92f3577b34da6a3ce929d0e0e4736 ms=12`+"\n", 1000),
		"line":    strings.Repeat("a line that never ends and says nothing of keys, only of tasks and of discord and twitter; ", 10<<20/91),
		"hostile": strings.Repeat("discord twitter cloudflare: okta= shippo_ ", 5000),
	}
	rules()
	for _, name := range slices.Sorted(maps.Keys(texts)) { // the rows of two runs in one order
		text := texts[name]
		b.Run(name, func(b *testing.B) {
			b.SetBytes(int64(len(text)))
			for b.Loop() {
				rules().find(text)
			}
		})
	}
}
