package pgtest

import (
	"context"
	"errors"
	"iter"
	"slices"
	"time"

	"reverie/internal/reverie"
	"reverie/store"
)

// Mortal is a store whose process dies: after Left further calls it does nothing
// any more, and says so. Below zero it lives.
type Mortal struct {
	*store.Store
	Left   int
	Calls  []string          // done so far
	Before func(call string) // told of each call; nil: nobody is
}

// ErrDead is the error of every call after the end.
var ErrDead = errors.New("the process is dead")

func (m *Mortal) step(call string) error {
	if m.Before != nil {
		m.Before(call)
	}
	if m.Left == 0 {
		return ErrDead
	}
	m.Left--
	m.Calls = append(m.Calls, call)
	return nil
}

// Ends are the first and the last of each sort of the calls done so far, by their
// places: where to die next.
func (m *Mortal) Ends() iter.Seq2[int, string] {
	return func(yield func(int, string) bool) {
		for n, call := range m.Calls {
			within := slices.Contains(m.Calls[:n], call) && slices.Contains(m.Calls[n+1:], call)
			if !within && !yield(n, call) {
				return
			}
		}
	}
}

// alive makes a call of a store that still lives.
func alive[V any](m *Mortal, call string, fn func() (V, error)) (V, error) {
	if err := m.step(call); err != nil {
		var none V
		return none, err
	}
	return fn()
}

func (m *Mortal) live(call string, fn func() error) error {
	if err := m.step(call); err != nil {
		return err
	}
	return fn()
}

func (m *Mortal) Gather(ctx context.Context, q reverie.GatherQuery) (reverie.State, error) {
	return alive(m, "Gather", func() (reverie.State, error) { return m.Store.Gather(ctx, q) })
}

func (m *Mortal) NearestHeads(ctx context.Context, groupID string, kind reverie.Kind, model string,
	probes [][]float32, limit int) ([]string, error) {
	return alive(m, "NearestHeads", func() ([]string, error) {
		return m.Store.NearestHeads(ctx, groupID, kind, model, probes, limit)
	})
}

func (m *Mortal) GatherEntities(ctx context.Context, q reverie.EntityQuery) (reverie.EntityState, error) {
	return alive(m, "GatherEntities", func() (reverie.EntityState, error) { return m.Store.GatherEntities(ctx, q) })
}

func (m *Mortal) EntitiesByID(ctx context.Context, groupID string, ids []string) ([]reverie.Entity, error) {
	return alive(m, "EntitiesByID", func() ([]reverie.Entity, error) { return m.Store.EntitiesByID(ctx, groupID, ids) })
}

func (m *Mortal) ApplyEntities(ctx context.Context, lease reverie.Lease,
	plan reverie.EntityPlan) ([]reverie.EntityChange, error) {
	return alive(m, "ApplyEntities", func() ([]reverie.EntityChange, error) {
		return m.Store.ApplyEntities(ctx, lease, plan)
	})
}

func (m *Mortal) Upkeep(ctx context.Context, q reverie.UpkeepQuery) (reverie.Upkeep, error) {
	return alive(m, "Upkeep", func() (reverie.Upkeep, error) { return m.Store.Upkeep(ctx, q) })
}

func (m *Mortal) FadingMemories(ctx context.Context, q reverie.FadingQuery) ([]reverie.Fading, error) {
	return alive(m, "FadingMemories", func() ([]reverie.Fading, error) { return m.Store.FadingMemories(ctx, q) })
}

func (m *Mortal) Fade(ctx context.Context, lease reverie.Lease, run reverie.Run, fades []reverie.Fading) (reverie.Stats,
	[]reverie.Change, error) {
	if err := m.step("Fade"); err != nil {
		return reverie.Stats{}, nil, err
	}
	return m.Store.Fade(ctx, lease, run, fades)
}

func (m *Mortal) Prune(ctx context.Context, lease reverie.Lease, batch reverie.PruneBatch) (reverie.Pruned, time.Time,
	error) {
	if err := m.step("Prune"); err != nil {
		return reverie.Pruned{}, time.Time{}, err
	}
	return m.Store.Prune(ctx, lease, batch)
}

func (m *Mortal) GatherSession(ctx context.Context, q reverie.SessionQuery) (reverie.SessionState, error) {
	return alive(m, "GatherSession", func() (reverie.SessionState, error) { return m.Store.GatherSession(ctx, q) })
}

func (m *Mortal) GatherFold(ctx context.Context, groupID, sessionID string) (reverie.FoldState, error) {
	return alive(m, "GatherFold", func() (reverie.FoldState, error) { return m.Store.GatherFold(ctx, groupID, sessionID) })
}

func (m *Mortal) NoteFold(ctx context.Context, groupID, sessionID string, rule reverie.ParkRule) (time.Time, error) {
	return alive(m, "NoteFold", func() (time.Time, error) { return m.Store.NoteFold(ctx, groupID, sessionID, rule) })
}

func (m *Mortal) ApplyFold(ctx context.Context, lease reverie.Lease, fold reverie.SessionFold) error {
	return m.live("ApplyFold", func() error { return m.Store.ApplyFold(ctx, lease, fold) })
}

func (m *Mortal) GatherDream(ctx context.Context, q reverie.DreamQuery) (reverie.DreamState, error) {
	return alive(m, "GatherDream", func() (reverie.DreamState, error) { return m.Store.GatherDream(ctx, q) })
}

func (m *Mortal) EvidenceOf(ctx context.Context, groupID string, lineageIDs []string) (map[string][]reverie.Evidence,
	error) {
	return alive(m, "EvidenceOf", func() (map[string][]reverie.Evidence, error) {
		return m.Store.EvidenceOf(ctx, groupID, lineageIDs)
	})
}

func (m *Mortal) ResumeDream(ctx context.Context, lease reverie.Lease) (*reverie.Run, *reverie.Chunk, error) {
	if err := m.step("ResumeDream"); err != nil {
		return nil, nil, err
	}
	return m.Store.ResumeDream(ctx, lease)
}

func (m *Mortal) Resume(ctx context.Context, lease reverie.Lease, job reverie.Job, since,
	until time.Time) (*reverie.Run, *reverie.Chunk, error) {
	if err := m.step("Resume"); err != nil {
		return nil, nil, err
	}
	return m.Store.Resume(ctx, lease, job, since, until)
}

func (m *Mortal) ResumeSession(ctx context.Context, lease reverie.Lease, job reverie.Job,
	sessionID string) (*reverie.Run, *reverie.Chunk, error) {
	if err := m.step("ResumeSession"); err != nil {
		return nil, nil, err
	}
	return m.Store.ResumeSession(ctx, lease, job, sessionID)
}

func (m *Mortal) SoFar(ctx context.Context, groupID, runID string) ([]reverie.Change, []reverie.Refusal,
	[]reverie.HeldPlan, error) {
	if err := m.step("SoFar"); err != nil {
		return nil, nil, nil, err
	}
	return m.Store.SoFar(ctx, groupID, runID)
}

func (m *Mortal) StartRun(ctx context.Context, lease reverie.Lease, run reverie.Run) (reverie.Run, error) {
	return alive(m, "StartRun", func() (reverie.Run, error) { return m.Store.StartRun(ctx, lease, run) })
}

func (m *Mortal) OpenRun(ctx context.Context, lease reverie.Lease, run reverie.Run, chunk reverie.Chunk,
	before string) (reverie.Run, error) {
	return alive(m, "OpenRun", func() (reverie.Run, error) { return m.Store.OpenRun(ctx, lease, run, chunk, before) })
}

func (m *Mortal) SaveChunk(ctx context.Context, lease reverie.Lease, chunk reverie.Chunk) error {
	return m.live("SaveChunk", func() error { return m.Store.SaveChunk(ctx, lease, chunk) })
}

func (m *Mortal) FinishRun(ctx context.Context, lease reverie.Lease, run reverie.Run) (int, error) {
	return alive(m, "FinishRun", func() (int, error) { return m.Store.FinishRun(ctx, lease, run) })
}

func (m *Mortal) CountPending(ctx context.Context, groupID string, since, until time.Time) (int, error) {
	return alive(m, "CountPending", func() (int, error) { return m.Store.CountPending(ctx, groupID, since, until) })
}

func (m *Mortal) Apply(ctx context.Context, lease reverie.Lease, plan reverie.Plan) ([]reverie.Change, error) {
	return alive(m, "Apply", func() ([]reverie.Change, error) { return m.Store.Apply(ctx, lease, plan) })
}

func (m *Mortal) Candidates(ctx context.Context, q reverie.CandidateQuery) ([][]reverie.Near, error) {
	return alive(m, "Candidates", func() ([][]reverie.Near, error) { return m.Store.Candidates(ctx, q) })
}

func (m *Mortal) Answers(ctx context.Context, groupID, runID, purpose string) (map[string]string, error) {
	return alive(m, "Answers", func() (map[string]string, error) { return m.Store.Answers(ctx, groupID, runID, purpose) })
}

func (m *Mortal) SaveAnswer(ctx context.Context, lease reverie.Lease, a reverie.Answer) error {
	return m.live("SaveAnswer", func() error { return m.Store.SaveAnswer(ctx, lease, a) })
}

func (m *Mortal) AdoptAnswers(ctx context.Context, lease reverie.Lease, groupID, from, to string) error {
	return m.live("AdoptAnswers", func() error { return m.Store.AdoptAnswers(ctx, lease, groupID, from, to) })
}

func (m *Mortal) RecordCall(ctx context.Context, call reverie.Call) error {
	return m.live("RecordCall", func() error { return m.Store.RecordCall(ctx, call) })
}

func (m *Mortal) CachedEmbeddings(ctx context.Context, groupID, model string, hashes []string) (map[string][]float32,
	error) {
	return alive(m, "CachedEmbeddings", func() (map[string][]float32, error) {
		return m.Store.CachedEmbeddings(ctx, groupID, model, hashes)
	})
}

func (m *Mortal) SaveEmbeddings(ctx context.Context, groupID, model string, vectors map[string][]float32) error {
	return m.live("SaveEmbeddings", func() error { return m.Store.SaveEmbeddings(ctx, groupID, model, vectors) })
}
