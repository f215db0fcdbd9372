package store

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/lib/pq"

	"reverie/internal/reverie"
	"reverie/internal/text"
	"reverie/store/pg"
)

const (
	// entityColumns are the columns of reverie.Entity.
	entityColumns = `group_id, entity_id, kind, subject, status, merged_into, version, created_at, updated_at, run_id`

	entityNameColumns = `name_id, entity_id, kind, name, name_key, created_at, run_id`

	// The evidence of a version supports only that version, because its value may differ from the one before.
	claimColumns = `c.group_id, c.claim_id, c.lineage_id, c.parent_id, c.version, c.entity_id, c.aspect, c.name, c.value,
		c.target_id, c.self, c.content_hash, c.confidence, c.strength, c.status, c.run_id, c.created_at, c.updated_at,
		c.ended_at, c.last_supported_at,
		array(select distinct to_char(e.local_date, 'YYYY-MM-DD')` + claimEvidence + ` order by 1) as support_dates,
		array(select distinct e.author_id` + claimEvidence + ` and e.author_id <> '' order by 1) as said_by`

	claimEvidence = ` from entity_evidence e where e.group_id = $1 and e.lineage_id = c.lineage_id
		and e.claim_id = c.claim_id and e.withdrawn_at is null`

	claimVersionsQuery = `select ` + claimColumns + ` from entity_claims c
		where c.group_id = $1 and c.entity_id = any ($2::uuid[]) order by c.created_at, c.lineage_id, c.version`

	claimEvidenceQuery = `select claim_id, message_id, author_id, author, quote, sent_at, to_char(local_date,
		'YYYY-MM-DD') as local_date
		from entity_evidence where group_id = $1 and lineage_id = any ($2::uuid[]) and withdrawn_at is null
		order by sent_at, evidence_no`

	subjectsQuery = `select entity_id, subject from entities where group_id = $1 and entity_id = any ($2::uuid[])`

	namedQuery = `select distinct entity_id from entity_names
		where group_id = $1 and ended_at is null and (kind = 'id' and name_key = $2 or kind <> 'id' and name_key = $3)`

	// A merged entity is also found by its own name, as the entity that it is merged into. Withdrawn entities are not
	// found.
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

// entityView is the set of statements that read entities with their names and claims.
type entityView struct{ merges, entities, names, claims string }

// The present entities, and those at an instant, which is the last argument of each statement. The direction of a merge
// that was undone since is no longer known, so the past ignores it.
var (
	entitiesNow = entityView{
		merges: mergesQuery,
		entities: `select ` + entityColumns + ` from entities
			where group_id = $1 and entity_id = any ($2::uuid[]) and status <> 'withdrawn' order by created_at, entity_id`,
		names: `select ` + entityNameColumns + ` from entity_names
			where group_id = $1 and entity_id = any ($2::uuid[]) and ended_at is null order by created_at, name_id`,
		claims: `select ` + claimColumns + ` from entity_claims c
			where c.group_id = $1 and c.entity_id = any ($2::uuid[]) and c.status = 'active'
			order by c.created_at, c.lineage_id`,
	}
	entitiesThen = entityView{
		merges: mergesQuery + ` and exists (select 1 from entity_change_log c where c.group_id = $1
			and c.entity_id = entities.entity_id and c.action = 'merge' and c.other_id = entities.merged_into
			and c.created_at <= $2::timestamptz)`,
		entities: `select ` + entityColumns + ` from entities
			where group_id = $1 and entity_id = any ($2::uuid[]) and created_at <= $3::timestamptz
			order by created_at, entity_id`,
		names: `select ` + entityNameColumns + ` from entity_names
			where group_id = $1 and entity_id = any ($2::uuid[]) and created_at <= $3::timestamptz
				and (ended_at is null or ended_at > $3) order by created_at, name_id`,
		claims: `select ` + claimColumns + ` from entity_claims c
			where c.group_id = $1 and c.entity_id = any ($2::uuid[]) and c.updated_at <= $3::timestamptz
				and (c.ended_at is null or c.ended_at > $3) order by c.created_at, c.lineage_id`,
	}
)

// EntitiesByID returns entities with their active names and claims, oldest first, including those of entities merged
// into them. For a merged entity it returns the entity that it is merged into. Unknown and withdrawn entities are left
// out.
func (s *Store) EntitiesByID(ctx context.Context, groupID string, ids []string) ([]reverie.Entity, error) {
	if len(ids) == 0 {
		return nil, nil
	}
	what := fmt.Sprintf("read %d entities of group %q", len(ids), groupID)
	return lookup(ctx, s, groupID, what, func(ctx context.Context, t *pg.Tx) ([]reverie.Entity, error) {
		return entitiesNow.roots(ctx, t, groupID, ids)
	})
}

// EntitiesAt is [Store.EntitiesByID] as of an instant: the entities of that time, with their names and claims.
// Subjects, strengths and undone merges are the present ones.
func (s *Store) EntitiesAt(ctx context.Context, groupID string, ids []string, at time.Time) ([]reverie.Entity, error) {
	what := fmt.Sprintf("read %d entities of group %q as they were", len(ids), groupID)
	return read(ctx, s, groupID, what, func(ctx context.Context, t *pg.Tx) ([]reverie.Entity, error) {
		return entitiesThen.roots(ctx, t, groupID, ids, at)
	})
}

// roots reads the complete entities that the given ones are merged into.
func (v entityView) roots(ctx context.Context, t *pg.Tx, groupID string, ids []string, at ...any) ([]reverie.Entity,
	error) {
	merged, err := readMerges(ctx, t, v.merges, append([]any{groupID}, at...)...)
	if err != nil {
		return nil, err
	}
	var wanted pq.StringArray
	for _, id := range ids {
		if reverie.IsID(id) {
			wanted = append(wanted, merged.root(id))
		}
	}
	slices.Sort(wanted)
	args := append([]any{groupID, OrEmpty(slices.Compact(wanted))}, at...)
	list, err := pg.Select[reverie.Entity](ctx, t, v.entities, args...)
	if err != nil {
		return nil, err
	}
	return list, v.fill(ctx, t, groupID, list, merged, at...)
}

// fill adds the names and claims of entities, and of all entities merged into them, oldest first. A name or claim keeps
// the id of the merged entity. The target of a relation is the entity that it is merged into.
func (v entityView) fill(ctx context.Context, t *pg.Tx, groupID string, list []reverie.Entity, merged merges,
	at ...any) error {
	if len(list) == 0 {
		return nil
	}
	byID := make(map[string]*reverie.Entity, len(list))
	for i, e := range list {
		byID[e.ID] = &list[i]
	}
	readWith := merged.members(slices.Collect(maps.Keys(byID)))
	args := append([]any{groupID, pq.StringArray(slices.Sorted(maps.Keys(readWith)))}, at...)
	names, err := pg.Select[reverie.EntityName](ctx, t, v.names, args...)
	if err != nil {
		return err
	}
	for _, n := range names {
		for _, id := range readWith[n.EntityID] {
			n.Entity = byID[id].Kind
			byID[id].Names = append(byID[id].Names, n)
		}
	}
	claims, err := pg.Select[reverie.Claim](ctx, t, v.claims, args...)
	for _, c := range claims {
		if c.TargetID != nil {
			target := merged.root(*c.TargetID)
			c.TargetID = &target
		}
		for _, id := range readWith[c.EntityID] {
			byID[id].Claims = append(byID[id].Claims, c)
		}
	}
	return err
}

// Subjects returns the names of changed entities, by entity id.
func (s *Store) Subjects(ctx context.Context, groupID string, changes []reverie.EntityChange) (map[string]string,
	error) {
	what := fmt.Sprintf("read the names of entities of group %q", groupID)
	return read(ctx, s, groupID, what, func(ctx context.Context, t *pg.Tx) (map[string]string, error) {
		return subjects(ctx, t, groupID, changes)
	})
}

// subjects reads the names of changed entities; a created one has its name in the change.
func subjects(ctx context.Context, t *pg.Tx, groupID string, changes []reverie.EntityChange) (map[string]string,
	error) {
	names, ids := map[string]string{}, pq.StringArray{}
	for _, c := range changes {
		ids = append(ids, c.EntityID)
	}
	var rows []reverie.Entity
	err := t.Select(ctx, &rows, subjectsQuery, groupID, ids)
	for _, e := range rows {
		names[e.ID] = e.Subject
	}
	for _, c := range changes {
		if c.Action == reverie.EntityCreated {
			names[c.EntityID] = c.NewText
		}
	}
	return names, err
}

// nameKey returns the key for looking up a name; an account is its own key.
func nameKey(kind reverie.NameKind, name string) string {
	if kind == reverie.NameID {
		return name
	}
	return text.NameKey(name)
}

// FindEntities returns the entities of a group with that name or account, oldest first. Names are compared by
// text.NameKey.
func (s *Store) FindEntities(ctx context.Context, groupID, name string) ([]reverie.Entity, error) {
	what := fmt.Sprintf("look for an entity of group %q", groupID)
	return read(ctx, s, groupID, what, func(ctx context.Context, t *pg.Tx) ([]reverie.Entity, error) {
		if _, err := GetGroup(ctx, t, groupID); err != nil {
			return nil, err
		}
		ids, err := pg.Select[string](ctx, t, namedQuery, groupID, nameKey(reverie.NameID, name),
			nameKey(reverie.NameAlias, name))
		if err != nil {
			return nil, err
		}
		return entitiesNow.roots(ctx, t, groupID, ids)
	})
}

// ListEntities returns a page of a group's entities by subject, with their active names and claims, and their total
// number. A limit of 0 is no limit. An unknown group is reverie.ErrNotFound.
func (s *Store) ListEntities(ctx context.Context, groupID string, f reverie.EntityFilter, limit,
	offset int) ([]reverie.Entity, int, error) {
	var list []reverie.Entity
	var total int
	err := s.db.Of(ctx, groupID).Run(ctx, pg.Work{What: fmt.Sprintf("list the entities of group %q", groupID),
		ReadOnly: true, Do: func(ctx context.Context, t *pg.Tx) error {
			list, total = nil, 0
			if _, err := GetGroup(ctx, t, groupID); err != nil {
				return err
			}
			key := text.NameKey(f.Name)
			if f.Name != "" && key == "" {
				return nil // a name of quotation marks only matches nothing
			}
			filter := []any{groupID, string(f.Kind), key, f.All}
			if err := t.Get(ctx, &total, fmt.Sprintf(entityFilter, `count(*)`), filter...); err != nil {
				return err
			}
			query := fmt.Sprintf(entityFilter, entityColumns) + entityPage
			if err := t.Select(ctx, &list, query, append(filter, limit, offset)...); err != nil {
				return err
			}
			merged, err := readMerges(ctx, t, mergesQuery, groupID)
			if err != nil {
				return err
			}
			return entitiesNow.fill(ctx, t, groupID, list, merged)
		}})
	return list, total, err
}

// Entity returns one entity with its active names, and its active claims with their evidence, including those of
// entities merged into it. A merged or withdrawn entity is returned as it is. An empty groupID searches all groups. An
// entity that does not exist, or belongs to another group, is reverie.ErrNotFound.
func (s *Store) Entity(ctx context.Context, groupID, entityID string) (reverie.Entity, error) {
	return read(ctx, s, groupID, "read an entity", func(ctx context.Context, t *pg.Tx) (reverie.Entity, error) {
		e, merged, err := getEntity(ctx, t, groupID, entityID)
		if err != nil {
			return e, err
		}
		list := []reverie.Entity{e}
		if err := entitiesNow.fill(ctx, t, e.GroupID, list, merged); err != nil {
			return e, err
		}
		return list[0], fillClaimEvidence(ctx, t, e.GroupID, list[0].Claims)
	})
}

// getEntity reads the row of an entity, and all merges in its group.
func getEntity(ctx context.Context, t *pg.Tx, groupID, entityID string) (reverie.Entity, merges, error) {
	var e reverie.Entity
	if !reverie.IsID(entityID) {
		return e, nil, fmt.Errorf("entity %q: %w", entityID, reverie.ErrNotFound)
	}
	err := t.Get(ctx, &e, `select `+entityColumns+` from entities where entity_id = $2 and ($1 = ''
		or group_id = $1)`, groupID, entityID)
	if err != nil {
		return e, nil, pg.NotFoundIfEmpty(err, "entity %s", entityID)
	}
	merged, err := readMerges(ctx, t, mergesQuery, e.GroupID)
	return e, merged, err
}

// EntityHistory returns the history of an entity and of those merged into it, oldest first: its changes, and all
// versions of its claims. An empty groupID searches all groups.
func (s *Store) EntityHistory(ctx context.Context, groupID, entityID string) ([]reverie.EntityChange, []reverie.Claim,
	error) {
	var changes []reverie.EntityChange
	var versions []reverie.Claim
	err := s.db.Of(ctx, groupID).Run(ctx, pg.Work{What: "read an entity's history", ReadOnly: true, Do: func(
		ctx context.Context, t *pg.Tx) error {
		e, merged, err := getEntity(ctx, t, groupID, entityID)
		if err != nil {
			return err
		}
		ids := pq.StringArray(slices.Sorted(maps.Keys(merged.members([]string{e.ID}))))
		if changes, err = pg.Select[reverie.EntityChange](ctx, t, entityHistoryQuery, e.GroupID, ids); err != nil {
			return err
		}
		if versions, err = pg.Select[reverie.Claim](ctx, t, claimVersionsQuery, e.GroupID, ids); err != nil {
			return err
		}
		return fillClaimEvidence(ctx, t, e.GroupID, versions)
	}})
	return changes, versions, err
}

// fillClaimEvidence adds the evidence of each version, by time.
func fillClaimEvidence(ctx context.Context, t *pg.Tx, groupID string, list []reverie.Claim) error {
	at, lineages := map[string]int{}, pq.StringArray{}
	for i, c := range list {
		at[c.ID] = i
		lineages = append(lineages, c.LineageID)
	}
	var rows []struct {
		reverie.Evidence
		ClaimID string `db:"claim_id"`
	}
	if err := t.Select(ctx, &rows, claimEvidenceQuery, groupID, lineages); err != nil {
		return err
	}
	for _, r := range rows {
		if i, ok := at[r.ClaimID]; ok {
			list[i].Evidence = append(list[i].Evidence, r.Evidence)
		}
	}
	return nil
}
