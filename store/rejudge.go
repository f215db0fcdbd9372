package store

import (
	"context"
	"time"

	"github.com/lib/pq"
)

const queueJudgementsQuery = `insert into rejudgements (group_id, lineage_id, memory_id, reason, created_at)
	select group_id, lineage_id, memory_id, $3, $4::timestamptz from memories m
	where group_id = $1 and lineage_id = any ($2::uuid[]) and status in ('active', 'held')
		and not exists (select 1 from memories n where n.group_id = $1 and n.lineage_id = m.lineage_id and n.version > m.version)
	on conflict (group_id, lineage_id) do update set
		memory_id = excluded.memory_id, reason = excluded.reason, created_at = excluded.created_at, run_id = null, held = false`

// queueJudgements has the next run of evolve judge memories again, by their lineages,
// and returns how many that are: those whose head is active, or held until then. The
// reason is shown to the model, and to whoever asks about the memory.
func queueJudgements(ctx context.Context, t *tx, groupID string, lineageIDs []string, reason string, at time.Time) (int, error) {
	return t.exec(ctx, queueJudgementsQuery, groupID, pq.StringArray(lineageIDs), reason, at)
}
