package recall_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/goleak"

	"reverie/internal/recall"
	"reverie/internal/reverie"
	"reverie/store"
	"reverie/store/pg"
	"reverie/store/pgtest"
)

// ledger keeps uses in memory, and fails when it is told to.
type ledger struct {
	mu     sync.Mutex
	began  time.Time
	writes []string // "12 rows at 200ms"
	rows   map[string]bool
	fails  func(attempt int, rows []reverie.Usage) error
	tries  int
	block  chan struct{} // not nil: a write waits until it is closed, or gives up with its caller
}

func (l *ledger) LogUsage(ctx context.Context, rows []reverie.Usage) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if block := l.block; block != nil {
		l.mu.Unlock()
		select {
		case <-block:
		case <-ctx.Done():
		}
		l.mu.Lock()
		if ctx.Err() != nil {
			return ctx.Err()
		}
	}
	l.tries++
	if l.fails != nil {
		if err := l.fails(l.tries, rows); err != nil {
			return err
		}
	}
	l.writes = append(l.writes, fmt.Sprintf("%d rows at %v", len(rows), time.Since(l.began)))
	for _, r := range rows {
		if l.rows[r.MemoryID] {
			return fmt.Errorf("%s twice: %w", r.MemoryID, reverie.ErrConflict)
		}
		l.rows[r.MemoryID] = true
	}
	return nil
}

func newLedger() *ledger { return &ledger{rows: map[string]bool{}, began: time.Now()} }

func uses(from, n int) (rows []reverie.Usage) {
	for i := range n {
		rows = append(rows, reverie.Usage{GroupID: "g", UsageID: "u", MemoryID: fmt.Sprint(from + i)})
	}
	return rows
}

var quiet = slog.New(slog.DiscardHandler)

func wantWrites(t *testing.T, l *ledger, want ...string) {
	t.Helper()
	l.mu.Lock()
	defer l.mu.Unlock()
	if got := strings.Join(l.writes, ", "); got != strings.Join(want, ", ") {
		t.Errorf("written were %s; want %s", got, strings.Join(want, ", "))
	}
}

// TestUsageBatches: rows wait for others for a while, and what somebody waits for not at all.
func TestUsageBatches(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newLedger()
		log := recall.NewUsageLog(l, recall.UsageOptions{Delay: time.Second, Log: quiet})
		add := func(from, n int) {
			if err := log.Add(uses(from, n)); err != nil {
				t.Error(err)
			}
		}
		add(0, 3)
		time.Sleep(400 * time.Millisecond) // of the bubble's clock
		add(3, 3)
		time.Sleep(700 * time.Millisecond)
		wantWrites(t, l, "6 rows at 1s")
		add(6, 23)
		synctest.Wait()
		wantWrites(t, l, "6 rows at 1s")
		if err := log.Flush(t.Context()); err != nil {
			t.Error(err)
		}
		wantWrites(t, l, "6 rows at 1s", "23 rows at 1.1s")
		add(29, 1)
		for range 2 { // the second has nothing left to do
			if err := log.Close(t.Context()); err != nil {
				t.Error(err)
			}
		}
		if err := log.Add(uses(99, 1)); err == nil {
			t.Error("a closed log takes rows")
		}
		if err := log.Flush(t.Context()); err != nil || len(l.rows) != 30 {
			t.Errorf("%d rows, %v", len(l.rows), err)
		}
		time.Sleep(time.Hour)
		wantWrites(t, l, "6 rows at 1s", "23 rows at 1.1s", "1 rows at 1.1s")
	})
}

// TestUsageRetries: what fails in passing is tried again until it is written, and a context that is refused costs no
// other.
func TestUsageRetries(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newLedger()
		l.fails = func(attempt int, rows []reverie.Usage) error {
			if attempt <= 3 {
				return fmt.Errorf("down: %w", reverie.ErrUnavailable)
			}
			for _, r := range rows {
				if r.MemoryID == "4" {
					return fmt.Errorf("bad row: %w", reverie.ErrInvalid)
				}
			}
			return nil
		}
		log := recall.NewUsageLog(l, recall.UsageOptions{Delay: time.Second, Retry: time.Second, Log: quiet})
		for _, part := range [][2]int{{0, 4}, {4, 1}, {5, 3}} {
			if err := log.Add(uses(part[0], part[1])); err != nil {
				t.Fatal(err)
			}
		}
		short, cancel := context.WithTimeout(t.Context(), time.Second/2)
		defer cancel()
		if err := log.Flush(short); !errors.Is(err, reverie.ErrUnavailable) || !strings.HasPrefix(err.Error(), "8 uses") {
			t.Errorf("flushing while the store is down: %v", err)
		}
		if err := log.Flush(t.Context()); err != nil {
			t.Errorf("flushing until the store is back: %v", err)
		}
		wantWrites(t, l, "4 rows at 1.5s", "3 rows at 1.5s")
		if err := log.Close(t.Context()); !errors.Is(err, reverie.ErrInvalid) || !strings.HasPrefix(err.Error(), "1 of 8 uses") {
			t.Errorf("closing after a row was lost: %v", err)
		}
	})
}

// TestUsageHangs: after a write that hangs longer than any may, all is written that came meanwhile.
func TestUsageHangs(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newLedger()
		l.block = make(chan struct{})
		log := recall.NewUsageLog(l, recall.UsageOptions{Log: quiet})
		for i := range 7 {
			if err := log.Add(uses(i, 1)); err != nil {
				t.Fatal(err)
			}
			if i == 0 {
				go func() { _ = log.Flush(t.Context()) }() // nothing bounds this one
			}
			time.Sleep(10 * time.Second)
		}
		l.mu.Lock()
		close(l.block)
		l.block = nil
		l.mu.Unlock()
		time.Sleep(time.Minute)
		l.mu.Lock()
		defer l.mu.Unlock()
		if len(l.rows) != 7 {
			t.Errorf("%d of 7 rows are written", len(l.rows))
		}
	})
}

// TestUsageIsBounded: when as many rows wait as may, further ones are refused, until those are written.
func TestUsageIsBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newLedger()
		l.block = make(chan struct{})
		log := recall.NewUsageLog(l, recall.UsageOptions{Capacity: 10, Log: quiet})
		if err := log.Add(uses(0, 8)); err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Second) // they are being written
		if err := log.Add(uses(100, 3)); err == nil || !strings.Contains(err.Error(), "8 uses") {
			t.Errorf("adding beyond the bound: %v", err)
		}
		close(l.block)
		synctest.Wait()
		if err := log.Add(uses(8, 3)); err != nil {
			t.Error(err)
		}
		if err := log.Close(t.Context()); err != nil || len(l.rows) != 11 {
			t.Errorf("%d rows, %v", len(l.rows), err)
		}
	})
}

// TestUsageCloseGivesUp: closing ends in time, stops a write that hangs, and says
// how many rows are lost.
func TestUsageCloseGivesUp(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		for name, set := range map[string]func(*ledger){
			"hangs": func(l *ledger) { l.block = make(chan struct{}) },
			"down":  func(l *ledger) { l.fails = func(int, []reverie.Usage) error { return reverie.ErrUnavailable } },
		} {
			l := newLedger()
			set(l)
			log := recall.NewUsageLog(l, recall.UsageOptions{Log: quiet})
			if err := log.Add(uses(0, 7)); err != nil {
				t.Fatal(err)
			}
			short, cancel := context.WithTimeout(t.Context(), 10*time.Second)
			err := log.Close(short)
			cancel()
			if err == nil || !strings.HasPrefix(err.Error(), "7 of 7 uses of memories could not be written") {
				t.Errorf("%s: %v", name, err)
			}
			short, cancel = context.WithTimeout(t.Context(), time.Hour)
			if err := log.Flush(short); err == nil {
				t.Errorf("%s: what is lost counts as written", name)
			}
			cancel()
		}
	})
}

// TestUsageConcurrent: nothing that many add at once is lost or written twice, and
// nothing goes on running.
func TestUsageConcurrent(t *testing.T) {
	before := goleak.IgnoreCurrent()
	l := newLedger()
	log := recall.NewUsageLog(l, recall.UsageOptions{Delay: time.Millisecond, Log: quiet})
	var all sync.WaitGroup
	for i := range 8 {
		all.Go(func() {
			for k := range 50 {
				if err := log.Add(uses(i*1000+k*3, 3)); err != nil {
					t.Error(err)
				}
				if k%10 == i {
					if err := log.Flush(t.Context()); err != nil {
						t.Error(err)
					}
				}
			}
		})
	}
	all.Wait()
	if err := log.Close(t.Context()); err != nil || len(l.rows) != 8*50*3 {
		t.Errorf("%d rows, %v", len(l.rows), err)
	}
	goleak.VerifyNone(t, before)
}

// TestUsageIsStored writes into the database; what cannot be a row is refused
// alone.
func TestUsageIsStored(t *testing.T) {
	s := pgtest.New(t)
	log := recall.NewUsageLog(s, recall.UsageOptions{Log: quiet})
	rows := uses(0, 3)
	for i := range rows {
		rows[i].UsageID, rows[i].MemoryID, rows[i].LineageID, rows[i].Position = reverie.NewID(), reverie.NewID(), reverie.NewID(), i+1
	}
	rows[1].LineageID = "none"
	for _, row := range rows {
		if err := log.Add([]reverie.Usage{row}); err != nil {
			t.Fatal(err)
		}
	}
	if err := log.Close(t.Context()); !errors.Is(err, reverie.ErrInvalid) || !strings.HasPrefix(err.Error(), "1 of 3") {
		t.Errorf("closing: %v", err)
	}
	counts, err := pg.Read(t.Context(), s.DB(), "count uses", func(ctx context.Context, tx *pg.Tx) (map[string]reverie.UsageCount, error) {
		return store.UsageCounts(ctx, tx, "g", []string{rows[0].LineageID, rows[2].LineageID})
	})
	if err != nil || len(counts) != 2 {
		t.Errorf("%v, %v", counts, err)
	}
}
