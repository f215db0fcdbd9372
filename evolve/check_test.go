package evolve

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"

	"reverie/internal/reverie"
)

// verdict is what a golden file keeps of a checked answer and its plan. Ids that
// are born in the plan are left out; a memory is called by its handle.
type verdict struct {
	Refused  []verdictRefusal           `json:"refused"`
	Steps    []verdictStep              `json:"steps"`
	Held     []verdictStep              `json:"held,omitempty"`
	HeldAll  bool                       `json:"held_all,omitempty"`
	Reason   string                     `json:"held_reason,omitempty"`
	Outcomes map[string]reverie.Outcome `json:"outcomes"`
}

type verdictRefusal struct {
	Line   int    `json:"line"`
	Action string `json:"action,omitempty"`
	Handle string `json:"handle,omitempty"`
	Rule   string `json:"rule"`
	Detail string `json:"detail"`
}

type verdictStep struct {
	Action    reverie.Action `json:"action"`
	Memory    string         `json:"memory,omitempty"` // what it said before
	Statement string         `json:"statement,omitempty"`
	Tags      []string       `json:"tags,omitempty"`
	Reason    string         `json:"reason,omitempty"`
	Strength  float64        `json:"strength,omitempty"`
	Supported string         `json:"supported,omitempty"`
	Evidence  []string       `json:"evidence,omitempty"` // message, local date and quote
}

func newVerdict(plan reverie.Plan) verdict {
	v := verdict{HeldAll: plan.HeldAll, Reason: plan.HeldReason, Outcomes: plan.Outcomes,
		Steps: verdictSteps(plan.Steps), Held: verdictSteps(plan.Held), Refused: []verdictRefusal{}}
	for _, r := range plan.Refusals {
		v.Refused = append(v.Refused, verdictRefusal(r))
	}
	return v
}

func verdictSteps(steps []reverie.Step) []verdictStep {
	out := []verdictStep{}
	for _, s := range steps {
		v := verdictStep{Action: s.Action, Memory: s.OldStatement, Statement: s.Statement, Tags: s.Tags, Reason: s.Reason,
			Strength: float64(int(s.Strength*1000+0.5)) / 1000}
		if !s.LastSupportedAt.IsZero() {
			v.Supported = s.LastSupportedAt.Format("2006-01-02T15:04Z07:00")
		}
		for _, e := range s.Evidence {
			v.Evidence = append(v.Evidence, e.MessageID+" "+e.LocalDate+" "+e.Author+": "+e.Quote)
		}
		out = append(out, v)
	}
	return out
}

// TestCheck holds each folder of testdata/check: an input, an answer to it, and
// what comes of the two.
func TestCheck(t *testing.T) {
	dirs, err := filepath.Glob("testdata/check/*")
	if err != nil || len(dirs) < 30 {
		t.Fatalf("%d cases, error %v", len(dirs), err)
	}
	for _, dir := range dirs {
		t.Run(filepath.Base(dir), func(t *testing.T) {
			var p paper
			dec := json.NewDecoder(bytes.NewReader(readFile(t, filepath.Join(dir, "sheet.json"))))
			dec.DisallowUnknownFields()
			if err := dec.Decode(&p); err != nil {
				t.Fatal(err)
			}
			text := string(readFile(t, filepath.Join(dir, "answer.txt")))
			s, _, plan := p.judge(t, text)
			checkInvariants(t, s, plan)
			got, path := jsonText(t, newVerdict(plan)), filepath.Join(dir, "golden.json")
			if *update {
				if err := os.WriteFile(path, []byte(got), 0o644); err != nil {
					t.Fatal(err)
				}
				return
			}
			if diff := cmp.Diff(string(readFile(t, path)), got); diff != "" {
				t.Errorf("-want +got\n%s", diff)
			}
		})
	}
}

func readFile(t testing.TB, path string) []byte {
	t.Helper()
	raw, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return raw
}
