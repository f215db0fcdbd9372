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

// handIn hands in a batch whose row is written, with its questions; nil: they are read, and
// the provider may have it already. refused tells that it was not accepted, and is none any
// more. A passing error leaves it to be looked for.
func (w *Waves) handIn(ctx context.Context, m *llm.Model, b reverie.Batch, list []reverie.BatchQuestion) (refused bool,
	err error) {
	if list == nil {
		if is, err := w.store.ClaimBatch(ctx, b.ID, w.Holder, reverie.LeaseTTL); !is || err != nil {
			return false, err // another process is at it
		}
	}
	ctx, end := w.holding(ctx, b.ID)
	defer end()
	s := llm.BatchSubmission{Key: b.ID, Questions: b.Questions, At: b.CreatedAt}
	id := ""
	if list == nil {
		if list, err = w.store.BatchQuestions(ctx, b.ID); err != nil {
			return false, err
		}
		for _, q := range list {
			if q.Status != reverie.QuestionErased {
				s.Least++
			}
		}
		known, err := w.store.KnownBatches(ctx)
		if err != nil {
			return false, err
		}
		id, err = m.Batcher().FindBatch(ctx, s,
			func(id string) bool {
				return slices.ContainsFunc(list, func(q reverie.BatchQuestion) bool { return q.ID == id })
			},
			func(id string) bool { return slices.Contains(known, id) })
		if err != nil {
			return false, err
		}
		list = slices.DeleteFunc(list, func(q reverie.BatchQuestion) bool { return q.Status == reverie.QuestionErased })
		if id == "" && len(list) == 0 {
			return true, w.store.WithdrawBatch(ctx, b.ID)
		}
	}
	if id == "" {
		questions := make([]llm.BatchQuestion, len(list))
		for i, q := range list {
			questions[i] = llm.BatchQuestion{ID: q.ID, Request: llm.Request{System: withNonce(q.System, q.Nonce), User: q.User,
				MaxTokens: q.MaxTokens, Tier: llm.TierBatch}}
		}
		fault.Reach("submit a batch", fault.Asked)
		if id, err = m.Batcher().SubmitBatch(ctx, s, questions); err != nil {
			return w.refused(ctx, m, b, err)
		}
		fault.Reach("submit a batch", fault.Answered)
		w.Count("submitted", len(list))
	}
	return false, w.store.BatchSubmitted(ctx, b.ID, id)
}

// refused takes a batch back that the provider has not accepted. Whether it has is not
// known after other errors: it is looked for then.
func (w *Waves) refused(ctx context.Context, m *llm.Model, b reverie.Batch, err error) (bool, error) {
	e, is := errors.AsType[*llm.Error](err)
	if !is || e.Fault != llm.FaultRateLimited && errors.Is(err, reverie.ErrDeferred) || e.Fault == llm.FaultCanceled {
		return false, err
	}
	if e.Fault == llm.FaultRateLimited || e.Fault == llm.FaultTooLarge && b.Questions > 1 {
		w.smaller(m, b.Questions)
		w.Log.Warn("a batch was not accepted; smaller ones are tried", "model", b.Model, "questions", b.Questions, "error", err)
		err = fmt.Errorf("%w: %w", reverie.ErrDeferred, err)
	}
	return true, errors.Join(err, w.store.WithdrawBatch(ctx, b.ID))
}

// holding keeps a batch for this process while it is handed in.
func (w *Waves) holding(ctx context.Context, id string) (inner context.Context, end func()) {
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
			if is, err := w.store.ClaimBatch(inner, id, w.Holder, reverie.LeaseTTL); err == nil && !is {
				cancel() // another has taken it over
			}
		}
	}()
	return inner, func() {
		cancel()
		<-done
	}
}

// A nonce ties an answer to its question: a provider that mixes its keys up would show one
// group's memories to another.

func newNonce() string { return rand.Text()[:16] }

type nonceLine struct {
	Nonce string `json:"nonce"`
}

func withNonce(system, nonce string) string {
	return system + "\n\nBegin your answer with exactly this line, before all others:\n" + `{"nonce":"` + nonce + `"}`
}

// takeNonce takes the line with the nonce off an answer, and tells whether it was there:
// nothing but marks of a code block stands before it.
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
