// Package dream looks back when a group has gone quiet, or sessions have piled up:
// it asks a model to condense what sessions and nights have left since the last dream
// into a narrative and into lasting preferences, themes and open threads, checks the
// answer and applies it as memories of kind dream.
//
// A run is one dream, of everything that is new up to a session, written in one
// transaction. Its steps have a file each: trigger says when, gather reads the
// material, pack divides it into questions that fit a budget, propose asks them, parse
// and check read and try the answers, combine makes one dream of several, decide
// compares the items with what is remembered, apply writes. What is asked about is
// saved before it is asked, and answers are kept: whoever continues a dream that was
// interrupted does not pay twice.
package dream

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
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
	// that was interrupted, if there is one, and the chunk of a dream that was not
	// applied and of whose material anything is new still: of that one, else of one that
	// was deferred or failed.
	ResumeDream(ctx context.Context, lease reverie.Lease) (*reverie.Run, *reverie.Chunk, error)
	Candidates(ctx context.Context, q reverie.CandidateQuery) ([][]reverie.Hit, error)
	Apply(ctx context.Context, lease reverie.Lease, plan reverie.Plan) ([]reverie.Change, error)
}

// Limits bounds a dream.
type Limits struct {
	MaxInputTokens  int     // estimated tokens of one question
	MaxOutputTokens int     // of an answer
	MaxItems        int     // new ones of one dream
	MaxActive       int     // items that a group remembers; creates beyond are refused
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
	Progress           func(Progress) // nil: nobody watches
	// Phase is told when a step begins; it returns the step's context and what to
	// call at its end. nil: nobody watches.
	Phase func(ctx context.Context, name string) (context.Context, func(error))
}

// Progress is how far a dream has come, after each question.
type Progress struct {
	GroupID   string
	Questions int // answered
	Of        int // as far as is known
}

// Request says of what to dream.
type Request struct {
	GroupID string
	// Due dreams only if the group's rule says so under the lease, and of sessions that
	// have ended; otherwise of everything that is new.
	Due       bool
	SessionID string // not Due: up to this session only; "" = all
	DryRun    bool   // nothing is written but call rows and cached embeddings
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
	parts, err := pipeline.Then(ctx, &r.recorder, "propose", s, r.propose)
	if err != nil {
		return err
	}
	whole, err := pipeline.Step(ctx, &r.recorder, "combine", func(ctx context.Context) (part, error) {
		return r.combine(ctx, s, parts)
	})
	if err != nil {
		return err
	}
	plan, err := pipeline.Step(ctx, &r.recorder, "decide", func(ctx context.Context) (reverie.Plan, error) {
		return r.decide(ctx, s, whole)
	})
	if err != nil {
		return err
	}
	_, err = pipeline.Then(ctx, &r.recorder, "apply", plan, r.apply)
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
