package store

import (
	"context"
	"time"

	"reverie/internal/fault"
	"reverie/store/pg"
)

// newestChange is when memories of the group $1 were changed last: the change log has a row
// of whatever makes a version or ends one, memory_values of what changes one in place.
const newestChange = `greatest((select max(created_at) from memory_change_log where group_id = $1),
		(select max(valid_until) from memory_values where group_id = $1))`

// NextTimestamp is the time of what a transaction is about to write to a group's memories: now,
// or, where the clock stands still or has gone back, just after the newest change that is
// written. So the times of versions tell their order, and what was active at an instant
// can be told from them. To be asked once the heads are locked, and in each transaction
// that makes, changes or ends a version.
func NextTimestamp(ctx context.Context, db *pg.DB, t *pg.Tx, groupID string) (time.Time, error) {
	var newest *time.Time
	err := t.Get(ctx, &newest, `select `+newestChange, groupID)
	return after(db.Now(), newest), err
}

// after is now, or, if that is not later, the next instant after what is written.
func after(now time.Time, written *time.Time) time.Time {
	if written == nil || now.After(*written) || fault.Off(fault.Moment) {
		return now
	}
	return written.UTC().Add(time.Microsecond)
}
