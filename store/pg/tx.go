package pg

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"fmt"
	"io"
	"net"
	"strconv"
	"strings"
	"time"

	"github.com/lib/pq/pqerror"

	"reverie/internal/fault"
	"reverie/internal/reverie"
)

// Tx is one transaction. Rows are read into structs by `db` tags: see [field].
type Tx struct {
	*sql.Tx
	asked []*Asked
	db    *DB
}

// Get reads one row; sql.ErrNoRows if there is none.
func (t *Tx) Get(ctx context.Context, dest any, query string, args ...any) error {
	return ReadRow(ctx, t, dest, query, args...)
}

// Select reads all rows into a slice.
func (t *Tx) Select(ctx context.Context, dest any, query string, args ...any) error {
	return readRows(ctx, t, dest, query, args...)
}

// Get is [Tx.Get] that returns the row.
func Get[T any](ctx context.Context, t *Tx, query string, args ...any) (row T, err error) {
	err = t.Get(ctx, &row, query, args...)
	return row, err
}

// Select is [Tx.Select] that returns the rows. The slice is never nil, because JSON needs [].
func Select[T any](ctx context.Context, t *Tx, query string, args ...any) ([]T, error) {
	rows := []T{}
	err := t.Select(ctx, &rows, query, args...)
	return rows, err
}

// Pages reads a query through a cursor, and calls take with up to rows rows at a time.
func Pages[T any](ctx context.Context, t *Tx, rows int, take func(page []T) error, query string, args ...any) error {
	if err := t.Exec(ctx, `declare pages no scroll cursor for `+query, args...); err != nil {
		return err
	}
	for {
		page, err := Select[T](ctx, t, fmt.Sprintf("fetch %d from pages", rows))
		if err != nil {
			return err
		}
		if err := take(page); err != nil {
			return err
		}
		if len(page) < rows {
			return t.Exec(ctx, `close pages`)
		}
	}
}

// returningRows wraps an insert ... select into a select, with one row for each row written. Citus passes only that
// form unchanged to the server of the group.
func returningRows(query string) string {
	columns, from, _ := strings.Cut(strings.TrimSpace(query), ")")
	if !strings.HasPrefix(columns, "insert into ") || !strings.HasPrefix(strings.TrimSpace(from), "select") {
		return query
	}
	return `with written as (` + query + ` returning 1) select from written`
}

// Exec queues a statement whose result the caller does not need. It is sent with the next statement that waits, at the
// latest with the commit, in the same round trip. If it fails, the statement that waits returns the error. The query
// must be one command.
func (t *Tx) Exec(ctx context.Context, query string, args ...any) error {
	_, err := t.ExecContext(context.WithValue(ctx, queuedKey{}, true), returningRows(query), args...)
	return err
}

// ExecRows runs a statement, waits, and returns the number of rows written.
func (t *Tx) ExecRows(ctx context.Context, query string, args ...any) (int, error) {
	res, err := t.ExecContext(ctx, returningRows(query), args...)
	if err != nil {
		return 0, err
	}
	n, err := res.RowsAffected()
	return int(n), err
}

// Work is one transaction. Do may run again after a rollback, so it must set its results anew each time.
type Work struct {
	What     string // such as "apply chunk 2 of run …", for errors
	Prepare  bool   // prepare statements with arguments: see conn
	ReadOnly bool   // one snapshot for all statements; no writes
	Snapshot bool   // one snapshot for all statements, with writes
	// ByKey says that all statements find rows by index, whatever their arguments. PostgreSQL then plans each once for
	// a connection, and not anew for short lists of keys. It never reads whole tables: a plan for a table that was
	// empty would be used for a while. It does not compile. Statements are also prepared.
	ByKey bool
	Do    func(ctx context.Context, t *Tx) error
	// Committed reports, on a new connection, whether Do's writes exist, after the reply to the commit was lost. It
	// must first lock a row that Do locks, so that it waits for a commit in progress. nil: Do is safe to repeat.
	Committed func(ctx context.Context, t *Tx) (bool, error)
}

// Run is [DB.Run] for work with a result. It returns the result of do after the commit.
func Run[T any](ctx context.Context, d *DB, w Work, do func(ctx context.Context, t *Tx) (T, error)) (T, error) {
	var result, none T
	w.Do = func(ctx context.Context, t *Tx) (err error) {
		result, err = do(ctx, t)
		return err
	}
	if err := d.Run(ctx, w); err != nil {
		return none, err
	}
	return result, nil
}

// Read returns what do reads in one snapshot.
func Read[T any](ctx context.Context, d *DB, what string, do func(ctx context.Context, t *Tx) (T, error)) (T, error) {
	return Run(ctx, d, Work{What: what, ReadOnly: true}, do)
}

// Lookup is [Read] with statements that find rows by index: see [Work].
func Lookup[T any](ctx context.Context, d *DB, what string, do func(ctx context.Context, t *Tx) (T, error)) (T, error) {
	return Run(ctx, d, Work{What: what, ReadOnly: true, ByKey: true}, do)
}

// MaxTries is how often a transaction is tried. A deadlock or a lost connection rolls it back completely, so that
// repeating it is safe.
const MaxTries = 3

// Run runs w until it is committed or has finally failed.
func (d *DB) Run(ctx context.Context, w Work) error {
	var err error
	for range MaxTries {
		var sent bool
		sent, err = d.attempt(ctx, w)
		if err == nil {
			return nil
		}
		if ServerError(err) == nil && canRepeat(err) {
			d.dropIdle() // after a failover all idle connections are broken
		}
		if sent && outcomeUnknown(err) {
			done, readErr := d.wasCommitted(ctx, w)
			if d.needsWhole(readErr) {
				done, readErr = d.whole.wasCommitted(ctx, w)
			}
			if readErr != nil {
				return fmt.Errorf("%s: %w: %w (%v): %w", w.What, reverie.ErrUnavailable, reverie.ErrUnknownOutcome, readErr, err)
			}
			if done {
				return nil
			}
			if ctx.Err() == nil { // it was rolled back, or is safe to repeat
				continue
			}
		}
		if ctx.Err() != nil || !canRepeat(err) {
			break
		}
	}
	if ctx.Err() == nil && d.needsWhole(err) {
		return d.whole.Run(ctx, w)
	}
	return d.translate(ctx, err, w.What)
}

// attempt runs w once. sent reports whether the commit was sent to the server.
func (d *DB) attempt(ctx context.Context, w Work) (sent bool, err error) {
	confined, err := d.Confine(ctx, !w.ReadOnly)
	if err != nil {
		return false, err
	}
	if err := d.acquireConn(ctx); err != nil {
		return false, err
	}
	defer d.releaseConn()
	if w.Prepare || w.ByKey {
		ctx = preparing(ctx)
	}
	opts := &sql.TxOptions{}
	if w.ReadOnly || w.Snapshot {
		opts.ReadOnly, opts.Isolation = w.ReadOnly, sql.LevelRepeatableRead
	}
	raw, err := d.db.BeginTx(withSettings(ctx, append(d.opts.bounds(d.opts.LockTimeout, w.ByKey), confined...)), opts)
	if err != nil {
		return false, err
	}
	defer func() { _ = raw.Rollback() }() // does nothing after a commit
	fault.Reach(w.What, fault.Begun)
	t := &Tx{Tx: raw, db: d}
	do := w.Do
	if fault.Off(fault.Whole) && !w.ReadOnly {
		ctx, do = unqueued(ctx, w.What), commitEachStatement(do)
	}
	if err := do(ctx, t); err != nil {
		return false, err
	}
	if err := t.ReadAsked(); err != nil {
		return false, err
	}
	fault.Reach(w.What, fault.Done)
	if err := raw.Commit(); err != nil {
		return true, err
	}
	fault.Reach(w.What, fault.Committed)
	if !w.ReadOnly {
		d.wrote.Store(true)
	}
	return true, nil
}

// commitEachStatement commits each statement of do by itself.
func commitEachStatement(do func(context.Context, *Tx) error) func(context.Context, *Tx) error {
	return func(ctx context.Context, t *Tx) error {
		if err := t.Exec(ctx, `commit`); err != nil {
			return err
		}
		if err := do(ctx, t); err != nil {
			return err
		}
		err := t.Exec(ctx, `begin`) // attempt commits it
		return err
	}
}

// bounds returns the settings with the time limits of a transaction. They are settings of the transaction, because
// those of a session would reach other clients through a pooler. Citus gets no generic plans: only a plan for the
// actual arguments shows it which server has the rows.
func (o Options) bounds(lock time.Duration, byKey bool) Settings {
	ms := func(d time.Duration) string { return strconv.FormatInt(d.Milliseconds(), 10) }
	settings := Settings{"statement_timeout", ms(o.StatementTimeout), "lock_timeout", ms(lock),
		"idle_in_transaction_session_timeout", ms(o.IdleTimeout)}
	if byKey && !o.distributed {
		settings = append(settings, "plan_cache_mode", "force_generic_plan", "enable_seqscan", "off", "jit", "off")
	}
	return settings
}

// canRepeat reports whether another try may succeed after a rollback.
func canRepeat(err error) bool {
	if answer := ServerError(err); answer != nil {
		return answer.Code == pqerror.TRDeadlockDetected || answer.Code == pqerror.TRSerializationFailure
	}
	var netErr *net.OpError
	return errors.Is(err, driver.ErrBadConn) || errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) ||
		(errors.As(err, &netErr) && !netErr.Timeout())
}

// streamIdle is how long the caller of [DB.Stream] may take for one page before the server ends the transaction.
const streamIdle = 10 * time.Minute

// Stream runs do once in a read-only transaction with one snapshot, for callers that pass rows on as they come. It is
// never repeated, and not confined. The client may pause for streamIdle between two statements.
func (d *DB) Stream(ctx context.Context, settings Settings, do func(ctx context.Context, t *Tx) error) error {
	opts := d.opts
	opts.IdleTimeout = streamIdle
	raw, err := d.db.BeginTx(withSettings(ctx, append(opts.bounds(opts.LockTimeout, false), settings...)),
		&sql.TxOptions{ReadOnly: true, Isolation: sql.LevelRepeatableRead})
	if err != nil {
		return err
	}
	defer func() { _ = raw.Rollback() }()
	return do(ctx, &Tx{Tx: raw, db: d})
}
