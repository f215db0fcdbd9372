package replay

import (
	"context"
	"slices"
	"sync"
	"time"

	"reverie/internal/reverie"
)

// Clock is the time of the shadow: that of the night which is run again. It is safe for
// concurrent use.
type Clock struct {
	mu  sync.Mutex
	now time.Time
}

// Now is the clock's time.
func (c *Clock) Now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.now
}

// Set sets the clock; a zero time leaves it.
func (c *Clock) Set(t time.Time) {
	if t.IsZero() {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.now = t
}

// stage is the shadow as the pipeline of one night sees it: the run has the id that it
// had, what it does again has the ids that it had, and things happen when they happened.
// So what others did to it later can be told in the shadow, too.
type stage struct {
	Shadow
	course *course
	past   reverie.PastNight
	live   side
	chunk  int             // that is worked on
	given  map[string]bool // ids that were given already
}

// Resume takes nothing up: what was interrupted then has its answers by now.
func (s *stage) Resume(context.Context, reverie.Lease, reverie.Job, time.Time, time.Time) (*reverie.Run, *reverie.Chunk, error) {
	return nil, nil, nil
}

// StartRun gives the run the id and the beginning that it had.
func (s *stage) StartRun(ctx context.Context, lease reverie.Lease, run reverie.Run) (reverie.Run, error) {
	run.ID, run.StartedAt = s.past.Run.ID, s.past.Run.StartedAt
	return s.Shadow.StartRun(ctx, lease, run)
}

// OpenRun is StartRun with the first chunk.
func (s *stage) OpenRun(ctx context.Context, lease reverie.Lease, run reverie.Run, chunk reverie.Chunk, before string) (reverie.Run, error) {
	run.ID, run.StartedAt = s.past.Run.ID, s.past.Run.StartedAt
	return s.Shadow.OpenRun(ctx, lease, run, chunk, before)
}

// Gather first takes over what others did until the chunk was begun.
func (s *stage) Gather(ctx context.Context, q reverie.GatherQuery) (reverie.State, error) {
	if i := s.chunk; i < len(s.past.Chunks) {
		began := s.past.Chunks[i].CreatedAt
		if err := s.course.carry(ctx, began); err != nil {
			return reverie.State{}, err
		}
		s.course.Clock.Set(began)
	}
	return s.Shadow.Gather(ctx, q)
}

// Apply writes a plan at the time at which the chunk was applied.
func (s *stage) Apply(ctx context.Context, lease reverie.Lease, plan reverie.Plan) ([]reverie.Change, error) {
	s.chunk = plan.ChunkNo
	for _, d := range s.live.deeds {
		if !d.Held && d.ChunkNo == plan.ChunkNo && d.Action != reverie.ActionKeep {
			s.course.Clock.Set(d.At)
			break
		}
	}
	return s.Shadow.Apply(ctx, lease, s.named(plan))
}

// FinishRun ends the run when it ended.
func (s *stage) FinishRun(ctx context.Context, lease reverie.Lease, run reverie.Run) (int, error) {
	at := finished(s.past.Run)
	run.FinishedAt = &at
	s.course.Clock.Set(at)
	return s.Shadow.FinishRun(ctx, lease, run)
}

// named is a plan with the ids of the run before, where it does the same again.
func (s *stage) named(plan reverie.Plan) reverie.Plan {
	ids := map[string]string{}
	rename := func(steps []reverie.Step, held bool) []reverie.Step {
		steps = slices.Clone(steps)
		for i := range steps {
			s.adopt(&steps[i], plan.ChunkNo, held, ids)
		}
		return steps
	}
	plan.Steps, plan.Held = rename(plan.Steps, false), rename(plan.Held, true)
	id := func(old string) string {
		if now, ok := ids[old]; ok {
			return now
		}
		return old
	}
	plan.Decisions = slices.Clone(plan.Decisions)
	for i := range plan.Decisions {
		d := &plan.Decisions[i]
		d.MemoryID, d.TargetID, d.Candidates = id(d.MemoryID), id(d.TargetID), slices.Clone(d.Candidates)
		for j := range d.Candidates {
			d.Candidates[j].MemoryID = id(d.Candidates[j].MemoryID)
		}
	}
	return plan
}

// adopt gives a step that writes a version the ids of the same write of the run before.
func (s *stage) adopt(step *reverie.Step, chunkNo int, held bool, ids map[string]string) {
	if step.MemoryID == "" {
		return
	}
	same := func(d reverie.Deed) bool {
		return d.Held == held && d.Action == step.Action && !s.given[d.MemoryID] && d.NewStatement == step.Statement &&
			(step.Action == reverie.ActionCreate || d.LineageID == step.LineageID)
	}
	i := slices.IndexFunc(s.live.deeds, func(d reverie.Deed) bool { return d.ChunkNo == chunkNo && same(d) })
	if i < 0 {
		i = slices.IndexFunc(s.live.deeds, same)
	}
	if i < 0 {
		return
	}
	d := s.live.deeds[i]
	if s.given == nil {
		s.given = map[string]bool{}
	}
	s.given[d.MemoryID] = true
	ids[step.MemoryID] = d.MemoryID
	step.MemoryID, step.LineageID = d.MemoryID, d.LineageID
}
