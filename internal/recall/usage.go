package recall

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
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
	wake    chan struct{} // there is something to look at
	done    chan struct{} // the writer has ended
	stop    context.CancelFunc

	mu      sync.Mutex
	rows    []reverie.Usage // not written yet, oldest first
	added   int             // rows, ever
	settled int             // of them: written, or lost
	lost    int             // of them: the store refuses them
	err     error           // why the newest write failed; nil once one has not
	refused error           // why the first lost row was
	hurry   int             // callers who wait for what is there to be written
	closed  bool
	moved   chan struct{} // closed, and made anew, when rows were settled or the log was closed
}

// NewUsageLog begins to write to a store.
func NewUsageLog(store UsageStore, o UsageOptions) *UsageLog {
	o.Batch, o.Capacity = cmp.Or(o.Batch, 2000), cmp.Or(o.Capacity, 10_000)
	o.Delay, o.Retry = cmp.Or(o.Delay, 200*time.Millisecond), cmp.Or(o.Retry, 200*time.Millisecond)
	o.Log = cmp.Or(o.Log, slog.Default())
	ctx, stop := context.WithCancel(context.Background())
	l := &UsageLog{store: store, options: o, wake: make(chan struct{}, 1), done: make(chan struct{}), stop: stop,
		moved: make(chan struct{})}
	go l.run(ctx)
	return l
}

// errUsageClosed refuses rows that come after Close.
var errUsageClosed = errors.New("the usage log is closed")

// Add takes rows to be written soon. It waits only while as many rows as may be in
// memory are not written yet, and takes all of the rows or, with an error, none.
func (l *UsageLog) Add(ctx context.Context, rows []reverie.Usage) error {
	for {
		l.mu.Lock()
		if l.closed {
			l.mu.Unlock()
			return errUsageClosed
		}
		if len(l.rows) == 0 || len(l.rows)+len(rows) <= l.options.Capacity {
			l.rows = append(l.rows, rows...)
			l.added += len(rows)
			l.mu.Unlock()
			l.signal()
			return nil
		}
		waiting, moved := len(l.rows), l.moved
		l.mu.Unlock()
		select {
		case <-moved:
		case <-ctx.Done():
			return fmt.Errorf("log %d uses of memories: %d wait to be written before them: %w", len(rows), waiting,
				errors.Join(ctx.Err(), l.cause()))
		}
	}
}

// Flush returns when all rows that were added before it are written, or refused for
// good. Its error says how many are not; they are still tried.
func (l *UsageLog) Flush(ctx context.Context) error {
	l.mu.Lock()
	target := l.added
	l.hurry++
	l.mu.Unlock()
	l.signal()
	defer func() {
		l.mu.Lock()
		l.hurry--
		l.mu.Unlock()
	}()
	for {
		l.mu.Lock()
		left, moved := target-l.settled, l.moved
		l.mu.Unlock()
		if left <= 0 {
			return nil
		}
		select {
		case <-moved:
		case <-l.done:
			return fmt.Errorf("%d uses of memories are not written: %w", left, errors.Join(errUsageClosed, l.cause()))
		case <-ctx.Done():
			return fmt.Errorf("%d uses of memories are not written yet: %w", left, errors.Join(ctx.Err(), l.cause()))
		}
	}
}

// Close takes no more rows, writes all that is left and ends the writer. It keeps
// trying until ctx is done. Its error says how many rows, of all that were ever
// added, could not be written.
func (l *UsageLog) Close(ctx context.Context) error {
	l.mu.Lock()
	l.closed = true
	l.move()
	l.mu.Unlock()
	l.signal()
	select {
	case <-l.done:
	case <-ctx.Done():
	}
	l.stop()
	<-l.done
	l.mu.Lock()
	defer l.mu.Unlock()
	if n := len(l.rows) + l.lost; n > 0 {
		return fmt.Errorf("%d of %d uses of memories could not be written to the usage log: %w", n, l.added,
			errors.Join(l.err, l.refused))
	}
	return nil
}

// cause is why the newest write failed, nil if it did not.
func (l *UsageLog) cause() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.err
}

// signal has the writer look, without waiting for it.
func (l *UsageLog) signal() {
	select {
	case l.wake <- struct{}{}:
	default:
	}
}

// move tells all who wait that something has changed. The mutex is held.
func (l *UsageLog) move() {
	close(l.moved)
	l.moved = make(chan struct{})
}

// run writes until the log is closed and empty, or ctx is done.
func (l *UsageLog) run(ctx context.Context) {
	defer close(l.done)
	for l.ready(ctx) {
		l.write(ctx)
	}
}

// ready waits until rows are to be written: a batch of them, or fewer that have
// waited for long enough or that somebody waits for. It is false at the end.
func (l *UsageLog) ready(ctx context.Context) bool {
	var late <-chan time.Time
	for {
		l.mu.Lock()
		n, hurry, closed := len(l.rows), l.hurry > 0, l.closed
		l.mu.Unlock()
		switch {
		case ctx.Err() != nil, n == 0 && closed:
			return false
		case n >= l.options.Batch, n > 0 && (hurry || closed):
			return true
		case n > 0 && late == nil:
			timer := time.NewTimer(l.options.Delay)
			defer timer.Stop()
			late = timer.C
		}
		select {
		case <-l.wake:
		case <-late:
			return true
		case <-ctx.Done():
			return false
		}
	}
}

// write writes one batch, however often it takes. Nobody else removes rows.
func (l *UsageLog) write(ctx context.Context) {
	l.mu.Lock()
	batch := l.rows[:min(len(l.rows), l.options.Batch):min(len(l.rows), l.options.Batch)]
	l.mu.Unlock()
	for wait := l.options.Retry; len(batch) > 0; wait = min(2*wait, maxRetry*l.options.Retry) {
		n, err := l.save(ctx, batch)
		batch = batch[n:]
		l.settle(n, err)
		if err == nil {
			return
		}
		if ctx.Err() == nil {
			l.options.Log.Warn("uses of memories could not be written and are tried again", "rows", len(batch), "error",
				err)
		}
		retry := time.NewTimer(wait)
		select {
		case <-retry.C:
		case <-ctx.Done():
			retry.Stop()
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
		l.lose(rows[0], err)
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

// lose gives up a row that the store will never take.
func (l *UsageLog) lose(row reverie.Usage, err error) {
	l.options.Log.Error("the use of a memory cannot be logged", "group_id", row.GroupID, "memory_id", row.MemoryID,
		"error", err)
	l.mu.Lock()
	defer l.mu.Unlock()
	l.lost++
	if l.refused == nil {
		l.refused = err
	}
}

// settle takes the oldest n rows out, and keeps why the others are still there.
func (l *UsageLog) settle(n int, err error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if !errors.Is(err, context.Canceled) || l.err == nil {
		l.err = err // not the end of waiting itself, where more is known
	}
	l.rows = l.rows[n:]
	if len(l.rows) == 0 {
		l.rows = nil // what was written is let go of
	}
	l.settled += n
	if n > 0 {
		l.move()
	}
}
