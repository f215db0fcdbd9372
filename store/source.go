package store

import (
	"context"
	"errors"
	"fmt"

	"github.com/lib/pq"

	"reverie"
)

// The lineage is the source's own.
const insertSourcesQuery = `insert into memory_sources (group_id, memory_id, position, source_id, source_lineage_id, run_id)
	select $1, u.memory_id, u.position, m.memory_id, m.lineage_id, $2::uuid
	from unnest($3::uuid[], $4::int[], $5::uuid[], $6::uuid[]) as u (memory_id, position, source_id, lineage_id)
	join memories m on m.group_id = $1 and m.memory_id = u.source_id and m.lineage_id = u.lineage_id`

// checkSources refuses what no version can rest on.
func checkSources(st reverie.Step) error {
	seen := map[string]bool{st.MemoryID: true}
	for _, src := range st.Sources {
		if !reverie.IsID(src.MemoryID) || !reverie.IsID(src.LineageID) {
			return errors.New("a source has the ids of a version and its lineage")
		}
		if seen[src.MemoryID] {
			return errors.New("a version rests on others, and on each once")
		}
		seen[src.MemoryID] = true
	}
	return nil
}

// insertSources writes which other memories the new versions of a batch rest on. One
// that the group does not have is reverie.ErrNotFound.
func insertSources(ctx context.Context, t *tx, b *batch) error {
	var ids, sources, lineages pq.StringArray
	var positions pq.Int64Array
	for _, st := range b.steps {
		if st.Action != reverie.ActionCreate && st.Action != reverie.ActionUpdate {
			continue
		}
		for i, src := range st.Sources {
			ids, positions = append(ids, st.MemoryID), append(positions, int64(i+1))
			sources, lineages = append(sources, src.MemoryID), append(lineages, src.LineageID)
		}
	}
	if len(ids) == 0 {
		return nil
	}
	n, err := t.exec(ctx, insertSourcesQuery, b.groupID, b.runID, ids, positions, sources, lineages)
	if err == nil && n != len(ids) {
		return fmt.Errorf("%d of the %d memories that new versions rest on are none of the group: %w", len(ids)-n, len(ids), reverie.ErrNotFound)
	}
	return err
}
