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
	return w.Committed(ctx, &Tx{Tx: raw, db: d})
}

const (
	noteWriteQuery = `insert into writes (group_id, write_id) values ($1, $2)`
	// Who asks waits for a transaction that is under way. Two of them have the same id.
	askWriteQuery     = noteWriteQuery + ` on conflict (group_id, write_id) do nothing`
	forgetWritesQuery = `delete from writes where group_id = $1 and write_id < $2::uuid`
)

// Once is w, told to be committed by a row of its own, where it writes no other that can be
// recognized. It is of the group, or of none where that is not known yet, and is kept
// for a day at least, by the processes' clocks: a later write of the group takes it away.
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

// outcomeUnknown tells a commit whose reply was lost from one that failed: the server
// answered only the latter.
func outcomeUnknown(err error) bool {
	return ServerError(err) == nil && !errors.Is(err, pq.ErrInFailedTransaction) // the server has spoken
}
