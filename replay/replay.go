// Package replay runs past nights of a group again in a shadow of it, and tells what
// they do there apart from what they did: with the answers that were stored, or with
// another model or another prompt. What it writes goes to the shadow.
//
// Between the nights the shadow takes over what others did to the group meanwhile:
// edits, dreams, extractions, approvals, undo and maintenance are not asked for anew.
package replay

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"time"

	"reverie"
	"reverie/evolve"
)

// Ledger tells what a run did, and what a group remembers.
type Ledger interface {
	Run(ctx context.Context, groupID, runID string) (reverie.RunDetail, error)
	Deeds(ctx context.Context, groupID, runID string) ([]reverie.Deed, error)
	ListMemories(ctx context.Context, q reverie.MemoryQuery) ([]reverie.Memory, int, error)
}

// Live is the group as it is. It is only read.
type Live interface {
	Ledger
	Answers(ctx context.Context, groupID, runID, purpose string) (map[string]string, error)
}

// Shadow is a store of its own, empty at first.
type Shadow interface {
	evolve.Store
	Ledger
	AcquireLease(ctx context.Context, groupID, name, holder string, ttl time.Duration) (reverie.Lease, error)
	// CopyGroup copies the live group as it was just before an instant.
	CopyGroup(ctx context.Context, groupID string, at time.Time) error
	// CopyMessages copies messages, pending, and returns those that have no text any more.
	CopyMessages(ctx context.Context, groupID string, ids []string) (missing []string, err error)
	// Carry makes in the shadow what others than these runs did to the group in [from, to).
	Carry(ctx context.Context, groupID string, from, to time.Time, except []string) (reverie.Carried, error)
}

// Engine runs nights again. Its fields are set once; it serves one goroutine.
type Engine struct {
	Live   Live
	Shadow Shadow
	Clock  *Clock // of the shadow; the engine sets it
	// Pipeline is wired on the shadow. Each night gets a copy of it, with the clock and
	// the ids of that night. In a recorded replay neither its model nor its decider's is
	// asked.
	Pipeline *evolve.Pipeline
	Recorded bool
	Holder   string // who has the shadow's lease
	Log      *slog.Logger
	Progress func(done Night) // nil: nobody watches
}

// Run runs the nights again, oldest first, and reports on them as far as it came, also
// beside an error. A night of which the model's answer is of no use is reported and left;
// what keeps all nights from being asked ends the replay: a spent budget, a model that
// is not there, a configuration.
func (e *Engine) Run(ctx context.Context, groupID string, nights []reverie.PastNight) (Report, error) {
	report := Report{GroupID: groupID, Recorded: e.Recorded, Nights: []Night{}}
	if len(nights) == 0 {
		return report, nil
	}
	began := nights[0].Run.StartedAt
	if err := e.Shadow.CopyGroup(ctx, groupID, began); err != nil {
		return report, err
	}
	lease, err := e.Shadow.AcquireLease(ctx, groupID, reverie.LeaseGroup, e.Holder, leaseTTL)
	if err != nil {
		return report, fmt.Errorf("lease the shadow of group %q: %w", groupID, err)
	}
	course := &course{Engine: e, groupID: groupID, upTo: began, hold: hold{lease}}
	for _, n := range nights {
		course.except = append(course.except, n.Run.ID)
	}
	for _, past := range nights {
		night, err := course.night(ctx, past)
		if err != nil {
			report.Left = course.left
			return report, fmt.Errorf("replay run %s of group %q: %w", past.Run.ID, groupID, err)
		}
		report.Nights = append(report.Nights, night)
		report.Total.add(night)
		if e.Progress != nil {
			e.Progress(night)
		}
	}
	report.Left, report.Carried = course.left, course.carried
	return report, nil
}

// leaseTTL is longer than any replay: nobody else asks for the shadow's lease.
const leaseTTL = 30 * 24 * time.Hour

// hold is a lease that need not be renewed.
type hold struct{ lease reverie.Lease }

func (h hold) Lease() reverie.Lease            { return h.lease }
func (h hold) Exclusive(fn func() error) error { return fn() }

// course is a replay under way.
type course struct {
	*Engine
	groupID string
	except  []string  // the runs that are run again
	upTo    time.Time // what others did before is in the shadow
	hold    hold
	carried int
	left    []reverie.CarryLeft
}

// carry takes over what others did up to an instant. It never goes back.
func (c *course) carry(ctx context.Context, to time.Time) error {
	if !to.After(c.upTo) {
		return nil
	}
	done, err := c.Shadow.Carry(ctx, c.groupID, c.upTo, to, c.except)
	if err != nil {
		return fmt.Errorf("take over what others did from %s to %s: %w", c.upTo.Format(time.RFC3339), to.Format(time.RFC3339), err)
	}
	c.upTo, c.carried, c.left = to, c.carried+done.Changes, append(c.left, done.Left...)
	return nil
}

// night runs one night again and compares.
func (c *course) night(ctx context.Context, past reverie.PastNight) (Night, error) {
	row := past.Run
	if err := c.carry(ctx, row.StartedAt); err != nil {
		return Night{}, err
	}
	live, err := c.side(ctx, c.Live, row.ID)
	if err != nil {
		return Night{}, err
	}
	missing, err := c.bring(ctx, past)
	if err != nil {
		return Night{}, err
	}
	stage := &stage{Shadow: c.Shadow, course: c, past: past, live: live}
	pipeline, stoodIn, err := c.wire(ctx, stage)
	if err != nil {
		return Night{}, err
	}
	_, failed := pipeline.Run(ctx, c.hold, request(past, c.Recorded))
	if failed != nil && !(errors.Is(failed, reverie.ErrUnusable) || errors.Is(failed, reverie.ErrConflict)) {
		return Night{}, failed
	}
	if err := c.carry(ctx, finished(row).Add(time.Microsecond)); err != nil {
		return Night{}, err
	}
	shadow, err := c.side(ctx, c.Shadow, row.ID)
	if err != nil && !(errors.Is(err, reverie.ErrNotFound) && len(missing) > 0) { // of no message there is no run
		return Night{}, err
	}
	night := compare(live, shadow)
	night.Missing, night.StoodIn = append([]string{}, missing...), *stoodIn
	if failed != nil {
		night.Error = failed.Error()
	}
	return night, c.memories(ctx, &night, finished(row))
}

// finished is when a run had ended.
func finished(row reverie.Run) time.Time {
	if row.FinishedAt == nil {
		return row.StartedAt
	}
	return *row.FinishedAt
}

// bring copies the messages that the night took.
func (c *course) bring(ctx context.Context, past reverie.PastNight) (missing []string, err error) {
	var ids []string
	for _, chunk := range consumed(past) {
		ids = append(ids, chunk.MessageIDs...)
	}
	if missing, err = c.Shadow.CopyMessages(ctx, c.groupID, ids); err != nil {
		return nil, err
	}
	return missing, nil
}

// consumed are the chunks whose messages the run took: one that failed gave them back.
func consumed(past reverie.PastNight) (list []reverie.Chunk) {
	for _, chunk := range past.Chunks {
		if chunk.Status == reverie.ChunkApplied || chunk.Status == reverie.ChunkHeld {
			list = append(list, chunk.Chunk)
		}
	}
	return list
}

// Unfit says why a run cannot be run again, "" where it can. What it did is carried over
// as it was.
func Unfit(past reverie.PastNight, recorded bool) string {
	chunks := consumed(past)
	switch {
	case len(chunks) == 0:
		return "it took no messages: it ended as " + string(past.Run.Status)
	case !recorded:
		return ""
	case past.Run.Stats.Plan != "" && past.Run.Stats.Edited:
		return "it applied a plan that a person had edited"
	}
	for _, c := range chunks {
		if c.InputSHA256 != "" && c.Answer == "" {
			return "its answers were removed ([retention] answers)"
		}
	}
	return ""
}

// request is what the run was asked for.
func request(past reverie.PastNight, recorded bool) evolve.Request {
	row := past.Run
	req := evolve.Request{GroupID: row.GroupID, Since: row.WindowSince, Until: row.WindowUntil, Days: row.Stats.Days}
	if row.Stats.OpenEnded {
		req.Until = time.Time{}
	}
	if recorded {
		req.Recorded = consumed(past)
	}
	return req
}

// side reads what a run did, on either side.
func (c *course) side(ctx context.Context, from Ledger, runID string) (side, error) {
	detail, err := from.Run(ctx, c.groupID, runID)
	if err != nil {
		return side{}, err
	}
	deeds, err := from.Deeds(ctx, c.groupID, runID)
	if err != nil {
		return side{}, err
	}
	return side{RunDetail: detail, deeds: append(deeds, heldDeeds(detail)...)}, nil
}

// memories compares what the group remembers when the night is over.
func (c *course) memories(ctx context.Context, n *Night, at time.Time) error {
	live, _, err := c.Live.ListMemories(ctx, reverie.MemoryQuery{GroupID: c.groupID, At: at})
	if err != nil {
		return err
	}
	shadow, _, err := c.Shadow.ListMemories(ctx, reverie.MemoryQuery{GroupID: c.groupID, Status: reverie.StatusActive})
	if err != nil {
		return err
	}
	n.OnlyLive, n.OnlyShadow = apart(live, shadow), apart(shadow, live)
	n.SameState = reverie.ActiveSHA256(live) == reverie.ActiveSHA256(shadow)
	return nil
}

// apart are the memories of one side whose text the other one has not.
func apart(these, others []reverie.Memory) []Remembered {
	list := []Remembered{}
	for _, m := range these {
		if !slices.ContainsFunc(others, func(o reverie.Memory) bool { return o.Text() == m.Text() }) {
			list = append(list, Remembered{LineageID: m.LineageID, Kind: m.Kind, Statement: m.Statement})
		}
	}
	return list
}
