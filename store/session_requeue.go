package store

import (
	"context"
	"time"

	"github.com/lib/pq"
)

const (
	requeueSessionQuery = `with freed as (
			update message_uses u set run_id = null
			from held_plans h join run_chunks c on c.group_id = h.group_id and c.run_id = h.run_id and c.chunk_no = h.chunk_no
			where h.group_id = $1 and h.run_id = $2 and h.status = 'waiting' and h.whole
				and u.group_id = $1 and u.job = 'extract' and u.message_id = any (c.message_ids) and u.run_id = $2
			returning u.message_id)
		select message_id from freed`

	sessionOfRunQuery = `select session_id from runs where group_id = $1 and run_id = $2`
)

// requeueSession lets messages of a run of a session wait for extraction again
// whose chunks are held whole, and says how many.
func requeueSession(ctx context.Context, t *tx, groupID, runID string, at time.Time) (int, error) {
	var sessionID string
	if err := t.get(ctx, &sessionID, sessionOfRunQuery, groupID, runID); err != nil || sessionID == "" {
		return 0, err
	}
	if err := lockSession(ctx, t, groupID, sessionID); err != nil {
		return 0, err
	}
	var ids []string
	if err := t.list(ctx, &ids, requeueSessionQuery, groupID, runID); err != nil {
		return 0, err
	}
	_, err := t.exec(ctx, addNewQuery, groupID, sessionID, pq.StringArray(ids), at, 1)
	return len(ids), err
}
