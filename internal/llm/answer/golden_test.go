package answer

import (
	"bytes"
	"encoding/json"
	"flag"
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"
)

var update = flag.Bool("update", false, "rewrite the golden files from what Read returns")

// Each folder of testdata with an input is one answer of a model, and what Read makes
// of it.
func TestReadGolden(t *testing.T) {
	inputs := goldenInputs(t)
	if len(inputs) < 30 {
		t.Fatalf("only %d golden cases found", len(inputs))
	}
	for name, answer := range inputs {
		t.Run(name, func(t *testing.T) {
			res := Read(answer)
			for _, fault := range faults(answer, res) {
				t.Error(fault)
			}
			got := golden(t, res)
			file := filepath.Join("testdata", name, "golden.json")
			if *update {
				if err := os.WriteFile(file, got, 0o644); err != nil {
					t.Fatal(err)
				}
				return
			}
			want, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(string(want), string(got)); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

// goldenInputs returns the answers of the golden cases by name.
func goldenInputs(t testing.TB) map[string]string {
	t.Helper()
	files, err := filepath.Glob(filepath.Join("testdata", "*", "input.txt"))
	if err != nil {
		t.Fatal(err)
	}
	inputs := map[string]string{}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		inputs[filepath.Base(filepath.Dir(file))] = string(text)
	}
	return inputs
}

// golden shows a result as JSON, one line or skip a line.
func golden(t *testing.T, res Result) []byte {
	t.Helper()
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	for _, l := range res.Lines {
		shown := struct {
			No       int             `json:"no"`
			Repaired bool            `json:"repaired"`
			Object   json.RawMessage `json:"object"`
		}{l.No, l.Repaired, l.Object}
		if err := enc.Encode(shown); err != nil {
			t.Fatal(err)
		}
	}
	for _, s := range res.Skipped {
		shown := struct {
			No      int    `json:"no"`
			Skipped string `json:"skipped"`
			Excerpt string `json:"excerpt"`
		}{s.No, s.Reason, s.Excerpt}
		if err := enc.Encode(shown); err != nil {
			t.Fatal(err)
		}
	}
	return b.Bytes()
}
