package store

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"fmt"
	"io"
	"net"
	"time"

	"github.com/jmoiron/sqlx"
	"github.com/lib/pq"

	"reverie/internal/fault"
	"reverie/internal/reverie"
)

// tx is one transaction. Its statements run prepared where the store has them
// prepared, and in one round trip each either way.
type tx struct {
	*sqlx.Tx
	prepared map[string]*sqlx.Stmt
}

func (t *tx) get(ctx context.Context, dest any, query string, args ...any) error {
	if st := t.prepared[query]; st != nil {
		return t.StmtxContext(ctx, st).GetContext(ctx, dest, args...)
	}
	return t.GetContext(ctx, dest, query, args...)
}

func (t *tx) list(ctx context.Context, dest any, query string, args ...any) error {
	if st := t.prepared[query]; st != nil {
		return t.StmtxContext(ctx, st).SelectContext(ctx, dest, args...)
	}
	return t.SelectContext(ctx, dest, query, args...)
}

// exec returns the number of rows written.
func (t *tx) exec(ctx context.Context, query string, args ...any) (int, error) {
	var res sql.Result
	var err error
	if st := t.prepared[query]; st != nil {
		res, err = t.StmtxContext(ctx, st).ExecContext(ctx, args...)
	} else {
		res, err = t.ExecContext(ctx, query, args...)
	}
	if err != nil {
		return 0, err
	}
	n, err := res.RowsAffected()
	return int(n), err
}

// work is what one transaction does. Do may be run again after a rollback, so
// it must set its results afresh.
type work struct {
	what     string   // "apply chunk 2 of run …", for errors
	prepare  []string // statements worth preparing
	readOnly bool     // one snapshot for all statements, no writes
	snapshot bool     // one snapshot for all statements, of what others write too
	// byKey says that all statements look rows up by indexes, whatever their
	// arguments. PostgreSQL then plans each once for a connection, where it would
	// count short lists of keys as a reason to plan anew every time; and never to
	// read whole tables, which it would keep to for a while in a table that was
	// empty when it looked. Nor does it compile them, as it would in every transaction
	// what it takes for expensive: that lasts longer than to run them.
	byKey bool
	do    func(ctx context.Context, t *tx) error
	// committed tells, on a fresh connection, whether do's writes are there,
	// when the reply to its commit was lost. It must first lock a row that do
	// locks, so that it waits for a commit still under way. nil: do is safe to
	// repeat.
	committed func(ctx context.Context, t *tx) (bool, error)
}

// maxTries bounds how often a transaction is run: deadlocks and lost connections
// roll it back whole, so that repeating it is safe.
const maxTries = 3

// run runs w until it is committed or has failed for good.
func (s *Store) run(ctx context.Context, w work) error {
	var err error
	for range maxTries {
		var sent bool
		sent, err = s.try(ctx, w)
		if err == nil {
			return nil
		}
		if sent && lostReply(err) {
			done, readErr := s.outcome(ctx, w)
			if readErr != nil {
				return fmt.Errorf("%s: %w: the connection broke at commit and the outcome could not be read (%v): %w",
					w.what, reverie.ErrUnavailable, readErr, err)
			}
			if done {
				return nil
			}
			if ctx.Err() == nil { // it is rolled back for certain, or safe to repeat
				continue
			}
		}
		if ctx.Err() != nil || !repeatable(err) {
			break
		}
	}
	return translate(ctx, err, w.what)
}

// try runs w once. sent tells whether the commit was sent to the server.
func (s *Store) try(ctx context.Context, w work) (sent bool, err error) {
	var confined string
	if w.readOnly {
		if confined, err = s.confinement(ctx); err != nil {
			return false, err
		}
	}
	if err := s.turn(ctx); err != nil {
		return false, err
	}
	defer s.done()
	prepared, err := s.prepare(ctx, w.prepare)
	if err != nil {
		return false, err
	}
	opts := &sql.TxOptions{}
	if w.readOnly || w.snapshot {
		opts.ReadOnly, opts.Isolation = w.readOnly, sql.LevelRepeatableRead
	}
	raw, err := s.db.BeginTxx(withSettings(ctx, s.opts.bounds(s.opts.LockTimeout, w.byKey)+confined), opts)
	if err != nil {
		return false, err
	}
	defer func() { _ = raw.Rollback() }() // after a commit this is a no-op
	fault.Reach(w.what, fault.Begun)
	t := &tx{Tx: raw, prepared: prepared}
	do := w.do
	if fault.Off(fault.Whole) {
		do = piecemeal(do)
	}
	if err := do(ctx, t); err != nil {
		return false, err
	}
	fault.Reach(w.what, fault.Done)
	if err := raw.Commit(); err != nil {
		return true, err
	}
	fault.Reach(w.what, fault.Committed)
	return true, nil
}

// piecemeal has each statement of do committed by itself.
func piecemeal(do func(context.Context, *tx) error) func(context.Context, *tx) error {
	return func(ctx context.Context, t *tx) error {
		if _, err := t.exec(ctx, `commit`); err != nil {
			return err
		}
		if err := do(ctx, t); err != nil {
			return err
		}
		_, err := t.exec(ctx, `begin`) // to be committed
		return err
	}
}

// turn waits until it is one's turn to have a connection, in the order in which all have
// come: the pool gives a connection to any of those who wait, and where many do, some
// would wait several times as long as others. Whoever had a turn ends it by done.
//
// There are few turns at first, and one more where somebody has waited for patience, as long as
// the pool has connections: each that is opened has every statement to plan anew, which costs
// PostgreSQL as much as some groups' whole night, and who waits for less is served sooner by
// one that has.
func (s *Store) turn(ctx context.Context) error {
	select {
	case s.turns <- struct{}{}: // nobody waits, or there would be none
		return nil
	default:
	}
	if s.spare.Load() > 0 {
		ripe := time.AfterFunc(patience, func() {
			if s.spare.Add(-1) >= 0 {
				<-s.turns // for whoever has waited longest
			} else {
				s.spare.Add(1) // none was left
			}
		})
		defer ripe.Stop()
	}
	select {
	case s.turns <- struct{}{}:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

const (
	firstTurns = 2
	patience   = 25 * time.Millisecond // about what a new connection costs until it is as quick as the others
)

// saveTurns keeps all turns but the first for those who have waited.
func (s *Store) saveTurns() {
	for range cap(s.turns) - firstTurns {
		s.turns <- struct{}{}
		s.spare.Add(1)
	}
}

func (s *Store) done() { <-s.turns }

// bounds are the settings of a transaction that has time limits. They are its own:
// those of a session would reach others through a pooler.
func (o Options) bounds(lock time.Duration, byKey bool) string {
	settings := fmt.Sprintf("set local statement_timeout = %d; set local lock_timeout = %d; "+
		"set local idle_in_transaction_session_timeout = %d",
		o.StatementTimeout.Milliseconds(), lock.Milliseconds(), o.IdleTimeout.Milliseconds())
	if byKey {
		settings += "; set local plan_cache_mode = force_generic_plan; set local enable_seqscan = off; set local jit = off"
	}
	return settings
}

// outcome asks on a fresh connection whether w was committed. The caller's
// context may be over; the answer is wanted all the same. A transaction whose
// client is gone ends at the latest with its idle timeout, so waiting a little
// longer than that for its locks always gives an answer.
func (s *Store) outcome(ctx context.Context, w work) (bool, error) {
	if w.committed == nil || fault.Off(fault.Outcome) {
		return false, nil
	}
	wait := s.opts.IdleTimeout + s.opts.LockTimeout
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), 2*wait)
	defer cancel()
	opts := s.opts
	opts.StatementTimeout = max(wait, opts.StatementTimeout)
	raw, err := s.db.BeginTxx(withSettings(ctx, opts.bounds(wait, false)), nil)
	if err != nil {
		return false, err
	}
	defer func() { _ = raw.Rollback() }()
	return w.committed(ctx, &tx{Tx: raw})
}

// xidQuery asks do's transaction for the id by which landed knows it.
const xidQuery = `select pg_current_xact_id()::text`

// landed makes the answer of a work's committed where no row of its own would
// tell: was the transaction of that id committed? The caller has locked what it
// had locked, so that it is over.
func landed(ctx context.Context, t *tx, xid string) (bool, error) {
	var status sql.NullString
	err := t.get(ctx, &status, `select pg_xact_status($1::xid8)`, xid)
	return status.String == "committed", err
}

// landedUnder is landed where the transaction held the lease's row.
func landedUnder(ctx context.Context, t *tx, lease reverie.Lease, xid string) (bool, error) {
	if err := lockLease(ctx, t, lease); err != nil && !errors.Is(err, reverie.ErrLeaseLost) {
		return false, err
	}
	return landed(ctx, t, xid)
}

// prepare prepares on the pool, before a connection is taken: a transaction that
// asked the pool for a second connection could wait for itself.
func (s *Store) prepare(ctx context.Context, queries []string) (map[string]*sqlx.Stmt, error) {
	if s.opts.Unprepared {
		return nil, nil
	}
	found := make(map[string]*sqlx.Stmt, len(queries))
	for _, q := range queries {
		s.mu.Lock()
		st := s.prepared[q]
		s.mu.Unlock()
		if st == nil {
			fresh, err := s.db.PreparexContext(ctx, q)
			if err != nil {
				return nil, err
			}
			s.mu.Lock()
			if st = s.prepared[q]; st == nil {
				st, fresh = fresh, nil
				s.prepared[q] = st
			}
			s.mu.Unlock()
			if fresh != nil { // another goroutine was first
				_ = fresh.Close()
			}
		}
		found[q] = st
	}
	return found, nil
}

// lostReply tells whether err leaves open what the server did.
func lostReply(err error) bool {
	var answer *pq.Error
	return !errors.As(err, &answer) && !errors.Is(err, pq.ErrInFailedTransaction) // the server has spoken
}

// repeatable tells whether another try may succeed where this one was rolled back.
func repeatable(err error) bool {
	if answer := asAnswer(err); answer != nil {
		return answer.Code == codeDeadlock || answer.Code == codeSerialization
	}
	var netErr *net.OpError
	return errors.Is(err, driver.ErrBadConn) || errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) ||
		(errors.As(err, &netErr) && !netErr.Timeout())
}

// one turns an empty result into reverie.ErrNotFound.
func one(err error, format string, args ...any) error {
	if errors.Is(err, sql.ErrNoRows) {
		return fmt.Errorf(format+": %w", append(args, reverie.ErrNotFound)...)
	}
	return err
}
