// Package links stores which people of different groups are the same person. It also reads which facts of a linked
// group another group may see. Each statement concerns one group.
package links

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/lib/pq"

	"reverie/internal/fault"
	"reverie/internal/reverie"
	"reverie/internal/text"
	"reverie/store"
	"reverie/store/pg"
)

// Links are the links of one database.
type Links struct {
	db           *pg.DB
	defaultScope reverie.Reach // scope of facts without a scope of their own
}

// New returns the links of a database. Facts without a scope of their own have the scope otherwise; "" means
// [reverie.ReachGroup].
func New(db *pg.DB, otherwise reverie.Reach) *Links { return &Links{db, otherwise} }

// maxLinkedGroups is the most other groups that a group may be linked with. A search reads each of them, in about a
// millisecond.
const maxLinkedGroups = 200

const (
	columns = `group_id, entity_id, other_group_id, other_entity_id, proved, reason, created_at`

	listQuery = `select ` + columns + ` from entity_links where group_id = $1 and entity_id = any ($2::uuid[])
		order by other_group_id, other_entity_id`

	linkQuery = `insert into entity_links (` + columns + `) values ($1, $2, $3, $4, $5, $6, $7)
		on conflict (group_id, entity_id, other_group_id, other_entity_id) do update
			set proved = excluded.proved, reason = excluded.reason`

	othersQuery = `select count(distinct other_group_id) from entity_links where group_id = $1 and other_group_id <> $2`

	unlinkQuery = `delete from entity_links where group_id = $1 and entity_id = $2 and other_group_id = $3
		and other_entity_id = $4`

	// If the id of an account is only a display name, no platform has assigned it.
	accountsQuery = `select n.name from entity_names n where n.group_id = $1 and n.entity_id = $2 and n.kind = 'id'
		and n.ended_at is null and not exists (
			select 1 from messages m where m.group_id = $1 and m.author = n.name and m.author_id = n.name)`

	// persons has, for each link of the group that is read, its root: the entity that the linked one is merged into. It
	// also has all entities merged into the root. A root that is no active person has no rows.
	persons = `
		up (entity_id, at) as (
			select entity_id, entity_id from link
			union select u.entity_id, e.merged_into from up u
				join entities e on e.group_id = $1 and e.entity_id = u.at where e.merged_into is not null),
		persons (entity_id, root, part) as (
			select u.entity_id, e.entity_id, e.entity_id from up u
				join entities e on e.group_id = $1 and e.entity_id = u.at
				where e.status = 'active' and e.kind = 'person'
			union select p.entity_id, p.root, e.entity_id from persons p
				join entities e on e.group_id = $1 and e.merged_into = p.part),
		accounts as (
			select p.entity_id, p.root, n.name from persons p
				join entity_names n on n.group_id = $1 and n.entity_id = p.part and n.kind = 'id' and n.ended_at is null)`

	// The links of the people in a group.
	partakersQuery = `with recursive link as (select * from entity_links where group_id = $1),` + persons + `
		select ` + columns + ` from link where entity_id in (select entity_id from accounts) order by other_group_id`

	// The facts that a linked person of this group has said about themselves. The link must exist in this group, too.
	// The facts have the scope person, and only messages of that person as evidence. Versions with words of somebody
	// else are left out, even if that evidence is withdrawn. So are versions that follow one without messages, from an
	// editor or another system. For a past instant, ended versions are read, too.
	factsQuery = `with recursive link as (
			select l.entity_id from entity_links l
				join unnest($3::uuid[], $4::uuid[]) as u (entity_id, other) on l.entity_id = u.entity_id and l.other_entity_id = u.other
				where l.group_id = $1 and l.other_group_id = $2),` + persons + `,
		said as (
			select e.lineage_id, array_agg(distinct coalesce(x.author_id, '')) as authors
				from memory_evidence e
				left join messages x on x.group_id = $1 and x.message_id = e.message_id
					and x.author_id = e.author_id and x.role = 'user'
				where e.group_id = $1 and e.withdrawn_at is null and e.action <> 'delete' and e.lineage_id in (
					select m.lineage_id from memories m
						left join memory_scopes s on s.group_id = $1 and s.lineage_id = m.lineage_id
						where m.group_id = $1 and coalesce(s.scope, $5) = 'person')
				group by e.lineage_id),
		words as (
			select o.lineage_id, o.content_hash, min(o.version) as since,
					array_agg(e.author_id) filter (where e.author_id is not null) as authors
				from said s join memories o on o.group_id = $1 and o.lineage_id = s.lineage_id
				left join memory_evidence e on e.group_id = $1 and e.memory_id = o.memory_id and e.action in ('create', 'update')
				group by o.lineage_id, o.content_hash),
		whole as (select root, array_agg(distinct name) as names from accounts group by root),
		known (entity_id) as (
			select entity_id from entity_names where group_id = $1 and kind = 'id' and ended_at is null
			union select e.merged_into from known k
				join entities e on e.group_id = $1 and e.entity_id = k.entity_id where e.merged_into is not null)
		select m.memory_id, m.statement, w.root as entity_id
			from said s join whole w on s.authors <@ w.names
			join memories m on m.group_id = $1 and m.lineage_id = s.lineage_id
			join words v on v.lineage_id = m.lineage_id and v.content_hash = m.content_hash and v.authors <@ w.names
			where m.kind in ('group', 'session') and '` + reverie.TagSummary + `' <> all (m.tags)
				and (m.status in ('active', 'archived') or $6::bool)
				and not exists (select 1 from words o where o.lineage_id = m.lineage_id and o.since <= m.version and o.authors is null)
				and not exists (select 1 from rejudgements q where q.group_id = $1 and q.lineage_id = m.lineage_id
					and q.run_id is null)
				and exists (select 1 from groups g where g.group_id = $1 and case g.private when '' then 2 < (
					select count(*) from (select 1 from known k
						join entities e on e.group_id = $1 and e.entity_id = k.entity_id
						where e.kind = 'person' and e.status = 'active' limit 3) three)
					else g.private = 'off' end)`

	// The names in a group: those of its entities, and those of all authors. A name that does not belong to a linked
	// person has no entity. A recursive query finds the authors one by one through the index.
	namesQuery = `with recursive link as (select unnest($2::uuid[]) as entity_id),` + persons + `,
		authors (author, author_id) as (
			(select author, author_id from messages where group_id = $1 and author <> '' order by author, author_id limit 1)
			union all select n.author, n.author_id from authors a cross join lateral (
				select m.author, m.author_id from messages m
					where m.group_id = $1 and m.author <> '' and (m.author, m.author_id) > (a.author, a.author_id)
					order by m.author, m.author_id limit 1) n)
		select distinct n.name, coalesce(p.root::text, '') as entity_id from entity_names n
			join entities e on e.group_id = $1 and e.entity_id = n.entity_id and e.kind <> 'thing'
			left join persons p on p.part = n.entity_id
			where n.group_id = $1 and n.kind <> 'id' and n.ended_at is null
		union select a.author, coalesce(c.root::text, '') from authors a left join accounts c on c.name = a.author_id`
)

// Of lists the links of an entity, and those of entities merged into it.
func (l *Links) Of(ctx context.Context, e reverie.Entity) ([]reverie.EntityLink, error) {
	ids := pq.StringArray{e.ID}
	for _, n := range e.Names {
		ids = append(ids, n.EntityID)
	}
	list, err := pg.QueryAll[reverie.EntityLink](ctx, l.db, "read the links of an entity", listQuery, e.GroupID, ids)
	return append([]reverie.EntityLink{}, list...), err
}

// Link links a person in one group to a person in another. Both must be active entities. Unless both have an account
// with the same id on one platform, the link must be forced.
func (l *Links) Link(ctx context.Context, q reverie.LinkQuery) error {
	what := fmt.Sprintf("link entity %s of group %q with %s of group %q", q.A.EntityID, q.A.GroupID, q.B.EntityID, q.B.GroupID)
	return l.lockBoth(ctx, what, q.A, q.B, func(ctx context.Context, t *pg.Tx) error {
		var accounts [2][]string
		for i, end := range []reverie.EntityEnd{q.A, q.B} {
			e, err := pg.Get[reverie.Entity](ctx, t, `select entity_id, kind, subject, status from entities
				where group_id = $1 and entity_id = $2`, end.GroupID, end.EntityID)
			if err != nil {
				return pg.NotFoundIfEmpty(err, "entity %s of group %q", end.EntityID, end.GroupID)
			}
			switch {
			case e.Kind != reverie.EntityPerson:
				return fmt.Errorf("%q (%s) is a %s: only people can be linked: %w", e.Subject, e.ID, e.Kind, reverie.ErrConflict)
			case e.Status != reverie.EntityActive:
				return fmt.Errorf("%q (%s) is %s: link who it is part of: %w", e.Subject, e.ID, e.Status, reverie.ErrConflict)
			}
			if accounts[i], err = pg.Select[string](ctx, t, accountsQuery, end.GroupID, end.EntityID); err != nil {
				return err
			}
		}
		proved := q.Platform && slices.ContainsFunc(accounts[0], func(a string) bool { return slices.Contains(accounts[1], a) })
		switch {
		case !proved && !q.Force:
			return fmt.Errorf("no account proves that they are the same person: that takes one account id in both, and ids of groups "+
				"of one platform, such as telegram-1; `reverie entity link --force --reason WHY` links them without: %w", reverie.ErrConflict)
		case !proved && strings.TrimSpace(q.Reason) == "":
			return fmt.Errorf("a link without proof needs a reason: %w", reverie.ErrInvalid)
		}
		for _, ends := range [][2]reverie.EntityEnd{{q.A, q.B}, {q.B, q.A}} {
			others, err := pg.Select[int](ctx, t, othersQuery, ends[0].GroupID, ends[1].GroupID)
			switch {
			case err != nil:
				return err
			case others[0] >= maxLinkedGroups:
				return fmt.Errorf("group %q is linked with %d groups, and with more its searches would be slow; `reverie entity unlink` "+
					"makes room: %w", ends[0].GroupID, others[0], reverie.ErrConflict)
			}
			if err := t.Exec(ctx, linkQuery, ends[0].GroupID, ends[0].EntityID, ends[1].GroupID, ends[1].EntityID, proved,
				q.Reason, l.db.Now()); err != nil {
				return err
			}
		}
		return nil
	})
}

// Unlink deletes a link, even if one of its entities no longer exists. A link that does not exist is
// reverie.ErrNotFound.
func (l *Links) Unlink(ctx context.Context, a, b reverie.EntityEnd) error {
	what := fmt.Sprintf("unlink entity %s of group %q from %s of group %q", a.EntityID, a.GroupID, b.EntityID, b.GroupID)
	return l.lockBoth(ctx, what, a, b, func(ctx context.Context, t *pg.Tx) error {
		gone := 0
		for _, ends := range [][2]reverie.EntityEnd{{a, b}, {b, a}} {
			n, err := t.ExecRows(ctx, unlinkQuery, ends[0].GroupID, ends[0].EntityID, ends[1].GroupID, ends[1].EntityID)
			if err != nil {
				return err
			}
			gone += n
		}
		if gone == 0 {
			return fmt.Errorf("their link: %w", reverie.ErrNotFound)
		}
		return nil
	})
}

// lockBoth runs do while it holds the locks of two groups, in the order of their ids, so that nobody erases or merges
// in them.
func (l *Links) lockBoth(ctx context.Context, what string, a, b reverie.EntityEnd,
	do func(context.Context, *pg.Tx) error) error {
	if a.GroupID == b.GroupID {
		return fmt.Errorf("%s: both are of one group; `reverie entity merge` says that they are the same: %w", what, reverie.ErrInvalid)
	}
	return l.db.Run(ctx, pg.Work{What: what, Do: func(ctx context.Context, t *pg.Tx) error {
		for _, id := range []string{min(a.GroupID, b.GroupID), max(a.GroupID, b.GroupID)} {
			if _, err := store.LockGroup(ctx, t, id); err != nil {
				return err
			}
		}
		return do(ctx, t)
	}})
}

// Shared reads the facts that a group may see, group by group. These are facts of scope person that a linked member has
// said in a group that is not private. With past it also reads ended versions. It reads each group as the reader of
// that group alone.
func (l *Links) Shared(ctx context.Context, groupID string, past bool) (all []reverie.SharedFacts, err error) {
	what := fmt.Sprintf("read the links of group %q", groupID)
	list, err := pg.Lookup(ctx, l.db, what, func(ctx context.Context, t *pg.Tx) ([]reverie.EntityLink, error) {
		return pg.Select[reverie.EntityLink](ctx, t, partakersQuery, groupID)
	})
	for err == nil && len(list) > 0 {
		of := list[0].OtherGroupID
		n := slices.IndexFunc(list, func(k reverie.EntityLink) bool { return k.OtherGroupID != of })
		if n < 0 {
			n = len(list)
		}
		var shared reverie.SharedFacts
		if shared, err = l.factsOf(store.Instead(ctx, of), of, groupID, list[:n], past); err == nil && len(shared.Facts) > 0 {
			all = append(all, shared)
		}
		list = list[n:]
	}
	return all, err
}

// factsOf reads what a group may share with another, by the links of the other.
func (l *Links) factsOf(ctx context.Context, groupID, reader string, links []reverie.EntityLink,
	past bool) (r reverie.SharedFacts, err error) {
	r.GroupID = groupID
	var here, there pq.StringArray
	for _, k := range links {
		here, there = append(here, k.OtherEntityID), append(there, k.EntityID)
	}
	err = l.db.Run(ctx, pg.Work{What: fmt.Sprintf("read what of group %q reaches others", groupID), ReadOnly: true, ByKey: true,
		Do: func(ctx context.Context, t *pg.Tx) error {
			scope := cmp.Or(l.defaultScope, reverie.ReachGroup)
			if fault.Off(fault.Scope) {
				scope = reverie.ReachPerson
			}
			r.Names = nil
			var err error
			if r.Facts, err = pg.Select[reverie.SharedFact](ctx, t, factsQuery, groupID, reader, here, there, string(scope),
				past); err != nil || len(r.Facts) == 0 {
				return err
			}
			r.Names, err = pg.Select[reverie.EntityName](ctx, t, namesQuery, groupID, here)
			return err
		}})
	for i, n := range r.Names {
		r.Names[i].Key = text.NameKey(n.Name)
	}
	return r, err
}
