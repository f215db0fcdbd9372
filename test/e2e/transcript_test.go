package e2e

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

var update = flag.Bool("update", false, "rewrite the golden transcripts")

// transcript is what a person would see: commands and their output, ids and
// clock times replaced, ids by the order of their first appearance.
type transcript struct {
	t    *testing.T
	s    *stage
	text strings.Builder
	ids  map[string]string
}

var (
	stampPattern  = regexp.MustCompile(`20\d\d-\d\d-\d\d \d\d:\d\d`)
	promptPattern = regexp.MustCompile(`prompt version \S+ \([0-9a-f]{12}\)`)
	shortPattern  = regexp.MustCompile(`\b01[0-9a-f]{6}\b(-[0-9a-f]{1,4}\b){0,3}(-[0-9a-f]+)?`)
	gapPattern    = regexp.MustCompile(`(\S) {2,}`) // columns are as wide as the ids in them
	tookPattern   = regexp.MustCompile(`(in|took) [0-9.]+m?s\b`)
)

func (tr *transcript) normal(text string) string {
	text = uuidPattern.ReplaceAllStringFunc(text, func(id string) string {
		if tr.ids[id] == "" {
			tr.ids[id] = fmt.Sprintf("%08d-0000-0000-0000-000000000000", len(tr.ids)+1)
		}
		return tr.ids[id]
	})
	text = gapPattern.ReplaceAllString(shortPattern.ReplaceAllString(text, "SHORT-ID"), "$1  ")
	text = promptPattern.ReplaceAllString(text, "prompt version N (sha256)")
	text = stampPattern.ReplaceAllString(text, "YYYY-MM-DD hh:mm")
	return tookPattern.ReplaceAllString(text, "$1 0s")
}

// show runs a command and writes down what came of it.
func (tr *transcript) show(args ...string) outcome {
	o := tr.s.run(args...)
	var words []string
	for _, a := range args {
		if strings.ContainsAny(a, " '") {
			a = `"` + a + `"`
		}
		words = append(words, a)
	}
	fmt.Fprintf(&tr.text, "$ reverie %s\n%s", tr.normal(strings.Join(words, " ")), tr.normal(o.stdout))
	if o.stderr != "" {
		fmt.Fprintf(&tr.text, "[stderr]\n%s", tr.normal(o.stderr))
	}
	if o.code != 0 {
		fmt.Fprintf(&tr.text, "[exit code %d]\n", o.code)
	}
	tr.text.WriteString("\n")
	return o
}

// golden compares the transcript with the file of that name.
func (tr *transcript) golden(name string) {
	tr.t.Helper()
	file := filepath.Join("testdata", name)
	if *update {
		if err := os.WriteFile(file, []byte(tr.text.String()), 0o644); err != nil {
			tr.t.Fatal(err)
		}
	}
	want, err := os.ReadFile(file)
	if err != nil {
		tr.t.Fatalf("%v; run the tests with -update to write it", err)
	}
	if diff := cmp.Diff(strings.Split(string(want), "\n"), strings.Split(tr.text.String(), "\n")); diff != "" {
		tr.t.Errorf("%s (-want +got), -update rewrites it:\n%s", file, diff)
	}
}

func TestTranscript(t *testing.T) {
	t.Parallel()
	s := teach(t)
	s.set("REVERIE_EMBED_PROVIDER=offline")
	tr := &transcript{t: t, s: s, ids: map[string]string{}}
	tr.show("evolve", "--group", "g1", "--dry-run")
	tr.show("evolve", "--group", "g1")
	tr.show("evolve", "--group", "g1")
	tr.show("memory", "list", "--group", "g1")
	tr.show("memory", "list", "--group", "g1", "--status", "all", "--limit", "2", "--offset", "1")
	head := s.one(`select memory_id from memories where statement = 'The group meets on Saturdays'`)
	tr.show("memory", "history", head)
	tr.show("memory", "changes", "--group", "g1")
	tr.show("memory", "search", "--group", "g1", "--limit", "1", "Mia hosts the game nights")
	tr.show("memory", "search", "--group", "g1", "--threshold", "0.9", "xyzzy")
	tr.show("memory", "delete", head, "--reason", "it was a joke")
	tr.show("memory", "delete", head)
	tr.show("memory", "restore", head)
	tr.show("memory", "delete", head)
	s.bring("g1", chat("2025-03-05", "note Our key is sk-proj-Abc123Def456Ghi789Jkl012Mno345Pqr678", "drop Mia hosts the game nights",
		"drop 大家都爱吃火锅", "drop The group meets on Saturdays")...)
	tr.show("evolve", "--group", "g1")
	run := s.one(`select run_id from runs where status = 'held'`)
	tr.show("runs", "show", run)
	tr.show("runs", "approve", run)
	tr.show("memory", "list", "--group", "g1")
	tr.show("memory", "changes", "--group", "quiet")
	tr.show("evolve", "--group", "nobody")
	tr.golden("transcript.txt")
	if strings.Contains(tr.text.String(), "\x1b") {
		t.Error("there is an escape sequence although nobody looks at a terminal")
	}
}
