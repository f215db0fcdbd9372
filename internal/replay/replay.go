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

	"reverie/evolve"
	"reverie/internal/reverie"
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
	// Hold calls fn while it holds, and renews, the shadow's lease on a group: by that others
	// see that somebody works there.
	Hold     func(ctx context.Context, groupID string, fn func(context.Context, evolve.Hold) error) error
	Log      *slog.Logger
	Progress func(done Night) // nil: nobody watches
}

// Run runs the nights again, oldest first, and reports on them as far as it came, also
// beside an error. A night of which the model's answer is of no use is reported and left;
// what keeps all nights from being asked ends the replay: a spent budget, a model that
// is not there, a configuration.
func (e *Engine) Run(ctx context.Context, groupID string, nights []reverie.PastNight) (Report, error) {
	report := Report{GroupID: groupID, Recorded: e.Recorded, Nights: []Night{}, Skipped: []Skipped{}}
	if len(nights) == 0 {
		return report, nil
	}
	began := nights[0].Run.StartedAt
	if err := e.Shadow.CopyGroup(ctx, groupID, began); err != nil {
		return report, err
	}
	err := e.Hold(ctx, groupID, func(ctx context.Context, hold evolve.Hold) error {
		course := &course{Engine: e, groupID: groupID, upTo: began, hold: hold}
		err := course.run(ctx, nights, &report)
		report.Left, report.Carried = course.left, course.carried
		return err
	})
	return report, err
}

// run runs the nights again, and adds to the report what they came to.
func (c *course) run(ctx context.Context, nights []reverie.PastNight, report *Report) error {
	for _, n := range nights {
		c.except = append(c.except, n.Run.ID)
	}
	if err := c.lineages(ctx, nights); err != nil {
		return err
	}
	for _, past := range nights {
		if why := c.unsure(past); why != "" {
			report.Skipped = append(report.Skipped, c.leave(past, why))
			continue
		}
		night, err := c.night(ctx, past)
		if err != nil {
			return fmt.Errorf("replay run %s of group %q: %w", past.Run.ID, c.groupID, err)
		}
		report.Nights = append(report.Nights, night)
		report.Total.add(night)
		c.apart = c.apart || !night.SameState || night.Error != "" || len(c.left) > 0
		if c.Progress != nil {
			c.Progress(night)
		}
	}
	return nil
}

// course is a replay under way.
type course struct {
	*Engine
	groupID string
	except  []string  // the runs that are run again
	upTo    time.Time // what others did before is in the shadow
	hold    evolve.Hold
	carried int
	left    []reverie.CarryLeft
	apart   bool // the shadow has come to something else than the group
	// Of the versions of the live group.
	lineageOf map[string]string
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
	_, failed := pipeline.Run(ctx, c.hold, c.request(past))
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
	case past.Run.Stats.Approved > 0:
		return "it applied a plan of which a person let pass what would have been held"
	}
	for _, c := range chunks {
		if c.InputSHA256 != "" && c.Answer == "" {
			return "its answers were removed (retention or erasure)"
		}
	}
	switch past.Gone {
	case 0:
		return ""
	case 1:
		return "a message that it was shown has no text any more (retention or erasure)"
	}
	return fmt.Sprintf("%d messages that it was shown have no text any more (retention or erasure)", past.Gone)
}

// unsure says why the recorded answers of a run cannot be told to mean what they meant,
// "" where they can: they name memories by their places, the chunks do not say which
// those were, and the shadow's are others.
func (c *course) unsure(past reverie.PastNight) string {
	if !c.Recorded || !c.apart {
		return ""
	}
	for _, chunk := range consumed(past) {
		if len(chunk.MemoryIDs) == 0 && evolve.NamesMemories(chunk.Answer) {
			return "the shadow remembers something else by then, and the record does not say which memories the answers name"
		}
	}
	return ""
}

// leave has a run that is not run again be carried over as it was.
func (c *course) leave(past reverie.PastNight, why string) Skipped {
	c.except = slices.DeleteFunc(c.except, func(id string) bool { return id == past.Run.ID })
	return Skipped{RunID: past.Run.ID, WindowSince: past.Run.WindowSince, Reason: why}
}

// lineages are those of the memories that the chunks of recorded nights showed, as far as
// they are there.
func (c *course) lineages(ctx context.Context, nights []reverie.PastNight) error {
	showed := func(chunk reverie.PastChunk) bool { return len(chunk.MemoryIDs) > 0 }
	if !c.Recorded || !slices.ContainsFunc(nights, func(n reverie.PastNight) bool { return slices.ContainsFunc(n.Chunks, showed) }) {
		return nil
	}
	all, _, err := c.Live.ListMemories(ctx, reverie.MemoryQuery{GroupID: c.groupID})
	if err != nil {
		return err
	}
	c.lineageOf = make(map[string]string, len(all))
	for _, m := range all {
		c.lineageOf[m.ID] = m.LineageID
	}
	return nil
}

// request is what the run was asked for.
func (c *course) request(past reverie.PastNight) evolve.Request {
	row := past.Run
	req := evolve.Request{GroupID: row.GroupID, Since: row.WindowSince, Until: row.WindowUntil, Days: row.Stats.Days}
	if row.Stats.OpenEnded {
		req.Until = time.Time{}
	}
	if c.Recorded {
		req.Recorded, req.Lineages = consumed(past), c.lineageOf
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
