package reverie

import (
	"fmt"
	"time"
)

// When is an instant of the past, as something is read as of it: by when the chat said
// things, or by when they were written. The zero value is now.
type When struct {
	At       time.Time
	Recorded bool // by the time of writing
}

// IsZero tells whether it is now.
func (w When) IsZero() bool { return w.At.IsZero() }

// What was, at an instant. A version is active from its said_at on, that instant included,
// up to its said_until, that instant excluded; as written, from updated_at to ended_at.

// span is from when to when a version was active; nil: it is still, or its end is not known.
func (m Memory) span(recorded bool) (from time.Time, until *time.Time) {
	if recorded {
		return m.UpdatedAt, m.EndedAt
	}
	return m.SaidAt, m.SaidUntil
}

// OnChat is a version with the chat's times in place of those of writing.
func (m Memory) OnChat() Memory {
	m.UpdatedAt, m.EndedAt = m.span(false)
	return m
}

// Then is a version as it stood when it was active.
func (m Memory) Then() Memory {
	m.Status, m.JudgeAgain = StatusActive, ""
	return m
}

// AsOf is what stood behind a memory at an instant: the versions begun by then, each
// with the status that it had then, and what had befallen them. Evidence and sources are
// those that count today. A memory that was not there yet is [ErrNotFound].
func (w Why) AsOf(when When) (Why, error) {
	past, at := Why{Since: w.Since, Usage: w.Usage, Versions: []WhyVersion{}}, when.At
	for i, v := range w.Versions {
		if from, _ := v.Memory.span(when.Recorded); from.After(at) {
			break
		}
		var next *WhyVersion
		if i+1 < len(w.Versions) {
			next = &w.Versions[i+1]
		}
		later := []WhyLater{}
		v.Memory.Status, v.Memory.JudgeAgain = v.statusAt(when, next), ""
		for _, l := range v.Later {
			if !v.cameAt(l, when.Recorded).After(at) {
				later = append(later, l)
			}
		}
		v.Later = later
		past.Versions = append(past.Versions, v)
		past.Memory = v.Memory
	}
	if len(past.Versions) == 0 {
		first := w.Since
		if when.Recorded {
			first = w.Memory.CreatedAt
		}
		return Why{}, fmt.Errorf("memory %s was not there at %s: it came up %s: %w", w.Memory.ID,
			at.UTC().Format(time.RFC3339), first.UTC().Format(time.RFC3339), ErrNotFound)
	}
	return past, nil
}

// cameAt is when something became of a version: in the chat's time, when its newest
// evidence was sent, or, of what ended the version, when the chat ended it.
func (v WhyVersion) cameAt(l WhyLater, recorded bool) time.Time {
	said := NewestSent(l.Evidence)
	switch {
	case recorded:
		return l.At
	case v.Memory.EndedAt != nil && v.Memory.SaidUntil != nil && OneChange(*v.Memory.EndedAt, l.At):
		return *v.Memory.SaidUntil
	case said.IsZero():
		return l.At
	}
	return said
}

// statusAt is what a version was at an instant. What is deleted or replaced by now may have
// been archived or held before: from when it stopped being active until it was deleted, or
// another version took its place.
func (v WhyVersion) statusAt(when When, next *WhyVersion) Status {
	m, at := v.Memory, when.At
	_, until := m.span(when.Recorded)
	var begins time.Time // the next version
	if next != nil {
		begins, _ = next.Memory.span(when.Recorded)
	}
	switch {
	case m.Status == StatusActive || until == nil || until.After(at):
		return StatusActive
	case next != nil && !begins.After(at):
		return StatusSuperseded
	case m.Status != StatusDeprecated && m.Status != StatusSuperseded:
		return m.Status
	}
	var over *time.Time
	was, end := StatusHeld, StatusDeprecated
	if next != nil {
		over, end = &begins, StatusSuperseded
	}
	for _, l := range v.Later {
		switch {
		case l.Action == ActionArchive:
			was = StatusArchived
		case l.Ends: // and does not only take back support, or a strength
			if came := v.cameAt(l, when.Recorded); over == nil || came.Before(*over) {
				over, end = &came, StatusDeprecated
			}
		}
	}
	if over == nil || !over.After(at) || OneChange(*until, *over) {
		return end
	}
	return was
}

// OneChange tells whether two times are of one change: those of the versions and of the
// row in the change log that one transaction writes may be some microseconds apart.
func OneChange(a, b time.Time) bool { return b.Sub(a).Abs() < time.Second }

// BetweenQuery asks how what a group remembers differs between two instants.
type BetweenQuery struct {
	GroupID  string
	From     time.Time
	To       time.Time // zero = now
	Recorded bool      // by the time of writing, and not by the chat's
	Kind     Kind      // "" = all
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
	Active   int                 // memories that were active at the end
	Versions []Memory            // whose times are those that are compared
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
