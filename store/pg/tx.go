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

// Get is [Tx.Get] for a row of its own.
func Get[T any](ctx context.Context, t *Tx, query string, args ...any) (row T, err error) {
	err = t.Get(ctx, &row, query, args...)
	return row, err
}

// Select is [Tx.Select] for a slice of its own, which is never nil: JSON wants [].
func Select[T any](ctx context.Context, t *Tx, query string, args ...any) ([]T, error) {
	rows := []T{}
	err := t.Select(ctx, &rows, query, args...)
	return rows, err
}

// Pages hands over the rows of a query as they come, so many at once, behind a cursor.
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

// asSelect has a select return a row for each that an insert from a select writes. Citus hands only
// that to the server of the group as it stands.
func asSelect(query string) string {
	columns, from, _ := strings.Cut(strings.TrimSpace(query), ")")
	if !strings.HasPrefix(columns, "insert into ") || !strings.HasPrefix(strings.TrimSpace(from), "select") {
		return query
	}
	return `with written as (` + query + ` returning 1) select from written`
}

// Exec has a statement run before the next one that is waited for, be it the commit, in the same
// round trip: whoever does not ask for a result does not wait for it. Its error is that one's.
// It is one command.
func (t *Tx) Exec(ctx context.Context, query string, args ...any) error {
	_, err := t.ExecContext(context.WithValue(ctx, queuedKey{}, true), asSelect(query), args...)
	return err
}

// ExecRows waits, and returns the number of rows written.
func (t *Tx) ExecRows(ctx context.Context, query string, args ...any) (int, error) {
	res, err := t.ExecContext(ctx, asSelect(query), args...)
	if err != nil {
		return 0, err
	}
	n, err := res.RowsAffected()
	return int(n), err
}

// Work is what one transaction does. Do may run again after a rollback, so it must
// set its results afresh.
type Work struct {
	What     string // such as "apply chunk 2 of run …", for errors
	Prepare  bool   // statements that take arguments are prepared: see conn
	ReadOnly bool   // one snapshot for all statements, no writes
	Snapshot bool   // one snapshot for all statements, of what others write too
	// ByKey says that all statements look rows up by index, whatever their arguments.
	// PostgreSQL then plans each once for a connection (not anew for short lists of
	// keys), never reads whole tables (to which it would keep for a while where a table was
	// empty when it planned), and compiles nothing. It prepares them, too.
	ByKey bool
	Do    func(ctx context.Context, t *Tx) error
	// Committed tells, on a fresh connection, whether Do's writes are there, when the reply
	// to its commit was lost. It must first lock a row that Do locks, so that it waits for a
	// commit still under way. nil: Do is safe to repeat.
	Committed func(ctx context.Context, t *Tx) (bool, error)
}

// Run is [DB.Run] for work that returns something: what do returns when it is committed.
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

// Read returns what do reads, all of it of one snapshot.
func Read[T any](ctx context.Context, d *DB, what string, do func(ctx context.Context, t *Tx) (T, error)) (T, error) {
	return Run(ctx, d, Work{What: what, ReadOnly: true}, do)
}

// Lookup is [Read] by statements that look rows up by index: see [Work].
func Lookup[T any](ctx context.Context, d *DB, what string, do func(ctx context.Context, t *Tx) (T, error)) (T, error) {
	return Run(ctx, d, Work{What: what, ReadOnly: true, ByKey: true}, do)
}

// MaxTries bounds how often a transaction is run: deadlocks and lost connections
// roll it back whole, so that repeating it is safe.
const MaxTries = 3

// Run runs w until it is committed or has failed for good.
func (d *DB) Run(ctx context.Context, w Work) error {
	var err error
	for range MaxTries {
		var sent bool
		sent, err = d.attempt(ctx, w)
		if err == nil {
			return nil
		}
		if ServerError(err) == nil && canRepeat(err) {
			d.dropIdle() // after a failover all that are kept are broken
		}
		if sent && outcomeUnknown(err) {
			done, readErr := d.wasCommitted(ctx, w)
			if d.gone(readErr) {
				done, readErr = d.whole.wasCommitted(ctx, w)
			}
			if readErr != nil {
				return fmt.Errorf("%s: %w: the connection broke at commit and the outcome could not be read (%v): %w",
					w.What, reverie.ErrUnavailable, readErr, err)
			}
			if done {
				return nil
			}
			if ctx.Err() == nil { // it is rolled back for certain, or safe to repeat
				continue
			}
		}
		if ctx.Err() != nil || !canRepeat(err) {
			break
		}
	}
	if ctx.Err() == nil && d.gone(err) {
		return d.whole.Run(ctx, w)
	}
	return d.translate(ctx, err, w.What)
}

// attempt runs w once. sent tells whether the commit was sent to the server.
func (d *DB) attempt(ctx context.Context, w Work) (sent bool, err error) {
	var confined Settings
	if w.ReadOnly {
		if confined, err = d.Confine(ctx); err != nil {
			return false, err
		}
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
	defer func() { _ = raw.Rollback() }() // after a commit this is a no-op
	fault.Reach(w.What, fault.Begun)
	t := &Tx{Tx: raw, db: d}
	do := w.Do
	if fault.Off(fault.Whole) {
		ctx, do = waited(ctx), commitEachStatement(do)
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

// commitEachStatement has each statement of do committed by itself.
func commitEachStatement(do func(context.Context, *Tx) error) func(context.Context, *Tx) error {
	return func(ctx context.Context, t *Tx) error {
		if err := t.Exec(ctx, `commit`); err != nil {
			return err
		}
		if err := do(ctx, t); err != nil {
			return err
		}
		err := t.Exec(ctx, `begin`) // to be committed
		return err
	}
}

// bounds are the settings of a transaction that has time limits. They are its own:
// those of a session would reach others through a pooler. Only of a plan for its very arguments Citus sees which server has them.
func (o Options) bounds(lock time.Duration, byKey bool) Settings {
	ms := func(d time.Duration) string { return strconv.FormatInt(d.Milliseconds(), 10) }
	settings := Settings{"statement_timeout", ms(o.StatementTimeout), "lock_timeout", ms(lock),
		"idle_in_transaction_session_timeout", ms(o.IdleTimeout)}
	if byKey && !o.distributed {
		settings = append(settings, "plan_cache_mode", "force_generic_plan", "enable_seqscan", "off", "jit", "off")
	}
	return settings
}

// canRepeat tells whether another try may succeed where this one was rolled back.
func canRepeat(err error) bool {
	if answer := ServerError(err); answer != nil {
		return answer.Code == pqerror.TRDeadlockDetected || answer.Code == pqerror.TRSerializationFailure
	}
	var netErr *net.OpError
	return errors.Is(err, driver.ErrBadConn) || errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) ||
		(errors.As(err, &netErr) && !netErr.Timeout())
}

// streamIdle is how long whoever takes the rows of a [DB.Stream] may take for one page
// before the server ends the transaction.
const streamIdle = 10 * time.Minute

// Stream runs do once in a read-only transaction of one snapshot, for readers that hand
// rows over as they come: it is never repeated, and not confined. The client may pause for
// streamIdle between two statements.
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
