package store

import (
	"context"
	"fmt"

	"reverie/internal/reverie"
	"reverie/internal/text"
	"reverie/store/pg"
)

// A merged entity is found by its name too, as the one that it is read as. What was
// withdrawn is nobody any more.
const (
	entityFilter = `
	with recursive found (entity_id) as (
		select n.entity_id from entity_names n where n.group_id = $1 and n.ended_at is null and n.kind <> 'id' and $3 <> ''
			and strpos(n.name_key, $3) > 0
		union
		select e.merged_into from found f join entities e on e.group_id = $1 and e.entity_id = f.entity_id
		where e.merged_into is not null)
	select %s from entities
	where group_id = $1 and ($2 = '' or kind = $2) and ($3 = '' or entity_id in (select entity_id from found))
		and status <> 'withdrawn' and ($4::bool or status = 'active')`

	entityPage = ` order by lower(subject), subject, entity_id limit nullif($5::int, 0) offset $6`
)

// ListEntities returns a page of a group's entities by subject, with their names in
// force and their active claims, and how many there are in all. A limit of 0 is no
// limit. An unknown group is reverie.ErrNotFound.
func (s *Store) ListEntities(ctx context.Context, groupID string, f reverie.EntityFilter, limit,
	offset int) ([]reverie.Entity, int, error) {
	var list []reverie.Entity
	var total int
	err := s.db.Run(ctx, pg.Work{What: fmt.Sprintf("list the entities of group %q", groupID), ReadOnly: true,
		Do: func(ctx context.Context, t *pg.Tx) error {
			list = nil
			if _, err := GetGroup(ctx, t, groupID); err != nil {
				return err
			}
			key := text.NameKey(f.Name)
			if f.Name != "" && key == "" {
				total = 0
				return nil // a name of quotation marks alone is nobody's
			}
			filter := []any{groupID, string(f.Kind), key, f.All}
			if err := t.Get(ctx, &total, fmt.Sprintf(entityFilter, `count(*)`), filter...); err != nil {
				return err
			}
			query := fmt.Sprintf(entityFilter, entityColumns) + entityPage
			if err := t.Select(ctx, &list, query, append(filter, limit, offset)...); err != nil {
				return err
			}
			merged, err := readMerges(ctx, t, groupID)
			if err != nil {
				return err
			}
			return whole(ctx, t, groupID, list, merged, false)
		}})
	return list, total, err
}
