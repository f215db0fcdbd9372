// Package session is what a bot needs between two nights. It reads the new messages of one session, asks a model for
// lasting facts and a summary, checks the answer and applies it as memories of kind session. It also folds older turns
// into a rolling summary, so that short-term memory stays short.
//
// A run is one session: any number of chunks of extraction, then a fold if one is due. A chunk goes through the same
// steps as one of evolve, one file each: gather, propose, parse, check, decide, apply.
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

// Store is what extraction reads and writes. Each method is one transaction. Methods that take a lease return
// [reverie.ErrLeaseLost] once another holder has it.
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
	MaxMessages      int // messages of a chunk
	MaxInputTokens   int // estimated tokens of a chunk's input
	MaxOutputTokens  int // tokens of an answer of Model
	MaxSummaryTokens int // tokens of an answer of Summarizer
	MaxFacts         int // facts of a chunk
	MinConfidence    float64
	AutoTag          bool    // tag facts with their type and the model's tags, besides the tag session
	MaxActive        int     // facts of the group's sessions; beyond it the weakest are archived; 0: no limit
	MaxShown         int     // earlier facts that the model sees
	HoldRatio        float64 // share of the group's session facts that a run may rewrite or delete
	HoldMin          int     // a run may always rewrite or delete this many
}

// Pipeline extracts sessions. Its fields are set once; it is safe for concurrent
// use on different groups.
type Pipeline struct {
	Store              Store
	Model              pipeline.Model // for facts
	Summarizer         pipeline.Model // for the rolling summary
	Prompts            *prompts.Set
	Journal            llm.Journal // nil: answers are not stored
	Decider            decide.Decider
	Embeddings         pipeline.Embeddings // nil: statements are stored without vectors
	EmbeddingsOptional bool
	Limits             Limits
	Rule               reverie.SessionRule
	Retry              reverie.ParkRule // for failed folds
	// silence that ends a session, for groups without their own; 0 is reverie.DefaultSessionSilence
	Silence  time.Duration
	Privacy  safety.Privacy // masks personal data in what the model is shown
	Now      func() time.Time
	Log      *slog.Logger
	Progress func(messages int) // called after each chunk with the messages extracted so far; may be nil
	// Phase is called when a step begins. It returns the context for the step and a function to call at its end. It may
	// be nil.
	Phase func(ctx context.Context, name string) (context.Context, func(error))
	// Refused is called with the rule by which a line was refused, or with the reason why the reader skipped it. It may
	// be nil.
	Refused func(reason string)
}

// Request says which session to extract.
type Request struct {
	GroupID   string
	SessionID string
	// Due takes only what the rule says is due under the lease. Otherwise everything that can be extracted is, and the
	// rule only decides on the fold.
	Due    bool
	DryRun bool // plan the first chunk: writes nothing but call rows and cached embeddings
}

// Result is what a run did, as far as it came. Cited, Considered and Filtered count extracted messages; Deferred counts
// those that stay in the buffer.
type Result struct {
	pipeline.Result
	SessionID string
	Summary   string                  // the session's new summary memory, "" if it did not change
	Folded    *reverie.SessionSummary // the new rolling summary
	Recaps    []string                // ids of the versions of the summary memory in Changes
}

// The purposes of this job's calls in the ledger.
const (
	purposeExtract   = "extract"
	purposeSummarize = "summarize"
)

// run is one run in progress.
type run struct {
	*Pipeline
	recorder pipeline.RunRecorder
	req      Request

	now          time.Time
	resume       *reverie.Chunk // begun before, and not applied
	limit        int            // most messages of the next chunk; halved when an answer is cut off
	leftInBuffer int            // messages that this run leaves in the buffer, as far as it knows
	result       Result

	asker, summarizer *llm.Asker // nil until the run has started
}

// Run extracts one session and folds its older turns. The hold is nil exactly for a dry run. Messages that were not
// applied stay in the buffer. The result covers the run as far as it came, also beside an error. Errors include
// [reverie.ErrNotFound], [reverie.ErrDeferred], [reverie.ErrConfiguration], [reverie.ErrUnusable],
// [reverie.ErrConflict] and [reverie.ErrLeaseLost].
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

// chunk takes the next complete turns through all steps and reports whether there may be more. Messages that arrive
// during the last chunk stay in the buffer.
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
		return s.more || s.resumed, r.apply(ctx, s, plan)
	})
}

// begin prepares a new run, or resumes an interrupted run of the same session.
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
	r.recorder.Stats.Through = false // there may be more messages by now
	r.limit = min(row.Stats.Limit, r.Limits.MaxMessages)
	r.result.RunID = row.ID
	return r, r.recorder.SoFar(ctx, r.Store, &r.result.Result)
}

// open begins the run, once there is something to do, and prepares the model calls. The row names the model and the
// prompt of the first question.
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
	r.recorder.Stats.Deferred = r.leftInBuffer
	err = r.recorder.End(ctx, err)
	r.recorder.Complete(&r.result.Result, err)
	return r.result, err
}
