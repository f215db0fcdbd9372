package store

import (
	"context"
	"reverie/store/pg"
	"time"
)

// insertValues begins a statement, or a part of one, that keeps what the values of
// versions m were until they are changed in place. It goes on with the run that changes
// them, the instant, and what the versions are read from.
const insertValues = `insert into memory_values (group_id, memory_id, strength, weight, last_supported_at, decayed_at,
	run_id, valid_until)
		select m.group_id, m.memory_id, m.strength, m.weight, m.last_supported_at, m.decayed_at, `

// versionsThen, an instant and asThen are what a query reads of an instant from, in place of
// memories: all versions, with the strength, weight and last support that they had then.
// The first change after the instant tells; what was changed before changes were kept is as
// it was then left.
const (
	versionsThen = `(select m.group_id, m.memory_id, m.lineage_id, m.parent_id, m.kind, m.session_id, m.statement,
		m.version, m.status, m.tags,
			coalesce(v.strength, m.strength) as strength, coalesce(v.weight, m.weight) as weight, m.content_hash, m.embedding,
				m.embedding_model,
			m.change_summary, m.run_id, m.created_at, m.updated_at, m.ended_at, coalesce(v.last_supported_at,
				m.last_supported_at) as last_supported_at
		from memories m left join lateral (select v.strength, v.weight, v.last_supported_at from memory_values v
			where v.group_id = m.group_id and v.memory_id = m.memory_id and v.valid_until > `
	asThen = `::timestamptz order by v.valid_until, v.value_no limit 1) v on true) memories`
)

// keepValues keeps what the values of a version, which is locked, were before a person
// changed them.
func keepValues(ctx context.Context, t *pg.Tx, groupID, memoryID string, at time.Time) error {
	_, err := t.Exec(ctx, insertValues+`null, $3::timestamptz from memories m where m.group_id = $1
		and m.memory_id = $2`, groupID, memoryID, at)
	return err
}
