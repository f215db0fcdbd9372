package store

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/lib/pq"

	"reverie/internal/reverie"
	"reverie/store/pg"
)

// DreamQueue is the [Store] for the dream job. Its due groups are those with messages that no dream has covered.
type DreamQueue struct{ *Store }

// Dreams returns the store for the dream job.
func (s *Store) Dreams() DreamQueue { return DreamQueue{s} }

const (
	// A session s with messages that no dream has covered, in the form of its index.
	undreamt = `(s.dreamt_until is null or s.dreamt_until < s.last_at)`

	// A session s of the query: silent since $2, and not after $3 and $4.
	withinDream = `s.last_at <= $2::timestamptz and (s.last_at, s.session_id) <= ($3::timestamptz, $4::text)`

	// True for a memory version m that a dream has taken in, else null. It is one index probe. A join that is planned
	// while the tables are small would compare every row with every other.
	dreamtOf = `(select true from memory_uses u where u.group_id = $1 and u.job = 'dream'
		and u.memory_id = m.memory_id)`

	// The new material: memories of the group, of the query's sessions, and of unknown sessions. If $5 names versions,
	// it is those of them that are still new. They are looked up one by one, since a plan made before they are known
	// would compare every row with every other. The condition on $5 alone is a subquery: Citus would drop the table
	// from a statement whose condition is false for every row.
	newMaterial = ` from (
			select * from memories where group_id = $1 and (select cardinality($5::uuid[]) = 0)
			union all select v.* from (select distinct id from unnest($5::uuid[]) as u (id)) x
				cross join lateral (select * from memories where group_id = $1 and memory_id = x.id limit 1) v) m
			left join lateral (select s.last_at, s.session_id from sessions s
				where m.kind = 'session' and s.group_id = $1 and s.session_id = m.session_id limit 1) s on true
		where m.group_id = $1 and m.status = 'active' and m.kind in ('group', 'session') and ` + dreamtOf + ` is null
			and (cardinality($5::uuid[]) > 0 or s.session_id is null or ` + withinDream + `)`

	// A dream that has ended, whatever a person decided on it, and was not undone.
	dreamEnded = `job = 'dream' and status in ('succeeded', 'held', 'rejected') and undone_at is null`

	// How the newest dream of a group ended, read from its index.
	newestDream = `(select status from runs r where r.group_id = $1 and r.job = 'dream' and r.undone_at is null
		order by r.started_at desc, r.run_id desc limit 1)`

	dreamSignsQuery = `select f.fresh, f.quiet_since as quietsince, f.unread,
			(select max(finished_at) from runs where group_id = $1 and ` + dreamEnded + `) as lastat,
			exists (select 1 from runs where group_id = $1 and job = 'dream' and status = 'running') as interrupted,
			coalesce(` + newestDream + ` in ('failed', 'deferred'), false) as cutshort,
			(select count(*)` + newMaterial + `) as new,
			coalesce((select s.session_id from sessions s where s.group_id = $1 and ` + withinDream + `
				order by s.last_at desc, s.session_id desc limit 1), '') as through
		from (select count(*) as fresh, min(s.last_at) as quiet_since, 
				count(*) filter (where s.new_messages > 0 and (s.turns > 0 or s.tool_calls > 0)) as unread
			from sessions s where s.group_id = $1 and ` + undreamt + ` and ` + withinDream + `) f`

	// A dream that was interrupted or failed is continued, whatever was said since.
	dueDreamGroups = `select ` + GroupColumns + `, coalesce((select s.last_at from sessions s
				where s.group_id = g.group_id and ` + undreamt + ` order by s.last_at limit 1), now()) as first_pending,
			` + duePast + `, ` + dueSetback + `'dream') as setback
		from groups g where (exists (select 1 from sessions s where s.group_id = g.group_id and ` + undreamt + `)
			or exists (select 1 from runs r where r.group_id = g.group_id and r.job = 'dream' and r.status = 'running')
			or (select r.status from runs r where r.group_id = g.group_id and r.job = 'dream' and r.undone_at is null
				order by r.started_at desc, r.run_id desc limit 1) in ('failed', 'deferred'))`

	dueDreamPageQuery = dueDreamGroups + ` and g.group_id > $1 and not g.paused order by g.group_id
		limit nullif($2::int, 0)`
)

var dueDreamGroupQuery = inGroup(dueDreamGroups, "$1") + ` and g.group_id = $1`

// DueGroups is [Store.DueGroups] for groups with a session that no dream has covered, or with a dream that was
// interrupted or failed. FirstPending is the last message of the session that has been silent the longest.
// [Store.DreamSigns] then tells whether the group must dream.
func (q DreamQueue) DueGroups(ctx context.Context, due reverie.DueQuery) ([]reverie.DueGroup, error) {
	due.Job = reverie.JobDream
	if due.GroupID != "" {
		return q.dueGroups(ctx, "look for sessions to dream of", due, dueDreamGroupQuery, []any{due.GroupID})
	}
	return q.dueGroups(ctx, "list groups with sessions to dream of", due, dueDreamPageQuery, []any{due.After, due.Limit})
}

// DreamSigns reads what determines whether a group must dream, in one snapshot. An unknown group, or an unknown last
// session of the query, is reverie.ErrNotFound.
func (s *Store) DreamSigns(ctx context.Context, q reverie.DreamQuery) (reverie.DreamSigns, error) {
	what := fmt.Sprintf("look whether group %q is due to dream", q.GroupID)
	return lookup(ctx, s, q.GroupID, what, func(ctx context.Context, t *pg.Tx) (signs reverie.DreamSigns, err error) {
		if _, err := GetGroup(ctx, t, q.GroupID); err != nil {
			return signs, err
		}
		args, err := dreamArgs(ctx, t, q)
		if err != nil {
			return signs, err
		}
		return dreamSigns(ctx, t, args)
	})
}

// dreamArgs returns the arguments of the statements: group, latest time of an ended session, the last session with its
// time, and versions. If the last session of a resumed dream has merged with another one since, the query is only about
// its versions.
func dreamArgs(ctx context.Context, t *pg.Tx, q reverie.DreamQuery) ([]any, error) {
	var at, id any = "infinity", ""
	if q.Through != "" {
		through, err := getSession(ctx, t, q.GroupID, q.Through)
		switch {
		case err == nil:
			at, id = through.LastAt, through.ID
		case errors.Is(err, reverie.ErrNotFound) && len(q.MemoryIDs) > 0:
			at = "-infinity"
		default:
			return nil, err
		}
	}
	return []any{q.GroupID, pg.OrInfinity(q.EndedBy), at, id, pq.StringArray(append([]string{}, q.MemoryIDs...))}, nil
}

func dreamSigns(ctx context.Context, t *pg.Tx, args []any) (reverie.DreamSigns, error) {
	return pg.Get[reverie.DreamSigns](ctx, t, dreamSignsQuery, args...)
}

const (
	// Unknown sessions come after those with messages, and memories without a session come last, because null sorts
	// last.
	materialQuery = `select ` + headColumns + ` from (select m.*, s.last_at as session_at` + newMaterial + `) m
		order by session_at, case kind when 'session' then session_id end, kind = 'session' and $6 = any (tags) desc,
			created_at, lineage_id`

	// The sessions that a dream covers: those of its material ($6) and other fresh ones. A session that has further new
	// material is not among them, because it would no longer be fresh when that is dreamt of.
	coveredQuery = `select ` + sessionColumns + ` from sessions c where group_id = $1 and session_id = any (array(
			select unnest($6::text[])
			union all select s.session_id from sessions s where s.group_id = $1 and ` + undreamt + ` and ` + withinDream + `))
			and ((select cardinality($5::uuid[]) = 0) or not exists (select 1 from memories m
				where m.group_id = $1 and m.session_id = c.session_id and m.session_id <> '' and m.kind = 'session'
					and m.status = 'active'
					and m.memory_id not in (select unnest($5::uuid[])) and ` + dreamtOf + ` is null))
		order by last_at, session_id`

	// The memories that earlier dreams have taken in, and the items that they have made.
	dreamtQuery = `with ` + heldLines + ` select ` + headColumns + `, ` + heldColumns + ` from memories m where group_id = $1 and (status = 'active'
		and kind in ('group', 'dream')
			and (kind = 'dream' or ` + dreamtOf + `)
			or memory_id` + archivedOf + `'dream'` + newestArchived + `)
		order by created_at, lineage_id`

	activeQuery = `select count(*) from memories where group_id = $1 and status = 'active'`

	// If several steps cite a message, the first quote counts.
	evidenceOfQuery = `select lineage_id, message_id, author_id, author, quote, sent_at, to_char(local_date,
		'YYYY-MM-DD') as local_date
		from (select distinct on (lineage_id, message_id) * from memory_evidence
			where group_id = $1 and lineage_id = any ($2::uuid[]) and action <> 'delete' and withdrawn_at is null
			order by lineage_id, message_id, evidence_no) e
		order by lineage_id, sent_at, evidence_no`
)

// GatherDream reads the material of a dream, in one snapshot and at most seven statements. An unknown group is
// reverie.ErrNotFound. So is an unknown last session, unless the query names the versions.
func (s *Store) GatherDream(ctx context.Context, q reverie.DreamQuery) (reverie.DreamState, error) {
	what := fmt.Sprintf("gather what group %q has to dream of", q.GroupID)
	return lookup(ctx, s, q.GroupID, what, func(ctx context.Context, t *pg.Tx) (state reverie.DreamState, err error) {
		if state.Group, err = GetGroup(ctx, t, q.GroupID); err != nil {
			return state, err
		}
		args, err := dreamArgs(ctx, t, q)
		if err != nil {
			return state, err
		}
		if state.Signs, err = dreamSigns(ctx, t, args); err != nil {
			return state, err
		}
		if state.Material, err = pg.Select[reverie.HeadState](ctx, t, materialQuery, append(args, reverie.TagSummary)...); err != nil {
			return state, err
		}
		if err := t.Select(ctx, &state.Sessions, coveredQuery, append(args, sessionsOf(state.Material))...); err != nil {
			return state, err
		}
		if err := t.Get(ctx, &state.Active, activeQuery, q.GroupID); err != nil {
			return state, err
		}
		err = dreamt(ctx, t, &state)
		return state, err
	})
}

// sessionsOf returns the sessions of material, each once.
func sessionsOf(material []reverie.HeadState) pq.StringArray {
	ids := pq.StringArray{}
	for _, m := range material {
		if m.Kind == reverie.KindSession && m.SessionID != "" {
			ids = append(ids, m.SessionID)
		}
	}
	return slices.Compact(ids) // material is ordered by session
}

// dreamt reads what earlier dreams have taken in and made. If a person has restored an old narrative, the latest one
// counts.
func dreamt(ctx context.Context, t *pg.Tx, state *reverie.DreamState) error {
	heads, err := pg.Select[reverie.HeadState](ctx, t, dreamtQuery, state.Group.ID)
	for _, h := range heads {
		switch {
		case h.Status == reverie.StatusArchived: // closed todos no longer matter
			if !slices.Contains(h.Tags, reverie.TagSummary) && !slices.Contains(h.Tags, reverie.TagDone) {
				state.Archived = append(state.Archived, h)
			}
		case h.Kind == reverie.KindGroup:
			state.Known = append(state.Known, h)
		case !slices.Contains(h.Tags, reverie.TagSummary):
			state.Items = append(state.Items, h)
		case state.Narrative == nil || h.UpdatedAt.After(state.Narrative.UpdatedAt):
			state.Narrative = &h
		}
	}
	return err
}

// EvidenceOf returns the present evidence of lineages, by lineage: the messages of all their versions, each once,
// oldest first. Lineages without evidence are left out.
func (s *Store) EvidenceOf(ctx context.Context, groupID string, lineageIDs []string) (map[string][]reverie.Evidence,
	error) {
	what := fmt.Sprintf("read what memories of group %q rest on", groupID)
	return lookup(ctx, s, groupID, what, func(ctx context.Context,
		t *pg.Tx) (map[string][]reverie.Evidence, error) {
		return evidenceOf(ctx, t, groupID, lineageIDs)
	})
}

func evidenceOf(ctx context.Context, t *pg.Tx, groupID string, lineageIDs []string) (map[string][]reverie.Evidence,
	error) {
	var rows []struct {
		reverie.Evidence
		LineageID string `db:"lineage_id"`
	}
	err := t.Select(ctx, &rows, evidenceOfQuery, groupID, pq.StringArray(lineageIDs))
	found := map[string][]reverie.Evidence{}
	for _, r := range rows {
		found[r.LineageID] = append(found[r.LineageID], r.Evidence)
	}
	return found, err
}

const (
	// The items of dreams are not new to dreams. A version that is superseded by now was new when it was chosen. Its
	// successor is new by itself.
	takeInQuery = `insert into memory_uses (group_id, job, memory_id, run_id)
		select $1, 'dream', u.id, $2::uuid from unnest($3::uuid[]) as u (id)
		where (select m.kind in ('group', 'session') from memories m where m.group_id = $1 and m.memory_id = u.id)
			and exists (select 1 from runs r where r.group_id = $1 and r.run_id = $2::uuid and r.job = 'dream')
		order by u.id
		on conflict (group_id, job, memory_id) do nothing`

	// Sessions that no longer exist have merged into others. A session with new messages since it was read is not
	// marked, because the dream has not seen them. The locks are taken in the same order as by the import of messages.
	coverSessionsQuery = `with covered as (
			select s.session_id, u.last_at from sessions s
			join unnest($2::text[], $3::timestamptz[], $4::int[]) as u (id, last_at, messages) on u.id = s.session_id
				and u.messages = s.messages
			where s.group_id = $1 order by s.session_id for no key update of s)
		update sessions s set dreamt_until = greatest(s.dreamt_until, c.last_at) from covered c
		where s.group_id = $1 and s.session_id = c.session_id`
)

// takeIn marks memory versions as taken in by the dream, each exactly once. A version that is not new fails the whole
// plan. It also marks sessions as covered up to their last message that was read, unless they have newer ones.
func takeIn(ctx context.Context, t *pg.Tx, plan reverie.Plan) error {
	ids := pq.StringArray(plan.Dream.MemoryIDs)
	n, err := t.ExecRows(ctx, takeInQuery, plan.GroupID, plan.RunID, ids)
	if err != nil {
		return err
	}
	if n != len(ids) {
		return fmt.Errorf("%d of the dream's %d memories are no longer new to dreams, or not for dreams: %w",
			len(ids)-n, len(ids), reverie.ErrConflict)
	}
	var rows pg.Columns
	for _, s := range plan.Dream.Sessions {
		rows.Add(s.ID, s.LastAt, s.Total.Messages)
	}
	return rows.Exec(ctx, t, coverSessionsQuery, plan.GroupID)
}

const (
	requeueDreamQuery = `with freed as (` + freeChunks + `
			returning c.run_id, c.memory_ids),
		given as (
			delete from memory_uses u using freed f where u.group_id = $1 and u.job = 'dream' and u.run_id = f.run_id
				and u.memory_id = any (f.memory_ids)
			returning u.memory_id)
		select m.session_id from given g join memories m on m.group_id = $1 and m.memory_id = g.memory_id`

	uncoverQuery = `with given as (
			select session_id from sessions where group_id = $1 and session_id = any ($2::text[])
				order by session_id for no key update)
		update sessions s set dreamt_until = null from given g where s.group_id = $1 and s.session_id = g.session_id`
)

// requeueDream makes the material of a dream new again if all its items are held, and returns the number of versions.
// It makes their sessions fresh again, and the last session that the dream covered: a group without a fresh session is
// never due.
func requeueDream(ctx context.Context, t *pg.Tx, run *reverie.Run) (int, error) {
	var of []string // the session of each version
	if err := t.Select(ctx, &of, requeueDreamQuery, run.GroupID, run.ID, reverie.TagSummary); err != nil || len(of) == 0 {
		return 0, err
	}
	fresh, err := Uncover(ctx, t, *run, of)
	if err != nil {
		return 0, err
	}
	run.Stats.Material -= len(of)
	run.Stats.Sessions = max(run.Stats.Sessions-fresh, 0)
	return len(of), nil
}

// Uncover makes sessions fresh again when a dream returns their material, and the last session that the dream covered:
// a group without a fresh session is never due. It returns their number.
func Uncover(ctx context.Context, t *pg.Tx, run reverie.Run, of []string) (int, error) {
	ids := slices.Compact(slices.Sorted(slices.Values(append(slices.Clone(of), run.SessionID))))
	ids = slices.DeleteFunc(ids, func(id string) bool { return id == "" })
	return t.ExecRows(ctx, uncoverQuery, run.GroupID, OrEmpty(pq.StringArray(ids)))
}

const (
	// The sources of the versions of lineages, newest version first, without those of undone runs. They are the
	// memories as they were then, with the messages that they had as evidence by that time. Each step is a separate
	// subquery (offset 0) with index probes. Without statistics, the planner would join whole groups.
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

	lastDreamQuery = `select ` + RunColumns + ` from runs where group_id = $1 and ` + dreamEnded + `
		order by finished_at desc, run_id desc limit 1`

	waitingDreamsQuery = `select ` + RunColumns + ` from runs r where group_id = $1 and job = 'dream'
		and undone_at is null
			and exists (select 1 from held_plans h where h.group_id = $1 and h.run_id = r.run_id
				and h.status = 'waiting')
		order by started_at desc, run_id desc`

	dreamMemoriesQuery = `select ` + MemoryColumns + ` from memories where group_id = $1 and kind = 'dream'
		and status = 'active'
		order by created_at, lineage_id`

	goneDreamsQuery = `select exists (select 1 from memories where group_id = $1 and kind = 'dream')`
)

// SourceRow is a source of a version.
type SourceRow struct {
	reverie.SourceMemory
	OfID      string   `db:"of_id"` // the version that has the source
	OfLineage string   `db:"of_lineage"`
	Messages  []string `db:"messages"`
}

// SourcesOf reads the sources of the versions of lineages, by lineage, those of the newest version first.
func SourcesOf(ctx context.Context, t *pg.Tx, groupID string, lineageIDs []string) (map[string][]SourceRow, error) {
	var rows []SourceRow
	err := t.Select(ctx, &rows, sourcesQuery, groupID, pq.StringArray(lineageIDs), reverie.TagSummary)
	found := map[string][]SourceRow{}
	for _, r := range rows {
		found[r.OfLineage] = append(found[r.OfLineage], r)
	}
	return found, err
}

// Dream returns what the dreams of a group have made, in one snapshot: the narrative, the items by type, and their
// sources. The best supported items come first. An unknown group is reverie.ErrNotFound. Its statements are planned on
// each call, because only people call it.
func (s *Store) Dream(ctx context.Context, groupID string) (reverie.Dream, error) {
	what := fmt.Sprintf("read the dreams of group %q", groupID)
	return read(ctx, s, groupID, what, func(ctx context.Context, t *pg.Tx) (page reverie.Dream, err error) {
		if page.Group, err = GetGroup(ctx, t, groupID); err != nil {
			return page, err
		}
		last, err := pg.Select[reverie.Run](ctx, t, lastDreamQuery, groupID)
		if err != nil {
			return page, err
		}
		if len(last) > 0 {
			page.Run = &last[0]
		}
		if page.Waiting, err = pg.Select[reverie.Run](ctx, t, waitingDreamsQuery, groupID); err != nil {
			return page, err
		}
		err = readItems(ctx, t, &page)
		return page, err
	})
}

// readItems reads the active memories of kind dream, and their sources.
func readItems(ctx context.Context, t *pg.Tx, page *reverie.Dream) error {
	var rows []reverie.Memory
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
	sources, err := SourcesOf(ctx, t, page.Group.ID, lineages)
	if err != nil {
		return err
	}
	own, err := evidenceOf(ctx, t, page.Group.ID, lineages)
	if err != nil {
		return err
	}
	for _, r := range rows {
		item := dreamItem(r, sources[r.LineageID], own[r.LineageID])
		switch {
		case !slices.Contains(item.Tags, reverie.TagSummary):
			page.Items = append(page.Items, item)
		case page.Narrative == nil || item.UpdatedAt.After(page.Narrative.UpdatedAt): // as a dream chooses
			page.Narrative = &item
		}
	}
	slices.SortStableFunc(page.Items, func(a, b reverie.DreamItem) int {
		return cmp.Or(cmp.Compare(place(a.Type), place(b.Type)), cmp.Compare(b.Strength, a.Strength),
			b.UpdatedAt.Compare(a.UpdatedAt))
	})
	return nil
}

// place returns the position at which items of a type are shown; items without a type come last.
func place(t reverie.DreamType) int {
	if i := slices.Index(reverie.DreamTypes, t); i >= 0 {
		return i
	}
	return len(reverie.DreamTypes)
}

// dreamItem makes an item with its sources: of each memory the newest version that any version of the item names. The
// narrative is written anew each time, so it only has the sources of its newest version that names any.
func dreamItem(m reverie.Memory, sources []SourceRow, own []reverie.Evidence) reverie.DreamItem {
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
