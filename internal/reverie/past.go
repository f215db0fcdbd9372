package reverie

import (
	"fmt"
	"time"
)

// What was, at an instant. A version is active from its updated_at on, that instant
// included, up to its ended_at, that instant excluded.

// Then is a version as it stood when it was active.
func (m Memory) Then() Memory {
	m.Status, m.JudgeAgain = StatusActive, ""
	return m
}

// AsOf is what stood behind a memory at an instant: the versions begun by then, each
// with the status that it had then, and what had befallen them. Evidence and sources are
// those that count today. A memory that was not there yet is [ErrNotFound].
func (w Why) AsOf(at time.Time) (Why, error) {
	past := Why{Usage: w.Usage, Versions: []WhyVersion{}}
	for i, v := range w.Versions {
		if v.Memory.UpdatedAt.After(at) {
			break
		}
		var next *WhyVersion
		if i+1 < len(w.Versions) {
			next = &w.Versions[i+1]
		}
		v.Memory.Status, v.Memory.JudgeAgain = v.statusAt(at, next), ""
		later := []WhyLater{}
		for _, l := range v.Later {
			if !l.At.After(at) {
				later = append(later, l)
			}
		}
		v.Later = later
		past.Versions = append(past.Versions, v)
		past.Memory = v.Memory
	}
	if len(past.Versions) == 0 {
		return Why{}, fmt.Errorf("memory %s was not there at %s: it came up %s: %w", w.Memory.ID,
			at.UTC().Format(time.RFC3339), w.Memory.CreatedAt.UTC().Format(time.RFC3339), ErrNotFound)
	}
	return past, nil
}

// statusAt is what a version was at an instant. What is deleted or replaced by now may have
// been archived or held before: from when it stopped being active until it was deleted, or
// another version took its place.
func (v WhyVersion) statusAt(at time.Time, next *WhyVersion) Status {
	m := v.Memory
	switch {
	case m.Status == StatusActive || m.EndedAt == nil || m.EndedAt.After(at):
		return StatusActive
	case next != nil && !next.Memory.UpdatedAt.After(at):
		return StatusSuperseded
	case m.Status != StatusDeprecated && m.Status != StatusSuperseded:
		return m.Status
	}
	var over *time.Time
	was, end := StatusHeld, StatusDeprecated
	if next != nil {
		over, end = &next.Memory.UpdatedAt, StatusSuperseded
	}
	for _, l := range v.Later {
		switch l.Action {
		case ActionDelete, ActionUndo:
			if over == nil || l.At.Before(*over) {
				over, end = &l.At, StatusDeprecated
			}
		case ActionArchive:
			was = StatusArchived
		}
	}
	if over == nil || !over.After(at) || OneChange(*m.EndedAt, *over) {
		return end
	}
	return was
}

// OneChange tells whether two times are of one change: those of the versions and of the
// row in the change log that one transaction writes may be some microseconds apart.
func OneChange(a, b time.Time) bool { return b.Sub(a).Abs() < time.Second }

// BetweenQuery asks how what a group remembers differs between two instants.
type BetweenQuery struct {
	GroupID string
	From    time.Time
	To      time.Time // zero = now
	Kind    Kind      // "" = all
}

// Until sets an end that is zero or still to come to now, and refuses a beginning that
// does not come before the end.
func (q *BetweenQuery) Until(now time.Time) error {
	if q.To.IsZero() || q.To.After(now) {
		q.To = now
	}
	switch from, to := q.From.UTC().Format(time.RFC3339), q.To.UTC().Format(time.RFC3339); {
	case q.From.IsZero():
		return fmt.Errorf("say from when: a beginning is needed: %w", ErrInvalid)
	case !q.From.Before(now):
		return fmt.Errorf("from %s: that is still to come: %w", from, ErrInvalid)
	case !q.From.Before(q.To):
		return fmt.Errorf("from %s to %s: the beginning must come before the end: %w", from, to, ErrInvalid)
	}
	return nil
}

// Between is what two instants are compared by: of the memories that changed from the
// one on, up to the other and at it, the versions that there were, by the birth of their
// lineage, and what made or ended them.
type Between struct {
	BetweenQuery
	Active   int // memories that were active at the end
	Versions []Memory
	Made     map[string]DiffStep // by the version that it made
	Ended    map[string]DiffStep // by the version that it ended without another in its place
}

// MemoryDiff is how what a group remembers differs between two instants.
type MemoryDiff struct {
	GroupID string      `json:"group_id"`
	From    time.Time   `json:"from"`
	To      time.Time   `json:"to"`
	Counts  DiffCounts  `json:"counts"`
	Added   []DiffEntry `json:"added"`
	Changed []DiffEntry `json:"changed"`
	Gone    []DiffEntry `json:"gone"`
	// Passing are those that came and went in between, or changed and changed back: no
	// difference.
	Passing []DiffEntry `json:"passing,omitempty"`
}

// DiffCounts counts memories.
type DiffCounts struct {
	Added     int `json:"added"`
	Changed   int `json:"changed"`
	Gone      int `json:"gone"`
	Unchanged int `json:"unchanged"` // say at both instants the same
	Passing   int `json:"passing"`   // of no difference, whatever became of them in between
}

// DiffEntry is one memory that differs.
type DiffEntry struct {
	LineageID string       `json:"lineage_id"`
	Kind      Kind         `json:"kind"`
	Back      bool         `json:"back,omitempty"`   // added: it had been remembered earlier
	Before    *DiffVersion `json:"before,omitempty"` // what was active at the first instant
	After     *DiffVersion `json:"after,omitempty"`  // what was active at the second
	// Marked is how the statement became another one, word by word: [-gone-]{+new+}.
	Marked string     `json:"marked,omitempty"`
	Steps  []DiffStep `json:"steps"` // what became of it in between, oldest first
}

// DiffVersion is one version that is compared.
type DiffVersion struct {
	MemoryID  string   `json:"memory_id"`
	Version   int      `json:"version"`
	Statement string   `json:"statement"`
	Tags      []string `json:"tags"`
}

// ActionHold is what a [DiffStep] says of a memory that was held: the change log has no
// row of that.
const ActionHold Action = "hold"

// DiffStep is what made a version, or ended it.
type DiffStep struct {
	At          time.Time `json:"at"`
	Action      Action    `json:"action"`
	Version     int       `json:"version"`
	MemoryID    string    `json:"memory_id"`
	Reason      string    `json:"change_reason,omitempty"`
	RunID       string    `json:"run_id,omitempty"` // "" = a person
	Job         Job       `json:"job,omitempty"`    // of that run, or of the one that was taken back
	UndoneRunID string    `json:"undone_run_id,omitempty"`
}

// DiffReply is a difference as it is answered and printed.
type DiffReply struct {
	Success bool `json:"success"`
	MemoryDiff
	Cut bool `json:"cut,omitempty"` // there are more than an answer holds; the counts are of all
}
