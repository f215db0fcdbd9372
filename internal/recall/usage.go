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
	Delay    time.Duration // how long rows wait for those of other contexts; 200ms
	Retry    time.Duration // delay after a transient failure; 2s
	Capacity int           // maximum number of rows in memory, beyond which Add refuses; 10,000
	Log      *slog.Logger  // slog.Default
}

// writeTimeout bounds a write in the background.
const writeTimeout = 30 * time.Second

// UsageLog writes offered memories in the background, those of many contexts at once, so that callers do not wait. It
// is safe for concurrent use. Its creator must close it.
type UsageLog struct {
	store   UsageStore
	options UsageOptions
	writing chan struct{} // full while somebody writes

	mu      sync.Mutex
	waiting [][]reverie.Usage // by context, oldest first; without those that are being written
	rows    int               // not written yet
	added   int               // all rows added so far
	lost    int               // rows that the store refused
	refused error             // why the first of them was refused
	timer   *time.Timer       // of the next write; nil: none is due
	closed  bool              // no more rows are accepted
}

// NewUsageLog returns a log that writes to the store.
func NewUsageLog(store UsageStore, o UsageOptions) *UsageLog {
	o.Delay, o.Retry = cmp.Or(o.Delay, 200*time.Millisecond), cmp.Or(o.Retry, 2*time.Second)
	o.Capacity, o.Log = cmp.Or(o.Capacity, 10_000), cmp.Or(o.Log, slog.Default())
	return &UsageLog{store: store, options: o, writing: make(chan struct{}, 1)}
}

// errUsageClosed refuses rows that come after Close.
var errUsageClosed = errors.New("the usage log is closed")

// Add queues the rows of a context for writing, all of them or, with an error, none. It does not wait.
func (l *UsageLog) Add(rows []reverie.Usage) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	switch {
	case l.closed:
		return errUsageClosed
	case l.rows > 0 && l.rows+len(rows) > l.options.Capacity:
		return fmt.Errorf("%d uses of memories already wait to be written", l.rows)
	}
	l.waiting, l.rows, l.added = append(l.waiting, rows), l.rows+len(rows), l.added+len(rows)
	l.schedule(l.options.Delay)
	return nil
}

// schedule writes after a delay, unless a write is due before. The caller holds the mutex.
func (l *UsageLog) schedule(delay time.Duration) {
	if l.timer != nil {
		return
	}
	l.timer = time.AfterFunc(delay, func() {
		l.mu.Lock()
		l.timer = nil
		l.mu.Unlock()
		ctx, cancel := context.WithTimeout(context.Background(), writeTimeout)
		defer cancel()
		if err := l.try(ctx); err != nil {
			l.options.Log.Warn("uses of memories could not be written and are tried again", "error", err)
		}
	})
}

// Flush returns when all rows that were added before it are written, or refused for good. It retries until ctx is done.
// Its error says how many are not written; the log still retries them.
func (l *UsageLog) Flush(ctx context.Context) error {
	err := l.try(ctx)
	for err != nil && ctx.Err() == nil {
		select {
		case <-time.After(l.options.Retry):
			err = l.try(ctx)
		case <-ctx.Done():
		}
	}
	return err
}

// try is one try to write all rows.
func (l *UsageLog) try(ctx context.Context) error {
	var list [][]reverie.Usage
	var err error
	select {
	case l.writing <- struct{}{}:
		defer func() { <-l.writing }()
		l.mu.Lock()
		if l.timer != nil {
			l.timer.Stop()
			l.timer = nil
		}
		list, l.waiting = l.waiting, nil
		l.mu.Unlock()
		list, err = l.write(ctx, list)
	case <-ctx.Done():
		err = ctx.Err()
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if err == nil {
		return nil
	}
	if l.waiting = append(list, l.waiting...); !l.closed && len(l.waiting) > 0 {
		l.schedule(l.options.Retry)
	}
	return fmt.Errorf("%d uses of memories are not written yet: %w", l.rows, err)
}

// write writes the rows of contexts at once, and returns the contexts that are left after a transient error. Where the
// store refuses them, it writes each context alone, so that a bad one costs no other.
func (l *UsageLog) write(ctx context.Context, list [][]reverie.Usage) (left [][]reverie.Usage, err error) {
	if len(list) == 0 {
		return nil, nil
	}
	rows := slices.Concat(list...)
	switch err = l.store.LogUsage(ctx, rows); {
	case err != nil && (ctx.Err() != nil || reverie.Passing(err)):
		return list, err
	case err != nil && len(list) > 1:
		for i := range list {
			if _, err := l.write(ctx, list[i:i+1]); err != nil {
				return list[i:], err
			}
		}
		return nil, nil
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.rows -= len(rows); err != nil {
		l.lost, l.refused = l.lost+len(rows), cmp.Or(l.refused, err)
		l.options.Log.Error("the uses of a context cannot be logged", "group_id", rows[0].GroupID, "usage_id",
			rows[0].UsageID, "error", err)
	}
	return nil, nil
}

// Close accepts no more rows, and flushes. Its error says how many of all added rows could not be written.
func (l *UsageLog) Close(ctx context.Context) error {
	l.mu.Lock()
	l.closed = true
	l.mu.Unlock()
	err := l.Flush(ctx)
	l.mu.Lock()
	defer l.mu.Unlock()
	if n := l.rows + l.lost; n > 0 {
		return fmt.Errorf("%d of %d uses of memories could not be written to the usage log: %w", n, l.added,
			errors.Join(err, l.refused))
	}
	return nil
}
