package batch_test

import (
	"context"
	"errors"
	"fmt"
	"math/bits"
	"slices"
	"strings"
	"testing"
	"time"

	"reverie/internal/batch"
	"reverie/internal/llm"
	"reverie/internal/reverie"
	"reverie/store/batches"
)

func refusal(fault llm.Fault) error { return &llm.Error{Provider: "test", Fault: fault} }

// A question that a provider holds up for good is asked directly
// at the deadline, or an hour later where what the provider says may pass.
func TestDeadlineHoldsWhateverTheProviderSays(t *testing.T) {
	deadline := 24 * time.Hour
	for name, c := range map[string]struct {
		set   func(*world)
		after time.Duration
	}{
		"looks fail": {func(w *world) {
			w.provider.state = func(*handedIn) (llm.BatchState, error) { return llm.BatchState{}, refusal(llm.FaultServer) }
			w.provider.cancel = refusal(llm.FaultServer)
		}, deadline + time.Hour},
		"it cannot be cancelled": {func(w *world) {
			w.provider.state = func(*handedIn) (llm.BatchState, error) { return llm.BatchState{Phase: llm.BatchRunning}, nil }
			w.provider.cancel = refusal(llm.FaultBadRequest)
		}, deadline},
		"its answers cannot be read": {func(w *world) { w.provider.read = refusal(llm.FaultServer) }, deadline + time.Hour},
		"the reply is always lost":   {func(w *world) { w.provider.lose = func(int) (bool, bool) { return true, false } }, deadline},
		"it cannot be looked for": {func(w *world) {
			w.provider.lose = func(int) (bool, bool) { return true, false }
			w.provider.find = refusal(llm.FaultServer)
		}, deadline + time.Hour},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			w.say("g1", 1, "note tea g1 likes tea.")
			c.set(w)
			w.inBatches()
			w.want(`select tier || count(*) from llm_calls group by tier`, "standard1")
			w.want(`select status from runs`, "succeeded")
			w.want(`select 'x' from batches where ended_at is null`)
			if waited := w.clock.Since(noon); waited < c.after || waited > c.after+20*time.Minute {
				t.Errorf("asked directly after %v, want %v", waited, c.after)
			}
		})
	}
}

// A key that is refused for one batch does not keep the others from going on: the start says
// so at its end, and the first one after the deadline asks directly.
func TestRefusedBatchHoldsUpNoOther(t *testing.T) {
	w := newWorld(t)
	w.say("g1", 1, "note tea g1 likes tea.")
	w.say("g2", 1, "note bus g2 goes by bus.")
	w.provider.limits = llm.BatchLimits{Questions: 1}
	w.provider.state = func(b *handedIn) (llm.BatchState, error) {
		if strings.Contains(b.questions[0].Request.User, "tea") {
			return llm.BatchState{}, refusal(llm.FaultUnauthorized)
		}
		return llm.BatchState{Phase: llm.BatchEnded}, nil
	}
	for range 2 {
		if _, err := w.process(&life{left: -1}).run(); !errors.Is(err, reverie.ErrConfiguration) {
			t.Fatalf("error %v", err)
		}
		w.want(`select group_id from runs where status = 'succeeded'`, "g2")
		if waited := w.clock.Since(noon); waited > time.Hour {
			t.Fatalf("waited for %v", waited)
		}
	}
	w.clock.Advance(24 * time.Hour)
	w.inBatches()
	w.want(`select group_id || tier from llm_calls where purpose <> 'embed' order by 1`, "g1standard", "g2batch")
}

// A person can cancel a batch whatever it is at: one that may never have reached the provider
// is taken back, and one that is cancelled already stays so. It costs no try.
func TestCancelledByAPerson(t *testing.T) {
	for name, lost := range map[string]bool{"submitting": true, "running": false} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			w.say("g1", 1, "note tea g1 likes tea.")
			w.provider.lose = func(int) (bool, bool) { return lost, false }
			w.provider.state = func(*handedIn) (llm.BatchState, error) { return llm.BatchState{Phase: llm.BatchRunning}, nil }
			w.provider.answer = func(b *handedIn) (list []llm.BatchAnswer) {
				for _, a := range answersTo(b) {
					list = append(list, llm.BatchAnswer{ID: a.ID, Err: refusal(llm.FaultCanceled)})
				}
				return list
			}
			store := batches.New(w.store.DB())
			looks := 0
			w.look = func() { // between two looks
				if looks++; looks > 3 {
					return
				}
				for _, id := range w.rows(`select batch_id::text from batches where ended_at is null`) {
					if is := must(store.CancellingBatch(t.Context(), id))(t); !is {
						t.Error("not cancelled")
					}
				}
				if looks == 3 {
					lost, w.provider.state, w.provider.answer = false, nil, nil
				}
			}
			w.inBatches()
			w.want(`select distinct tier from llm_calls where purpose <> 'embed'`, "batch")
			w.want(`select status from runs`, "succeeded")
			w.want(`select sum(tries)::text from batch_questions`, "0")
			if want := w.rows(`select count(*)::text from batches where status = 'cancelled'`)[0]; !lost && name == "running" && want == "0" {
				t.Error("no batch was cancelled")
			}
			w.want(`select 'x' from batches where status = 'cancelled' and failed <> questions`)
		})
	}
}

// One question that the provider refuses is found by halving; its group fails alone.
func TestBadQuestionFailsAlone(t *testing.T) {
	const groups = 16
	for _, fault := range []llm.Fault{llm.FaultBadRequest, llm.FaultTooLarge} {
		for _, bad := range []int{0, 6, 15} {
			t.Run(fmt.Sprint(fault, bad), func(t *testing.T) {
				w := newWorld(t)
				for g := range groups {
					w.say(fmt.Sprintf("g%02d", g), 1, fmt.Sprintf("note topic%02d likes it.", g))
				}
				refused := 0
				w.provider.submit = func(_ llm.BatchSubmission, questions []llm.BatchQuestion) error {
					if slices.ContainsFunc(questions, func(q llm.BatchQuestion) bool {
						return strings.Contains(q.Request.User, fmt.Sprintf("topic%02d", bad))
					}) {
						refused++
						return refusal(fault)
					}
					return nil
				}
				s, _ := w.process(&life{left: -1}).run()
				if s.Done != groups-1 || s.Failed+s.Deferred != 1 {
					t.Errorf("summary %+v", s)
				}
				w.want(`select group_id from runs where status <> 'succeeded'`, fmt.Sprintf("g%02d", bad))
				w.want(`select fault from batch_questions where status = 'failed'`, string(fault))
				if most := bits.Len(groups); refused != most {
					t.Errorf("refused %d times, want %d", refused, most)
				}
				if most := 2*bits.Len(groups) + 1; w.provider.submits > most {
					t.Errorf("%d submissions, at most %d", w.provider.submits, most)
				}
			})
		}
	}
}

// A provider that asks for patience is handed in the same again, and not before it says.
func TestRetryAfter(t *testing.T) {
	w := newWorld(t)
	w.tell()
	sizes := []int{}
	var last time.Time
	w.provider.submit = func(_ llm.BatchSubmission, questions []llm.BatchQuestion) error {
		if sizes = append(sizes, len(questions)); len(sizes) > 4 {
			return nil
		}
		now := w.clock.Now()
		if waited := now.Sub(last); len(sizes) > 1 && waited < 20*time.Minute {
			t.Errorf("handed in again after %v", waited)
		}
		last = now
		return &llm.Error{Provider: "test", Fault: llm.FaultRateLimited, RetryAfter: 20 * time.Minute}
	}
	w.inBatches()
	if !slices.Equal(sizes[:5], []int{3, 3, 3, 3, 3}) {
		t.Errorf("sizes %d", sizes)
	}
}

// After a time in which less was taken, batches grow again.
func TestBatchesGrowAgain(t *testing.T) {
	w := newWorld(t)
	for g := range 8 {
		w.say(fmt.Sprintf("g%d", g), 1, fmt.Sprintf("note topic%d likes it.", g))
	}
	full, sizes := true, []int{}
	w.provider.state = func(*handedIn) (llm.BatchState, error) {
		if full {
			full = false
			return llm.BatchState{Phase: llm.BatchFailed, Fault: llm.FaultRateLimited, Err: "too many tokens"}, nil
		}
		return llm.BatchState{Phase: llm.BatchEnded}, nil
	}
	w.provider.submit = func(_ llm.BatchSubmission, questions []llm.BatchQuestion) error {
		sizes = append(sizes, len(questions))
		return nil
	}
	w.inBatches()
	if !slices.Equal(sizes, []int{8, 4, 4}) {
		t.Errorf("sizes %d", sizes)
	}
	w.want(`select failed || ' of ' || questions from batches where status = 'failed'`, "8 of 8")
}

// A call that hangs ends with its time, and is made again.
func TestHangingCalls(t *testing.T) {
	for _, what := range []string{"SubmitBatch", "BatchState", "BatchAnswers", "FindBatch"} {
		t.Run(what, func(t *testing.T) {
			w := newWorld(t)
			w.say("g1", 1, "note tea g1 likes tea.")
			hung := false
			var limit time.Duration
			w.options = func(o *batch.Options) {
				o.Within = func(ctx context.Context, d time.Duration) (context.Context, context.CancelFunc) {
					if hung {
						return ctx, func() {}
					}
					limit = d
					return context.WithTimeout(ctx, 0)
				}
			}
			w.provider.lose = func(n int) (bool, bool) { return what == "FindBatch" && n == 1, false }
			w.provider.hang = func(ctx context.Context, call string) error {
				if call != what || hung {
					return nil
				}
				<-ctx.Done()
				hung = true
				return refusal(llm.FaultTimeout)
			}
			w.inBatches()
			if want := map[bool]time.Duration{true: 2 * time.Minute, false: 30 * time.Minute}[what == "BatchState"]; limit != want || !hung {
				t.Errorf("limit %v, want %v", limit, want)
			}
			w.want(`select distinct tier from llm_calls where purpose <> 'embed'`, "batch")
		})
	}
}

// What a process that is gone has handed in counts against the budget of the next, and what
// it had not handed in yet is not where there is no room.
func TestBudgetAfterARestart(t *testing.T) {
	for name, lose := range map[string]bool{"running": false, "submitting": true} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			for g := range 3 {
				w.say(fmt.Sprintf("g%d", g), 1, fmt.Sprintf("note topic%d likes it.", g))
			}
			l := &life{left: -1}
			w.provider.lose = func(n int) (bool, bool) { return lose && n == 1, false }
			w.look = func() { l.dead = true }
			if _, err := w.process(l).run(); !errors.Is(err, errDead) {
				t.Fatal(err)
			}
			w.look = nil
			w.clock.Advance(reverie.LeaseTTL)
			w.exec(`update batches set held_until = 'epoch'`)
			w.exec(`update leases set expires_at = 'epoch'`)
			w.say("g9", 1, "note topic9 likes it.")
			w.budget = llm.NewBudget(llm.Limits{Calls: 2}, nil)
			before := len(w.provider.asked)
			_, err := w.process(&life{left: -1}).run()
			if !errors.As(err, new(*reverie.BudgetError)) {
				t.Errorf("error %v", err)
			}
			want := 0
			if lose {
				want = 2
			}
			if n := len(w.provider.asked) - before; n != want {
				t.Errorf("%d questions were handed in, want %d", n, want)
			}
			w.budget = nil
			w.inBatches()
			w.want(`select distinct status from runs`, "succeeded")
			if len(w.provider.asked) != 4 {
				t.Errorf("%d questions", len(w.provider.asked))
			}
		})
	}
}

// Of two answers to one question the one with its nonce counts, whichever comes first.
func TestForeignLineBeforeOurs(t *testing.T) {
	want := directly(t, (*world).tell)
	w := newWorld(t)
	w.tell()
	w.provider.answer = func(b *handedIn) (list []llm.BatchAnswer) {
		for i, a := range answersTo(b) {
			foreign := llm.BatchAnswer{ID: a.ID, Response: llm.Response{Text: `{"nonce":"another"}` + "\n{}"}}
			if i%2 == 1 {
				foreign = llm.BatchAnswer{ID: a.ID, Err: refusal(llm.FaultServer)}
			}
			list = append(list, foreign, a)
		}
		return list
	}
	w.inBatches()
	w.same(want)
	w.once(want)
}

// A batch whose reply was lost may be listed only later: it is not handed in again before,
// also by another process, nor taken back.
func TestListedLate(t *testing.T) {
	want := directly(t, (*world).tell)
	for name, dies := range map[string]bool{"alive": false, "killed": true} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			w.tell()
			w.provider.lose = func(n int) (bool, bool) { return n == 1, true }
			w.provider.listed = noon.Add(14 * time.Minute)
			l := &life{left: -1}
			if dies {
				w.look = func() { l.dead = true }
				if _, err := w.process(l).run(); !errors.Is(err, errDead) {
					t.Fatal(err)
				}
				w.exec(`update batches set held_until = 'epoch'`)
				w.exec(`update leases set expires_at = 'epoch'`)
				w.look = nil
			}
			w.inBatches()
			w.same(want)
			w.once(want)
			if w.clock.Now().Before(w.provider.listed) {
				t.Error("it was listed at once")
			}
		})
	}
}

// A provider that accepts nothing is told from one question that it does not accept: after
// a few the start ends, and says what to set. What was asked is asked directly then.
func TestProviderThatRefusesAll(t *testing.T) {
	const groups = 40
	w := newWorld(t)
	for g := range groups {
		w.say(fmt.Sprintf("g%02d", g), 1, fmt.Sprintf("note topic%02d likes it.", g))
	}
	w.provider.submit = func(llm.BatchSubmission, []llm.BatchQuestion) error { return refusal(llm.FaultBadRequest) }
	_, err := w.process(&life{left: -1}).run()
	if !errors.Is(err, reverie.ErrConfiguration) || !strings.Contains(err.Error(), "ask without --batch") {
		t.Errorf("error %v", err)
	}
	if most := bits.Len(groups) + 2; w.provider.submits > most {
		t.Errorf("%d submissions, at most %d", w.provider.submits, most)
	}
	w.want(`select count(*)::text from batch_questions where status = 'waiting' and batch_id is null`, fmt.Sprint(groups-2))
	w.want(`select 'x' from batches where ended_at is null`)
	if _, err := w.process(&life{left: -1}).runner.Run(t.Context(), nil); err == nil {
		t.Error("what was refused has not failed")
	}
	w.want(`select count(*)::text from runs where status = 'succeeded'`, fmt.Sprint(groups-2))
}

// A slow batch does not keep the groups of others from their next questions.
func TestSlowBatchHoldsUpNoOther(t *testing.T) {
	want := directly(t, (*world).tell)
	w := newWorld(t)
	w.tell()
	w.provider.limits = llm.BatchLimits{Questions: 1}
	w.provider.state = func(b *handedIn) (llm.BatchState, error) {
		slow := strings.Contains(b.questions[0].Request.User, "g1 ")
		if slow && w.rows(`select count(*)::text from runs where group_id <> 'g1' and status = 'succeeded'`)[0] != "6" {
			return llm.BatchState{Phase: llm.BatchRunning}, nil
		}
		return llm.BatchState{Phase: llm.BatchEnded}, nil
	}
	w.inBatches()
	w.same(want)
	w.once(want)
	w.want(`select distinct status from batches`, "ended")
}

// A batch for which no run waits any more is cancelled, and its answers are paid for and not
// used; what was put for such a run is not handed in.
func TestUnwanted(t *testing.T) {
	w := newWorld(t)
	w.tell()
	w.provider.state = func(*handedIn) (llm.BatchState, error) { return llm.BatchState{Phase: llm.BatchRunning}, nil }
	w.provider.answer = func(b *handedIn) []llm.BatchAnswer { return answersTo(b)[:1] }
	cancelled := func() (n int) {
		for _, b := range w.provider.batches {
			if b.cancelled {
				n++
			}
		}
		return n
	}
	const end = `update runs set status = 'deferred', finished_at = started_at where status = 'running' and group_id `
	p := w.process(&life{left: -1})
	if _, err := p.runner.Run(llm.WithQueue(t.Context(), p.waves), nil); !errors.Is(err, reverie.ErrDeferred) {
		t.Fatal(err)
	}
	w.exec(end + `= 'g3'`)
	looks := 0
	w.look = func() {
		switch looks++; looks {
		case 1:
			w.exec(end + `= 'g1'`)
		case 2:
			if cancelled() != 0 {
				t.Error("cancelled while a run waits")
			}
			w.exec(end + `<> 'g1'`)
		}
	}
	if any, err := p.waves.Settle(t.Context(), nil); !any || err != nil {
		t.Errorf("%t, %v", any, err)
	}
	if cancelled() != 1 || len(w.provider.asked) != 2 {
		t.Errorf("%d cancelled, %d questions", cancelled(), len(w.provider.asked))
	}
	w.want(`select outcome || count(*) from llm_calls group by outcome`, "ok1")
	w.look, w.provider.state, w.provider.answer = nil, nil, nil
	w.inBatches()
	w.want(`select distinct status from messages m join runs r using (group_id, run_id)`, "succeeded")
}

// To cancel a batch has a time, whatever the provider does.
func TestCancelThatHangs(t *testing.T) {
	w := newWorld(t)
	w.say("g1", 1, "note tea g1 likes tea.")
	var limit time.Duration
	w.options = func(o *batch.Options) {
		o.Within = func(ctx context.Context, d time.Duration) (context.Context, context.CancelFunc) {
			limit = d
			return context.WithTimeout(ctx, 0)
		}
	}
	w.provider.hang = func(ctx context.Context, call string) error {
		if call != "CancelBatch" {
			return nil
		}
		<-ctx.Done()
		return refusal(llm.FaultTimeout)
	}
	w.provider.state = func(*handedIn) (llm.BatchState, error) { return llm.BatchState{Phase: llm.BatchRunning}, nil }
	w.look = func() {
		w.look, w.provider.state = nil, nil
		store := batches.New(w.store.DB())
		b := must(store.BatchesOut(t.Context(), reverie.JobEvolve))(t)[0]
		b, err := w.process(&life{left: -1}).waves.Cancel(t.Context(), b)
		if llm.FaultIn(err) != llm.FaultTimeout || limit != 2*time.Minute || b.Status != reverie.BatchCancelling {
			t.Errorf("%s within %v: %v", b.Status, limit, err)
		}
	}
	w.inBatches()
	if limit == 0 {
		t.Error("nothing was cancelled")
	}
}

// What a provider keeps of a batch is deleted once its answers are stored; that it cannot be
// does not matter to them.
func TestDropped(t *testing.T) {
	want := directly(t, (*world).tell)
	w := newWorld(t)
	w.tell()
	w.provider.drop = refusal(llm.FaultServer)
	w.inBatches()
	w.same(want)
	w.once(want)
	if len(w.provider.dropped) != len(w.provider.batches) || len(w.provider.dropped) == 0 {
		t.Errorf("%d of %d batches dropped", len(w.provider.dropped), len(w.provider.batches))
	}
}

// Answers that stop to come are waited for no longer than a look may take, and read again.
func TestAnswersThatStop(t *testing.T) {
	w := newWorld(t)
	w.say("g1", 1, "note tea g1 likes tea.")
	hung := 0
	w.provider.hang = func(ctx context.Context, call string) error {
		if call != "BatchAnswers" || hung > 0 {
			return nil
		}
		hung++
		w.clock.Advance(2 * time.Minute)
		<-ctx.Done()
		return &llm.Error{Provider: "test", Fault: llm.FaultTimeout, Err: context.Cause(ctx)}
	}
	w.inBatches()
	if w.want(`select distinct tier from llm_calls where purpose <> 'embed'`, "batch"); hung != 1 {
		t.Errorf("hung %d times", hung)
	}
}

// A group that fails is tried once, and not in each wave, whoever asks.
func TestFailedGroupIsTriedOnce(t *testing.T) {
	w := newWorld(t)
	w.tell()
	w.provider.answer = func(b *handedIn) (list []llm.BatchAnswer) {
		for i, a := range answersTo(b) {
			if q := b.questions[i].Request; strings.Contains(q.User, "g1 ") {
				a.Response.Text = nonces.FindString(q.System) + "\nI cannot help with that."
			}
			list = append(list, a)
		}
		return list
	}
	p := w.process(&life{left: -1})
	p.runner.Since = noon
	s, err := p.run()
	if s.Done != 2 || s.Failed != 1 || s.Skipped != 0 || len(s.Failures) != 1 {
		t.Errorf("%+v, %v", s, err)
	}
	w.want(`select group_id || status || count(*) from runs group by group_id, status order by 1`, "g1failed1", "g2succeeded3", "g3succeeded3")
}

// What the answers may cost counts as under way as well, not only the questions.
func TestBudgetKnowsOfAnswers(t *testing.T) {
	w := newWorld(t)
	for g := range 8 {
		w.say(fmt.Sprintf("g%d", g), 1, fmt.Sprintf("note topic%d likes it.", g))
	}
	w.options = func(o *batch.Options) {
		o.Answer = func(_ context.Context, purpose, model string) (float64, error) {
			if purpose != "evolve" || model != "test/m" {
				t.Errorf("asked for %s of %s", purpose, model)
			}
			return 10_000, nil // 0.1 USD
		}
	}
	w.budget = llm.NewBudget(llm.Limits{USD: 0.25}, nil)
	sizes := []int{}
	w.provider.submit = func(_ llm.BatchSubmission, questions []llm.BatchQuestion) error {
		sizes = append(sizes, len(questions))
		return nil
	}
	w.inBatches()
	if len(sizes) < 2 || sizes[0] != 3 {
		t.Errorf("sizes %d", sizes)
	}
}
