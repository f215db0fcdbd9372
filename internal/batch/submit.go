package batch

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"reverie/internal/fault"
	"reverie/internal/llm"
	"reverie/internal/reverie"
)

// submit submits the new questions of a model in as few batches as possible, as far as there is room. It returns the
// number of batches.
func (w *Waves) submit(ctx context.Context, m *llm.Model, tokens int, spent error) (n int, err error) {
	for !w.Clock.Now().Before(w.limits[m.Name()].retryAt) {
		if len(w.unsubmittedOf(m)) > 0 && spent != nil {
			return n, spent
		}
		part, err := w.next(ctx, m, tokens)
		if len(part) == 0 {
			return n, err
		}
		b := reverie.Batch{ID: reverie.NewID(), Job: w.Job, Model: m.Name(), CreatedAt: w.Clock.Now()}
		list, aerr := w.store.AssignBatch(ctx, b, part, w.Holder, reverie.LeaseTTL)
		if aerr != nil {
			return n, errors.Join(err, aerr)
		}
		if len(list) == 0 { // another process has them
			continue
		}
		b.Questions = len(list)
		for _, q := range list {
			tokens += q.Tokens
		}
		refused, herr := w.submitBatch(ctx, m, b, list)
		if refused {
			for _, q := range list {
				tokens -= q.Tokens
			}
			again := isFault(herr, llm.FaultTooLarge) || isFault(herr, llm.FaultBadRequest)
			if again && len(list) == 1 {
				n++
			} else {
				w.mu.Lock()
				w.unsubmitted[m.Name()] = append(list, w.unsubmitted[m.Name()]...)
				w.mu.Unlock()
			}
			if again {
				continue
			}
			return n, errors.Join(err, herr)
		}
		n++
		if err = errors.Join(err, herr); err != nil {
			return n, err
		}
		w.accepted(m, len(list))
	}
	return n, nil
}

// next takes the questions of the next batch, as many as the limits and the budget allow.
func (w *Waves) next(ctx context.Context, m *llm.Model, tokens int) (part []reverie.BatchQuestion, err error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	limits, list, bytes := m.Batcher().BatchLimits(), w.unsubmitted[m.Name()], int64(0)
	most := limits.Questions
	for _, n := range []int{w.limits[m.Name()].most, w.limits[m.Name()].refusedBefore} {
		if n > 0 && (most == 0 || n < most) {
			most = n
		}
	}
	for _, q := range list {
		size := int64(2*(len(q.System)+len(q.User)) + overhead) // as JSON in JSON, with a margin
		full := most > 0 && len(part) == most || limits.Bytes > 0 && bytes+size > limits.Bytes
		if full && len(part) > 0 || w.Tokens > 0 && tokens > 0 && tokens+q.Tokens > w.Tokens {
			break
		}
		r := w.reserved[q.ID]
		if r == nil {
			var answer int
			if answer, err = w.estimateAnswer(ctx, q); err == nil {
				r, err = m.Reserve(ctx, q.Tokens, answer)
			}
			if err != nil {
				break
			}
			w.reserved[q.ID] = r
		}
		part, bytes, tokens = append(part, q), bytes+size, tokens+q.Tokens
	}
	w.unsubmitted[m.Name()] = list[len(part):]
	return part, err
}

// halveBatches halves the size of the next batches after a refusal of than questions. within is the number of refused
// questions, or 0 if the size was not the reason.
func (w *Waves) halveBatches(m *llm.Model, than, within int) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.limits[m.Name()].most, w.limits[m.Name()].refusedBefore = max(1, than/2), within
}

// refusedAlone notes that a single question was refused. It returns how many were, if the provider has accepted none.
// The next attempt then takes a question from the other end of the list.
func (w *Waves) refusedAlone(m *llm.Model) int {
	w.mu.Lock()
	defer w.mu.Unlock()
	r := w.limits[m.Name()]
	r.refusedBefore = 0
	if r.accepted {
		r.grow()
		return 0
	}
	slices.Reverse(w.unsubmitted[m.Name()])
	r.refusedAlone++
	return r.refusedAlone
}

// accepted notes that n questions were accepted. It doubles the size of the next batches once all refused ones are
// submitted.
func (w *Waves) accepted(m *llm.Model, n int) {
	w.mu.Lock()
	defer w.mu.Unlock()
	r := w.limits[m.Name()]
	r.accepted = true
	if r.refusedBefore = max(0, r.refusedBefore-n); r.refusedBefore == 0 {
		r.grow()
	}
}

func (r *batchLimits) grow() { r.most = min(2*r.most, 1<<20) }

// find looks for a batch whose row is written, and which the provider may have received. If the provider still does not
// list it some time after it was sent, find submits it again, or with cancel withdraws it. gone reports that the batch
// has ended.
func (w *Waves) find(ctx context.Context, m *llm.Model, b reverie.Batch, cancel bool) (gone bool, err error) {
	if is, err := w.store.ClaimBatch(ctx, b.ID, w.Holder, reverie.LeaseTTL, false); !is || err != nil {
		return false, err // another process works on it
	}
	ctx, end := w.holding(ctx, b.ID, false)
	defer end()
	if _, err := w.reserve(ctx, b, (*llm.Model).Reserve); errors.As(err, new(*reverie.BudgetError)) {
		cancel = true
	} else if err != nil {
		return false, err
	}
	list, err := w.store.BatchQuestions(ctx, b.ID)
	if err != nil {
		return false, err
	}
	known, err := w.store.KnownBatches(ctx)
	if err != nil {
		return false, err
	}
	s := submission(b)
	for _, q := range list {
		if q.Status != reverie.QuestionErased {
			s.Least++
		}
	}
	limited, done := w.Within(ctx, transferTimeout)
	defer done()
	id, err := m.Batcher().FindBatch(limited, s,
		func(id string) bool {
			return slices.ContainsFunc(list, func(q reverie.BatchQuestion) bool { return q.ID == id })
		},
		func(id string) bool { return slices.Contains(known, id) })
	switch {
	case err != nil && !w.isGivenUp(b, err):
		return false, err
	case err != nil:
		w.Log.Warn("a batch cannot be looked for and is given up", "batch_id", b.ID, "model", b.Model, "error", err)
	case id != "" && !fault.Off(fault.Batch):
		return false, w.store.BatchSubmitted(ctx, b.ID, id)
	case w.Clock.Since(b.SentAt) < w.Deadline/listedAfter+reverie.LeaseRenew:
		return false, nil
	}
	list = slices.DeleteFunc(list, func(q reverie.BatchQuestion) bool { return q.Status == reverie.QuestionErased })
	if cancel || len(list) == 0 {
		return true, w.store.WithdrawBatch(ctx, b.ID)
	}
	if is, err := w.store.ClaimBatch(ctx, b.ID, w.Holder, reverie.LeaseTTL, true); !is || err != nil {
		return false, err
	}
	return w.submitBatch(ctx, m, b, list)
}

func submission(b reverie.Batch) llm.BatchSubmission {
	return llm.BatchSubmission{Key: b.ID, Questions: b.Questions, At: b.CreatedAt}
}

// submitBatch submits a batch whose row is written. refused reports that the provider did not accept it, and that it
// has ended. After a transient error the next look searches for it.
func (w *Waves) submitBatch(ctx context.Context, m *llm.Model, b reverie.Batch,
	list []reverie.BatchQuestion) (refused bool, err error) {
	ctx, end := w.holding(ctx, b.ID, true)
	defer end()
	questions := make([]llm.BatchQuestion, len(list))
	for i, q := range list {
		questions[i] = llm.BatchQuestion{ID: q.ID, Request: llm.Request{System: withNonce(q.System, q.Nonce), User: q.User,
			MaxTokens: q.MaxTokens, Tier: llm.TierBatch}}
	}
	fault.Reach("submit a batch", fault.Asked)
	limited, done := w.Within(ctx, transferTimeout)
	defer done()
	id, err := m.Batcher().SubmitBatch(limited, submission(b), questions)
	if err != nil {
		return w.refused(ctx, m, b, list, err)
	}
	fault.Reach("submit a batch", fault.Answered)
	w.Count("submitted", len(list))
	return false, w.store.BatchSubmitted(ctx, b.ID, id)
}

// refused withdraws a batch that the provider has refused. After a transient error it is unknown whether the provider
// has the batch; the next look searches for it. A batch that is too large or invalid is submitted again in halves. A
// single question that is refused has failed.
func (w *Waves) refused(ctx context.Context, m *llm.Model, b reverie.Batch, list []reverie.BatchQuestion,
	err error) (bool, error) {
	e, is := errors.AsType[*llm.Error](err)
	if !is || e.Fault != llm.FaultRateLimited && errors.Is(err, reverie.ErrDeferred) || e.Fault == llm.FaultCanceled {
		return false, err
	}
	w.Log.Warn("a batch was not accepted", "batch_id", b.ID, "model", b.Model, "questions", len(list), "error", err)
	bad := e.Fault == llm.FaultTooLarge || e.Fault == llm.FaultBadRequest
	switch {
	case e.Fault == llm.FaultRateLimited:
		w.limits[m.Name()].retryAt = w.Clock.Now().Add(e.RetryAfter)
	case bad && len(list) == 1:
		if w.refusedAlone(m) >= maxAlone && e.Fault == llm.FaultBadRequest {
			return true, errors.Join(fmt.Errorf("%s takes no batches of %s, not even of one question: ask without --batch and "+
				"[schedule] batch, or set a model that it answers in batches: %w", e.Said(), m.Name(), reverie.ErrConfiguration),
				w.store.WithdrawBatch(ctx, b.ID))
		}
		q := list[0]
		q.Status, q.Fault = reverie.QuestionFailed, string(e.Fault)
		if is, terr := w.store.TakeAnswer(ctx, b.ID, reverie.BatchAnswer{Question: q}); terr != nil || !is {
			return true, errors.Join(err, terr)
		}
		w.Count("failed", 1)
		return true, errors.Join(err, w.closeBatch(ctx, b, reverie.BatchFailed, err.Error(), 1))
	case bad:
		w.halveBatches(m, len(list), len(list))
	}
	return true, errors.Join(err, w.store.WithdrawBatch(ctx, b.ID))
}

// holding keeps a batch claimed for this process while it is looked for or sent.
func (w *Waves) holding(ctx context.Context, id string, send bool) (inner context.Context, end func()) {
	inner, cancel := context.WithCancel(ctx)
	done := make(chan struct{})
	go func() {
		defer close(done)
		for {
			select {
			case <-inner.Done():
				return
			case <-w.Clock.After(reverie.LeaseRenew):
			}
			if is, err := w.store.ClaimBatch(inner, id, w.Holder, reverie.LeaseTTL, send); err == nil && !is {
				cancel() // another process has claimed it
			}
		}
	}()
	return inner, func() {
		cancel()
		<-done
	}
}

// A nonce ties an answer to its question. If a provider confused its keys, one group would see the memories of another.

func newNonce() string { return rand.Text()[:16] }

type nonceLine struct {
	Nonce string `json:"nonce"`
}

func withNonce(system, nonce string) string {
	return system + "\n\nBegin your answer with exactly this line, before all others:\n" + `{"nonce":"` + nonce + `"}`
}

// takeNonce removes the line with the nonce from an answer, and reports whether it was there. Only the marks of a code
// block may come before it.
func takeNonce(answer, nonce string) (rest string, own bool) {
	at := 0
	for line := range strings.Lines(answer) {
		words := strings.TrimSpace(line)
		if words == "" || strings.HasPrefix(words, "```") {
			at += len(line)
			continue
		}
		var said nonceLine
		d := json.NewDecoder(strings.NewReader(line))
		if d.Decode(&said) != nil || said.Nonce != nonce {
			break
		}
		return answer[:at] + strings.TrimLeft(answer[at+int(d.InputOffset()):], " \r\n"), true
	}
	return answer, false
}
