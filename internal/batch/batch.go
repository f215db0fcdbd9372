// Package batch has the questions of many runs answered by the batches of a provider, in
// waves: a job works on all groups that are due, and each stops at the first question that
// has no answer. The questions are handed in together. When they are answered, the job works
// on the groups again, finds the answers, and stops at the next questions, until none is
// left. Whatever dies in between goes on from what the database has.
package batch

import (
	"cmp"
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
	ClaimBatch(ctx context.Context, id, holder string, ttl time.Duration) (bool, error)
	BatchSubmitted(ctx context.Context, id, providerID string) error
	WithdrawBatch(ctx context.Context, id string) error
	BatchQuestions(ctx context.Context, id string) ([]reverie.BatchQuestion, error)
	TakeAnswer(ctx context.Context, id string, a reverie.BatchAnswer) (bool, error)
	CloseBatch(ctx context.Context, id string, status reverie.BatchStatus, why string, tries int) error
	CancellingBatch(ctx context.Context, id string) (bool, error)
	BatchesOut(ctx context.Context, job reverie.Job) ([]reverie.Batch, error)
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
}

const (
	maxTries = 2                   // of a question in batches; then it is asked directly
	maxWait  = 10                  // times Poll, between two looks
	patience = time.Hour           // for the answers of a batch that is cancelled
	kept     = 30 * 24 * time.Hour // batches that have ended
	overhead = 1024                // bytes of a question beside its texts
)

// Waves asks the questions of one job. It is an [llm.Queue], safe for concurrent use.
type Waves struct {
	Options
	store Store

	mu       sync.Mutex
	asked    map[string][]reverie.BatchQuestion // that are in no batch yet, by model
	reserved map[string]*llm.Reservation        // by question
	most     map[string]int                     // questions of a batch that a model's provider takes; 0 is its limit
	told     string
}

// New returns the waves of a job.
func New(store Store, o Options) *Waves {
	return &Waves{Options: o, store: store, asked: map[string][]reverie.BatchQuestion{},
		reserved: map[string]*llm.Reservation{}, most: map[string]int{}}
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
	for !work(llm.WithQueue(ctx, w)) {
		any, err := w.Settle(ctx, stop)
		if !any || err != nil && !errors.As(err, new(*reverie.BudgetError)) { // what has come is used all the same
			return err
		}
	}
	return nil
}

// Settle hands in the questions that were put, and waits until no batch of the job is out,
// or stop is closed. It tells whether there was any: then the runs have answers to go on
// with. Its error is a [*reverie.BudgetError] where questions were left for the sake of the
// budget, and nothing is out any more.
func (w *Waves) Settle(ctx context.Context, stop <-chan struct{}) (any bool, err error) {
	defer w.forget()
	for wait := w.Poll; ; wait = min(2*wait, maxWait*w.Poll) {
		out, moved, err := w.step(ctx)
		any = any || out > 0 || moved
		switch {
		case ctx.Err() != nil:
			return any, context.Cause(ctx)
		case err != nil && (out == 0 || !reverie.Passing(err)):
			return any, err
		case out == 0:
			return any, nil
		case moved:
			wait = w.Poll
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
	for id, r := range w.reserved {
		r.Release()
		delete(w.reserved, id)
	}
}

// step looks at each batch that is out, and hands in what was put. It returns how many are
// out, and whether anything was handed in or has come.
func (w *Waves) step(ctx context.Context) (out int, moved bool, err error) {
	list, err := w.store.BatchesOut(ctx, w.Job)
	if err != nil {
		return 0, false, err
	}
	spent := llm.BudgetSpent(ctx)
	if spent != nil && !errors.As(spent, new(*reverie.BudgetError)) {
		return len(list), false, spent
	}
	var errs []error
	tokens := map[string]int{}
	for _, b := range list {
		if w.model(b) == nil { // its answers cannot be had while the model is not configured
			continue
		}
		ended, err := w.look(ctx, b, spent)
		errs = append(errs, err)
		if moved = moved || ended; !ended {
			out++
			tokens[b.Model] += b.Tokens
		}
	}
	for _, m := range w.Models {
		n, err := w.submit(ctx, m, tokens[m.Name()], spent)
		out, moved = out+n, moved || n > 0
		switch left := w.left(m); {
		case len(left) == 0 || errors.As(err, new(*reverie.BudgetError)):
		case w.late(left[0]): // the next wave asks directly
			moved, err = true, nil
		default: // for want of room: later
			out++
		}
		errs = append(errs, err)
	}
	w.tell(ctx)
	return out, moved, errors.Join(errs...)
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

// look goes on with one batch, and tells whether it has ended.
func (w *Waves) look(ctx context.Context, b reverie.Batch, spent error) (ended bool, err error) {
	m, late := w.model(b), w.Clock.Since(b.CreatedAt) > w.Deadline
	if b.Status == reverie.BatchSubmitting {
		return w.handIn(ctx, m, b, nil)
	}
	cancel := b.Status == reverie.BatchCancelling
	if (late || spent != nil) && !cancel {
		if cancel, err = w.store.CancellingBatch(ctx, b.ID); err != nil {
			return false, err
		}
	}
	state, err := m.Batcher().BatchState(ctx, b.ProviderID)
	if isFault(err, llm.FaultNotFound) {
		return true, w.store.CloseBatch(ctx, b.ID, reverie.BatchFailed, "the provider does not know it any more", 1)
	}
	if err == nil && state.Phase == llm.BatchRunning && cancel {
		if w.Clock.Since(b.CreatedAt) > w.Deadline+patience {
			return true, w.store.CloseBatch(ctx, b.ID, reverie.BatchExpired, "its answers did not come in time", 1)
		}
		err = m.Batcher().CancelBatch(ctx, b.ProviderID)
	}
	if err != nil || state.Phase == llm.BatchRunning {
		return false, err
	}
	return w.collect(ctx, m, b, state)
}

// collect takes the answers of a batch that has ended.
func (w *Waves) collect(ctx context.Context, m *llm.Model, b reverie.Batch, state llm.BatchState) (ended bool, err error) {
	tries := 1
	if state.Phase == llm.BatchFailed {
		if (&llm.Error{Fault: state.Fault}).Is(reverie.ErrDeferred) { // for want of room
			tries = 0
		}
		w.Log.Warn("a batch failed", "batch_id", b.ID, "model", b.Model, "error", state.Err)
		w.smaller(m, b.Questions)
	} else {
		questions, err := w.store.BatchQuestions(ctx, b.ID)
		if err != nil {
			return false, err
		}
		waiting := make(map[string]reverie.BatchQuestion, len(questions))
		for _, q := range questions {
			waiting[q.ID] = q
		}
		err = m.Batcher().BatchAnswers(ctx, b.ProviderID, func(a llm.BatchAnswer) error {
			q, waits := waiting[a.ID]
			if !waits { // a duplicate, or none of ours
				return nil
			}
			delete(waiting, a.ID)
			return w.take(ctx, m, b, q, a)
		})
		if err != nil && !isFault(err, llm.FaultNotFound) {
			return false, err
		}
	}
	return true, w.store.CloseBatch(ctx, b.ID, reverie.BatchStatus(state.Phase), state.Err, tries)
}

// take keeps one answer, if it is the question's own.
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
		if q.Fault = string(llm.FaultIn(a.Err)); errors.Is(a.Err, reverie.ErrDeferred) || q.Fault == string(llm.FaultCanceled) {
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

// submit hands in what was put of a model's questions, as far as there is room, in as few
// batches as may be. It returns how many.
func (w *Waves) submit(ctx context.Context, m *llm.Model, tokens int, spent error) (n int, err error) {
	for {
		if len(w.left(m)) > 0 && spent != nil {
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
		refused, herr := w.handIn(ctx, m, b, list)
		if refused {
			w.mu.Lock()
			w.asked[m.Name()] = append(list, w.asked[m.Name()]...)
			w.mu.Unlock()
			return n, errors.Join(err, herr)
		}
		n++
		if err = errors.Join(err, herr); err != nil {
			return n, err
		}
	}
}

// next takes the questions of the next batch off those that were put: as many as its
// limits and the budget have room for.
func (w *Waves) next(ctx context.Context, m *llm.Model, tokens int) (part []reverie.BatchQuestion, err error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	limits, list, bytes := m.Batcher().BatchLimits(), w.asked[m.Name()], int64(0)
	most := cmp.Or(min(limits.Questions, cmp.Or(w.most[m.Name()], limits.Questions)), w.most[m.Name()])
	for _, q := range list {
		size := int64(2*(len(q.System)+len(q.User)) + overhead) // as JSON in JSON, with room to spare
		full := most > 0 && len(part) == most || limits.Bytes > 0 && bytes+size > limits.Bytes
		if full && len(part) > 0 || w.Tokens > 0 && tokens > 0 && tokens+q.Tokens > w.Tokens {
			break
		}
		r := w.reserved[q.ID]
		if r == nil {
			if r, err = m.Reserve(ctx, q.Tokens); err != nil {
				break
			}
			w.reserved[q.ID] = r
		}
		part, bytes, tokens = append(part, q), bytes+size, tokens+q.Tokens
	}
	w.asked[m.Name()] = list[len(part):]
	return part, err
}

// smaller has fewer questions handed in at once.
func (w *Waves) smaller(m *llm.Model, than int) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.most[m.Name()] = max(1, than/2)
}

func isFault(err error, fault llm.Fault) bool {
	e, is := errors.AsType[*llm.Error](err)
	return is && e.Fault == fault
}
