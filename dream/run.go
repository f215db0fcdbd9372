package dream

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"reverie/internal/llm"
	"reverie/internal/pipeline"
	"reverie/internal/reverie"
	"reverie/prompts"
)

// purposeDream is what calls of this job are for, in the ledger.
const purposeDream = "dream"

// chunkNo is the number of the only chunk of a dream.
const chunkNo = 1

// interrupted is why a dream is taken up whose process died.
const interrupted = "the last dream was interrupted"

// errGone ends a dream that was interrupted, and of whose material nothing is new
// any more.
var errGone = errors.New("it was interrupted, and nothing is new any more of what it was about")

// run is one run under way.
type run struct {
	*Pipeline
	recorder pipeline.RunRecorder
	req      Request

	now       time.Time
	begun     *reverie.Run   // a dream that was interrupted; nil: none was
	resume    *reverie.Chunk // of a dream that was begun and not applied, that one first
	asker     *llm.Asker     // nil until the run has been started
	questions int            // that may be answered yet, as far as is known
	result    Result
}

// Run dreams, if there is anything to dream of. The hold is nil exactly for a dry
// run. That there was no dream is no error: the result says why. It is filled as far
// as the run came, also beside an error, whose kind says what happened:
// [reverie.ErrNotFound], [reverie.ErrDeferred], [reverie.ErrConfiguration],
// [reverie.ErrUnusable], [reverie.ErrConflict], [reverie.ErrLeaseLost]. What was not
// applied stays new.
func (p *Pipeline) Run(ctx context.Context, hold pipeline.LeaseHolder, req Request) (Result, error) {
	r := &run{Pipeline: p, req: req, now: p.Now().UTC(),
		recorder: pipeline.RunRecorder{Ledger: p.Store, Now: p.Now, Log: p.Log, Watch: p.Phase,
			Row: reverie.Run{GroupID: req.GroupID}}}
	r.result = Result{Result: pipeline.Result{GroupID: req.GroupID, At: r.now, DryRun: req.DryRun}}
	err := r.begin(ctx, hold)
	if err == nil {
		err = r.dream(ctx)
	}
	return r.finish(ctx, err)
}

// begin looks for a dream of the group that was begun and not applied.
func (r *run) begin(ctx context.Context, hold pipeline.LeaseHolder) error {
	if r.req.DryRun {
		return nil
	}
	r.recorder.Hold = hold
	row, chunk, err := r.Store.ResumeDream(ctx, hold.Lease())
	if err != nil {
		return fmt.Errorf("look for interrupted dreams of group %q: %w", r.req.GroupID, err)
	}
	if r.resume = chunk; chunk != nil {
		r.recorder.Before = chunk.RunID
	}
	r.begun = row
	return nil
}

// dream takes what is new through all steps.
func (r *run) dream(ctx context.Context) error {
	s, err := pipeline.Step(ctx, &r.recorder, "gather", r.gather)
	if err != nil || s == nil {
		return err
	}
	parts, err := pipeline.Step(ctx, &r.recorder, "propose",
		func(ctx context.Context) ([]part, error) {
			return r.propose(ctx, s)
		})
	if err != nil {
		return err
	}
	whole, err := pipeline.Step(ctx, &r.recorder, "combine",
		func(ctx context.Context) (part, error) {
			return r.combine(ctx, s, parts)
		})
	if err != nil {
		return err
	}
	plan, err := pipeline.Step(ctx, &r.recorder, "decide",
		func(ctx context.Context) (reverie.Plan, error) {
			return r.decide(ctx, s, whole)
		})
	if err != nil {
		return err
	}
	_, err = pipeline.Step(ctx, &r.recorder, "apply", func(ctx context.Context) (struct{}, error) {
		return struct{}{},
			r.apply(ctx, plan)
	})
	return err
}

// open writes the ledger's row and prepares to ask on its behalf. What the dream is
// of is saved in one with it, before anything is asked: whoever continues it asks the same.
// A dream that was interrupted goes on under its own id exactly where it is of the same
// still; else it has ended, and its answers are this one's.
func (r *run) open(ctx context.Context, s *chunkInput) error {
	same := r.same(s)
	if same {
		r.recorder.Resume(*r.begun)
		r.result.Reason = interrupted
	}
	row := r.recorder.Row
	row.Job, row.Model = reverie.JobDream, r.Model.Name()
	row.PromptVersion, row.PromptSHA256 = r.Prompts.Version(prompts.Dream, s.language)
	if !same {
		row.SessionID = s.through
		row.WindowSince, row.WindowUntil = s.window(r.now)
	}
	r.recorder.Stats = reverie.Stats{Base: len(s.state.Items), Kept: len(s.state.Items)}
	r.recorder.Begin(row)
	if err := r.recorder.Save(ctx, chunk(s, reverie.ChunkOpen)); err != nil {
		return err
	}
	r.result.RunID, r.result.SessionID = r.recorder.Row.ID, row.SessionID
	r.asker = r.recorder.Asker(r.Model, r.Journal, purposeDream)
	if same || r.begun == nil {
		return nil
	}
	return r.abandon(ctx, fmt.Errorf("begun anew as run %s, since what is new has changed", r.recorder.Row.ID))
}

// same tells whether the dream that was interrupted is of the very versions that are
// dreamt of now, and leaves it at the sessions that it reached up to.
func (r *run) same(s *chunkInput) bool {
	if r.begun == nil || r.resume == nil || r.resume.RunID != r.begun.ID ||
		!slices.Equal(sorted(r.resume.MemoryIDs), sorted(s.ids())) {
		return false
	}
	if s.through == r.begun.SessionID {
		return true
	}
	i := slices.IndexFunc(s.state.Sessions, func(session reverie.Session) bool {
		return session.ID == r.begun.SessionID
	})
	if i < 0 {
		return false
	}
	s.through, s.state.Sessions = r.begun.SessionID, s.state.Sessions[:i+1]
	return true
}

func sorted(ids []string) []string { return slices.Sorted(slices.Values(ids)) }

// abandon ends the dream that was interrupted.
func (r *run) abandon(ctx context.Context, why error) error {
	old := r.recorder
	old.Row, old.Stats = *r.begun, r.begun.Stats
	if err := old.End(ctx, why); err != why {
		return err
	}
	return nil
}

func (r *run) saveChunk(ctx context.Context, s *chunkInput, status reverie.ChunkStatus) error {
	return r.recorder.Save(ctx, chunk(s, status))
}

func chunk(s *chunkInput, status reverie.ChunkStatus) reverie.Chunk {
	ids, questions := s.questions()
	return reverie.Chunk{No: chunkNo, MemoryIDs: ids, Questions: questions, Status: status}
}

// unusable ends a dream whose answers are of no use: asking the same again in
// another run would not help, so that one begins anew.
func (r *run) unusable(ctx context.Context, s *chunkInput, err error) error {
	if !errors.Is(err, reverie.ErrUnusable) {
		return err
	}
	return errors.Join(fmt.Errorf("%w; what it was about stays new", err), r.saveChunk(ctx, s, reverie.ChunkFailed))
}

// finish records the run's end and completes the result.
func (r *run) finish(ctx context.Context, err error) (Result, error) {
	err = r.recorder.End(ctx, err)
	if r.recorder.Complete(&r.result.Result, err); r.result.None != "" && err == nil {
		r.result.RunID, r.result.Reason, r.result.Stats = "", "", reverie.Stats{}
	}
	return r.result, err
}
