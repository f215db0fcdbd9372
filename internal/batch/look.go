package batch

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"

	"reverie/internal/llm"
	"reverie/internal/reverie"
)

// checkBatch continues or cancels one batch, and reports whether it has ended.
func (w *Waves) checkBatch(ctx context.Context, b reverie.Batch, cancel bool) (ended bool, err error) {
	m := w.model(b)
	cancel = cancel || w.Clock.Since(b.CreatedAt) >= w.Deadline
	if b.ProviderID == "" {
		return w.find(ctx, m, b, cancel || b.Status == reverie.BatchCancelling)
	}
	if cancel && b.Status != reverie.BatchCancelling {
		if _, err = w.store.CancellingBatch(ctx, b.ID); err != nil {
			return false, err
		}
		b.Status = reverie.BatchCancelling
	}
	state, err := w.state(ctx, m, b)
	switch {
	case isFault(err, llm.FaultNotFound):
		return true, w.closeBatch(ctx, b, reverie.BatchFailed, "the provider does not know it any more", 1)
	case err == nil && state.Phase != llm.BatchRunning:
		if ended, err = w.collect(ctx, m, b, state); ended || err == nil {
			return ended, err
		}
	}
	if w.isGivenUp(b, err) {
		why := "its answers did not come in time"
		if err != nil {
			w.Log.Warn("a batch is given up at its deadline", "batch_id", b.ID, "model", b.Model, "error", err)
			why += ": " + err.Error()
		}
		return true, w.closeBatch(ctx, b, reverie.BatchExpired, why, 1)
	}
	return false, err
}

// state reads the state of a batch from the provider. It cancels a batch with the status cancelling.
func (w *Waves) state(ctx context.Context, m *llm.Model, b reverie.Batch) (state llm.BatchState, err error) {
	limited, end := w.Within(ctx, callTimeout)
	defer end()
	state, err = m.Batcher().BatchState(limited, b.ProviderID)
	if b.Status == reverie.BatchCancelling && (err != nil || state.Phase == llm.BatchRunning) {
		limited, end := w.Within(ctx, callTimeout)
		defer end()
		err = cmp.Or(err, m.Batcher().CancelBatch(limited, b.ProviderID))
	}
	return state, err
}

// Cancel asks the provider to stop answering an unfinished batch. If the provider may not have received it, the next
// look withdraws it.
func (w *Waves) Cancel(ctx context.Context, b reverie.Batch) (reverie.Batch, error) {
	is, err := w.store.CancellingBatch(ctx, b.ID)
	if err != nil {
		return b, err
	}
	if !is {
		return b, fmt.Errorf("batch %s is %s, and only one that has not ended can be cancelled: %w", b.ID, b.Status,
			reverie.ErrConflict)
	}
	if b.Status = reverie.BatchCancelling; b.ProviderID == "" {
		return b, nil
	}
	m := w.model(b)
	if m == nil {
		return b, fmt.Errorf("batch %s is of %s, which is not configured any more: set it again to cancel the batch: %w", b.ID,
			b.Model, reverie.ErrConfiguration)
	}
	limited, end := w.Within(ctx, callTimeout)
	defer end()
	return b, m.Batcher().CancelBatch(limited, b.ProviderID)
}

// Unwanted returns the unfinished batches of the job that no run waits for.
func (w *Waves) Unwanted(ctx context.Context) ([]reverie.Batch, error) {
	list, wanted, err := w.unfinished(ctx)
	return slices.DeleteFunc(list, func(b reverie.Batch) bool { return wanted[b.ID] }), err
}

// unfinished returns the unfinished batches of the job, and the ids of those that runs wait for.
func (w *Waves) unfinished(ctx context.Context) (list []reverie.Batch, wanted map[string]bool, err error) {
	if list, err = w.store.BatchesOut(ctx, w.Job); err != nil {
		return nil, nil, err
	}
	ids := make([]string, len(list))
	for i, b := range list {
		ids[i] = b.ID
	}
	wants, err := w.store.WantedBatches(ctx, ids)
	wanted = make(map[string]bool, len(wants))
	for _, id := range wants {
		wanted[id] = true
	}
	return list, wanted, err
}

// isGivenUp reports whether to give a batch up, whatever its provider says. The time is its deadline, or an hour later
// if the provider's last error is transient.
func (w *Waves) isGivenUp(b reverie.Batch, err error) bool {
	e, is := errors.AsType[*llm.Error](err)
	if err != nil && !is { // an error of the database
		return false
	}
	at := b.CreatedAt.Add(w.Deadline)
	if err == nil || e.Is(reverie.ErrDeferred) || e.Fault == llm.FaultCanceled {
		at = at.Add(cancelWait)
	}
	return !w.Clock.Now().Before(at)
}

// closeBatch ends a batch. Its unanswered questions have failed. That counts as an attempt, unless the batch was
// cancelled on purpose.
func (w *Waves) closeBatch(ctx context.Context, b reverie.Batch, status reverie.BatchStatus, why string,
	tries int) error {
	if b.Status == reverie.BatchCancelling {
		tries = 0
	}
	n, err := w.store.CloseBatch(ctx, b.ID, status, why, tries)
	if err == nil && n > 0 {
		w.Count("failed", n)
	}
	return err
}

// collect takes the answers of a batch that has ended.
func (w *Waves) collect(ctx context.Context, m *llm.Model, b reverie.Batch, state llm.BatchState) (ended bool, err error) {
	tries := 1
	if state.Phase == llm.BatchFailed {
		if (&llm.Error{Fault: state.Fault}).Is(reverie.ErrDeferred) { // the provider had no room
			tries = 0
		}
		w.Log.Warn("a batch failed", "batch_id", b.ID, "model", b.Model, "error", state.Err)
		w.halveBatches(m, b.Questions, 0)
	} else {
		questions, err := w.store.BatchQuestions(ctx, b.ID)
		if err != nil {
			return false, err
		}
		waiting := make(map[string]reverie.BatchQuestion, len(questions))
		for _, q := range questions {
			waiting[q.ID] = q
		}
		aside := map[string]llm.BatchAnswer{} // used where no line has the question's nonce
		limited, end := w.Within(ctx, transferTimeout)
		defer end()
		limited, stop := context.WithCancelCause(limited)
		idle := w.Clock.AfterFunc(callTimeout, func() { stop(errStalled) })
		defer idle.Stop()
		err = m.Batcher().BatchAnswers(limited, b.ProviderID, func(a llm.BatchAnswer) error {
			defer idle.Reset(callTimeout)
			q, waits := waiting[a.ID]
			_, own := takeNonce(a.Response.Text, q.Nonce)
			switch {
			case !waits: // a duplicate, or not a question of ours
				return nil
			case a.Err == nil && own:
				delete(waiting, a.ID)
				return w.take(ctx, m, b, q, a)
			case llm.FaultIn(a.Err) != llm.FaultCanceled: // a cancelled question counts as unanswered
				aside[a.ID] = a
			}
			return nil
		})
		for _, q := range questions {
			if a, is := aside[q.ID]; is && waiting[q.ID].ID != "" && err == nil {
				err = w.take(ctx, m, b, q, a)
			}
		}
		if err != nil && !isFault(err, llm.FaultNotFound) {
			return false, err
		}
	}
	if err := w.closeBatch(ctx, b, reverie.BatchStatus(state.Phase), state.Err, tries); err != nil {
		return true, err
	}
	limited, end := w.Within(ctx, callTimeout)
	defer end()
	if err := m.Batcher().DropBatch(limited, b.ProviderID); err != nil {
		w.Log.Warn("the provider still has the texts of a batch, which could not be deleted", "batch_id", b.ID, "model", b.Model,
			"provider_id", b.ProviderID, "error", err)
	}
	return true, nil
}

// errStalled ends the reading of answers until the next look.
var errStalled = fmt.Errorf("no further answer came within %v: %w", callTimeout, context.DeadlineExceeded)

// take stores one answer, if it has the nonce of the question.
func (w *Waves) take(ctx context.Context, m *llm.Model, b reverie.Batch, q reverie.BatchQuestion, a llm.BatchAnswer) error {
	meta := llm.Meta{GroupID: q.GroupID, RunID: &q.RunID, Purpose: q.Purpose}
	taken := reverie.BatchAnswer{}
	outcome := "answered"
	if q.Status = reverie.QuestionAnswered; a.Err == nil {
		var own bool
		if a.Response.Text, own = takeNonce(a.Response.Text, q.Nonce); !own {
			q.Status, taken.Refused, outcome = reverie.QuestionAgain, true, "refused"
			w.Log.Warn("an answer is refused: it does not begin with the nonce of its question", "batch_id", b.ID,
				"group_id", q.GroupID, "run_id", q.RunID, "question_id", q.ID)
		}
	} else {
		q.Status, outcome = reverie.QuestionFailed, "failed"
		if q.Fault = string(llm.FaultIn(a.Err)); errors.Is(a.Err, reverie.ErrDeferred) {
			q.Status = reverie.QuestionAgain
		}
	}
	resp, call := m.Receive(meta, q.Tokens, a, b.CreatedAt)
	if taken.Refused {
		call.Outcome = "refused_nonce"
	}
	taken.Call = &call
	if q.Status == reverie.QuestionAnswered {
		q.Answer, q.Finish = resp.Text, string(resp.Finish)
	}
	taken.Question = q
	w.mu.Lock()
	r := w.reserved[q.ID]
	delete(w.reserved, q.ID)
	w.mu.Unlock()
	var is bool
	var err error
	r.Settle(call, func() bool {
		is, err = w.store.TakeAnswer(ctx, b.ID, taken)
		return is && err == nil
	})
	if is {
		w.Count(outcome, 1)
		w.Called(call)
	}
	return err
}
