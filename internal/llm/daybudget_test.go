package llm

import (
	"context"
	"errors"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"reverie/internal/reverie"
)

// database is a ledger that several processes share.
type database struct {
	mu    sync.Mutex
	calls []reverie.Call
	reads int
	err   error         // of reading
	slow  bool          // reading takes as long as its context allows
	full  atomic.Bool   // rows cannot be written
	begun chan struct{} // told of each reading, if set
}

func (d *database) RecordCall(ctx context.Context, call reverie.Call) error {
	if call.Keep(ctx) {
		return nil
	}
	if d.full.Load() {
		return errors.New("no space left")
	}
	d.mu.Lock()
	d.calls = append(d.calls, call)
	d.mu.Unlock()
	for range 100 { // the row is there before the caller knows: let others look at it
		runtime.Gosched()
	}
	return nil
}

func (d *database) SpendSince(ctx context.Context, since time.Time) (reverie.Spend, error) {
	if d.begun != nil {
		d.begun <- struct{}{}
	}
	if d.slow {
		<-ctx.Done()
		return reverie.Spend{}, ctx.Err()
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	d.reads++
	var s reverie.Spend
	for _, c := range d.calls {
		if !c.CreatedAt.Before(since) {
			s.Add(c)
		}
	}
	return s, d.err
}

// process is a process on the database: its model, and the budget of its day.
type process struct {
	model *Model
	day   *DayBudget
}

// start starts a process. A call of its model takes that long, reads 10 tokens
// and writes 5.
func (d *database) start(limits Limits, takes time.Duration) process {
	gen := generatorFunc(func(context.Context, Request) (Response, error) {
		time.Sleep(takes)
		return Response{Text: "x", Finish: FinishStop, Usage: Usage{InputTokens: 10, OutputTokens: 5}}, nil
	})
	return process{NewModel(gen, Account{Provider: "p", Model: "m", Ledger: d}), NewDayBudget(limits, d.SpendSince, time.Now)}
}

// run asks n times, in a run of its own, and returns how many calls were made
// and what ended them.
func (p process) run(ctx context.Context, n int) (made int, err error) {
	ctx = WithBudget(ctx, NewBudget(Limits{}, p.day))
	for made < n {
		if _, err := p.model.Generate(ctx, meta, Request{}); err != nil {
			return made, err
		}
		made++
	}
	return made, nil
}

// A call whose row is written later counts once: before it is written, and after.
func TestDayCountsKeptCallsOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		db := &database{}
		p := db.start(Limits{Calls: 3}, 0)
		var kept []*KeptCall
		ctx := KeepCalls(t.Context(), func(k *KeptCall) { kept = append(kept, k) })
		if made, err := p.run(ctx, 2); made != 2 || len(kept) != 2 || len(db.calls) != 0 {
			t.Fatalf("%d calls, %d kept, %d written, %v", made, len(kept), len(db.calls), err)
		}
		time.Sleep(readEvery) // the ledger is read again
		if made, err := p.run(ctx, 2); made != 1 || refusal(err) == nil {
			t.Errorf("before they are written: %d calls, %v", made, err)
		}
		p.day.tally.limits.Calls = 5
		for _, k := range kept {
			if err := k.Write(func() error { return db.RecordCall(t.Context(), k.Call) }); err != nil {
				t.Fatal(err)
			}
		}
		time.Sleep(readEvery)
		if made, err := p.run(ctx, 3); made != 2 || refusal(err) == nil {
			t.Errorf("when they are: %d calls, %v", made, err)
		}
	})
}

func TestDayIsSharedByProcesses(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		db := &database{}
		one, other := db.start(Limits{Calls: 10}, 0), db.start(Limits{Calls: 10}, 0)
		if made, err := one.run(t.Context(), 4); made != 4 {
			t.Fatal(err)
		}
		if made, err := other.run(t.Context(), 3); made != 3 { // it has seen the 4
			t.Fatal(err)
		}
		time.Sleep(readEvery - time.Millisecond)
		if made, err := one.run(t.Context(), 1); made != 1 || db.reads != 2 {
			t.Fatalf("the ledger was read %d times within 10 s by two processes, error %v", db.reads, err)
		}
		time.Sleep(time.Millisecond)
		made, err := one.run(t.Context(), 5)
		if refused := refusal(err); made != 2 || refused == nil || *refused != (reverie.BudgetError{Scope: "day", What: "calls", Limit: 10, Spent: 10}) {
			t.Errorf("made %d calls, error %v", made, err)
		}
		if made, err := other.run(t.Context(), 1); made != 0 || refusal(err) == nil {
			t.Errorf("the other made %d, error %v", made, err)
		}
		if len(db.calls) != 10 {
			t.Errorf("%d calls", len(db.calls))
		}
	})
}

// TestOwnCallsCountOnce spends, looks at the ledger again, and spends what is
// left, with tokens as the limit.
func TestOwnCallsCountOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		db := &database{}
		p := db.start(Limits{Tokens: 15 * 6}, 0)
		for range 3 {
			if made, err := p.run(t.Context(), 2); made != 2 {
				t.Fatal(err)
			}
			time.Sleep(readEvery)
		}
		if made, err := p.run(t.Context(), 1); made != 0 || refusal(err) == nil {
			t.Errorf("made %d, error %v", made, err)
		}
	})
}

// TestOwnCallsCountOnceAtOnce writes rows while the ledger is read: the clock
// moves on with each call.
func TestOwnCallsCountOnceAtOnce(t *testing.T) {
	var clock atomic.Int64
	now := func() time.Time { return time.Unix(clock.Load(), 0) }
	db := &database{}
	gen := generatorFunc(func(context.Context, Request) (Response, error) {
		clock.Add(4)
		return Response{Text: "x", Finish: FinishStop, Usage: Usage{InputTokens: 10, OutputTokens: 5}}, nil
	})
	m := NewModel(gen, Account{Provider: "p", Model: "m", Ledger: db, Now: now, Policy: NewPolicy(PolicyOptions{BreakerFailures: -1})})
	p := process{m, NewDayBudget(Limits{Calls: 500}, db.SpendSince, now)}
	var made atomic.Int64
	var runs sync.WaitGroup
	for range 32 {
		runs.Go(func() {
			n, err := p.run(t.Context(), 500)
			made.Add(int64(n))
			if refusal(err) == nil {
				t.Errorf("a run ended with %v", err)
			}
		})
	}
	runs.Wait()
	if made.Load() != 500 || len(db.calls) != 500 || p.day.tally.spent.Calls != 500 || db.reads < 10 {
		t.Errorf("%d calls, %d rows, %d counted, %d readings", made.Load(), len(db.calls), p.day.tally.spent.Calls, db.reads)
	}
}

func TestNewDay(t *testing.T) {
	synctest.Test(t, func(t *testing.T) { // which begins at midnight UTC
		db := &database{}
		p := db.start(Limits{Calls: 2}, 0)
		time.Sleep(24*time.Hour - time.Second)
		if made, err := p.run(t.Context(), 3); made != 2 || refusal(err) == nil {
			t.Fatalf("made %d, error %v", made, err)
		}
		time.Sleep(time.Second)
		if made, err := p.run(t.Context(), 3); made != 2 || refusal(err) == nil {
			t.Errorf("on the new day: made %d, error %v", made, err)
		}
	})
}

// TestCallsOverMidnight counts a call for both days while it is under way, and
// then for the day that its row has.
func TestCallsOverMidnight(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		db := &database{}
		p := db.start(Limits{Calls: 2}, time.Minute)
		time.Sleep(24*time.Hour - time.Second)
		var run sync.WaitGroup
		run.Go(func() {
			if made, err := p.run(t.Context(), 1); made != 1 {
				t.Error(err)
			}
		})
		time.Sleep(2 * time.Second)
		run.Go(func() {
			if made, err := p.run(t.Context(), 1); made != 1 {
				t.Error(err)
			}
		})
		synctest.Wait()
		if _, err := p.run(t.Context(), 1); refusal(err) == nil {
			t.Errorf("a third begins beside two under way: %v", err)
		}
		run.Wait()
		if made, err := p.run(t.Context(), 2); made != 1 || refusal(err) == nil {
			t.Errorf("made %d more, error %v", made, err)
		}
	})
}

// TestRowsThatAreMissing counts calls that the ledger does not have until the
// day ends.
func TestRowsThatAreMissing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		db := &database{}
		p := db.start(Limits{Calls: 3}, 0)
		db.full.Store(true)
		for range 2 {
			var unwritten *LedgerError
			if _, err := p.run(t.Context(), 1); !errors.As(err, &unwritten) {
				t.Fatal(err)
			}
			time.Sleep(readEvery)
		}
		db.full.Store(false)
		if made, err := p.run(t.Context(), 2); made != 1 || refusal(err) == nil {
			t.Errorf("made %d, error %v", made, err)
		}
		time.Sleep(24 * time.Hour)
		if made, err := p.run(t.Context(), 3); made != 3 {
			t.Errorf("on the new day: made %d, error %v", made, err)
		}
	})
}

func TestLedgerThatCannotBeRead(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		db := &database{err: reverie.ErrUnavailable}
		p := db.start(Limits{Calls: 3}, 0)
		made, err := p.run(t.Context(), 1)
		if made != 0 || !errors.Is(err, reverie.ErrUnavailable) || db.reads != 1 || len(db.calls) != 0 || !strings.Contains(err.Error(), "[budget]") {
			t.Errorf("made %d, read %d times, error %v", made, db.reads, err)
		}
		db.err, db.slow = nil, true
		begun := time.Now()
		if made, err := p.run(t.Context(), 1); made != 0 || !errors.Is(err, reverie.ErrDeferred) || time.Since(begun) != readTimeout {
			t.Errorf("made %d within %s, error %v", made, time.Since(begun), err)
		}
		db.slow = false
		if made, err := p.run(t.Context(), 3); made != 3 {
			t.Errorf("made %d, error %v", made, err)
		}
		// A first look is not enough for later.
		time.Sleep(readEvery)
		db.err = reverie.ErrUnavailable
		if made, err := p.run(t.Context(), 1); made != 0 || !errors.Is(err, reverie.ErrUnavailable) {
			t.Errorf("made %d, error %v", made, err)
		}
	})
}

// TestWaitingForTheLedger lets many wait for one reading, and one give up.
func TestWaitingForTheLedger(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		db := &database{begun: make(chan struct{})}
		p := db.start(Limits{Calls: 100}, 0)
		gone, cancel := context.WithCancel(t.Context())
		var runs sync.WaitGroup
		runs.Go(func() {
			if made, err := p.run(gone, 1); made != 0 || !errors.Is(err, context.Canceled) {
				t.Errorf("made %d, error %v", made, err)
			}
		})
		synctest.Wait()
		for range 9 {
			runs.Go(func() {
				if made, err := p.run(t.Context(), 1); made != 1 {
					t.Error(err)
				}
			})
		}
		synctest.Wait()
		cancel()
		synctest.Wait()
		<-db.begun
		runs.Wait()
		if db.reads != 1 || len(db.calls) != 9 {
			t.Errorf("%d readings, %d calls", db.reads, len(db.calls))
		}
	})
}

// TestDayRefusesBehindARun leaves a run's own budget as it was.
func TestDayRefusesBehindARun(t *testing.T) {
	db := &database{}
	p := db.start(Limits{Calls: 1}, 0)
	run := NewBudget(Limits{Calls: 5}, p.day)
	ctx := WithBudget(t.Context(), run)
	for n := range 3 {
		_, err := p.model.Generate(ctx, meta, Request{})
		if (refusal(err) == nil) != (n == 0) {
			t.Errorf("call %d: %v", n, err)
		}
	}
	if run.run.spent.Calls != 1 || run.run.underWay != (reverie.Spend{}) {
		t.Errorf("spent %+v, under way %+v", run.run.spent, run.run.underWay)
	}
}

// TestUnboundedDay does not read the ledger.
func TestUnboundedDay(t *testing.T) {
	db := &database{err: errors.New("read")}
	p := db.start(Limits{}, 0)
	if made, err := p.run(t.Context(), 2); made != 2 || db.reads != 0 {
		t.Errorf("made %d, read %d times, error %v", made, db.reads, err)
	}
}

// What other processes have out in batches is under way for this one, and what it has out
// itself counts once. Nothing that is out is spent already.
func TestBatchesOfAllProcessesCount(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		db := &database{}
		out := reverie.Spend{}
		p := db.start(Limits{Calls: 10}, 0)
		p.day.Batches = func(context.Context) (reverie.Spend, error) { return out, nil }
		ctx := WithBudget(t.Context(), NewBudget(Limits{}, p.day))
		var own []*Reservation
		reserve := func(want int) {
			t.Helper()
			n := 0
			for r, err := p.model.Reserve(ctx, 1, 1); err == nil; r, err = p.model.Reserve(ctx, 1, 1) {
				n, own = n+1, append(own, r)
			}
			if n != want {
				t.Errorf("%d questions are handed in, want %d", n, want)
			}
		}
		out.Calls = 4 // of another
		reserve(6)
		time.Sleep(readEvery)
		out.Calls = 10 // of both
		reserve(0)
		if err := BudgetSpent(ctx); err != nil {
			t.Error(err)
		}
		for _, r := range own[:2] {
			r.Release()
		}
		for _, r := range own[2:4] {
			r.Settle(reverie.Call{CreatedAt: time.Now()}, func() bool { return db.RecordCall(ctx, reverie.Call{CreatedAt: time.Now()}) == nil })
		}
		out.Calls = 6 // of which the other's are 4
		reserve(2)
		time.Sleep(readEvery)
		out.Calls = 4 // its own, as the other has none any more
		reserve(4)
	})
}
