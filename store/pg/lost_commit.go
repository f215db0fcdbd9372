package pg

import (
	"context"
	"encoding/binary"
	"errors"
	"time"

	"github.com/google/uuid"
	"github.com/lib/pq"

	"reverie/internal/fault"
)

// wasCommitted asks on a new connection whether w was committed, even if the caller's context has ended. The server
// ends a transaction without a client after its idle timeout at the latest. So waiting a little longer for its locks
// always gives an answer.
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
	return w.Committed(ctx, &Tx{Tx: raw, db: d})
}

const (
	noteWriteQuery = `insert into writes (group_id, write_id) values ($1, $2)`
	// This waits for a transaction in progress that inserts the same id.
	askWriteQuery     = noteWriteQuery + ` on conflict (group_id, write_id) do nothing`
	forgetWritesQuery = `delete from writes where group_id = $1 and write_id < $2::uuid`
)

// Once returns w with a row of its own, by which a commit can be recognized. It is for work that writes no other such
// row. The row belongs to the group, or to none if groupID is "". It is stored for at least a day of the processes'
// clocks; a later write of the group deletes it.
func (w Work) Once(groupID string) Work {
	id, do := uuid.Must(uuid.NewV7()), w.Do
	dayAgo := id
	binary.BigEndian.PutUint64(dayAgo[:], binary.BigEndian.Uint64(id[:])-uint64((24*time.Hour).Milliseconds())<<16)
	w.Do = func(ctx context.Context, t *Tx) error {
		if err := t.Exec(ctx, noteWriteQuery, groupID, id); err != nil {
			return err
		}
		if err := do(ctx, t); err != nil {
			return err
		}
		return t.Exec(ctx, forgetWritesQuery, groupID, dayAgo)
	}
	w.Committed = func(ctx context.Context, t *Tx) (bool, error) {
		n, err := t.ExecRows(ctx, askWriteQuery, groupID, id)
		return n == 0, err
	}
	return w
}

// outcomeUnknown reports whether the reply to a commit was lost. The server has replied to a commit that failed.
func outcomeUnknown(err error) bool {
	return ServerError(err) == nil && !errors.Is(err, pq.ErrInFailedTransaction) // the server has replied
}
