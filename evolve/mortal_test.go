package evolve

import (
	"context"
	"errors"
	"time"

	"reverie"
	"reverie/prompts"
	"reverie/store"
)

type memoryView = prompts.MemoryView

// mortal is a store whose process dies: after left further calls it does nothing
// any more, and says so. Below zero it lives.
type mortal struct {
	*store.Store
	left   int
	calls  []string
	before func(call string) // told of each call
}

var errDead = errors.New("the process is dead")

func (m *mortal) step(call string) error {
	if m.before != nil {
		m.before(call)
	}
	if m.left == 0 {
		return errDead
	}
	m.left--
	m.calls = append(m.calls, call)
	return nil
}

// alive makes a call of a store that still lives.
func alive[V any](m *mortal, call string, fn func() (V, error)) (V, error) {
	if err := m.step(call); err != nil {
		var none V
		return none, err
	}
	return fn()
}

func (m *mortal) Gather(ctx context.Context, q reverie.GatherQuery) (reverie.State, error) {
	return alive(m, "Gather", func() (reverie.State, error) { return m.Store.Gather(ctx, q) })
}

func (m *mortal) NearestHeads(ctx context.Context, groupID string, kind reverie.Kind, model string, probes [][]float32, limit int) ([]string, error) {
	return alive(m, "NearestHeads", func() ([]string, error) { return m.Store.NearestHeads(ctx, groupID, kind, model, probes, limit) })
}

func (m *mortal) Resume(ctx context.Context, lease reverie.Lease, job reverie.Job, since, until time.Time) (*reverie.Run, *reverie.Chunk, error) {
	if err := m.step("Resume"); err != nil {
		return nil, nil, err
	}
	return m.Store.Resume(ctx, lease, job, since, until)
}

func (m *mortal) StartRun(ctx context.Context, lease reverie.Lease, run reverie.Run) (reverie.Run, error) {
	return alive(m, "StartRun", func() (reverie.Run, error) { return m.Store.StartRun(ctx, lease, run) })
}

func (m *mortal) SaveChunk(ctx context.Context, lease reverie.Lease, chunk reverie.Chunk) error {
	return m.live("SaveChunk", func() error { return m.Store.SaveChunk(ctx, lease, chunk) })
}

func (m *mortal) FinishRun(ctx context.Context, lease reverie.Lease, run reverie.Run) (int, error) {
	return alive(m, "FinishRun", func() (int, error) { return m.Store.FinishRun(ctx, lease, run) })
}

func (m *mortal) CountPending(ctx context.Context, groupID string, since, until time.Time) (int, error) {
	return alive(m, "CountPending", func() (int, error) { return m.Store.CountPending(ctx, groupID, since, until) })
}

func (m *mortal) Apply(ctx context.Context, lease reverie.Lease, plan reverie.Plan) ([]reverie.Change, error) {
	return alive(m, "Apply", func() ([]reverie.Change, error) { return m.Store.Apply(ctx, lease, plan) })
}

func (m *mortal) Candidates(ctx context.Context, q reverie.CandidateQuery) ([][]reverie.Hit, error) {
	return alive(m, "Candidates", func() ([][]reverie.Hit, error) { return m.Store.Candidates(ctx, q) })
}

func (m *mortal) Answers(ctx context.Context, groupID, runID, purpose string) (map[string]string, error) {
	return alive(m, "Answers", func() (map[string]string, error) { return m.Store.Answers(ctx, groupID, runID, purpose) })
}

func (m *mortal) SaveAnswer(ctx context.Context, lease reverie.Lease, a reverie.Answer) error {
	return m.live("SaveAnswer", func() error { return m.Store.SaveAnswer(ctx, lease, a) })
}

func (m *mortal) RecordCall(ctx context.Context, call reverie.Call) error {
	return m.live("RecordCall", func() error { return m.Store.RecordCall(ctx, call) })
}

func (m *mortal) CachedEmbeddings(ctx context.Context, groupID, model string, hashes []string) (map[string][]float32, error) {
	return alive(m, "CachedEmbeddings", func() (map[string][]float32, error) { return m.Store.CachedEmbeddings(ctx, groupID, model, hashes) })
}

func (m *mortal) SaveEmbeddings(ctx context.Context, groupID, model string, vectors map[string][]float32) error {
	return m.live("SaveEmbeddings", func() error { return m.Store.SaveEmbeddings(ctx, groupID, model, vectors) })
}

func (m *mortal) live(call string, fn func() error) error {
	if err := m.step(call); err != nil {
		return err
	}
	return fn()
}

// pipelineOf is the stage's pipeline with everything kept by m.
func (s *stage) pipelineOf(m *mortal, limits Limits) *Pipeline {
	s.Helper()
	p := s.pipeline(m, m, m)
	p.Limits = limits
	return p
}

func limitsOf(p *Pipeline) Limits { return p.Limits }
