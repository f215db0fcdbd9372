package reverie

import (
	"fmt"
	"time"
)

// When is the instant as of which something is read, in the chat's time or in the time of writing. The zero value
// is now.
type When struct {
	At       time.Time
	Recorded bool // in the time of writing
}

// IsZero reports whether it is now.
func (w When) IsZero() bool { return w.At.IsZero() }

// The past. In the chat's time, a version is active from its said_at (inclusive) to its said_until (exclusive). In
// the time of writing, it is active from updated_at to ended_at.

// span returns when a version was active; a nil until: it still is, or its end is unknown.
func (m Memory) span(recorded bool) (from time.Time, until *time.Time) {
	if recorded {
		return m.UpdatedAt, m.EndedAt
	}
	return m.SaidAt, m.SaidUntil
}

// OnChat returns the version with the chat's times instead of those of writing.
func (m Memory) OnChat() Memory {
	m.UpdatedAt, m.EndedAt = m.span(false)
	return m
}

// Then returns the version as it was while it was active.
func (m Memory) Then() Memory {
	m.Status, m.JudgeAgain = StatusActive, ""
	return m
}

// AsOf returns the history of a memory as of an instant: the versions begun by then, with their status and later
// changes of that time. Evidence and sources are those that count today. A memory that did not exist yet is
// [ErrNotFound].
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

// cameAt returns when a later change of a version happened. In the chat's time, that is when its newest evidence
// was sent, or when the chat ended the version.
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

// statusAt returns the status of a version at an instant. A version that is deleted or superseded now may have been
// archived or held before. It was so from when it stopped being active until it was deleted or another version
// replaced it.
func (v WhyVersion) statusAt(when When, next *WhyVersion) Status {
	m, at := v.Memory, when.At
	_, until := m.span(when.Recorded)
	var begins time.Time // of the next version
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
		case l.Ends: // the change ends the version, and does not only revert support or strength
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

// OneChange reports whether two times belong to the same change. The times of the versions and of the change log
// row that one transaction writes may differ by some microseconds.
func OneChange(a, b time.Time) bool { return b.Sub(a).Abs() < time.Second }

// BetweenQuery asks how a group's memories differ between two instants.
type BetweenQuery struct {
	GroupID  string
	From     time.Time
	To       time.Time // zero = now
	Recorded bool      // in the time of writing instead of the chat's time
	Kind     Kind      // "" = all
}

// Until sets an end that is zero or in the future to now. It refuses a beginning that is not before the end.
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

// Between is the input for comparing two instants: the memories that changed after the first instant, up to and
// including the second. It holds their versions, by creation of the lineage, and the changes that created or ended
// them.
type Between struct {
	BetweenQuery
	Active   int                 // memories active at the end
	Versions []Memory            // with the times that are compared
	Made     map[string]DiffStep // by the version that the step created
	Ended    map[string]DiffStep // by the version that the step ended without replacing it
}

// MemoryDiff is how a group's memories differ between two instants.
type MemoryDiff struct {
	GroupID string      `json:"group_id"`
	From    time.Time   `json:"from"`
	To      time.Time   `json:"to"`
	Counts  DiffCounts  `json:"counts"`
	Added   []DiffEntry `json:"added"`
	Changed []DiffEntry `json:"changed"`
	Gone    []DiffEntry `json:"gone"`
	// Passing are memories that were created and ended in between, or changed and changed back: they do not differ.
	Passing []DiffEntry `json:"passing,omitempty"`
}

// DiffCounts counts memories.
type DiffCounts struct {
	Added     int `json:"added"`
	Changed   int `json:"changed"`
	Gone      int `json:"gone"`
	Unchanged int `json:"unchanged"` // the same at both instants
	Passing   int `json:"passing"`   // not different, but changed in between
}

// DiffEntry is one memory that differs.
type DiffEntry struct {
	LineageID string       `json:"lineage_id"`
	Kind      Kind         `json:"kind"`
	Back      bool         `json:"back,omitempty"`   // added: it had been active earlier
	Before    *DiffVersion `json:"before,omitempty"` // what was active at the first instant
	After     *DiffVersion `json:"after,omitempty"`  // what was active at the second
	// Marked shows the change of the statement word by word: [-old-]{+new+}.
	Marked string     `json:"marked,omitempty"`
	Steps  []DiffStep `json:"steps"` // its changes in between, oldest first
}

// DiffVersion is one version that is compared.
type DiffVersion struct {
	MemoryID  string   `json:"memory_id"`
	Version   int      `json:"version"`
	Statement string   `json:"statement"`
	Tags      []string `json:"tags"`
}

// ActionHold is the action of a [DiffStep] that held a memory. The change log has no row for that.
const ActionHold Action = "hold"

// DiffStep is a change that created or ended a version.
type DiffStep struct {
	At          time.Time `json:"at"`
	Action      Action    `json:"action"`
	Version     int       `json:"version"`
	MemoryID    string    `json:"memory_id"`
	Reason      string    `json:"change_reason,omitempty"`
	RunID       string    `json:"run_id,omitempty"` // "" = a person
	Job         Job       `json:"job,omitempty"`    // of that run, or of the run that was undone
	UndoneRunID string    `json:"undone_run_id,omitempty"`
}

// DiffReply is a difference as the API answers and the command prints it.
type DiffReply struct {
	Success bool `json:"success"`
	MemoryDiff
	Cut bool `json:"cut,omitempty"` // some entries were left out; the counts cover all
}
