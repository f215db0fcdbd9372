// Package evolve is the main job: it takes one group's old memories and new messages, asks a model, checks the answer
// and applies it as new versions.
//
// A run is one or more chunks. Each chunk goes through the same six steps, one file each: gather, propose, parse,
// check, decide, apply. Every step between the model's answer and the database is pure, so that tests need neither.
// Only apply writes memories.
package evolve

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math"
	"time"

	"reverie/internal/decide"
	"reverie/internal/pipeline"
	"reverie/internal/planfile"
	"reverie/internal/reverie"
	"reverie/internal/safety"
	"reverie/prompts"
)

// Store is what evolve reads and writes. Each method is one transaction. Methods that take a lease return
// [reverie.ErrLeaseLost] once another holder has it.
type Store interface {
	Gather(ctx context.Context, q reverie.GatherQuery) (reverie.State, error)
	NearestHeads(ctx context.Context, groupID string, kind reverie.Kind, model string, probes [][]float32, limit int) ([]string, error)
	pipeline.Ledger
	Resume(ctx context.Context, lease reverie.Lease, job reverie.Job, since, until time.Time) (*reverie.Run, *reverie.Chunk, error)
	CountPending(ctx context.Context, groupID string, since, until time.Time) (int, error)
	Sealer
	Apply(ctx context.Context, lease reverie.Lease, plan reverie.Plan) ([]reverie.Change, error)
	pipeline.History
}

// Hold is the lease of the group that a run evolves.
type Hold = pipeline.LeaseHolder

// Limits bounds a run. All are positive.
type Limits struct {
	MaxMessages     int                // messages of a chunk
	MaxInputTokens  int                // estimated tokens of a chunk's prompt
	MaxOutputTokens int                // tokens of an answer
	MaxCreates      int                // creates of an answer
	MaxActive       int                // active memories; beyond it the weakest are archived
	MaxSession      int                // facts of sessions, for approving; 0: no limit
	MaxDream        int                // items of dreams, for approving; 0: no limit
	Target          int                // active memories that the prompt asks the model to aim for
	MaxShown        int                // memories shown to the model
	Forget          reverie.ForgetRule // when a memory may go without a quote
	HoldRatio       float64            // share of the active memories that a run may delete or rewrite
	HoldMin         int                // the run may always delete or rewrite this many
	ContextMessages int                // consumed messages shown with Days
}

// most returns how many memories of a kind may be active.
func (l Limits) most(kind reverie.Kind) int {
	switch kind {
	case reverie.KindSession:
		return cmp.Or(l.MaxSession, math.MaxInt)
	case reverie.KindDream:
		return cmp.Or(l.MaxDream, math.MaxInt)
	}
	return l.MaxActive
}

// Pipeline evolves groups. Its fields are set once; it is safe for concurrent
// use on different groups.
type Pipeline struct {
	Store      Store
	Model      pipeline.Model
	Embeddings pipeline.Embeddings // nil: statements are stored without vectors
	// EmbeddingsOptional turns a failure of the embedder into a warning. Statements are then stored without vectors,
	// and a later search adds them.
	EmbeddingsOptional bool
	Prompts            *prompts.Set
	Decider            decide.Decider
	// CompareShown compares facts also with the memories that the model was shown when it wrote them.
	CompareShown bool
	// Impressions marks the shown messages for the impression job: see [reverie.Plan].
	Impressions bool
	Limits      Limits
	Privacy     safety.Privacy // masks personal data in what the model is shown
	Now         func() time.Time
	Log         *slog.Logger
	Progress    func(messages int) // called after each chunk with the messages used so far; may be nil
	// Phase is called when a step of a chunk begins. It returns the context for the step and a function to call at its
	// end. It may be nil.
	Phase func(ctx context.Context, name string) (context.Context, func(error))
	// Refused is called with the rule by which a line was refused, or with the reason why the reader skipped it. It may
	// be nil.
	Refused func(reason string)
}

// Request says what to evolve.
type Request struct {
	GroupID string
	// Since and Until bound the window of sent_at, half-open. Zero values mean from the first pending message, and up
	// to now.
	Since, Until time.Time
	Days         int  // days of consumed messages to show as context
	DryRun       bool // plan only: writes nothing but call rows and cached embeddings
	// PlanID is the id of the plan that a dry run makes. The ledger records the calls of the dry run under it, and the
	// run that applies the plan takes it as its id. With "" the plan gets a new id, and its calls belong to no run.
	PlanID string
	// Started is called with the id of the run as soon as it has one. It may be nil.
	Started func(runID string)
}

// Run evolves one group. The hold is nil exactly for a dry run. The result covers the run as far as it came, also
// beside an error. The error is one of [reverie.ErrDeferred], [reverie.ErrConfiguration], [reverie.ErrUnusable],
// [reverie.ErrConflict] and [reverie.ErrLeaseLost].
func (p *Pipeline) Run(ctx context.Context, hold Hold, req Request) (Result, error) {
	r, err := p.begin(ctx, hold, req)
	if err != nil {
		return Result{Result: pipeline.Result{GroupID: req.GroupID}}, err
	}
	for err == nil {
		var more bool
		if more, err = r.chunk(ctx); !more {
			break
		}
	}
	return r.finish(ctx, err)
}

// chunk takes the next pending messages through the six steps and reports whether there may be more. A message that
// arrives for this window during its last chunk stays pending, and makes the window due again.
func (r *run) chunk(ctx context.Context) (more bool, err error) {
	s, err := pipeline.Step(ctx, &r.recorder, "gather", r.gather)
	if err != nil || s == nil {
		return false, err
	}
	said, err := pipeline.Then(ctx, &r.recorder, "propose", s, r.propose)
	if err != nil {
		return false, err
	}
	r.recorder.LogSkipped("chunk", s.no, said.Skipped)
	s.answer = said.text
	checked := said.check(s)
	plan, err := pipeline.Step(ctx, &r.recorder, "decide", func(ctx context.Context) (reverie.Plan, error) {
		return r.decide(ctx, s, checked)
	})
	if err != nil {
		return false, err
	}
	return pipeline.Step(ctx, &r.recorder, "apply", func(ctx context.Context) (bool, error) {
		more := s.state.More || s.resumed
		return more, r.apply(ctx, s, plan, !more)
	})
}

// begin writes the row of a new run in the ledger, or resumes an interrupted run.
func (p *Pipeline) begin(ctx context.Context, hold Hold, req Request) (*run, error) {
	r := p.newRun(hold, reverie.Run{GroupID: req.GroupID})
	r.req = req
	var err error
	if r.until, err = pipeline.WindowEnd(req.GroupID, req.Since, req.Until, r.now); err != nil {
		return nil, err
	}
	r.since, r.untilGiven = req.Since, !req.Until.IsZero()
	if r.result.DryRun = req.DryRun; req.DryRun {
		r.recorder.Account = req.PlanID
		r.beginFile()
		return r, nil
	}
	return r, r.resumeRun(ctx)
}

// finish records the end of the run and completes the result.
func (r *run) finish(ctx context.Context, err error) (Result, error) {
	if r.recorder.Began && r.recorder.Row.ID == "" && !errors.Is(err, reverie.ErrLeaseLost) { // a run without a row
		err = errors.Join(err, r.countLeft(ctx))
	}
	if err == nil {
		err = r.sealFile(ctx)
	}
	err = r.recorder.End(ctx, err)
	if r.result.RunID == "" {
		r.started(r.recorder.Row.ID)
	}
	r.complete(err)
	return r.result, err
}

// countLeft counts the messages of the window that stay pending, for a run without a row in the ledger. Messages that a
// dry run has planned for are pending only in the database.
func (r *run) countLeft(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), 10*time.Second)
	defer cancel()
	left, err := r.Store.CountPending(ctx, r.req.GroupID, r.since, r.until)
	if r.simulated != nil {
		left -= r.simulated.skip
	}
	r.recorder.Stats.Deferred = max(left, 0)
	return err
}

// run is one run in progress.
type run struct {
	*Pipeline
	recorder pipeline.RunRecorder
	req      Request

	now          time.Time
	since, until time.Time
	untilGiven   bool // the caller gave until; it is not the current time

	resume *reverie.Chunk // a chunk that the model answered before a crash, not yet applied
	result Result

	limit     int         // most messages of the next chunk; halved when an answer is cut off
	simulated *simulation // the state of a dry run, where it differs from the database
}

// newRun makes the run that a row describes, with an id or still without. The hold is nil for a dry run.
func (p *Pipeline) newRun(hold Hold, row reverie.Run) *run {
	now := p.Now().UTC()
	return &run{Pipeline: p, req: Request{GroupID: row.GroupID}, now: now,
		recorder: pipeline.RunRecorder{Ledger: p.Store, Hold: hold, Now: p.Now, Log: p.Log, Watch: p.Phase, Refused: p.Refused, Row: row, Stats: row.Stats},
		result:   Result{Result: pipeline.Result{GroupID: row.GroupID, RunID: row.ID, At: now}}}
}

// resumeRun resumes an interrupted run of the same window, with its counts and its stored answer. The result is the
// same as without the interruption.
func (r *run) resumeRun(ctx context.Context) error {
	row, chunk, err := r.Store.Resume(ctx, r.recorder.Hold.Lease(), reverie.JobEvolve, r.req.Since, r.req.Until)
	if err != nil {
		return fmt.Errorf("look for interrupted runs of group %q: %w", r.req.GroupID, err)
	}
	if r.resume = chunk; chunk != nil {
		r.recorder.Before = chunk.RunID
	}
	if row == nil {
		return nil
	}
	r.recorder.Resume(*row)
	r.limit = min(row.Stats.Limit, r.Limits.MaxMessages)
	r.started(row.ID)
	if err := r.recorder.SoFar(ctx, r.Store, &r.result.Result); err != nil {
		return err
	}
	if !r.untilGiven && r.until.After(row.WindowUntil) {
		r.recorder.Row.WindowUntil = r.until
	}
	return nil
}

// open completes the row of the run, once messages are pending.
func (r *run) open(state reverie.State, language string) {
	row := &r.recorder.Row
	row.PromptVersion, row.PromptSHA256 = r.Prompts.Version(prompts.MemoryEvolve, language) // of the latest chunk
	if row.ID != "" || r.recorder.Began {
		return
	}
	st := &r.recorder.Stats
	st.Base, st.Kept, st.OpenEnded, st.Days = len(state.Heads), len(state.Heads), !r.untilGiven, r.req.Days
	since := r.since
	if since.IsZero() {
		since = state.Pending[0].SentAt
	}
	first := *row
	first.Job, first.Model, first.WindowSince, first.WindowUntil = reverie.JobEvolve, r.Model.Name(), since, r.until
	r.recorder.Begin(first)
}

// started calls Started with the run's id. A dry run, and a run whose row could not be written, have none.
func (r *run) started(runID string) {
	if r.result.RunID = runID; runID != "" && r.req.Started != nil {
		r.req.Started(runID)
	}
}

// Result is what a run did, as far as it came.
type Result struct {
	pipeline.Result
	Plan *planfile.File // of a dry run: what it would write, and the state that this depends on
}

// Reply is the result in the shape of the API.
func (r Result) Reply() reverie.EvolveReply {
	return reverie.EvolveReply{RunSummary: r.Summary("no new messages"), EvolutionTime: r.Ended(),
		Stats: r.Stats.Evolve(), Changes: reverie.ChangeReplies(r.Changes)}
}

// complete fills in the outcome.
func (r *run) complete(err error) { r.recorder.Complete(&r.result.Result, err) }
