package replay

import (
	"time"

	"reverie/internal/reverie"
)

// Report is what a replay found. Its JSON is the reply of `reverie replay --json`.
type Report struct {
	GroupID  string              `json:"group_id"`
	Recorded bool                `json:"recorded"`
	Nights   []Night             `json:"nights"`
	Total    Total               `json:"total"`
	Carried  int                 `json:"carried"` // changes of others that the shadow took over
	Left     []reverie.CarryLeft `json:"left"`    // and those that it could not
	Skipped  []Skipped           `json:"skipped"`
}

// Skipped is a run that was not run again: what it did is carried over as it was.
type Skipped struct {
	RunID       string    `json:"run_id"`
	WindowSince time.Time `json:"window_since"`
	Reason      string    `json:"reason"`
}

// Same tells whether the shadow did nothing otherwise in any night.
func (r Report) Same() bool {
	for _, n := range r.Nights {
		if !n.Same() {
			return false
		}
	}
	return len(r.Left) == 0
}

// Night is one run, live and in the shadow.
type Night struct {
	RunID       string       `json:"run_id"`
	Date        string       `json:"date,omitempty"` // of the group's calendar, on which the window begins; filled in by whoever has the calendar
	WindowSince time.Time    `json:"window_since"`
	WindowUntil time.Time    `json:"window_until"`
	Live        Outcome      `json:"live"`
	Shadow      Outcome      `json:"shadow"`
	Questions   Questions    `json:"questions"`
	Agree       int          `json:"agree"`
	Differ      int          `json:"differ"`
	Differences []Difference `json:"differences"`
	OnlyLive    []Remembered `json:"only_live"`   // remembered at the end of the night by the live group alone
	OnlyShadow  []Remembered `json:"only_shadow"` // and by the shadow alone
	SameState   bool         `json:"same_state"`  // lineages, statements and tags of all that is active are the same
	Missing     []string     `json:"missing"`     // messages whose text was removed since
	StoodIn     int          `json:"stood_in"`    // comparisons for which a recorded decision stood in
	Error       string       `json:"error,omitempty"`
}

// Same tells whether the shadow did nothing otherwise.
func (n Night) Same() bool {
	l, s := n.Live, n.Shadow
	return n.Error == "" && n.Differ == 0 && n.SameState && len(n.OnlyLive)+len(n.OnlyShadow) == 0 &&
		l.Cited == s.Cited && l.Considered == s.Considered && l.Filtered == s.Filtered && l.Chunks == s.Chunks
}

// Outcome is what a run came to, and what it cost.
type Outcome struct {
	Status        reverie.RunStatus `json:"status"`
	Model         string            `json:"model"`
	PromptVersion string            `json:"prompt_version"`
	PromptSHA256  string            `json:"prompt_sha256"`
	Chunks        int               `json:"chunks"`
	Created       int               `json:"created"`
	Updated       int               `json:"updated"`
	Deleted       int               `json:"deleted"`
	Supported     int               `json:"supported"` // memories that were kept with evidence
	Held          int               `json:"held"`      // lines that waited for a person
	Refused       int               `json:"refused"`
	Cited         int               `json:"cited"`
	Considered    int               `json:"considered"`
	Filtered      int               `json:"filtered"`
	Spend         reverie.Spend     `json:"spend"`
}

// Questions are how many chunks the model was asked about in the same words, model and
// prompt included, and how many in others.
type Questions struct {
	Same  int `json:"same"`
	Other int `json:"other"`
}

// The kinds of differences.
const (
	DiffWords      = "words"       // the same action on one memory, in other words
	DiffAction     = "action"      // another action on one memory
	DiffHeld       = "held"        // one was done, the other waits for a person
	DiffOnlyLive   = "only_live"   // the shadow did nothing of the kind
	DiffOnlyShadow = "only_shadow" // only the shadow did it
)

// Difference is what the two did not do alike.
type Difference struct {
	Kind      string `json:"kind"`
	LineageID string `json:"lineage_id"`
	Live      *Act   `json:"live,omitempty"`
	Shadow    *Act   `json:"shadow,omitempty"`
}

// Act is what one of them did. keep is support.
type Act struct {
	Action       reverie.Action `json:"action"`
	OldStatement string         `json:"old_statement,omitempty"`
	NewStatement string         `json:"new_statement,omitempty"`
	Held         bool           `json:"held,omitempty"`
}

// Remembered is a memory that only one of them has.
type Remembered struct {
	LineageID string       `json:"lineage_id"`
	Kind      reverie.Kind `json:"kind"`
	Statement string       `json:"statement"`
}

// Total is the sum of the nights. What only one remembers is that of the last night.
type Total struct {
	Agree      int           `json:"agree"`
	Differ     int           `json:"differ"`
	OnlyLive   int           `json:"only_live"`
	OnlyShadow int           `json:"only_shadow"`
	Failed     int           `json:"failed"` // nights that came to nothing in the shadow
	StoodIn    int           `json:"stood_in"`
	Questions  Questions     `json:"questions"`
	Live       reverie.Spend `json:"live_spend"`
	Shadow     reverie.Spend `json:"shadow_spend"`
}

func (t *Total) add(n Night) {
	t.Agree, t.Differ, t.StoodIn = t.Agree+n.Agree, t.Differ+n.Differ, t.StoodIn+n.StoodIn
	t.OnlyLive, t.OnlyShadow = len(n.OnlyLive), len(n.OnlyShadow)
	if n.Error != "" {
		t.Failed++
	}
	t.Questions.Same, t.Questions.Other = t.Questions.Same+n.Questions.Same, t.Questions.Other+n.Questions.Other
	t.Live, t.Shadow = t.Live.Plus(n.Live.Spend), t.Shadow.Plus(n.Shadow.Spend)
}
