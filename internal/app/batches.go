package app

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/jonboulle/clockwork"

	"reverie/internal/batch"
	"reverie/internal/llm"
	"reverie/internal/reverie"
	"reverie/jobs"
	"reverie/store/batches"
)

// batchModels returns the models of a job whose providers have batches. The job's first model must be among them.
func (a *App) batchModels(job reverie.Job) (list []*llm.Model, err error) {
	for i, use := range modelUses(a.Config, job) {
		m, s, err := a.Model(use)
		if err != nil {
			return nil, err
		}
		if m.Batcher() == nil && i == 0 {
			return nil, fmt.Errorf("%s does not answer batches: leave out --batch and [schedule] batch, or set [llm] provider "+
				"to openai, gemini or anthropic: %w", s.Provider, reverie.ErrConfiguration)
		}
		if m.Batcher() != nil && !slices.ContainsFunc(list, func(o *llm.Model) bool { return o.Name() == m.Name() }) {
			list = append(list, m)
		}
	}
	return list, nil
}

// Batches returns the batches of the database.
func (a *App) Batches() *batches.Batches { return batches.New(a.Store.DB()) }

// inBatches estimates the spend of all processes' running batches.
func (a *App) inBatches(ctx context.Context) (total reverie.Spend, err error) {
	prices, err := llm.ParsePrices(a.Config.LLM.Prices)
	if err != nil {
		return total, err
	}
	out, err := a.Batches().QuestionsOut(ctx)
	for _, o := range out {
		answer, err := a.usualAnswer(ctx, o.Purpose, o.Model)
		if err != nil {
			return total, err
		}
		total = total.Plus(llm.InBatches(prices, o.Model, o.Questions,
			llm.Usage{InputTokens: o.Tokens, OutputTokens: int(answer) * o.Questions}))
	}
	return total, err
}

// inWaves works on everything that is due. It takes as many waves as there are questions that depend on earlier
// answers. The summary covers all waves.
func (f *FanOut) inWaves(ctx context.Context, stop <-chan struct{}) (total jobs.Summary, err error) {
	w, err := f.waves()
	if err != nil {
		return total, err
	}
	var last error
	f.Since = f.Clock()
	err = w.Run(ctx, stop, func(ctx context.Context) (over bool) {
		var s jobs.Summary
		s, last = f.once(ctx, stop)
		total.Next(s)
		partial := (*jobs.PartialError)(nil)
		return last != nil && !errors.As(last, &partial) || ctx.Err() != nil
	})
	partial := (*jobs.PartialError)(nil)
	switch {
	case last != nil && !errors.As(last, &partial):
		return total, last
	case err != nil && !reverie.Passing(err):
		return total, err
	case err != nil:
		total.Stopped = err.Error()
	}
	if total.Failed > 0 || total.Deferred > 0 || total.Stopped != "" {
		e := &jobs.PartialError{Summary: total}
		if partial != nil {
			e.Err = partial.Err
		}
		return total, e
	}
	return total, nil
}

// waves returns the waves that ask the job's questions.
func (f *FanOut) waves() (*batch.Waves, error) {
	models, err := f.batchModels(f.Job)
	if err != nil {
		return nil, err
	}
	l := f.Config.LLM
	return batch.New(f.Batches(), batch.Options{Job: f.Job, Models: models, Deadline: l.BatchDeadline.Duration,
		Poll: l.BatchPoll.Duration, Tokens: l.BatchTokens, Holder: f.Runner.Leases.Holder, Clock: clockwork.NewRealClock(),
		Log: f.App.Log, Tell: f.progress, Count: f.metrics.BatchQuestions,
		Called: f.metrics.Called, Answer: f.usualAnswer}), nil
}

// collect fetches answers of batches for a job that now asks directly.
func (f *FanOut) collect(ctx context.Context) error {
	out, err := f.Batches().BatchesOut(ctx, f.Job)
	if err != nil || len(out) == 0 {
		return err
	}
	w, err := f.waves()
	if errors.Is(err, reverie.ErrConfiguration) { // another model is configured now, so its questions differ
		return nil
	}
	if err == nil {
		w.Collect(ctx)
	}
	return err
}

// progress reports the progress of batches.
func (a *App) progress(text string) {
	if a.Resident {
		a.Log.Info(text)
		return
	}
	a.Notify("reverie: " + text)
}

// CancelBatch asks the provider of a running batch to stop. Its answers so far are used.
func (a *App) CancelBatch(ctx context.Context, id string) (reverie.Batch, error) {
	b, err := a.Batches().GetBatch(ctx, id)
	if err != nil {
		return b, err
	}
	return a.canceller(b.Job).Cancel(ctx, b)
}

// canceller returns waves that ask nothing. Without the models of its batches they cancel fewer.
func (a *App) canceller(job reverie.Job) *batch.Waves {
	models, _ := a.batchModels(job)
	return batch.New(a.Batches(), batch.Options{Job: job, Models: models})
}

// CancelRun ends a run that waits for answers of batches. What it has not processed stays pending, and a batch
// without another waiting run is cancelled.
func (a *App) CancelRun(ctx context.Context, run reverie.Run) (reply reverie.RejectReply, err error) {
	err = a.Leases().With(ctx, run.GroupID, func(ctx context.Context, held *jobs.Held) error {
		d, err := a.Store.Run(ctx, run.GroupID, run.ID) // as the last process left it
		if err != nil {
			return err
		}
		if run = d.Run; run.Status != reverie.RunRunning {
			return fmt.Errorf("run %s is %s, and only one that waits can be cancelled: %w", run.ID, run.Status, reverie.ErrConflict)
		}
		run.Status, run.Error = reverie.RunDeferred, "cancelled by a person; its messages stay pending"
		reply = reverie.RejectReply{Success: true, RunID: run.ID}
		reply.Requeued, err = a.Store.FinishRun(ctx, held.Lease(), run)
		return err
	})
	if err != nil {
		return reply, err
	}
	w := a.canceller(run.Job)
	list, err := w.Unwanted(ctx)
	for _, b := range list {
		_, failed := w.Cancel(ctx, b)
		err = errors.Join(err, failed)
	}
	return reply, err
}
