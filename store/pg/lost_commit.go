package pg

import (
	"context"
	"database/sql"
	"errors"

	"github.com/lib/pq"

	"reverie/internal/fault"
)

// wasCommitted asks on a fresh connection whether w was committed. The caller's
// context may be over; the answer is wanted all the same. A transaction whose
// client is gone ends at the latest with its idle timeout, so waiting a little
// longer than that for its locks always gives an answer.
func (d *DB) wasCommitted(ctx context.Context, w Work) (bool, error) {
	if w.Committed == nil || fault.Off(fault.Outcome) {
		return false, nil
	}
	wait := d.opts.IdleTimeout + d.opts.LockTimeout
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), 2*wait)
	defer cancel()
	opts := d.opts
	opts.StatementTimeout = max(wait, opts.StatementTimeout)
	raw, err := d.db.BeginTx(withSettings(ctx, opts.bounds(wait, false)), nil)
	if err != nil {
		return false, err
	}
	defer func() { _ = raw.Rollback() }()
	return w.Committed(ctx, &Tx{Tx: raw})
}

// ByID is w, told to be committed by its transaction's id, where no row can be recognized as
// its own. relock locks again a row that w locks: then the transaction is over.
func (w Work) ByID(relock func(ctx context.Context, t *Tx) error) Work {
	var xid string
	do := w.Do
	w.Do = func(ctx context.Context, t *Tx) error {
		if err := do(ctx, t); err != nil {
			return err
		}
		return t.Get(ctx, &xid, XIDQuery)
	}
	w.Committed = func(ctx context.Context, t *Tx) (bool, error) {
		if err := relock(ctx, t); err != nil {
			return false, err
		}
		return WasCommitted(ctx, t, xid)
	}
	return w
}

// XIDQuery returns the id of the transaction that it runs in, which [WasCommitted] takes.
const XIDQuery = `select pg_current_xact_id()::text`

// WasCommitted tells whether the transaction with that id was committed: for a
// Work.Committed that can recognize no row as its own. The caller must first lock a row that
// the transaction had locked, so that the transaction is over.
func WasCommitted(ctx context.Context, t *Tx, xid string) (bool, error) {
	var status sql.NullString
	err := t.Get(ctx, &status, `select pg_xact_status($1::xid8)`, xid)
	return status.String == "committed", err
}

// outcomeUnknown tells a commit whose reply was lost from one that failed: the server
// answered only the latter.
func outcomeUnknown(err error) bool {
	return ServerError(err) == nil && !errors.Is(err, pq.ErrInFailedTransaction) // the server has spoken
}
