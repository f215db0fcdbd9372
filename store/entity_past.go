package store

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/lib/pq"

	"reverie/internal/reverie"
	"reverie/store/pg"
)

const (
	// Of a merge that was taken back since, nothing tells any more which of the two had
	// been part of the other.
	mergesAtQuery = mergesQuery + ` and exists (select 1 from entity_change_log c where c.group_id = entities.group_id
		and c.entity_id = entities.entity_id and c.action = 'merge' and c.other_id = entities.merged_into
			and c.created_at <= $2::timestamptz)`

	entitiesAtQuery = `select ` + entityColumns + ` from entities
		where group_id = $1 and entity_id = any ($2::uuid[]) and created_at <= $3::timestamptz order by created_at,
			entity_id`

	entityNamesAtQuery = `select name_id, entity_id, kind, name, name_key, created_at, run_id from entity_names
		where group_id = $1 and entity_id = any ($2::uuid[]) and created_at <= $3::timestamptz and (ended_at is null
			or ended_at > $3)
		order by created_at, name_id`

	claimsAtQuery = `select ` + claimColumns + ` from entity_claims c
		where c.group_id = $1 and c.entity_id = any ($2::uuid[]) and c.updated_at <= $3::timestamptz and (c.ended_at is null
			or c.ended_at > $3)
		order by c.created_at, c.lineage_id`
)

// EntitiesAt is [Store.EntitiesByID] as of an instant: those that there were, with the
// names and claims of then. Subjects, strengths and merges that were taken back since are
// as they are now.
func (s *Store) EntitiesAt(ctx context.Context, groupID string, ids []string, at time.Time) ([]reverie.Entity, error) {
	var list []reverie.Entity
	err := s.db.Run(ctx, pg.Work{What: fmt.Sprintf("read %d entities of group %q as they were", len(ids), groupID),
		ReadOnly: true, Do: func(ctx context.Context, t *pg.Tx) error {
			var pointers []mergeRow
			if err := t.Select(ctx, &pointers, mergesAtQuery, groupID, at); err != nil {
				return err
			}
			merged := mergesOf(pointers)
			var wanted pq.StringArray
			for _, id := range ids {
				if reverie.IsID(id) {
					wanted = append(wanted, merged.root(id))
				}
			}
			slices.Sort(wanted)
			list = nil
			if err := t.Select(ctx, &list, entitiesAtQuery, groupID, slices.Compact(wanted), at); err != nil || len(list) == 0 {
				return err
			}
			members := pq.StringArray(merged.all(list))
			var names []reverie.EntityName
			if err := t.Select(ctx, &names, entityNamesAtQuery, groupID, members, at); err != nil {
				return err
			}
			var rows []claimRow
			if err := t.Select(ctx, &rows, claimsAtQuery, groupID, members, at); err != nil {
				return err
			}
			merged.fill(list, names, claims(rows))
			return nil
		}})
	return list, err
}
