package storetest

import (
	"context"
	"errors"

	"reverie"
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

func (m *Mortal) GatherSession(ctx context.Context, q reverie.SessionQuery) (reverie.SessionState, error) {
	return alive(m, "GatherSession", func() (reverie.SessionState, error) { return m.Store.GatherSession(ctx, q) })
}

func (m *Mortal) GatherFold(ctx context.Context, groupID, sessionID string) (reverie.FoldState, error) {
	return alive(m, "GatherFold", func() (reverie.FoldState, error) { return m.Store.GatherFold(ctx, groupID, sessionID) })
}

func (m *Mortal) ApplyFold(ctx context.Context, lease reverie.Lease, fold reverie.SessionFold) error {
	return m.live("ApplyFold", func() error { return m.Store.ApplyFold(ctx, lease, fold) })
}

func (m *Mortal) ResumeSession(ctx context.Context, lease reverie.Lease, job reverie.Job, sessionID string) (*reverie.Run, *reverie.Chunk, error) {
	if err := m.step("ResumeSession"); err != nil {
		return nil, nil, err
	}
	return m.Store.ResumeSession(ctx, lease, job, sessionID)
}

func (m *Mortal) SoFar(ctx context.Context, groupID, runID string) ([]reverie.Change, []reverie.Refusal, []reverie.HeldPlan, error) {
	if err := m.step("SoFar"); err != nil {
		return nil, nil, nil, err
	}
	return m.Store.SoFar(ctx, groupID, runID)
}

func (m *Mortal) StartRun(ctx context.Context, lease reverie.Lease, run reverie.Run) (reverie.Run, error) {
	return alive(m, "StartRun", func() (reverie.Run, error) { return m.Store.StartRun(ctx, lease, run) })
}

func (m *Mortal) SaveChunk(ctx context.Context, lease reverie.Lease, chunk reverie.Chunk) error {
	return m.live("SaveChunk", func() error { return m.Store.SaveChunk(ctx, lease, chunk) })
}

func (m *Mortal) FinishRun(ctx context.Context, lease reverie.Lease, run reverie.Run) (int, error) {
	return alive(m, "FinishRun", func() (int, error) { return m.Store.FinishRun(ctx, lease, run) })
}

func (m *Mortal) Apply(ctx context.Context, lease reverie.Lease, plan reverie.Plan) ([]reverie.Change, error) {
	return alive(m, "Apply", func() ([]reverie.Change, error) { return m.Store.Apply(ctx, lease, plan) })
}

func (m *Mortal) Candidates(ctx context.Context, q reverie.CandidateQuery) ([][]reverie.Hit, error) {
	return alive(m, "Candidates", func() ([][]reverie.Hit, error) { return m.Store.Candidates(ctx, q) })
}

func (m *Mortal) Answers(ctx context.Context, groupID, runID, purpose string) (map[string]string, error) {
	return alive(m, "Answers", func() (map[string]string, error) { return m.Store.Answers(ctx, groupID, runID, purpose) })
}

func (m *Mortal) SaveAnswer(ctx context.Context, lease reverie.Lease, a reverie.Answer) error {
	return m.live("SaveAnswer", func() error { return m.Store.SaveAnswer(ctx, lease, a) })
}

func (m *Mortal) RecordCall(ctx context.Context, call reverie.Call) error {
	return m.live("RecordCall", func() error { return m.Store.RecordCall(ctx, call) })
}

func (m *Mortal) CachedEmbeddings(ctx context.Context, groupID, model string, hashes []string) (map[string][]float32, error) {
	return alive(m, "CachedEmbeddings", func() (map[string][]float32, error) { return m.Store.CachedEmbeddings(ctx, groupID, model, hashes) })
}

func (m *Mortal) SaveEmbeddings(ctx context.Context, groupID, model string, vectors map[string][]float32) error {
	return m.live("SaveEmbeddings", func() error { return m.Store.SaveEmbeddings(ctx, groupID, model, vectors) })
}
