package recall

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"sync"
	"time"

	"reverie/internal/reverie"
)

// UsageStore stores uses of memories.
type UsageStore interface {
	// LogUsage writes rows of any groups in one transaction. Existing rows stay unchanged.
	LogUsage(ctx context.Context, rows []reverie.Usage) error
}

// UsageOptions configure how uses are written. Zero values take the defaults named below.
type UsageOptions struct {
	Batch    int           // maximum number of rows of one write; 2,000
	Delay    time.Duration // how long a row waits for others; 200ms
	Capacity int           // maximum number of rows in memory, beyond which Add waits; 10,000
	Retry    time.Duration // delay after a transient failure, doubled each time up to 50 times as long; 200ms
	Log      *slog.Logger  // slog.Default
}

// maxRetry is the longest delay as a multiple of the first one.
const maxRetry = 50

// UsageLog writes offered memories in batches and in the background, so that callers do not wait. It is safe for
// concurrent use. Its creator must close it.
type UsageLog struct {
	store   UsageStore
	options UsageOptions
	stop    context.CancelFunc

	mu      sync.Mutex
	moved   *sync.Cond      // signals that a field below has changed
	rows    []reverie.Usage // not written yet, oldest first
	added   int             // all rows added so far
	lost    int             // rows that the store refused
	err     error           // why the newest write failed; nil if it succeeded
	refused error           // why the first lost row was refused
	hurry   int             // callers who wait for the current rows to be written
	closed  bool            // no more rows are accepted
	ended   bool            // the writer has ended
}

// NewUsageLog returns a log and starts writing to the store.
func NewUsageLog(store UsageStore, o UsageOptions) *UsageLog {
	o.Batch, o.Capacity = cmp.Or(o.Batch, 2000), cmp.Or(o.Capacity, 10_000)
	o.Delay, o.Retry = cmp.Or(o.Delay, 200*time.Millisecond), cmp.Or(o.Retry, 200*time.Millisecond)
	o.Log = cmp.Or(o.Log, slog.Default())
	ctx, stop := context.WithCancel(context.Background())
	l := &UsageLog{store: store, options: o, stop: stop}
	l.moved = sync.NewCond(&l.mu)
	go l.run(ctx)
	return l
}

// errUsageClosed refuses rows that come after Close.
var errUsageClosed = errors.New("the usage log is closed")

// wait returns when so() is true, or with the context's error when ctx ends before. The caller holds the mutex.
func (l *UsageLog) wait(ctx context.Context, so func() bool) error {
	defer context.AfterFunc(ctx, func() { l.change(func() {}) })()
	for !so() {
		if err := ctx.Err(); err != nil {
			return err
		}
		l.moved.Wait()
	}
	return nil
}

// change makes a change, and wakes all waiting callers.
func (l *UsageLog) change(do func()) {
	l.mu.Lock()
	defer l.mu.Unlock()
	do()
	l.moved.Broadcast()
}

// Add queues rows for writing. It waits only while Capacity rows are unwritten. It accepts all of the rows or, with
// an error, none.
func (l *UsageLog) Add(ctx context.Context, rows []reverie.Usage) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	err := l.wait(ctx, func() bool {
		return l.closed || len(l.rows) == 0 || len(l.rows)+len(rows) <= l.options.Capacity
	})
	switch {
	case err != nil:
		return fmt.Errorf("log %d uses of memories: %d wait to be written before them: %w", len(rows), len(l.rows),
			errors.Join(err, l.err))
	case l.closed:
		return errUsageClosed
	}
	l.rows, l.added = append(l.rows, rows...), l.added+len(rows)
	l.moved.Broadcast()
	return nil
}

// Flush returns when all rows that were added before it are written, or refused for good. Its error says how many
// are not; the log still retries them.
func (l *UsageLog) Flush(ctx context.Context) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	target := l.added
	l.hurry++
	defer func() { l.hurry-- }()
	l.moved.Broadcast()
	left := func() int { return len(l.rows) - (l.added - target) } // later rows are at the end
	err := l.wait(ctx, func() bool { return left() <= 0 || l.ended })
	switch left := left(); {
	case left <= 0:
		return nil
	case err != nil:
		return fmt.Errorf("%d uses of memories are not written yet: %w", left, errors.Join(err, l.err))
	default:
		return fmt.Errorf("%d uses of memories are not written: %w", left, errors.Join(errUsageClosed, l.err))
	}
}

// Close accepts no more rows, writes all remaining ones and ends the writer. It retries until ctx is done. Its
// error says how many of all added rows could not be written.
func (l *UsageLog) Close(ctx context.Context) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.closed = true
	l.moved.Broadcast()
	ended := func() bool { return l.ended }
	_ = l.wait(ctx, ended)
	l.stop()
	_ = l.wait(context.Background(), ended)
	if n := len(l.rows) + l.lost; n > 0 {
		return fmt.Errorf("%d of %d uses of memories could not be written to the usage log: %w", n, l.added,
			errors.Join(l.err, l.refused))
	}
	return nil
}

// run writes until the log is closed and empty, or ctx is done.
func (l *UsageLog) run(ctx context.Context) {
	for l.ready(ctx) {
		l.write(ctx)
	}
	l.change(func() { l.ended = true })
}

// ready waits until a write is due: for a full batch, for rows older than Delay, or for rows that a caller waits
// for. It returns false at the end.
func (l *UsageLog) ready(ctx context.Context) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	var timer *time.Timer
	late := false
	_ = l.wait(ctx, func() bool {
		n := len(l.rows)
		if n > 0 && timer == nil {
			timer = time.AfterFunc(l.options.Delay, func() { l.change(func() { late = true }) })
		}
		return n >= l.options.Batch || n > 0 && (late || l.hurry > 0) || l.closed
	})
	if timer != nil {
		timer.Stop()
	}
	return ctx.Err() == nil && len(l.rows) > 0
}

// write writes one batch, with as many tries as necessary. Only this method removes rows.
func (l *UsageLog) write(ctx context.Context) {
	l.mu.Lock()
	batch := slices.Clip(l.rows[:min(len(l.rows), l.options.Batch)])
	l.mu.Unlock()
	for wait := l.options.Retry; ; wait = min(2*wait, maxRetry*l.options.Retry) {
		n, err := l.save(ctx, batch)
		batch = batch[n:]
		l.change(func() {
			l.rows = l.rows[n:]
			if !errors.Is(err, context.Canceled) || l.err == nil {
				l.err = err // keep the cause of the failure, not the end of the wait
			}
		})
		if err == nil {
			return
		}
		if ctx.Err() == nil {
			l.options.Log.Warn("uses of memories could not be written and are tried again", "rows", len(batch), "error",
				err)
		}
		select {
		case <-time.After(wait):
		case <-ctx.Done():
			return
		}
	}
}

// save writes rows and returns how many are finished. An error is transient. If a batch is refused, save writes
// each row alone, so that one bad row costs no other.
func (l *UsageLog) save(ctx context.Context, rows []reverie.Usage) (int, error) {
	err := l.store.LogUsage(ctx, rows)
	switch {
	case err == nil:
		return len(rows), nil
	case reverie.Passing(err):
		return 0, err
	case len(rows) == 1:
		l.options.Log.Error("the use of a memory cannot be logged", "group_id", rows[0].GroupID, "memory_id",
			rows[0].MemoryID, "error", err)
		l.change(func() { l.lost, l.refused = l.lost+1, cmp.Or(l.refused, err) })
		return 1, nil
	}
	half := len(rows) / 2
	n, err := l.save(ctx, rows[:half])
	if err != nil {
		return n, err
	}
	more, err := l.save(ctx, rows[half:])
	return n + more, err
}
