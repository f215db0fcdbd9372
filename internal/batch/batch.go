// Package batch has the questions of many runs answered by the batches of a provider, in
// waves: a job works on all groups that are due, and each stops at the first question that
// has no answer. The questions are handed in together. When they are answered, the job works
// on the groups again, finds the answers, and stops at the next questions, until none is
// left. Whatever dies in between goes on from what the database has.
package batch

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"sync"
	"time"

	"github.com/jonboulle/clockwork"

	"reverie/internal/llm"
	"reverie/internal/reverie"
	"reverie/internal/text"
)

// Store keeps batches and their questions.
type Store interface {
	PutQuestion(ctx context.Context, q reverie.BatchQuestion, tries int, since time.Time) (reverie.BatchQuestion, error)
	KeepAnswer(ctx context.Context, groupID, id, answer, finish string) error
	AssignBatch(ctx context.Context, b reverie.Batch, questions []reverie.BatchQuestion, holder string,
		ttl time.Duration) ([]reverie.BatchQuestion, error)
	ClaimBatch(ctx context.Context, id, holder string, ttl time.Duration, send bool) (bool, error)
	BatchSubmitted(ctx context.Context, id, providerID string) error
	WithdrawBatch(ctx context.Context, id string) error
	BatchQuestions(ctx context.Context, id string) ([]reverie.BatchQuestion, error)
	TakeAnswer(ctx context.Context, id string, a reverie.BatchAnswer) (bool, error)
	CloseBatch(ctx context.Context, id string, status reverie.BatchStatus, why string, tries int) (int, error)
	CancellingBatch(ctx context.Context, id string) (bool, error)
	BatchesOut(ctx context.Context, job reverie.Job) ([]reverie.Batch, error)
	WantedBatches(ctx context.Context, ids []string) ([]string, error)
	KnownBatches(ctx context.Context) ([]string, error)
	SweepBatches(ctx context.Context, job reverie.Job, before time.Time) error
}

// Options say how a job's questions are asked.
type Options struct {
	Job      reverie.Job
	Models   []*llm.Model  // those that it asks, and whose providers answer batches
	Deadline time.Duration // after which a question is asked directly
	Poll     time.Duration // between two looks at a batch, at first
	Tokens   int           // of a model's questions that are out at most; 0: any number
	Holder   string        // names this process
	Clock    clockwork.Clock
	Log      *slog.Logger
	Tell     func(text string)           // tells a person how far it is
	Count    func(outcome string, n int) // counts questions: submitted, answered, refused, failed
	Called   func(reverie.Call)          // hears of each call whose row is written

	// Answer is how many tokens a model's answer to a purpose is thought to have; nil: none.
	Answer func(ctx context.Context, purpose, model string) (float64, error)

	// Within limits a call of the provider; nil: context.WithTimeout.
	Within func(ctx context.Context, d time.Duration) (context.Context, context.CancelFunc)
}

const (
	maxAlone = 3                   // questions that are refused before a provider takes none
	maxTries = 2                   // of a question in batches; then it is asked directly
	maxWait  = 10                  // times Poll, between two looks
	patience = time.Hour           // for the answers of a batch that is cancelled
	kept     = 30 * 24 * time.Hour // batches that have ended
	overhead = 1024                // bytes of a question beside its texts
	listed   = 100                 // a part of Deadline: by then the provider lists what it has got

	forLook  = 2 * time.Minute // that a call may take
	forTexts = 30 * time.Minute
)

// Waves asks the questions of one job. It is an [llm.Queue], safe for concurrent use.
type Waves struct {
	Options
	store Store

	mu       sync.Mutex
	asked    map[string][]reverie.BatchQuestion // that are in no batch yet, by model
	reserved map[string]*llm.Reservation        // by question
	counted  map[string]bool                    // the batches whose questions are all reserved
	room     map[string]*room                   // by model
	told     string
	answers  map[[2]string]float64 // what Answer said, by purpose and model
}

// room is what a provider takes of a model's questions at a time.
type room struct {
	most   int       // questions of a batch; 0 is the provider's limit
	within int       // of the first of those asked, which the provider has refused as they were
	after  time.Time // when it may be asked again
	taken  bool      // it has accepted some
	alone  int       // questions that it has refused in a batch of their own, before it has taken any
}

// New returns the waves of a job.
func New(store Store, o Options) *Waves {
	if o.Within == nil {
		o.Within = context.WithTimeout
	}
	w := &Waves{Options: o, store: store, asked: map[string][]reverie.BatchQuestion{},
		reserved: map[string]*llm.Reservation{}, counted: map[string]bool{}, room: map[string]*room{}, answers: map[[2]string]float64{}}
	for _, m := range o.Models {
		w.room[m.Name()] = &room{}
	}
	return w
}

// Put implements [llm.Queue].
func (w *Waves) Put(ctx context.Context, m *llm.Model, meta llm.Meta, req llm.Request) (llm.Queued, error) {
	q := reverie.BatchQuestion{GroupID: meta.GroupID, ID: reverie.NewID(), RunID: *meta.RunID, Nth: meta.Nth,
		InputSHA256: llm.InputSHA256(m.Name(), req.System, req.User), Model: m.Name(), Purpose: meta.Purpose,
		Nonce: newNonce(), Tokens: text.EstimateTokens(req.System) + text.EstimateTokens(req.User),
		MaxTokens: req.MaxTokens, System: req.System, User: req.User}
	q, err := w.store.PutQuestion(ctx, q, maxTries, w.Clock.Now().Add(-w.Deadline))
	if err != nil {
		return llm.Queued{}, err
	}
	asked := queued(q)
	if q.Status == reverie.QuestionWaiting && q.BatchID == nil {
		if asked.Direct = w.late(q); !asked.Direct {
			w.mu.Lock()
			defer w.mu.Unlock()
			w.asked[q.Model] = append(w.asked[q.Model], q)
		}
	}
	return asked, nil
}

// late tells whether a question has waited for as long as it may.
func (w *Waves) late(q reverie.BatchQuestion) bool { return w.Clock.Since(q.CreatedAt) >= w.Deadline }

// Keep implements [llm.Queue].
func (w *Waves) Keep(ctx context.Context, meta llm.Meta, id string, resp llm.Response) error {
	return w.store.KeepAnswer(ctx, meta.GroupID, id, resp.Text, string(resp.Finish))
}

// errStopped is why the waves ended while batches were out.
var errStopped = fmt.Errorf("told to stop while batches are out; the next start with batches goes on with them: %w",
	reverie.ErrDeferred)

// Run works in waves, until no question is left that batches answer, or stop is closed, or
// work says that it is over.
func (w *Waves) Run(ctx context.Context, stop <-chan struct{}, work func(context.Context) (over bool)) error {
	if err := w.store.SweepBatches(ctx, w.Job, w.Clock.Now().Add(-kept)); err != nil {
		return err
	}
	defer w.forget()
	for {
		list, err := w.store.BatchesOut(ctx, w.Job)
		if err == nil {
			err = w.count(ctx, list)
		}
		if err != nil || work(llm.WithQueue(ctx, w)) {
			return err
		}
		any, err := w.Settle(ctx, stop)
		if !any || err != nil && !waits(err) { // what has come is used all the same
			return err
		}
	}
}

// waits tells whether an error leaves others that go on: of the budget, or of a provider.
func waits(err error) bool {
	return errors.As(err, new(*reverie.BudgetError)) || errors.As(err, new(*llm.Error))
}

// Settle hands in the questions that were put, and waits until no batch of the job is out,
// or some were answered and the others are slow, or stop is closed. It tells whether there was any: then the runs have answers to go on
// with. Its error is a [*reverie.BudgetError] where questions were left for the sake of the
// budget, and nothing is out any more, and a provider's where it refuses all that is left.
func (w *Waves) Settle(ctx context.Context, stop <-chan struct{}) (any bool, err error) {
	defer w.forget()
	for wait, answered := w.Poll, false; ; wait = min(2*wait, maxWait*w.Poll) {
		out, came, moved, err := w.step(ctx)
		any, answered = any || out > 0 || moved, answered || came
		switch {
		case ctx.Err() != nil:
			return any, context.Cause(ctx)
		case err != nil && (out == 0 || !reverie.Passing(err) && !waits(err)):
			return any, err
		case out == 0:
			return any, nil
		case moved:
			wait = w.Poll
		case answered && wait == maxWait*w.Poll:
			return any, nil
		}
		if err != nil && !errors.As(err, new(*reverie.BudgetError)) {
			w.Log.Warn("a batch could not be looked at; it is tried again", "job", w.Job, "in", wait, "error", err)
		}
		select {
		case <-w.Clock.After(wait):
		case <-stop:
			return any, errStopped
		case <-ctx.Done():
			return any, context.Cause(ctx)
		}
	}
}

// forget drops what was put and not handed in: who asks again puts it again.
func (w *Waves) forget() {
	w.mu.Lock()
	defer w.mu.Unlock()
	clear(w.asked)
	clear(w.counted)
	clear(w.answers)
	for _, r := range w.room {
		r.within = 0
	}
	for id, r := range w.reserved {
		r.Release()
		delete(w.reserved, id)
	}
}

// count counts the questions of batches as under way, whoever has handed them in.
func (w *Waves) count(ctx context.Context, list []reverie.Batch) error {
	for _, b := range list {
		if b.Status == reverie.BatchSubmitting { // see handIn
			continue
		}
		if _, err := w.reserve(ctx, b, (*llm.Model).Hold); err != nil {
			return err
		}
	}
	return nil
}

// reserve counts the questions of one batch as under way. It returns those that wait.
func (w *Waves) reserve(ctx context.Context, b reverie.Batch,
	how func(*llm.Model, context.Context, int, int) (*llm.Reservation, error)) (list []reverie.BatchQuestion, err error) {
	m := w.model(b)
	w.mu.Lock()
	defer w.mu.Unlock()
	if m == nil || w.counted[b.ID] {
		return nil, nil
	}
	if list, err = w.store.BatchQuestions(ctx, b.ID); err != nil {
		return nil, err
	}
	for _, q := range list {
		if w.reserved[q.ID] == nil {
			answer, err := w.answer(ctx, q)
			if err != nil {
				return list, err
			}
			if w.reserved[q.ID], err = how(m, ctx, q.Tokens, answer); err != nil {
				delete(w.reserved, q.ID)
				return list, err
			}
		}
	}
	w.counted[b.ID] = true
	return list, nil
}

// answer is how many tokens the answer to a question is thought to have.
func (w *Waves) answer(ctx context.Context, q reverie.BatchQuestion) (int, error) {
	key := [2]string{q.Purpose, q.Model}
	tokens, known := w.answers[key]
	if !known && w.Answer != nil {
		var err error
		if tokens, err = w.Answer(ctx, q.Purpose, q.Model); err != nil {
			return 0, err
		}
		w.answers[key] = tokens
	}
	return int(tokens), nil
}

// step looks at each batch that is out, and hands in what was put. It returns how many are
// out and go on, whether any has ended, and whether that or anything else has moved.
func (w *Waves) step(ctx context.Context) (out int, came, moved bool, err error) {
	list, wanted, err := w.out(ctx)
	if err != nil {
		return len(list), false, false, err
	}
	if err := w.count(ctx, list); err != nil {
		return len(list), false, false, err
	}
	spent := llm.BudgetSpent(ctx)
	if spent != nil && !errors.As(spent, new(*reverie.BudgetError)) {
		return len(list), false, false, spent
	}
	var errs []error
	tokens := map[string]int{}
	for _, b := range list {
		if w.model(b) == nil { // its answers cannot be had while the model is not configured
			continue
		}
		ended, err := w.look(ctx, b, spent != nil || !wanted[b.ID])
		errs = append(errs, err)
		if came = came || ended; !ended {
			if !stuck(err) {
				out++
			}
			tokens[b.Model] += b.Tokens
		}
	}
	moved = came
	for _, m := range w.Models {
		n, err := w.submit(ctx, m, tokens[m.Name()], spent)
		out, moved = out+n, moved || n > 0
		switch left := w.left(m); {
		case len(left) == 0 || errors.As(err, new(*reverie.BudgetError)):
		case w.late(left[0]): // the next wave asks directly
			moved, err = true, nil
		case !stuck(err): // for want of room: later
			out++
		}
		errs = append(errs, err)
	}
	w.tell(ctx)
	return out, came, moved, errors.Join(errs...)
}

// stuck tells whether a provider has refused what will not pass by itself.
func stuck(err error) bool {
	return errors.As(err, new(*llm.Error)) && !reverie.Passing(err)
}

// left are the questions of a model that were put and not handed in.
func (w *Waves) left(m *llm.Model) []reverie.BatchQuestion {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.asked[m.Name()]
}

// tell says how far the batches are, where that has changed.
func (w *Waves) tell(ctx context.Context) {
	list, err := w.store.BatchesOut(ctx, w.Job)
	if err != nil || len(list) == 0 {
		return
	}
	questions, done := 0, 0
	for _, b := range list {
		questions, done = questions+b.Questions, done+b.Answered+b.Refused+b.Failed
	}
	now := fmt.Sprintf("%s: batches out: %d, questions: %d, answered: %d", w.Job, len(list), questions, done)
	if now != w.told {
		w.told = now
		w.Tell(now)
	}
}

// model is the one of a batch.
func (w *Waves) model(b reverie.Batch) *llm.Model {
	i := slices.IndexFunc(w.Models, func(m *llm.Model) bool { return m.Name() == b.Model })
	if i < 0 {
		return nil
	}
	return w.Models[i]
}

func isFault(err error, fault llm.Fault) bool {
	e, is := errors.AsType[*llm.Error](err)
	return is && e.Fault == fault
}
