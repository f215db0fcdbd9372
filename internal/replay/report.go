package replay

import (
	"time"

	"reverie/internal/reverie"
)

// Report is what a replay found. Its JSON is the reply of `reverie replay --json`.
type Report struct {
	GroupID  string    `json:"group_id"`
	Recorded bool      `json:"recorded"` // nobody was asked
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

// Same tells whether no night came to anything else.
func (r Report) Same() bool {
	for _, n := range r.Nights {
		if !n.Same() {
			return false
		}
	}
	return true
}

// Night is one run: what it did, and what its questions come to now.
type Night struct {
	RunID       string       `json:"run_id"`
	Date        string       `json:"date,omitempty"` // of the group's calendar, on which the window begins; the caller fills it in
	WindowSince time.Time    `json:"window_since"`
	WindowUntil time.Time    `json:"window_until"`
	Recorded    Outcome      `json:"recorded"`
	Replayed    Outcome      `json:"replayed"`
	Questions   Questions    `json:"questions"`
	Agree       int          `json:"agree"`
	Differ      int          `json:"differ"`
	Differences []Difference `json:"differences"`
	Missing     []string     `json:"missing"` // messages whose text was removed since
	Error       string       `json:"error,omitempty"`
}

// Same tells whether the replay came to nothing else.
func (n Night) Same() bool {
	a, b := n.Recorded, n.Replayed
	return n.Error == "" && n.Differ == 0 &&
		a.Cited == b.Cited && a.Considered == b.Considered && a.Filtered == b.Filtered && a.Chunks == b.Chunks
}

// Outcome is what a run came to, and what its calls cost.
type Outcome struct {
	Model         string        `json:"model"`
	PromptVersion string        `json:"prompt_version"`
	PromptSHA256  string        `json:"prompt_sha256"`
	Chunks        int           `json:"chunks"`
	Created       int           `json:"created"`
	Updated       int           `json:"updated"`
	Deleted       int           `json:"deleted"`
	Supported     int           `json:"supported"` // memories that were kept with evidence
	Held          int           `json:"held"`      // lines that waited for a person
	Refused       int           `json:"refused"`
	Cited         int           `json:"cited"`
	Considered    int           `json:"considered"`
	Filtered      int           `json:"filtered"`
	Spend         reverie.Spend `json:"spend"`
}

// Questions counts the chunks whose question, by the model that was asked then and the
// prompts as they are configured, is the stored one, and those whose question has changed.
type Questions struct {
	Same    int `json:"same"`
	Changed int `json:"changed"`
}

// The kinds of differences.
const (
	DiffWords        = "words"  // the same action on one memory, in other words
	DiffAction       = "action" // another action on one memory
	DiffHeld         = "held"   // one is done, the other waits for a person
	DiffOnlyRecorded = "only_recorded"
	DiffOnlyReplayed = "only_replayed"
)

// Difference is what the two do not have in common.
type Difference struct {
	Kind      string `json:"kind"`
	LineageID string `json:"lineage_id"`
	Recorded  *Act   `json:"recorded,omitempty"`
	Replayed  *Act   `json:"replayed,omitempty"`
}

// Act is what one of them does. keep is support.
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
	Failed    int           `json:"failed"` // nights of which an answer could not be used
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
