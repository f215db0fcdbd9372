package jobs

import (
	"fmt"
	"strings"
	"time"

	"reverie/internal/reverie"
)

// Outcome is what became of a group in a fan-out.
type Outcome string

// The outcomes of a group.
const (
	Done     Outcome = "done"     // all of its windows were worked on; nothing pending counts too
	Skipped  Outcome = "skipped"  // busy, parked, or left alone after a failure
	Failed   Outcome = "failed"   // a window failed; later ones were not begun
	Deferred Outcome = "deferred" // a passing fault, a spent budget or a stop
)

// RunOutcome is what became of one window of one group, whatever the job.
type RunOutcome struct {
	RunID   string // "" where nothing was begun
	Status  reverie.RunStatus
	NoNew   bool // nothing was pending
	Stats   reverie.Stats
	Held    []string // why plans are held
	Through string   // the session up to which it reached (dream)
	Result  any      // the job's own result
}

// Report is how one window of a group ended.
type Report struct {
	GroupID string
	Window  reverie.Window
	RunOutcome
	Took time.Duration
	Err  error // nil: done, or held for a person
}

// GroupResult is what became of one group.
type GroupResult struct {
	GroupID string
	Outcome Outcome
	Reason  string   // why it was skipped, or what failed or deferred it
	Err     error    // of the window that failed or was deferred
	ThenErr error    // of what followed the window: see [Request]
	Windows []Report // those that were begun, oldest first
	Left    int      // windows that are due and were not finished; those beyond the cap among them
	Capped  int      // of those, the ones beyond the cap on missed nights
	Parked  bool     // it is parked now
}

// Last is the last window that was begun, the zero report where none was.
func (r *GroupResult) Last() Report {
	if len(r.Windows) == 0 {
		return Report{GroupID: r.GroupID}
	}
	return r.Windows[len(r.Windows)-1]
}

// plans sets what is left of a group before any of it is begun.
func (r *GroupResult) plans(a Agenda) { r.Left, r.Capped = len(a.Windows)+a.Capped, a.Capped }

// Summary is how far a fan-out came. Its size does not depend on the number of
// groups.
type Summary struct {
	Done     int `json:"done"`
	Skipped  int `json:"skipped"`
	Failed   int `json:"failed"`
	Deferred int `json:"deferred"`
	Windows  int `json:"windows"` // finished
	Left     int `json:"left"`    // windows that are due and were not finished
	Parked   int `json:"parked"`  // groups that are parked
	// Failures are the first groups that failed, at most MaxFailures.
	Failures []GroupFailure `json:"failures,omitempty"`
	// Stopped says why groups were left that nobody has looked at: a signal, or a
	// spent budget. They count nowhere above.
	Stopped string `json:"stopped,omitempty"`
}

// MaxFailures bounds the failures that a summary names.
const MaxFailures = 20

// GroupFailure says why a group failed.
type GroupFailure struct {
	GroupID string `json:"group_id"`
	Error   string `json:"error"`
}

// PartialError says that a fan-out did not do all there was: some groups failed
// or were deferred, the others are done.
type PartialError struct {
	Summary Summary
	Err     error // that kept it from finding further groups; nil: none did
}

func (e *PartialError) Error() string {
	s := e.Summary
	var parts []string
	add := func(n int, what string) {
		if n == 1 {
			parts = append(parts, "1 group "+what)
		} else if n > 1 {
			parts = append(parts, fmt.Sprintf("%d groups %s", n, what))
		}
	}
	add(s.Failed, "failed")
	add(s.Deferred, "deferred")
	add(s.Done, "done")
	parts = []string{strings.Join(parts, ", "), "what is not done stays pending for the next run"}
	if s.Stopped != "" {
		parts = append(parts, "stopped before the rest: "+s.Stopped)
	}
	return strings.TrimPrefix(strings.Join(parts, "; "), "; ")
}

// Is makes a fan-out in which nothing failed an [reverie.ErrDeferred].
func (e *PartialError) Is(target error) bool {
	return target == reverie.ErrDeferred && e.Summary.Failed == 0 && e.Err == nil
}

func (e *PartialError) Unwrap() error { return e.Err }
