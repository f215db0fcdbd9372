package batch

import (
	"context"

	"reverie/internal/llm"
	"reverie/internal/reverie"
)

// Direct is the [llm.Queue] of runs that were begun with batches and go on without. It uses answers that have come,
// waits for submitted questions, and has all others asked directly.
type Direct struct{ Store DirectStore }

// DirectStore is the part of a [Store] that Direct needs.
type DirectStore interface {
	WithholdQuestion(ctx context.Context, q reverie.BatchQuestion) (reverie.BatchQuestion, error)
	KeepAnswer(ctx context.Context, groupID, id, answer, finish string) error
}

// Put implements [llm.Queue]. It stores nothing.
func (d Direct) Put(ctx context.Context, m *llm.Model, meta llm.Meta, req llm.Request) (llm.Queued, error) {
	q, err := d.Store.WithholdQuestion(ctx, reverie.BatchQuestion{GroupID: meta.GroupID, RunID: *meta.RunID, Nth: meta.Nth,
		InputSHA256: llm.InputSHA256(m.Name(), req.System, req.User)})
	return stateOf(q), err
}

// Keep implements [llm.Queue].
func (d Direct) Keep(ctx context.Context, meta llm.Meta, id string, resp llm.Response) error {
	return d.Store.KeepAnswer(ctx, meta.GroupID, id, resp.Text, string(resp.Finish))
}

// stateOf returns the state of a question, the zero value if there is none.
func stateOf(q reverie.BatchQuestion) llm.Queued {
	asked := llm.Queued{ID: q.ID}
	switch q.Status {
	case reverie.QuestionAnswered:
		asked.Response = &llm.Response{Text: q.Answer, Finish: llm.Finish(q.Finish), Tier: llm.TierBatch}
	case reverie.QuestionFailed:
		asked.Fault = llm.Fault(q.Fault)
	case reverie.QuestionAgain, "":
		asked.Direct = true
	}
	return asked
}

// Collect looks once at the unfinished batches of the job, and takes the answers that have come. It is for a job that
// does not wait for batches.
func (w *Waves) Collect(ctx context.Context) {
	if _, _, _, err := w.step(ctx); err != nil && ctx.Err() == nil {
		w.Log.Warn("a batch could not be looked at; the job goes on without it", "job", w.Job, "error", err)
	}
}
