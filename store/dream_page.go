package store

import (
	"cmp"
	"context"
	"fmt"
	"slices"

	"github.com/lib/pq"

	"reverie/internal/reverie"
	"reverie/store/pg"
)

const (
	// What the versions of lineages rest on, newest version first, but for what runs
	// wrote that were taken back: the memories as they were then, and the messages that
	// those rested on by that time. Each step is held apart (offset 0) and goes by key:
	// tables that were never analyzed would have them joined as whole groups.
	sourcesQuery = `select v.memory_id as of_id, v.lineage_id as of_lineage, s.memory_id, s.lineage_id, s.kind,
		s.session_id, s.statement,
			s.kind = 'session' and $3 = any (s.tags) as summary, coalesce(n.content_hash = s.content_hash, false) as active,
			case when n.content_hash <> s.content_hash then n.statement else '' end as now, coalesce(e.at,
				s.last_supported_at) as at, e.messages
		from (select memory_id, lineage_id, version from memories where group_id = $1
			and lineage_id = any ($2::uuid[]) offset 0) v
		cross join lateral (select x.source_id, x.position from memory_sources x where x.group_id = $1
			and x.memory_id = v.memory_id
			and (select r.undone_at from runs r where r.group_id = $1 and r.run_id = x.run_id) is null offset 0) x
		cross join lateral (select * from memories where group_id = $1 and memory_id = x.source_id offset 0) s
		left join lateral (select h.content_hash, h.statement from memories h where h.group_id = $1
			and h.lineage_id = s.lineage_id and h.status = 'active' offset 0) n on true
		cross join lateral (select max(e.sent_at) as at, coalesce(array_agg(distinct e.message_id), '{}') as messages
			from memory_evidence e where e.group_id = $1 and e.lineage_id = s.lineage_id and e.action <> 'delete'
				and e.withdrawn_at is null
				and (select b.version from memories b where b.group_id = $1 and b.memory_id = e.memory_id) <= s.version) e
		order by v.lineage_id, v.version desc, x.position`

	lastDreamQuery = `select ` + runColumns + ` from runs where group_id = $1 and ` + dreamEnded + `
		order by finished_at desc, run_id desc limit 1`

	waitingDreamsQuery = `select ` + runColumns + ` from runs r where group_id = $1 and job = 'dream'
		and undone_at is null
			and exists (select 1 from held_plans h where h.group_id = r.group_id and h.run_id = r.run_id
				and h.status = 'waiting')
		order by started_at desc, run_id desc`

	dreamMemoriesQuery = `select ` + MemoryColumns + ` from memories where group_id = $1 and kind = 'dream'
		and status = 'active'
		order by created_at, lineage_id`

	goneDreamsQuery = `select exists (select 1 from memories where group_id = $1 and kind = 'dream')`
)

// sourceRow is a memory that a version rests on.
type sourceRow struct {
	reverie.SourceMemory
	OfID      string         `db:"of_id"` // the version
	OfLineage string         `db:"of_lineage"`
	Messages  pq.StringArray `db:"messages"`
}

// sourcesOf reads what the versions of lineages rest on, by lineage, the newest
// version's first.
func sourcesOf(ctx context.Context, t *pg.Tx, groupID string, lineageIDs []string) (map[string][]sourceRow, error) {
	var rows []sourceRow
	err := t.Select(ctx, &rows, sourcesQuery, groupID, pq.StringArray(lineageIDs), reverie.TagSummary)
	found := map[string][]sourceRow{}
	for _, r := range rows {
		r.At = r.At.UTC()
		found[r.OfLineage] = append(found[r.OfLineage], r)
	}
	return found, err
}

// Dream returns what a group's dreams have left, in one snapshot: the narrative, the
// items by type, the best supported first, and what they rest on. An unknown group is
// reverie.ErrNotFound. Its statements are planned anew each time: it is read by people.
func (s *Store) Dream(ctx context.Context, groupID string) (reverie.Dream, error) {
	var page reverie.Dream
	err := s.db.Run(ctx, pg.Work{
		What:     fmt.Sprintf("read the dreams of group %q", groupID),
		ReadOnly: true,
		Do: func(ctx context.Context, t *pg.Tx) error {
			page = reverie.Dream{}
			var err error
			if page.Group, err = GetGroup(ctx, t, groupID); err != nil {
				return err
			}
			last, err := runList(ctx, t, lastDreamQuery, groupID)
			if err != nil {
				return err
			}
			if len(last) > 0 {
				page.Run = &last[0]
			}
			if page.Waiting, err = runList(ctx, t, waitingDreamsQuery, groupID); err != nil {
				return err
			}
			return readItems(ctx, t, &page)
		},
	})
	return page, err
}

func runList(ctx context.Context, t *pg.Tx, query string, args ...any) ([]reverie.Run, error) {
	var rows []runRow
	if err := t.Select(ctx, &rows, query, args...); err != nil {
		return nil, err
	}
	var list []reverie.Run
	for _, r := range rows {
		run, err := r.run()
		if err != nil {
			return nil, err
		}
		list = append(list, run)
	}
	return list, nil
}

// readItems reads the active memories of kind dream, and what they rest on.
func readItems(ctx context.Context, t *pg.Tx, page *reverie.Dream) error {
	var rows []MemoryRow
	if err := t.Select(ctx, &rows, dreamMemoriesQuery, page.Group.ID); err != nil {
		return err
	}
	if len(rows) == 0 {
		return t.Get(ctx, &page.Gone, goneDreamsQuery, page.Group.ID)
	}
	var lineages []string
	for _, r := range rows {
		lineages = append(lineages, r.LineageID)
	}
	sources, err := sourcesOf(ctx, t, page.Group.ID, lineages)
	if err != nil {
		return err
	}
	own, err := evidenceOf(ctx, t, page.Group.ID, lineages)
	if err != nil {
		return err
	}
	for _, r := range rows {
		item := dreamItem(r.memory(), sources[r.LineageID], own[r.LineageID])
		switch {
		case !slices.Contains(item.Tags, reverie.TagSummary):
			page.Items = append(page.Items, item)
		case page.Narrative == nil || item.UpdatedAt.After(page.Narrative.UpdatedAt): // as a dream takes it
			page.Narrative = &item
		}
	}
	slices.SortStableFunc(page.Items, func(a, b reverie.DreamItem) int {
		return cmp.Or(cmp.Compare(place(a.Type), place(b.Type)), cmp.Compare(b.Strength, a.Strength),
			b.UpdatedAt.Compare(a.UpdatedAt))
	})
	return nil
}

// place is where items of a type are shown; those of none come last.
func place(t reverie.DreamType) int {
	if i := slices.Index(reverie.DreamTypes, t); i >= 0 {
		return i
	}
	return len(reverie.DreamTypes)
}

// dreamItem puts together an item and what it rests on: of each memory the newest
// version that any of its own versions names. The narrative is told anew each time:
// it rests on what its newest version does that names anything.
func dreamItem(m reverie.Memory, sources []sourceRow, own []reverie.Evidence) reverie.DreamItem {
	item := reverie.DreamItem{Memory: m, Type: reverie.DreamTypeOf(m), Sources: []reverie.SourceMemory{}}
	item.Done = item.Type == reverie.DreamTodo && slices.Contains(m.Tags, reverie.TagDone)
	lineages, messages := map[string]bool{}, map[string]bool{}
	for _, e := range own {
		messages[e.MessageID] = true
	}
	for _, s := range sources {
		if s.OfID != sources[0].OfID && slices.Contains(m.Tags, reverie.TagSummary) {
			break
		}
		for _, id := range s.Messages {
			messages[id] = true
		}
		if !lineages[s.LineageID] {
			lineages[s.LineageID] = true
			item.Sources = append(item.Sources, s.SourceMemory)
		}
	}
	item.Evidence = len(messages)
	return item
}
