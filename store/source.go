package store

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/lib/pq"

	"reverie/internal/reverie"
	"reverie/store/pg"
)

const (
	// The lineage is that of the source. New sources of a supported version come after its earlier ones.
	insertSourcesQuery = `with found as (
			select u.memory_id, u.position, m.memory_id as source_id, m.lineage_id
			from unnest($3::uuid[], $4::int[], $5::uuid[], $6::uuid[]) as u (memory_id, position, source_id, lineage_id)
			join memories m on m.group_id = $1 and m.memory_id = u.source_id and m.lineage_id = u.lineage_id),
		written as (
			insert into memory_sources (group_id, memory_id, position, source_id, source_lineage_id, run_id)
			select $1, f.memory_id, f.position + coalesce((select max(s.position) from memory_sources s
				where s.group_id = $1 and s.memory_id = f.memory_id), 0), f.source_id, f.lineage_id, $2::uuid
			from found f
			on conflict (group_id, memory_id, source_id) do nothing)
		select source_id from found`

	// An archived memory is still true. Only the newest version counts: a memory that was restored and then deleted has
	// an archived version, too.
	standingQuery = `select lineage_id from memories m where group_id = $1 and lineage_id = any ($2::uuid[])
		and status in ('active', 'archived')
			and not exists (select 1 from memories n where n.group_id = $1 and n.lineage_id = m.lineage_id
				and n.version > m.version)
		order by lineage_id`

	// The memories that were made of a lineage and still have the same statement.
	restingQuery = `select distinct on (h.created_at, h.lineage_id) h.memory_id, h.lineage_id, h.kind, h.statement,
		coalesce((select ` + AgainBecause + ` from rejudgements q
			where q.group_id = $1 and q.lineage_id = h.lineage_id and q.run_id is null), '') as judge_again
		from (select s.memory_id from memory_sources s where s.group_id = $1 and s.source_lineage_id = $2
			and (select r.undone_at from runs r where r.group_id = $1 and r.run_id = s.run_id) is null offset 0) s
		cross join lateral (select v.lineage_id, v.content_hash from memories v where v.group_id = $1
			and v.memory_id = s.memory_id offset 0) v
		cross join lateral (select h.* from memories h where h.group_id = $1 and h.lineage_id = v.lineage_id
			and h.status = 'active'
			and h.content_hash = v.content_hash offset 0) h
		order by h.created_at, h.lineage_id`

	// Locked against deletion until the commit.
	lockStandingQuery = standingQuery + ` for share`
)

// checkSources refuses sources that no version can have.
func checkSources(st reverie.Step) error {
	seen := map[string]bool{Evidenced(st): true}
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

// StandingLineages reports which of the lineages have a head that is active or archived.
func (s *Store) StandingLineages(ctx context.Context, groupID string, lineageIDs []string) (map[string]bool, error) {
	found, err := pg.QueryAll[string](ctx, s.db.Of(ctx, groupID),
		fmt.Sprintf("look which memories of group %q stand", groupID), standingQuery, groupID,
		OrEmpty(pq.StringArray(lineageIDs)))
	standing := make(map[string]bool, len(found))
	for _, id := range found {
		standing[id] = true
	}
	return standing, err
}

// RestingOn reads the memories that were made of a lineage.
func RestingOn(ctx context.Context, t *pg.Tx, groupID, lineageID string) ([]reverie.Resting, error) {
	list := []reverie.Resting{}
	err := t.Select(ctx, &list, restingQuery, groupID, lineageID)
	return list, err
}

// insertSources writes the sources of the versions that a batch makes or supports. A source that the group does not
// have is reverie.ErrNotFound. A source that was deleted since it was read is reverie.ErrConflict; one that was
// rewritten or archived is not.
func insertSources(ctx context.Context, t *pg.Tx, b *batch) error {
	var rows pg.Columns
	var sources, lineages pq.StringArray
	for _, st := range b.steps {
		if st.Action == reverie.ActionDelete {
			continue
		}
		for i, src := range st.Sources {
			rows.Add(Evidenced(st), i+1, src.MemoryID, src.LineageID)
			sources, lineages = append(sources, src.MemoryID), append(lineages, src.LineageID)
		}
	}
	if len(sources) == 0 {
		return nil
	}
	standing, err := pg.Select[string](ctx, t, lockStandingQuery, b.groupID, lineages)
	if err != nil {
		return err
	}
	var found []string
	if err := rows.Select(ctx, t, &found, insertSourcesQuery, b.groupID, b.runID); err != nil {
		return err
	}
	if n := len(found); n != len(sources) {
		return fmt.Errorf("%d of the %d memories that versions rest on are not in the group: %w", len(sources)-n,
			len(sources), reverie.ErrNotFound)
	}
	for i, lineage := range lineages {
		if !slices.Contains(standing, lineage) {
			return fmt.Errorf("memory %s, which a version rests on, has no head any more: it was deleted: %w", sources[i],
				reverie.ErrConflict)
		}
	}
	return nil
}
