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

// UsageStore is where uses are kept.
type UsageStore interface {
	// LogUsage writes rows of any groups in one transaction. Rows that are there
	// already stay as they are.
	LogUsage(ctx context.Context, rows []reverie.Usage) error
}

// UsageOptions are how uses are written. Zero values take the defaults named below.
type UsageOptions struct {
	Batch    int           // rows of one write at most; 2,000
	Delay    time.Duration // how long a row waits for others; 200ms
	Capacity int           // rows in memory at most, then those who add wait; 10,000
	Retry    time.Duration // wait after a write that failed in passing, doubled each time up to 50 times as long; 200ms
	Log      *slog.Logger  // slog.Default
}

// maxRetry is how many times as long as the first wait the longest is.
const maxRetry = 50

// UsageLog writes what was offered in batches, beside the path of those who asked.
// It is safe for concurrent use. Whoever makes one must close it.
type UsageLog struct {
	store   UsageStore
	options UsageOptions
	stop    context.CancelFunc

	mu      sync.Mutex
	moved   *sync.Cond      // something below has changed
	rows    []reverie.Usage // not written yet, oldest first
	added   int             // rows, ever
	lost    int             // of them: the store refuses them
	err     error           // why the newest write failed; nil once one has not
	refused error           // why the first lost row was
	hurry   int             // callers who wait for what is there to be written
	closed  bool            // no more rows are taken
	ended   bool            // the writer has
}

// NewUsageLog begins to write to a store.
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

// wait returns when something is so or, with its error, when ctx ends before. The mutex is
// held.
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

// change makes a change, and tells all who wait.
func (l *UsageLog) change(do func()) {
	l.mu.Lock()
	defer l.mu.Unlock()
	do()
	l.moved.Broadcast()
}

// Add takes rows to be written soon. It waits only while as many rows as may be in
// memory are not written yet, and takes all of the rows or, with an error, none.
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

// Flush returns when all rows that were added before it are written, or refused for
// good. Its error says how many are not; they are still tried.
func (l *UsageLog) Flush(ctx context.Context) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	target := l.added
	l.hurry++
	defer func() { l.hurry-- }()
	l.moved.Broadcast()
	left := func() int { return len(l.rows) - (l.added - target) } // those that came later are the last
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

// Close takes no more rows, writes all that is left and ends the writer. It keeps
// trying until ctx is done. Its error says how many rows, of all that were ever
// added, could not be written.
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

// ready waits until rows are to be written: a batch of them, or fewer that have
// waited for long enough or that somebody waits for. It is false at the end.
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

// write writes one batch, however often it takes. Nobody else removes rows.
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
				l.err = err // not the end of waiting itself, where more is known
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

// save writes rows and says how many are done with. An error is a passing one. Of
// rows that are refused together, each is tried, so that one bad row costs no other.
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
