package store

import (
	"context"
	"fmt"
	"maps"
	"slices"

	"github.com/lib/pq"

	"reverie/internal/reverie"
	"reverie/internal/text"
	"reverie/store/pg"
)

// entityColumns are those of reverie.Entity.
const entityColumns = `group_id, entity_id, kind, subject, status, merged_into, version, created_at, updated_at,
	run_id`

const (
	entitiesQuery = `select ` + entityColumns + ` from entities
		where group_id = $1 and entity_id = any ($2::uuid[]) and status <> 'withdrawn' order by created_at, entity_id`

	entityNamesQuery = `select name_id, entity_id, kind, name, name_key, created_at, run_id from entity_names
		where group_id = $1 and entity_id = any ($2::uuid[]) and ended_at is null order by created_at, name_id`

	namesQuery = `select entity_id, subject from entities where group_id = $1 and entity_id = any ($2::uuid[])`

	namedQuery = `select distinct entity_id from entity_names
		where group_id = $1 and ended_at is null and (kind = 'id' and name_key = $2 or kind <> 'id' and name_key = $3)`
)

// EntitiesByID returns entities with their names in force and their active claims,
// those of entities merged into them included, the oldest first. One that is itself
// merged is returned as the one that it is read as, and unknown ones are left out, and
// those that were withdrawn.
func (s *Store) EntitiesByID(ctx context.Context, groupID string, ids []string) ([]reverie.Entity, error) {
	if len(ids) == 0 {
		return nil, nil
	}
	var list []reverie.Entity
	err := s.db.Run(ctx, pg.Work{
		What:     fmt.Sprintf("read %d entities of group %q", len(ids), groupID),
		ReadOnly: true,
		ByKey:    true,
		Do: func(ctx context.Context, t *pg.Tx) error {
			var err error
			list, err = roots(ctx, t, groupID, ids)
			return err
		},
	})
	return list, err
}

// Subjects are the names of what changed, by entity id.
func (s *Store) Subjects(ctx context.Context, groupID string, changes []reverie.EntityChange) (map[string]string,
	error) {
	var names map[string]string
	err := s.db.Run(ctx, pg.Work{What: fmt.Sprintf("read the names of entities of group %q", groupID), ReadOnly: true,
		Do: func(ctx context.Context, t *pg.Tx) error {
			var err error
			names, err = namesOf(ctx, t, groupID, changes)
			return err
		}})
	return names, err
}

// namesOf reads the names of what changed and was there before: what was created
// brings its own.
func namesOf(ctx context.Context, t *pg.Tx, groupID string, changes []reverie.EntityChange) (map[string]string, error) {
	names := map[string]string{}
	var ids []string
	for _, c := range changes {
		if c.Action == reverie.EntityCreated {
			names[c.EntityID] = c.NewText
		} else if _, known := names[c.EntityID]; !known {
			names[c.EntityID] = ""
			ids = append(ids, c.EntityID)
		}
	}
	if len(ids) == 0 {
		return names, nil
	}
	var rows []struct {
		ID      string `db:"entity_id"`
		Subject string `db:"subject"`
	}
	if err := t.Select(ctx, &rows, namesQuery, groupID, pq.StringArray(ids)); err != nil {
		return nil, err
	}
	for _, r := range rows {
		if names[r.ID] == "" {
			names[r.ID] = r.Subject
		}
	}
	return names, nil
}

// roots reads the entities that the given ones are read as, whole.
func roots(ctx context.Context, t *pg.Tx, groupID string, ids []string) ([]reverie.Entity, error) {
	merged, err := readMerges(ctx, t, groupID)
	if err != nil {
		return nil, err
	}
	var wanted []string
	for _, id := range ids {
		if reverie.IsID(id) {
			wanted = append(wanted, merged.root(id))
		}
	}
	slices.Sort(wanted)
	list, err := entities(ctx, t, groupID, slices.Compact(wanted))
	if err != nil {
		return nil, err
	}
	return list, whole(ctx, t, groupID, list, merged, false)
}

func entities(ctx context.Context, t *pg.Tx, groupID string, ids []string) (list []reverie.Entity, err error) {
	err = t.Select(ctx, &list, entitiesQuery, groupID, pq.StringArray(ids))
	return list, err
}

func entityNames(ctx context.Context, t *pg.Tx, groupID string, ids []string) (list []reverie.EntityName, err error) {
	err = t.Select(ctx, &list, entityNamesQuery, groupID, pq.StringArray(ids))
	return list, err
}

// nameKey is what a name is looked up by: an account's as it is.
func nameKey(kind reverie.NameKind, name string) string {
	if kind == reverie.NameID {
		return name
	}
	return text.NameKey(name)
}

// FindEntities returns those of a group's entities that bear a name, or have that
// account, the oldest first. Names are compared by text.NameKey.
func (s *Store) FindEntities(ctx context.Context, groupID, name string) ([]reverie.Entity, error) {
	var list []reverie.Entity
	err := s.db.Run(ctx, pg.Work{What: fmt.Sprintf("look for an entity of group %q", groupID), ReadOnly: true,
		Do: func(ctx context.Context, t *pg.Tx) error {
			if _, err := GetGroup(ctx, t, groupID); err != nil {
				return err
			}
			var ids []string
			err := t.Select(ctx, &ids, namedQuery, groupID, nameKey(reverie.NameID, name), nameKey(reverie.NameAlias, name))
			if err != nil {
				return err
			}
			list, err = roots(ctx, t, groupID, ids)
			return err
		}})
	return list, err
}

// Entity returns one entity with its names in force and its active claims, each
// with its evidence; those of entities merged into it included. One that is itself
// merged is shown as it is, and so is one that was withdrawn. An empty groupID looks in
// all groups. An entity that does not exist, or is another group's, is reverie.ErrNotFound.
func (s *Store) Entity(ctx context.Context, groupID, entityID string) (reverie.Entity, error) {
	var found reverie.Entity
	err := s.db.Run(ctx, pg.Work{What: "read an entity", ReadOnly: true, Do: func(ctx context.Context, t *pg.Tx) error {
		e, err := getEntity(ctx, t, groupID, entityID)
		if err != nil {
			return err
		}
		merged, err := readMerges(ctx, t, e.GroupID)
		if err != nil {
			return err
		}
		list := []reverie.Entity{e}
		err = whole(ctx, t, e.GroupID, list, merged, true)
		found = list[0]
		return err
	}})
	return found, err
}

func getEntity(ctx context.Context, t *pg.Tx, groupID, entityID string) (reverie.Entity, error) {
	var e reverie.Entity
	if !reverie.IsID(entityID) {
		return e, fmt.Errorf("entity %q: %w", entityID, reverie.ErrNotFound)
	}
	err := t.Get(ctx, &e, `select `+entityColumns+` from entities where entity_id = $2 and ($1 = ''
		or group_id = $1)`, groupID, entityID)
	return e, pg.NotFoundIfEmpty(err, "entity %s", entityID)
}

// EntityHistory returns what became of an entity and of those merged into it,
// oldest first: its changes, and every version of what was said of it. An empty
// groupID looks in all groups.
func (s *Store) EntityHistory(ctx context.Context, groupID, entityID string) ([]reverie.EntityChange, []reverie.Claim,
	error) {
	var changes []reverie.EntityChange
	var versions []reverie.Claim
	err := s.db.Run(ctx, pg.Work{What: "read an entity's history", ReadOnly: true, Do: func(ctx context.Context,
		t *pg.Tx) error {
		e, err := getEntity(ctx, t, groupID, entityID)
		if err != nil {
			return err
		}
		merged, err := readMerges(ctx, t, e.GroupID)
		if err != nil {
			return err
		}
		ids := pq.StringArray(slices.Sorted(maps.Keys(merged.members([]string{e.ID}))))
		if changes, err = entityChanges(ctx, t, entityHistoryQuery, e.GroupID, ids); err != nil {
			return err
		}
		var rows []claimRow
		if err := t.Select(ctx, &rows, claimVersionsQuery, e.GroupID, ids); err != nil {
			return err
		}
		versions = claims(rows)
		return fillClaimEvidence(ctx, t, e.GroupID, versions)
	}})
	return changes, versions, err
}
