package recall

import (
	"context"
	"errors"
	"time"

	"reverie/internal/reverie"
)

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
