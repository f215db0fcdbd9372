// Package dream runs when a group has gone quiet, or when sessions have piled up. It asks a model to condense what
// sessions and nights have added since the last dream: into a narrative, and into lasting preferences, themes and open
// threads. It checks the answer and applies it as memories of kind dream.
//
// A run is one or more chunks, the oldest material first, each as much as fits one question. Each step has its own
// file. trigger decides when to dream, gather reads the material, and propose asks the model. check verifies the
// answer, decide compares the items with the group's memories, and apply writes. Each chunk is saved before the model
// is asked, and answers are stored. So an interrupted dream that is resumed pays for no answer twice.
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

// Store is what dreams read and write. Each method is one transaction. Methods that take a lease return
// [reverie.ErrLeaseLost] once another holder has it.
type Store interface {
	Group(ctx context.Context, id string) (reverie.Group, error)
	GatherDream(ctx context.Context, q reverie.DreamQuery) (reverie.DreamState, error)
	// EvidenceOf returns the present evidence of lineages, by lineage: the messages of all their versions, each once,
	// oldest first.
	EvidenceOf(ctx context.Context, groupID string, lineageIDs []string) (map[string][]reverie.Evidence, error)
	pipeline.Ledger
	// ResumeDream ends runs whose work is complete. It returns the interrupted dream, if there is one, and its chunk
	// that was not applied. Without an interrupted dream the chunk may be that of a deferred or failed one. A chunk is
	// returned only if some of its material is still new.
	ResumeDream(ctx context.Context, lease reverie.Lease) (*reverie.Run, *reverie.Chunk, error)
	Candidates(ctx context.Context, q reverie.CandidateQuery) ([][]reverie.Near, error)
	Apply(ctx context.Context, lease reverie.Lease, plan reverie.Plan) ([]reverie.Change, error)
}

// Limits bounds a dream.
type Limits struct {
	MaxInputTokens  int     // estimated tokens of one question
	MaxOutputTokens int     // tokens of an answer
	MaxItems        int     // new items in one answer
	MaxActive       int     // items that a group remembers; beyond it the weakest is archived for a new one
	MaxShown        int     // memories of the group that were taken in before, shown as context
	MinConfidence   float64 // 0..1
	HoldRatio       float64 // share of the group's active memories that a dream may rewrite or delete
	HoldMin         int     // a dream may always rewrite or delete this many
}

// Pipeline dreams. Its fields are set once; it is safe for concurrent use on
// different groups.
type Pipeline struct {
	Store              Store
	Model              pipeline.Model
	Prompts            *prompts.Set
	Journal            llm.Journal // nil: answers are not stored
	Decider            decide.Decider
	Embeddings         pipeline.Embeddings // nil: statements are stored without vectors
	EmbeddingsOptional bool
	Limits             Limits
	Rule               reverie.DreamRule // for groups without a rule of their own
	Now                func() time.Time
	Log                *slog.Logger
	Progress           func(memories int) // called after each chunk with the memories taken in so far; may be nil
	// Phase is called when a step begins. It returns the context for the step and a function to call at its end. It may
	// be nil.
	Phase func(ctx context.Context, name string) (context.Context, func(error))
	// Refused is called with the rule by which a line was refused, or with the reason why the reader skipped it. It may
	// be nil.
	Refused func(reason string)
}

// Request says what to dream about.
type Request struct {
	GroupID string
	// Due dreams only if the group's rule says so under the lease, and only of sessions that have ended. Otherwise the
	// dream takes everything that is new.
	Due       bool
	SessionID string // only without Due: up to this session; "" = all
	DryRun    bool   // plan the first chunk: writes nothing but call rows and cached embeddings
}

// Result is what a run did, as far as it came. Its Changes do not contain the change of the narrative.
type Result struct {
	pipeline.Result
	SessionID string   // the last session that the dream covers
	Reason    string   // why it was due; "" where a caller asked for it
	None      string   // why there was no dream; "" where there was one
	Narrative string   // the new narrative; "" if it did not change
	Closed    []string // ids of the versions in Changes that close a todo
}

// purposeDream marks the calls of this job in the ledger.
const purposeDream = "dream"

// errNotNew ends an interrupted dream whose material is no longer new.
var errNotNew = errors.New("it was interrupted, and nothing is new any more of what it was about")

// run is one run in progress.
type run struct {
	*Pipeline
	recorder pipeline.RunRecorder
	req      Request

	now    time.Time
	query  reverie.DreamQuery
	resume *reverie.Chunk // begun before, and not applied
	limit  int            // most sources of the next chunk; halved when an answer is cut off; 0: no limit
	asker  *llm.Asker     // nil until the run has started
	result Result
}

// Run dreams, if there is new material. The hold is nil exactly for a dry run. Having no dream is no error: the result
// says why. The result covers the run as far as it came, also beside an error. Material that was not applied stays new.
// Errors include [reverie.ErrNotFound], [reverie.ErrDeferred], [reverie.ErrConfiguration], [reverie.ErrUnusable],
// [reverie.ErrConflict] and [reverie.ErrLeaseLost].
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

// begin resumes an interrupted dream of the group, if there is one.
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

// chunk takes the material of one question through all steps, and reports whether there may be more.
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
		more := (len(s.left) > 0 || s.resumed) && !r.req.DryRun
		return more, r.apply(ctx, plan, !more)
	})
}

// open begins the run, so that it can ask the model. The row of the run is written with its first chunk.
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
	if r.result.None != "" && err == nil { // an interrupted dream
		end = errNotNew
	}
	if ended := r.recorder.End(ctx, end); ended != errNotNew {
		err = ended
	}
	if r.recorder.Complete(&r.result.Result, err); r.result.None != "" && err == nil {
		r.result.RunID, r.result.Reason, r.result.Stats = "", "", reverie.Stats{}
	}
	return r.result, err
}
