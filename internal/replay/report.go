package replay

import (
	"time"

	"reverie/internal/reverie"
)

// Report is the result of a replay. Its JSON is the reply of `reverie replay --json`.
type Report struct {
	GroupID  string    `json:"group_id"`
	Recorded bool      `json:"recorded"` // no model was asked
	Nights   []Night   `json:"nights"`
	Total    Total     `json:"total"`
	Skipped  []Skipped `json:"skipped"`
}

// Skipped is a run that was not replayed.
type Skipped struct {
	RunID       string    `json:"run_id"`
	WindowSince time.Time `json:"window_since"`
	Reason      string    `json:"reason"`
}

// Same reports whether all nights came to the same.
func (r Report) Same() bool {
	for _, n := range r.Nights {
		if !n.Same() {
			return false
		}
	}
	return true
}

// Night is one run: what it did, and what its replayed questions come to.
type Night struct {
	RunID       string       `json:"run_id"`
	Date        string       `json:"date,omitempty"` // local date of the window's beginning; the caller sets it
	WindowSince time.Time    `json:"window_since"`
	WindowUntil time.Time    `json:"window_until"`
	Recorded    Outcome      `json:"recorded"`
	Replayed    Outcome      `json:"replayed"`
	Questions   Questions    `json:"questions"`
	Agree       int          `json:"agree"`
	Differ      int          `json:"differ"`
	Differences []Difference `json:"differences"`
	Missing     []string     `json:"missing"` // messages whose text was deleted since
	Error       string       `json:"error,omitempty"`
}

// Same reports whether the replay came to the same as the run.
func (n Night) Same() bool {
	a, b := n.Recorded, n.Replayed
	return n.Error == "" && n.Differ == 0 &&
		a.Cited == b.Cited && a.Considered == b.Considered && a.Filtered == b.Filtered && a.Chunks == b.Chunks
}

// Outcome is the result of a run, and the cost of its calls.
type Outcome struct {
	Model         string        `json:"model"`
	PromptVersion string        `json:"prompt_version"`
	PromptSHA256  string        `json:"prompt_sha256"`
	Chunks        int           `json:"chunks"`
	Created       int           `json:"created"`
	Updated       int           `json:"updated"`
	Deleted       int           `json:"deleted"`
	Supported     int           `json:"supported"` // memories that were kept with evidence
	Held          int           `json:"held"`      // lines held for review
	Refused       int           `json:"refused"`
	Cited         int           `json:"cited"`
	Considered    int           `json:"considered"`
	Filtered      int           `json:"filtered"`
	Spend         reverie.Spend `json:"spend"`
}

// Questions counts the chunks whose question is still the stored one, and those whose question has changed. Each
// question is rebuilt with the configured prompts for the model that was asked then.
type Questions struct {
	Same    int `json:"same"`
	Changed int `json:"changed"`
}

// The kinds of differences.
const (
	DiffWords        = "words"  // the same action on one memory, with another text
	DiffAction       = "action" // another action on one memory
	DiffHeld         = "held"   // one is applied, the other held for review
	DiffOnlyRecorded = "only_recorded"
	DiffOnlyReplayed = "only_replayed"
)

// Difference is something that the two sides do not share.
type Difference struct {
	Kind      string `json:"kind"`
	LineageID string `json:"lineage_id"`
	Recorded  *Act   `json:"recorded,omitempty"`
	Replayed  *Act   `json:"replayed,omitempty"`
}

// Act is the action of one side. keep means support.
type Act struct {
	Action       reverie.Action `json:"action"`
	OldStatement string         `json:"old_statement,omitempty"`
	NewStatement string         `json:"new_statement,omitempty"`
	Held         bool           `json:"held,omitempty"`
}

// Total is the sum of the nights.
type Total struct {
	Agree     int           `json:"agree"`
	Differ    int           `json:"differ"`
	Failed    int           `json:"failed"` // nights with an unusable answer
	Questions Questions     `json:"questions"`
	Recorded  reverie.Spend `json:"recorded_spend"`
	Replayed  reverie.Spend `json:"replayed_spend"`
}

func (t *Total) add(n Night) {
	t.Agree, t.Differ = t.Agree+n.Agree, t.Differ+n.Differ
	if n.Error != "" {
		t.Failed++
	}
	t.Questions.Same += n.Questions.Same
	t.Questions.Changed += n.Questions.Changed
	t.Recorded, t.Replayed = t.Recorded.Plus(n.Recorded.Spend), t.Replayed.Plus(n.Replayed.Spend)
}
