package store

import (
	"context"
	"time"
)

// The change log has a row of whatever makes a version or ends one.
const momentQuery = `select greatest($2::timestamptz, (select max(created_at) from memory_change_log where group_id = $1) + interval '1 microsecond')`

// moment is the time of what a transaction is about to write to a group's memories: now,
// or, where the clock stands still or has gone back, just after the newest change that is
// written. So the times of versions tell their order, and what was active at an instant
// can be told from them. To be asked once the heads are locked, and in each transaction
// that makes or ends a version.
func (s *Store) moment(ctx context.Context, t *tx, groupID string) (time.Time, error) {
	var at time.Time
	err := t.get(ctx, &at, momentQuery, groupID, s.now())
	return at.UTC(), err
}
