package store

import (
	"context"
	"time"
)

// insertValues begins a statement, or a part of one, that keeps what the values of
// versions m were until they are changed in place. It goes on with the run that changes
// them, the instant, and what the versions are read from.
const insertValues = `insert into memory_values (group_id, memory_id, strength, weight, last_supported_at, decayed_at, run_id, valid_until)
		select m.group_id, m.memory_id, m.strength, m.weight, m.last_supported_at, m.decayed_at, `

// keepValues keeps what the values of a version, which is locked, were before a person
// changed them.
func keepValues(ctx context.Context, t *tx, groupID, memoryID string, at time.Time) error {
	_, err := t.exec(ctx, insertValues+`null, $3::timestamptz from memories m where m.group_id = $1 and m.memory_id = $2`, groupID, memoryID, at)
	return err
}
