// Package batch answers the questions of many runs by the batches of a provider, in waves. In a wave, a job works on
// all due groups, and each run stops at its first question without an answer. The questions are submitted together.
// Once they are answered, the next wave finds the answers, and the runs stop at their next questions. The last wave
// finds all answers. If a process dies in between, the next one continues from the database.
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

// Store stores batches and their questions.
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

// Options say how the questions of a job are asked.
type Options struct {
	Job      reverie.Job
	Models   []*llm.Model  // models of the job; their providers must answer batches
	Deadline time.Duration // time after which a question is asked directly
	Poll     time.Duration // first interval between two looks at a batch
	Tokens   int           // most tokens of a model's submitted questions; 0: no limit
	Holder   string        // name of this process
	Clock    clockwork.Clock
	Log      *slog.Logger
	Tell     func(text string)           // called with the progress, for a person
	Count    func(outcome string, n int) // counts questions: submitted, answered, refused, failed
	Called   func(reverie.Call)          // called with each call whose row is written

	// Answer estimates the tokens of a model's answer, by purpose. nil: answers count as 0 tokens.
	Answer func(ctx context.Context, purpose, model string) (float64, error)

	// Within limits the time of a call to the provider; nil: context.WithTimeout.
	Within func(ctx context.Context, d time.Duration) (context.Context, context.CancelFunc)
}

const (
	maxAlone    = 3                   // single questions a provider may refuse before it counts as taking no batches
	maxTries    = 2                   // attempts of a question in batches; then it is asked directly
	maxWait     = 10                  // largest interval between two looks, in Poll
	cancelWait  = time.Hour           // wait for the answers of a cancelled batch
	keepEnded   = 30 * 24 * time.Hour // how long the rows of ended batches are stored
	overhead    = 1024                // bytes of a question besides its texts
	listedAfter = 100                 // after Deadline/listed, a provider lists a batch it has accepted

	callTimeout     = 2 * time.Minute // time limit of a short call
	transferTimeout = 30 * time.Minute
)

// Waves asks the questions of one job. It is an [llm.Queue], safe for concurrent use.
type Waves struct {
	Options
	store Store

	mu              sync.Mutex
	unsubmitted     map[string][]reverie.BatchQuestion // questions that are in no batch yet, by model
	reserved        map[string]*llm.Reservation        // by question id
	reservedBatches map[string]bool                    // batches whose questions are all reserved
	limits          map[string]*batchLimits            // what providers accept, by model
	reported        string
	estimates       map[[2]string]float64 // results of Answer, by purpose and model
}

// batchLimits is how many questions of a model its provider accepts in one batch.
type batchLimits struct {
	most          int       // most questions of a batch; 0: the provider's limit
	refusedBefore int       // how many of the next questions were refused in one batch
	retryAt       time.Time // time of the next attempt after a rate limit
	accepted      bool      // it has accepted a batch
	refusedAlone  int       // single questions that it has refused, before it has accepted any
}

// New returns the waves of a job.
func New(store Store, o Options) *Waves {
	if o.Within == nil {
		o.Within = context.WithTimeout
	}
	w := &Waves{Options: o, store: store, unsubmitted: map[string][]reverie.BatchQuestion{},
		reserved: map[string]*llm.Reservation{}, reservedBatches: map[string]bool{}, limits: map[string]*batchLimits{},
		estimates: map[[2]string]float64{}}
	for _, m := range o.Models {
		w.limits[m.Name()] = &batchLimits{}
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
	asked := stateOf(q)
	if q.Status == reverie.QuestionWaiting && q.BatchID == nil {
		if asked.Direct = w.isLate(q); !asked.Direct {
			w.mu.Lock()
			defer w.mu.Unlock()
			w.unsubmitted[q.Model] = append(w.unsubmitted[q.Model], q)
		}
	}
	return asked, nil
}

// isLate reports whether a question has waited as long as Deadline.
func (w *Waves) isLate(q reverie.BatchQuestion) bool { return w.Clock.Since(q.CreatedAt) >= w.Deadline }

// Keep implements [llm.Queue].
func (w *Waves) Keep(ctx context.Context, meta llm.Meta, id string, resp llm.Response) error {
	return w.store.KeepAnswer(ctx, meta.GroupID, id, resp.Text, string(resp.Finish))
}

// errStopped is returned if Run must stop while batches are not finished.
var errStopped = fmt.Errorf("told to stop while batches are out; the next start with batches goes on with them: %w",
	reverie.ErrDeferred)

// Run works in waves until no batch is left to wait for, stop is closed, or work reports that it is over.
func (w *Waves) Run(ctx context.Context, stop <-chan struct{}, work func(context.Context) (over bool)) error {
	if err := w.store.SweepBatches(ctx, w.Job, w.Clock.Now().Add(-keepEnded)); err != nil {
		return err
	}
	defer w.dropUnsubmitted()
	for {
		list, err := w.store.BatchesOut(ctx, w.Job)
		if err == nil {
			err = w.count(ctx, list)
		}
		if err != nil || work(llm.WithQueue(ctx, w)) {
			return err
		}
		any, err := w.Settle(ctx, stop)
		if !any || err != nil && !othersGoOn(err) { // a passing error does not prevent the use of the answers
			return err
		}
	}
}

// othersGoOn reports whether other batches may go on after an error: one of the budget, or of a provider.
func othersGoOn(err error) bool {
	return errors.As(err, new(*reverie.BudgetError)) || errors.As(err, new(*llm.Error))
}

// Settle submits the new questions and waits for the batches of the job. It returns when no batch is unfinished, when
// some were answered and the others are slow, or when stop is closed. any reports whether there was a batch: then the
// runs may have new answers. The error is a [*reverie.BudgetError] if the budget left questions unasked and no batch is
// unfinished. It is the provider's error if the provider refuses everything that is left.
func (w *Waves) Settle(ctx context.Context, stop <-chan struct{}) (any bool, err error) {
	defer w.dropUnsubmitted()
	for wait, answered := w.Poll, false; ; wait = min(2*wait, maxWait*w.Poll) {
		out, came, moved, err := w.step(ctx)
		any, answered = any || out > 0 || moved, answered || came
		switch {
		case ctx.Err() != nil:
			return any, context.Cause(ctx)
		case err != nil && (out == 0 || !reverie.Passing(err) && !othersGoOn(err)):
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

// dropUnsubmitted drops the questions that were not submitted. A run that still needs one puts it again.
func (w *Waves) dropUnsubmitted() {
	w.mu.Lock()
	defer w.mu.Unlock()
	clear(w.unsubmitted)
	clear(w.reservedBatches)
	clear(w.estimates)
	for _, r := range w.limits {
		r.refusedBefore = 0
	}
	for id, r := range w.reserved {
		r.Release()
		delete(w.reserved, id)
	}
}

// count reserves the budget of all questions in submitted batches, whichever process submitted them.
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

// reserve reserves the budget of the questions of one batch. It returns the questions that still wait.
func (w *Waves) reserve(ctx context.Context, b reverie.Batch,
	how func(*llm.Model, context.Context, int, int) (*llm.Reservation, error)) (list []reverie.BatchQuestion, err error) {
	m := w.model(b)
	w.mu.Lock()
	defer w.mu.Unlock()
	if m == nil || w.reservedBatches[b.ID] {
		return nil, nil
	}
	if list, err = w.store.BatchQuestions(ctx, b.ID); err != nil {
		return nil, err
	}
	for _, q := range list {
		if w.reserved[q.ID] == nil {
			answer, err := w.estimateAnswer(ctx, q)
			if err != nil {
				return list, err
			}
			if w.reserved[q.ID], err = how(m, ctx, q.Tokens, answer); err != nil {
				delete(w.reserved, q.ID)
				return list, err
			}
		}
	}
	w.reservedBatches[b.ID] = true
	return list, nil
}

// estimateAnswer estimates the tokens of the answer to a question.
func (w *Waves) estimateAnswer(ctx context.Context, q reverie.BatchQuestion) (int, error) {
	key := [2]string{q.Purpose, q.Model}
	tokens, known := w.estimates[key]
	if !known && w.Answer != nil {
		var err error
		if tokens, err = w.Answer(ctx, q.Purpose, q.Model); err != nil {
			return 0, err
		}
		w.estimates[key] = tokens
	}
	return int(tokens), nil
}

// step looks at each unfinished batch and submits new questions. out counts the batches that go on. came reports
// whether any batch has ended. moved reports whether there was any progress.
func (w *Waves) step(ctx context.Context) (out int, came, moved bool, err error) {
	list, wanted, err := w.unfinished(ctx)
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
		if w.model(b) == nil { // its answers cannot be read while the model is not configured
			continue
		}
		ended, err := w.checkBatch(ctx, b, spent != nil || !wanted[b.ID])
		errs = append(errs, err)
		if came = came || ended; !ended {
			if !isPermanent(err) {
				out++
			}
			tokens[b.Model] += b.Tokens
		}
	}
	moved = came
	for _, m := range w.Models {
		n, err := w.submit(ctx, m, tokens[m.Name()], spent)
		out, moved = out+n, moved || n > 0
		switch left := w.unsubmittedOf(m); {
		case len(left) == 0 || errors.As(err, new(*reverie.BudgetError)):
		case w.isLate(left[0]): // the next wave asks it directly
			moved, err = true, nil
		case !isPermanent(err): // the provider has no room now: later
			out++
		}
		errs = append(errs, err)
	}
	w.reportProgress(ctx)
	return out, came, moved, errors.Join(errs...)
}

// isPermanent reports whether a provider has refused something permanently.
func isPermanent(err error) bool {
	return errors.As(err, new(*llm.Error)) && !reverie.Passing(err)
}

// unsubmittedOf returns the questions of a model that were put and not submitted.
func (w *Waves) unsubmittedOf(m *llm.Model) []reverie.BatchQuestion {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.unsubmitted[m.Name()]
}

// reportProgress reports the progress of the batches, if it has changed.
func (w *Waves) reportProgress(ctx context.Context) {
	list, err := w.store.BatchesOut(ctx, w.Job)
	if err != nil || len(list) == 0 {
		return
	}
	questions, done := 0, 0
	for _, b := range list {
		questions, done = questions+b.Questions, done+b.Answered+b.Refused+b.Failed
	}
	now := fmt.Sprintf("%s: batches out: %d, questions: %d, answered: %d", w.Job, len(list), questions, done)
	if now != w.reported {
		w.reported = now
		w.Tell(now)
	}
}

// model returns the model of a batch, nil if it is not configured.
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
