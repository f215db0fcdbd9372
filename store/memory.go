package store

import (
	"context"
	"fmt"
	"strings"

	"github.com/lib/pq"

	"reverie/internal/reverie"
	"reverie/store/pg"
)

// MemoryColumns are the columns of reverie.Memory.
const MemoryColumns = `group_id, memory_id, lineage_id, parent_id, kind, session_id, statement, version, status, tags,
	strength, weight, content_hash, embedding_model, change_summary, run_id, created_at, updated_at, ended_at,
	last_supported_at, type, due_on, said_at, said_until, author,
	case author when '' then 'model' else 'person' end as origin`

// furtherColumns are the reason for which the next run judges a head again, and the scope of the lineage.
const furtherColumns = `, coalesce((select r.scope from memory_scopes r where r.group_id = $1
	and r.lineage_id = memories.lineage_id), '') as scope, case when status in ('active', 'held') then coalesce((select ` + AgainBecause + `
	from rejudgements q
	where q.group_id = $1 and q.lineage_id = memories.lineage_id and q.run_id is null), '') else ''
		end as judge_again`

// The filter of a MemoryQuery, by status or for an instant, and the rows that it reads: the present ones, or those at
// the instant.
var (
	versionsThen, activeThen = AtInstant("$4", "$8")

	memoryFilter = ` and ($2 = '' or kind = $2)
	and case when $4::timestamptz is null then $3 = '' or status = $3 else ` + activeThen + ` end
	and ($5 = '' or session_id = $5) and ($6 = '' or $6 = any (tags)) and weight >= $7::float8
	and ($9 = '' or type = $9) and not exists (
		select 1 from unnest($10::text[]) as w (word) where position(lower(word) in lower(statement)) = 0)`

	listed   = ` from memories where group_id = $1` + memoryFilter
	listedAt = ` from ` + versionsThen + ` where group_id = $1` + memoryFilter

	memoryOrders = map[reverie.MemoryOrder]string{
		reverie.OrderChanged: `updated_at desc, `, reverie.OrderSupported: `last_supported_at desc, `,
		reverie.OrderStrength: `strength desc, `, reverie.OrderWeight: `weight desc, `,
	}
)

// memoryArgs returns the arguments of memoryFilter.
func memoryArgs(q reverie.MemoryQuery) []any {
	least := 0.0
	if q.Core {
		least = reverie.CoreWeight
	}
	return []any{q.GroupID, string(q.Kind), string(q.Status), pg.OrNull(q.At), q.SessionID, q.Tag, least, q.Recorded,
		string(q.Type), pq.StringArray(strings.Fields(q.Text))}
}

// ListMemories returns a page of a group's memories in the requested order, and their total number. A limit of 0 is no
// limit. For an instant it lists the versions that were active then, in chat time or recorded time: see [AtInstant].
// Memories that were erased since are missing.
func (s *Store) ListMemories(ctx context.Context, q reverie.MemoryQuery) ([]reverie.Memory, int, error) {
	args, from := memoryArgs(q), listed
	if !q.At.IsZero() {
		from = listedAt
	}
	var total int
	what := fmt.Sprintf("list the memories of group %q", q.GroupID)
	list, err := read(ctx, s, q.GroupID, what, func(ctx context.Context, t *pg.Tx) ([]reverie.Memory, error) {
		if _, err := GetGroup(ctx, t, q.GroupID); err != nil {
			return nil, err
		}
		if err := t.Get(ctx, &total, `select count(*)`+from, args...); err != nil {
			return nil, err
		}
		return pg.Select[reverie.Memory](ctx, t, `select `+MemoryColumns+furtherColumns+from+`
			order by `+memoryOrders[q.Order]+`created_at, lineage_id, version limit nullif($11::int, 0) offset $12`, append(args, q.Limit, q.Offset)...)
	})
	if !q.At.IsZero() {
		for i := range list {
			list[i] = list[i].Then()
		}
	}
	return append([]reverie.Memory{}, list...), total, err // an empty list in JSON, not null
}

// Memory returns one version. An empty groupID searches all groups. A version that does not exist, or belongs to
// another group, is reverie.ErrNotFound.
func (s *Store) Memory(ctx context.Context, groupID, memoryID string) (reverie.Memory, error) {
	return read(ctx, s, groupID, "read a memory", func(ctx context.Context, t *pg.Tx) (reverie.Memory, error) {
		return GetMemory(ctx, t, groupID, memoryID)
	})
}

func GetMemory(ctx context.Context, t *pg.Tx, groupID, memoryID string) (reverie.Memory, error) {
	var row reverie.Memory
	if !reverie.IsID(memoryID) {
		return row, fmt.Errorf("memory %q: %w", memoryID, reverie.ErrNotFound)
	}
	err := t.Get(ctx, &row, `select `+MemoryColumns+` from memories
		where memory_id = $2 and ($1 = '' or group_id = $1)`, groupID, memoryID)
	return row, pg.NotFoundIfEmpty(err, "memory %s", memoryID)
}

// LineageHead returns the newest version of a lineage, whatever its status, or reverie.ErrNotFound.
func (s *Store) LineageHead(ctx context.Context, groupID, lineageID string) (reverie.Memory, error) {
	return read(ctx, s, groupID, "read a lineage", func(ctx context.Context, t *pg.Tx) (reverie.Memory, error) {
		return getHead(ctx, t, groupID, lineageID)
	})
}

func getHead(ctx context.Context, t *pg.Tx, groupID, lineageID string) (reverie.Memory, error) {
	var row reverie.Memory
	if !reverie.IsID(lineageID) {
		return row, fmt.Errorf("lineage %q: %w", lineageID, reverie.ErrNotFound)
	}
	err := t.Get(ctx, &row, `select `+MemoryColumns+furtherColumns+` from memories
		where group_id = $1 and lineage_id = $2 order by version desc limit 1`, groupID, lineageID)
	return row, pg.NotFoundIfEmpty(err, "lineage %s", lineageID)
}

var (
	LineageQuery   = `select ` + MemoryColumns + furtherColumns + ` from memories where group_id = $1` + ofLineage
	LineageAtQuery = `select ` + MemoryColumns + furtherColumns + ` from ` + VersionsThen + `$3` + AsThen + `
		where group_id = $1` + ofLineage
	ofLineage = ` and lineage_id = $2 order by version`
)
