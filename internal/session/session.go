// Package session is what a bot needs between two nights. It reads the dialogue
// of one session that has not been read yet, asks a model for lasting facts and a
// summary, checks the answer and applies it as memories of kind session; and it
// folds older turns into a rolling summary, so that short-term memory stays short.
//
// A run is one session: none or more chunks of extraction, then a fold where that
// is due. A chunk goes through the same steps as one of evolve, a file each:
// gather, propose, parse, check, decide, apply.
package session

import (
	"context"
	"fmt"
	"log/slog"
	"time"

	"reverie/internal/decide"
	"reverie/internal/llm"
	"reverie/internal/pipeline"
	"reverie/internal/reverie"
	"reverie/internal/safety"
	"reverie/prompts"
)

// Store is what sessions are read from and memories written to. Each method is one
// transaction; those that take a lease refuse it, with [reverie.ErrLeaseLost],
// once another holder has it.
type Store interface {
	GatherSession(ctx context.Context, q reverie.SessionQuery) (reverie.SessionState, error)
	GatherFold(ctx context.Context, groupID, sessionID string) (reverie.FoldState, error)
	pipeline.Ledger
	ResumeSession(ctx context.Context, lease reverie.Lease, job reverie.Job, sessionID string) (*reverie.Run,
		*reverie.Chunk, error)
	pipeline.History
	Candidates(ctx context.Context, q reverie.CandidateQuery) ([][]reverie.Near, error)
	Apply(ctx context.Context, lease reverie.Lease, plan reverie.Plan) ([]reverie.Change, error)
	ApplyFold(ctx context.Context, lease reverie.Lease, fold reverie.SessionFold) error
	NoteFold(ctx context.Context, groupID, sessionID string, rule reverie.ParkRule) (retry time.Time, err error)
}

// Limits bounds a run.
type Limits struct {
	MaxMessages      int // of a chunk
	MaxInputTokens   int // estimated tokens of a chunk's input
	MaxOutputTokens  int // of an answer of Model
	MaxSummaryTokens int // of an answer of Summarizer
	MaxFacts         int // of a chunk
	MinConfidence    float64
	AutoTag          bool    // facts carry their type and the model's tags besides the tag session
	MaxActive        int     // facts of the group's sessions, and summaries: beyond it the weakest make room; 0: any number
	MaxShown         int     // facts of earlier that the model sees
	HoldRatio        float64 // share of the group's session facts that a run may rewrite or delete
	HoldMin          int     // but always at least so many
}

// Pipeline extracts sessions. Its fields are set once; it is safe for concurrent
// use on different groups.
type Pipeline struct {
	Store              Store
	Model              pipeline.Model // extracts
	Summarizer         pipeline.Model // folds
	Prompts            *prompts.Set
	Journal            llm.Journal // nil: answers are not kept
	Decider            decide.Decider
	Embeddings         pipeline.Embeddings // nil: statements are stored without vectors
	EmbeddingsOptional bool
	Limits             Limits
	Rule               reverie.SessionRule
	Retry              reverie.ParkRule // of folds that fail
	// that ends a session, in groups that do not say otherwise; 0 is reverie.DefaultSessionSilence
	Silence  time.Duration
	Privacy  safety.Privacy // of what the model is shown
	Now      func() time.Time
	Log      *slog.Logger
	Progress func(messages int) // extracted so far, after each chunk; nil: nobody watches
	// Phase is told when a step begins; it returns the step's context and what to
	// call at its end. nil: nobody watches.
	Phase func(ctx context.Context, name string) (context.Context, func(error))
	// Refused is told by which rule a line of an answer was refused, or why the reader passed it
	// over. nil: nobody watches.
	Refused func(reason string)
}

// Request says which session to extract.
type Request struct {
	GroupID   string
	SessionID string
	// Due takes only what the rule says is due, as it stands under the lease;
	// otherwise everything that can be extracted is, and the rule decides on the fold
	// alone.
	Due    bool
	DryRun bool // plan the first chunk only: nothing is written but call rows and cached embeddings
}

// Result is what a run did, as far as it came. Of its counts, Cited, Considered and
// Filtered are messages extracted, Deferred those that stay in the buffer.
type Result struct {
	pipeline.Result
	SessionID string
	Summary   string                  // the session's summary memory as renewed now, "" if it was not
	Folded    *reverie.SessionSummary // the rolling summary as renewed now
	Recaps    []string                // of Changes, the ids of the versions of the summary memory
}

// What calls of this job are for, in the ledger.
const (
	purposeExtract   = "extract"
	purposeSummarize = "summarize"
)

// run is one run under way.
type run struct {
	*Pipeline
	recorder pipeline.RunRecorder
	req      Request

	now    time.Time
	resume *reverie.Chunk // begun before, and not applied
	limit  int            // messages of the next chunk at most; halved when an answer is cut off
	waits  int            // messages in the buffer that this run leaves there, as far as it knows
	result Result

	asker, summarizer *llm.Asker // nil until the run has been started
}

// Run extracts one session and folds its older turns. The hold is nil exactly for a
// dry run. The result is filled as far as the run came, also beside an error, whose
// kind says what happened: [reverie.ErrNotFound], [reverie.ErrDeferred],
// [reverie.ErrConfiguration], [reverie.ErrUnusable], [reverie.ErrConflict],
// [reverie.ErrLeaseLost]. What was not applied waits on.
func (p *Pipeline) Run(ctx context.Context, hold pipeline.LeaseHolder, req Request) (Result, error) {
	r, err := p.begin(ctx, hold, req)
	if err != nil {
		failed := pipeline.Result{GroupID: req.GroupID, DryRun: req.DryRun, Status: reverie.EndOf(err, 0), Err: err}
		return Result{Result: failed, SessionID: req.SessionID}, err
	}
	for err == nil {
		var more bool
		if more, err = r.chunk(ctx); !more || req.DryRun {
			break
		}
	}
	if err == nil && !req.DryRun {
		r.recorder.Stats.Through = true
		err = r.fold(ctx)
	}
	return r.finish(ctx, err)
}

// chunk takes the next complete turns through all steps and reports whether there
// may be more. What arrives while the last chunk is worked on stays in the buffer.
func (r *run) chunk(ctx context.Context) (more bool, err error) {
	s, err := pipeline.Step(ctx, &r.recorder, "gather", r.gather)
	if err != nil || s == nil {
		return false, err
	}
	said, err := pipeline.Then(ctx, &r.recorder, "propose", s, r.propose)
	if err != nil {
		return false, err
	}
	plan, err := pipeline.Step(ctx, &r.recorder, "decide", func(ctx context.Context) (reverie.Plan, error) {
		return r.decide(ctx, s, said)
	})
	if err != nil {
		return false, err
	}
	return pipeline.Step(ctx, &r.recorder, "apply", func(ctx context.Context) (bool, error) {
		return s.more || s.taken, r.apply(ctx, s, plan)
	})
}

// begin prepares a run, or takes up one of the same session that was interrupted.
func (p *Pipeline) begin(ctx context.Context, hold pipeline.LeaseHolder, req Request) (*run, error) {
	r := &run{Pipeline: p, req: req, now: p.Now().UTC(),
		recorder: pipeline.RunRecorder{Ledger: p.Store, Now: p.Now, Log: p.Log, Watch: p.Phase, Refused: p.Refused,
			Row: reverie.Run{GroupID: req.GroupID}}}
	r.result = Result{Result: pipeline.Result{GroupID: req.GroupID, At: r.now, DryRun: req.DryRun},
		SessionID: req.SessionID}
	if req.DryRun {
		return r, nil
	}
	r.recorder.Hold = hold
	row, chunk, err := r.Store.ResumeSession(ctx, hold.Lease(), reverie.JobExtract, req.SessionID)
	if err != nil {
		return nil, fmt.Errorf("look for interrupted runs of session %q of group %q: %w", req.SessionID, req.GroupID,
			err)
	}
	if r.resume = chunk; chunk != nil {
		r.recorder.Before = chunk.RunID
	}
	if row == nil {
		return r, nil
	}
	r.recorder.Resume(*row)
	r.recorder.Stats.Through = false // more may have come
	r.limit = min(row.Stats.Limit, r.Limits.MaxMessages)
	r.result.RunID = row.ID
	return r, r.recorder.SoFar(ctx, r.Store, &r.result.Result)
}

// open writes the ledger's row, once there is something to do, and prepares to ask
// on its behalf. The row names the model and the prompt of what is done first.
func (r *run) open(ctx context.Context, session reverie.Session, since time.Time, model pipeline.Model, prompt,
	language string) error {
	row := r.recorder.Row
	row.Job, row.SessionID, row.Model = reverie.JobExtract, r.req.SessionID, model.Name()
	row.PromptVersion, row.PromptSHA256 = r.Prompts.Version(prompt, language)
	row.WindowSince, row.WindowUntil = since, session.LastAt.Add(time.Microsecond) // exclusive
	if err := r.recorder.Start(ctx, row); err != nil {
		return err
	}
	r.result.RunID = r.recorder.Row.ID
	if r.asker == nil {
		r.asker = r.recorder.Asker(r.Model, r.Journal, purposeExtract)
		r.summarizer = r.recorder.Asker(r.Summarizer, r.Journal, purposeSummarize)
	}
	return nil
}

// finish records the run's end and completes the result.
func (r *run) finish(ctx context.Context, err error) (Result, error) {
	r.recorder.Stats.Deferred = r.waits
	err = r.recorder.End(ctx, err)
	r.recorder.Complete(&r.result.Result, err)
	return r.result, err
}
