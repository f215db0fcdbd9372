package store

import (
	"context"
	"time"

	"github.com/lib/pq"

	"reverie/internal/reverie"
	"reverie/store/pg"
)

const (
	// What was written beside what is held stays: support, which a second time supports
	// nothing more, and the summary, of a session or a dream. Chunks of which anything
	// else was written are as good as applied.
	freeChunks = `
			update run_chunks c set status = 'failed' from held_plans h
			where h.group_id = $1 and h.run_id = $2 and h.status = 'waiting'
				and c.group_id = $1 and c.run_id = $2 and c.chunk_no = h.chunk_no
				and not exists (select 1 from memory_change_log l join memories m on m.group_id = l.group_id
					and m.memory_id = l.memory_id
					where l.group_id = $1 and l.run_id = $2 and l.chunk_no = h.chunk_no and $3 <> all (m.tags))`

	requeueSessionQuery = `with freed as (` + freeChunks + `
			returning c.message_ids)
		update message_uses u set run_id = null from freed f
		where u.group_id = $1 and u.job = 'extract' and u.message_id = any (f.message_ids) and u.run_id = $2
		returning u.message_id`
)

// requeueSession lets messages of a run of a session wait for extraction again, of
// whose chunks all facts are held, and says how many.
func requeueSession(ctx context.Context, t *pg.Tx, run reverie.Run, at time.Time) (int, error) {
	if err := lockSession(ctx, t, run.GroupID, run.SessionID); err != nil {
		return 0, err
	}
	var ids []string
	if err := t.Select(ctx, &ids, requeueSessionQuery, run.GroupID, run.ID, reverie.TagSummary); err != nil {
		return 0, err
	}
	_, err := t.Exec(ctx, addNewQuery, run.GroupID, run.SessionID, pq.StringArray(ids), at, 1)
	return len(ids), err
}
