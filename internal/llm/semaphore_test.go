package llm

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"reverie/internal/reverie"
)

// crowd counts those inside.
type crowd struct {
	mu               sync.Mutex
	inside, most, of int
}

func (c *crowd) enter() (leave func()) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.of++
	c.inside++
	c.most = max(c.most, c.inside)
	return func() {
		c.mu.Lock()
		defer c.mu.Unlock()
		c.inside--
	}
}

// slow is a model that takes its time, and counts.
type slow struct {
	took time.Duration
	crowd
}

func (s *slow) Generate(ctx context.Context, _ Request) (Response, error) {
	defer s.enter()()
	select {
	case <-time.After(s.took):
		return Response{Text: "{}", Finish: FinishStop}, nil
	case <-ctx.Done():
		return Response{}, ctx.Err()
	}
}

// TestPlaces has more groups worked on than may be asked about, and fewer at a desk than
// are asked about: no place waits for anything, and nobody works without a desk.
func TestPlaces(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const groups, places, desks = 24, 4, 2
		gen := &slow{took: time.Minute}
		m := NewModel(gen, Account{Calls: NewSemaphore(places)})
		room := NewSemaphore(desks)
		var working crowd
		work := func() {
			defer working.enter()()
			time.Sleep(time.Second)
		}
		var all sync.WaitGroup
		began := time.Now()
		for range groups {
			all.Go(func() {
				ctx, leave := room.Work(t.Context(), nil)
				defer leave()
				work()
				if _, err := m.Generate(ctx, meta, Request{User: "u"}); err != nil {
					t.Error(err)
				}
				work()
			})
		}
		all.Wait()
		if gen.most != places || gen.of != groups || working.most != desks {
			t.Errorf("%d questions at a time, %d in all; %d at work", gen.most, gen.of, working.most)
		}
		// The first two are asked about after a second, all in turns of a minute, and the last
		// four written by two at a time.
		if took, want := time.Since(began), groups/places*time.Minute+3*time.Second; took < want || took > want+time.Second {
			t.Errorf("took %s, want %s", took, want)
		}
		if len(room.taken) != 0 || len(m.account.Calls.taken) != 0 {
			t.Errorf("%d desks and %d places are not given back", len(room.taken), len(m.account.Calls.taken))
		}
	})
}

// TestPlacesGivenUp gives up waiting for a place, or for a desk, when the context ends.
func TestPlacesGivenUp(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		gen := &slow{took: time.Minute}
		m := NewModel(gen, Account{Calls: NewSemaphore(1)})
		go func() { _, _ = m.Generate(t.Context(), meta, Request{User: "first"}) }()
		synctest.Wait()
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if _, err := m.Generate(ctx, meta, Request{User: "second"}); !errors.Is(err, context.DeadlineExceeded) || gen.of != 1 {
			t.Errorf("%v, %d asked", err, gen.of)
		}
		room := NewSemaphore(1)
		_, first := room.Work(t.Context(), nil)
		_, second := room.Work(ctx, nil) // there is none for it any more
		second()
		if len(room.taken) != 1 {
			t.Error("who has no desk gives back another's")
		}
		first()
		time.Sleep(time.Minute)
	})
}

// TestPlacesStopped gives up the questions that wait for a place when told to stop, and
// waits for the answers of those that are asked.
func TestPlacesStopped(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		gen := &slow{took: time.Minute}
		m := NewModel(gen, Account{Calls: NewSemaphore(2)})
		room, stop := NewSemaphore(3), make(chan struct{})
		var all sync.WaitGroup
		var mu sync.Mutex
		ends := map[bool]int{}
		for range 3 {
			all.Go(func() {
				ctx, leave := room.Work(t.Context(), stop)
				defer leave()
				_, err := m.Generate(ctx, meta, Request{User: "u"})
				mu.Lock()
				defer mu.Unlock()
				ends[errors.Is(err, reverie.ErrDeferred)]++
			})
		}
		synctest.Wait()
		close(stop)
		all.Wait()
		if gen.of != 2 || ends[true] != 1 || ends[false] != 2 {
			t.Errorf("%d asked, %v", gen.of, ends)
		}
		for range 20 { // places are free, and nobody takes them
			ctx, leave := room.Work(t.Context(), stop)
			if _, err := m.Generate(ctx, meta, Request{User: "u"}); !errors.Is(err, reverie.ErrDeferred) || gen.of != 2 {
				t.Errorf("later: %v, %d asked", err, gen.of)
			}
			leave()
		}
		if len(m.account.Calls.taken) != 0 {
			t.Error("a place is not given back")
		}
	})
}

// TestDeskOfSeveralQuestions keeps the desk away until the last of several questions is
// answered.
func TestDeskOfSeveralQuestions(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := NewModel(&slow{took: time.Minute}, Account{})
		room := NewSemaphore(1)
		ctx, leave := room.Work(t.Context(), nil)
		var both sync.WaitGroup
		for i := range 2 {
			both.Go(func() {
				time.Sleep(time.Duration(i) * time.Second)
				_, _ = m.Generate(ctx, meta, Request{User: "u"})
			})
		}
		for at, want := range map[time.Duration]int{500 * time.Millisecond: 0, 60500 * time.Millisecond: 0, 61500 * time.Millisecond: 1} {
			both.Go(func() {
				time.Sleep(at)
				if got := len(room.taken); got != want {
					t.Errorf("after %s %d desks are taken, want %d", at, got, want)
				}
			})
		}
		both.Wait()
		leave()
		if len(room.taken) != 0 {
			t.Error("the desk is not given back")
		}
	})
}

// TestStoppedWhileWaiting: no limit and no backoff of a server is waited for after the
// signal, the fault before it is told, and vectors of what was answered are still made.
func TestStoppedWhileWaiting(t *testing.T) {
	limit := &Error{Provider: "p", Fault: FaultRateLimited, RetryAfter: 50 * time.Second, Err: errors.New("too many")}
	for name, c := range map[string]struct {
		options PolicyOptions
		before  error // that the first question meets with
		asked   int
		says    string
	}{
		"rate limit": {PolicyOptions{RequestsPerMinute: 1}, nil, 1, "told to stop"},
		"backoff":    {PolicyOptions{}, limit, 1, "too many"},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				gen := &counting{fails: c.before}
				a := Account{Provider: "p", Calls: NewSemaphore(4), Policy: NewPolicy(c.options)}
				stop := make(chan struct{})
				ctx, leave := NewSemaphore(2).Work(t.Context(), stop)
				defer leave()
				if c.before == nil {
					if _, err := NewModel(gen, a).Generate(ctx, meta, Request{User: "first"}); err != nil {
						t.Fatal(err)
					}
				}
				failed := make(chan error)
				go func() {
					_, err := NewModel(gen, a).Generate(ctx, meta, Request{User: "u"})
					failed <- err
				}()
				synctest.Wait()
				began := time.Now()
				close(stop)
				err := <-failed
				if took := time.Since(began); took > 0 || gen.of != c.asked || !errors.Is(err, reverie.ErrDeferred) || errors.Is(err, context.Canceled) || !strings.Contains(err.Error(), c.says) {
					t.Errorf("%d asked; %s after it: %v", gen.of, took, err)
				}
				a.Calls, gen.fails = nil, nil // as an embedder has none
				if _, err := NewModel(gen, a).Generate(ctx, meta, Request{User: "v"}); err != nil {
					t.Errorf("what needs no place: %v", err)
				}
			})
		})
	}
}

// counting answers at once, or fails.
type counting struct {
	of    int
	fails error
}

func (c *counting) Generate(context.Context, Request) (Response, error) {
	c.of++
	if c.fails != nil {
		return Response{}, c.fails
	}
	return Response{Text: "{}", Finish: FinishStop}, nil
}

// TestPanicOfTheTrial: a server whose one trial call panics is tried again after its time.
func TestPanicOfTheTrial(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		gen := &counting{fails: &Error{Provider: "p", Fault: FaultServer, Err: errors.New("down")}}
		m := NewModel(gen, Account{Policy: NewPolicy(PolicyOptions{Attempts: 1, BreakerFailures: 1, BreakerDelay: time.Minute})})
		ask := func(g Generator) (err error) {
			defer func() {
				if p := recover(); p != nil {
					err = fmt.Errorf("%v", p)
				}
			}()
			m.generator = g
			_, err = m.Generate(t.Context(), meta, Request{User: "u"})
			return err
		}
		_ = ask(gen)
		time.Sleep(2 * time.Minute)
		if err := ask(nil); err == nil || errors.As(err, new(*BreakerError)) {
			t.Fatalf("the trial: %v", err)
		}
		time.Sleep(2 * time.Minute)
		gen.fails = nil
		if err := ask(gen); err != nil {
			t.Errorf("after it: %v", err)
		}
	})
}

// TestNotAskedAfterStop: a signal that comes while the day's spend is read is heeded, too.
func TestNotAskedAfterStop(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		gen := &counting{}
		m := NewModel(gen, Account{Provider: "p", Calls: NewSemaphore(4)})
		read := make(chan struct{})
		day := NewDayBudget(Limits{Calls: 10}, func(context.Context, time.Time) (reverie.Spend, error) {
			<-read
			return reverie.Spend{}, nil
		}, time.Now)
		stop := make(chan struct{})
		ctx, leave := NewSemaphore(2).Work(t.Context(), stop)
		defer leave()
		ended := make(chan error)
		go func() {
			_, err := m.Generate(WithBudget(ctx, NewBudget(Limits{}, day)), meta, Request{User: "u"})
			ended <- err
		}()
		synctest.Wait()
		close(stop)
		synctest.Wait()
		close(read)
		if err := <-ended; gen.of != 0 || !errors.Is(err, reverie.ErrDeferred) {
			t.Errorf("asked %d times after the signal: %v", gen.of, err)
		}
	})
}
