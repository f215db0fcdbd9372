package answer

import (
	"encoding/json"
	"math/rand/v2"
	"os"
	"slices"
	"strings"
	"testing"
)

// corpus returns the snippets of testdata/repair.txt, which bend JSON in the
// ways that repair libraries are tested with. They are divided by lines of "%%".
func corpus(t testing.TB) []string {
	t.Helper()
	text, err := os.ReadFile("testdata/repair.txt")
	if err != nil {
		t.Fatal(err)
	}
	snippets := strings.Split(strings.TrimSuffix(string(text), "\n"), "\n%%\n")
	if len(snippets) < 100 {
		t.Fatalf("only %d snippets found", len(snippets))
	}
	return snippets
}

// Whatever is bent, nothing may come out that the snippet does not say, and the
// line after it must survive, unless the snippet hides it: an open comment or
// thought.
func TestReadRepairCorpus(t *testing.T) {
	const next = `{"action":"keep","old_id":"m9"}`
	for _, snippet := range corpus(t) {
		for _, answer := range []string{snippet, next + "\n" + snippet, snippet + "\n" + next} {
			for _, fault := range faults(answer, Read(answer)) {
				t.Errorf("Read(%q): %.500s", answer, fault)
			}
		}
		res := Read(snippet + "\n" + next)
		hidden := slices.ContainsFunc(res.Skipped, func(s Skip) bool {
			return s.Reason == ReasonComment || s.Reason == ReasonThought
		})
		found := slices.ContainsFunc(res.Lines, func(l Line) bool { return string(l.Object) == next })
		if !found && !hidden {
			t.Errorf("Read(%q) loses the next line: %v", snippet+"\n"+next, show(res))
		}
	}
}

// An action that the answer does not state in whole must not come out of any
// piece of an answer.
func TestReadInventsNoAction(t *testing.T) {
	var texts []string
	texts = append(texts, corpus(t)...)
	for _, answer := range goldenInputs(t) {
		texts = append(texts, answer)
	}
	rng := rand.New(rand.NewPCG(1, 2))
	for range 1500 {
		text := []rune(texts[rng.IntN(len(texts))])
		other := []rune(texts[rng.IntN(len(texts))])
		piece := string(text[:rng.IntN(len(text)+1)]) + string(other[rng.IntN(len(other)+1):])
		for _, l := range Read(piece).Lines {
			var fields struct{ Action any }
			if err := json.Unmarshal(l.Object, &fields); err != nil {
				t.Fatalf("Read(%q): %s: %v", piece, l.Object, err)
			}
			if action, ok := fields.Action.(string); ok && !strings.Contains(bare(unescape(piece)), bare(action)) {
				t.Errorf("Read(%q) invents the action %q", piece, action)
			}
		}
		for _, fault := range faults(piece, Read(piece)) {
			t.Errorf("Read(%q): %.500s", piece, fault)
		}
	}
}

// Objects that are written properly come back as they are, whatever stands in
// their strings.
func TestReadKeepsProperObjects(t *testing.T) {
	pieces := append(corpus(t), "\n", "\"", "\\", "{", "}", "[", "]", ":", ",", "'", "“", "”", "｛", "，", "</think>", "```", "// ", "\u2028", "\x00")
	rng := rand.New(rand.NewPCG(3, 4))
	text := func() (made string) {
		defer func() {
			if swallows(made) {
				made = "" // another test has those
			}
		}()
		var b strings.Builder
		for range rng.IntN(4) {
			b.WriteString(pieces[rng.IntN(len(pieces))])
		}
		return b.String()
	}
	for range 300 {
		var want []string
		for range 1 + rng.IntN(4) {
			object, err := json.Marshal(map[string]any{
				"action": "create", "statement": text(), "tags": []string{text(), text()},
				"evidence": []map[string]any{{"message": rng.IntN(100), "quote": text()}},
			})
			if err != nil {
				t.Fatal(err)
			}
			want = append(want, string(object))
		}
		for _, answer := range []string{strings.Join(want, "\n"), strings.Join(want, " "), "[" + strings.Join(want, ",\n") + "]", "```\n" + strings.Join(want, "\n") + "\n```"} {
			res := Read(answer)
			var got []string
			for _, l := range res.Lines {
				got = append(got, string(l.Object))
			}
			if !slices.Equal(got, want) || len(res.Skipped) > 0 {
				t.Fatalf("Read(%q) = %v", answer, show(res))
			}
		}
	}
}

func FuzzRead(f *testing.F) {
	for _, answer := range goldenInputs(f) {
		f.Add(answer)
	}
	for _, snippet := range corpus(f) {
		f.Add(snippet)
	}
	for name := range hostile {
		f.Add(hostileAnswer(name, 256))
	}
	for _, bend := range damages {
		f.Add(bend(trueLines[0]))
	}
	f.Fuzz(func(t *testing.T, answer string) {
		for _, fault := range faults(answer, Read(answer)) {
			t.Error(fault)
		}
	})
}
