// Package dream looks back when a group has gone quiet, or sessions have piled up:
// it asks a model to condense what sessions and nights have left since the last dream
// into a narrative and into lasting preferences, themes and open threads, checks the
// answer and applies it as memories of kind dream.
//
// A run is one or more chunks, each of as much as fits one question, the oldest first.
// Its steps have a file each: trigger says when, gather reads the material, propose
// asks, check tries the answer, decide compares the items with what is remembered, apply
// writes. What is asked about is saved before it is asked, and answers are kept: whoever
// continues a dream that was interrupted does not pay twice.
package dream

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"reverie/internal/decide"
	"reverie/internal/llm"
	"reverie/internal/pipeline"
	"reverie/internal/reverie"
	"reverie/prompts"
)

// Store is what dreams read and write. Each method is one transaction; those that
// take a lease refuse it, with [reverie.ErrLeaseLost], once another holder has it.
type Store interface {
	Group(ctx context.Context, id string) (reverie.Group, error)
	GatherDream(ctx context.Context, q reverie.DreamQuery) (reverie.DreamState, error)
	// EvidenceOf is what lineages rest on now, by lineage: the messages of all their
	// versions, each once, oldest first.
	EvidenceOf(ctx context.Context, groupID string, lineageIDs []string) (map[string][]reverie.Evidence, error)
	pipeline.Ledger
	// ResumeDream settles runs that are over but for their end, and returns the dream
	// that was interrupted, if there is one, and the chunk that was not applied and of
	// whose material anything is new still: of that dream, else of one that was deferred
	// or failed.
	ResumeDream(ctx context.Context, lease reverie.Lease) (*reverie.Run, *reverie.Chunk, error)
	Candidates(ctx context.Context, q reverie.CandidateQuery) ([][]reverie.Near, error)
	Apply(ctx context.Context, lease reverie.Lease, plan reverie.Plan) ([]reverie.Change, error)
}

// Limits bounds a dream.
type Limits struct {
	MaxInputTokens  int     // estimated tokens of one question
	MaxOutputTokens int     // of an answer
	MaxItems        int     // new ones of one answer
	MaxActive       int     // items that a group remembers; beyond it the weakest is archived for a new one
	MaxShown        int     // memories of the group that were taken in before and are shown as context
	MinConfidence   float64 // 0..1
	HoldRatio       float64 // share of the group's active memories that a dream may rewrite or delete
	HoldMin         int     // but always at least so many
}

// Pipeline dreams. Its fields are set once; it is safe for concurrent use on
// different groups.
type Pipeline struct {
	Store              Store
	Model              pipeline.Model
	Prompts            *prompts.Set
	Journal            llm.Journal // nil: answers are not kept
	Decider            decide.Decider
	Embeddings         pipeline.Embeddings // nil: statements are stored without vectors
	EmbeddingsOptional bool
	Limits             Limits
	Rule               reverie.DreamRule // of groups that do not say otherwise
	Now                func() time.Time
	Log                *slog.Logger
	Progress           func(memories int) // taken in so far, after each chunk; nil: nobody watches
	// Phase is told when a step begins; it returns the step's context and what to
	// call at its end. nil: nobody watches.
	Phase func(ctx context.Context, name string) (context.Context, func(error))
	// Refused is told by which rule a line of an answer was refused, or why the reader passed it
	// over. nil: nobody watches.
	Refused func(reason string)
}

// Request says of what to dream.
type Request struct {
	GroupID string
	// Due dreams only if the group's rule says so under the lease, and of sessions that
	// have ended; otherwise of everything that is new.
	Due       bool
	SessionID string // not Due: up to this session only; "" = all
	DryRun    bool   // plan the first chunk only: nothing is written but call rows and cached embeddings
}

// Result is what a run did, as far as it came. Its Changes leave that of the narrative
// out.
type Result struct {
	pipeline.Result
	SessionID string   // that it reaches up to
	Reason    string   // why it was due, "" where it was asked for
	None      string   // why there was no dream; "" where there was one
	Narrative string   // as it was renewed now, "" if it was not
	Closed    []string // of Changes, the ids of the versions that close a todo
}

// purposeDream is what calls of this job are for, in the ledger.
const purposeDream = "dream"

// errGone ends a dream that was interrupted, and of whose material nothing is new any more.
var errGone = errors.New("it was interrupted, and nothing is new any more of what it was about")

// run is one run under way.
type run struct {
	*Pipeline
	recorder pipeline.RunRecorder
	req      Request

	now    time.Time
	query  reverie.DreamQuery
	resume *reverie.Chunk // begun before, and not applied
	limit  int            // sources of the next chunk at most; halved when an answer is cut off; 0 is no limit
	asker  *llm.Asker     // nil until the run has been started
	result Result
}

// Run dreams, if there is anything to dream of. The hold is nil exactly for a dry
// run. That there was no dream is no error: the result says why. It is filled as far
// as the run came, also beside an error, whose kind says what happened:
// [reverie.ErrNotFound], [reverie.ErrDeferred], [reverie.ErrConfiguration],
// [reverie.ErrUnusable], [reverie.ErrConflict], [reverie.ErrLeaseLost]. What was not
// applied stays new.
func (p *Pipeline) Run(ctx context.Context, hold pipeline.LeaseHolder, req Request) (Result, error) {
	r := &run{Pipeline: p, req: req, now: p.Now().UTC(),
		recorder: pipeline.RunRecorder{Ledger: p.Store, Now: p.Now, Log: p.Log, Watch: p.Phase, Refused: p.Refused,
			Row: reverie.Run{GroupID: req.GroupID}}}
	r.result = Result{Result: pipeline.Result{GroupID: req.GroupID, At: r.now, DryRun: req.DryRun}}
	err := r.begin(ctx, hold)
	for more := true; more && err == nil; {
		more, err = r.chunk(ctx)
	}
	return r.finish(ctx, err)
}

// begin takes up a dream of the group that was interrupted.
func (r *run) begin(ctx context.Context, hold pipeline.LeaseHolder) error {
	r.query = reverie.DreamQuery{GroupID: r.req.GroupID, Through: r.req.SessionID}
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
	if row != nil {
		r.recorder.Resume(*row)
		r.query.Through, r.result.RunID, r.result.Reason = row.SessionID, row.ID, interrupted
	}
	return nil
}

// chunk takes what fits a question through all steps, and tells whether there may be more.
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
		more := (len(s.left) > 0 || s.taken) && !r.req.DryRun
		return more, r.apply(ctx, plan, !more)
	})
}

// open prepares to ask on behalf of the run, which is written with its first chunk.
func (r *run) open(ctx context.Context, s *chunkInput) error {
	st := &r.recorder.Stats
	if s.no = st.Chunks + 1; !r.recorder.Began && r.recorder.Row.ID == "" {
		st.Base, st.Kept = len(s.state.Items), len(s.state.Items)
	}
	row := r.recorder.Row
	row.Job, row.Model = reverie.JobDream, r.Model.Name()
	row.PromptVersion, row.PromptSHA256 = r.Prompts.Version(prompts.Dream, s.language)
	if row.SessionID == "" {
		row.SessionID = s.through
		row.WindowSince, row.WindowUntil = s.window(r.now)
	}
	r.recorder.Begin(row)
	if err := r.saveChunk(ctx, s, reverie.ChunkOpen); err != nil {
		return err
	}
	r.result.RunID, r.result.SessionID = r.recorder.Row.ID, row.SessionID
	if r.asker == nil {
		r.asker = r.recorder.Asker(r.Model, r.Journal, purposeDream)
	}
	return nil
}

func (r *run) saveChunk(ctx context.Context, s *chunkInput, status reverie.ChunkStatus) error {
	return r.recorder.Save(ctx, reverie.Chunk{No: s.no, MemoryIDs: s.ids(), Status: status})
}

// finish records the run's end and completes the result.
func (r *run) finish(ctx context.Context, err error) (Result, error) {
	end := err
	if r.result.None != "" && err == nil { // of one that was interrupted
		end = errGone
	}
	if ended := r.recorder.End(ctx, end); ended != errGone {
		err = ended
	}
	if r.recorder.Complete(&r.result.Result, err); r.result.None != "" && err == nil {
		r.result.RunID, r.result.Reason, r.result.Stats = "", "", reverie.Stats{}
	}
	return r.result, err
}
