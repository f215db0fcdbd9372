package erase

import (
	"context"
	"maps"
	"reflect"
	"slices"

	"github.com/lib/pq"

	"reverie/internal/reverie"
	"reverie/internal/text"
	"reverie/store"
)

const (
	// The memories of teams that were made of the group's, and whether of such as are gone,
	// or are judged again.
	teamMemoriesQuery = `select o.group_id, m.lineage_id, bool_or(o.origin_lineage_id = any ($2::uuid[])) as ends
		from memory_origins o join memories m on m.group_id = o.group_id and m.memory_id = o.memory_id
		where o.group_id <> $1 and o.origin_group_id = $1
		group by o.group_id, m.lineage_id order by o.group_id, m.lineage_id`

	teamHeadsOfQuery = `select distinct on (lineage_id) ` + store.MemoryColumns + ` from memories
		where group_id = $1 and lineage_id = any ($2::uuid[]) order by lineage_id, version desc`
)

// teamRows are the rows of lineages $2 of a team, in the tables that have some.
var teamRows = map[string]string{
	"memories": `lineage_id = any ($2::uuid[])`,
	"memory_change_log": `memory_id in (select memory_id from memories where group_id = $1
		and lineage_id = any ($2::uuid[]))`,
	"memory_origins": `memory_id in (select memory_id from memories where group_id = $1
		and lineage_id = any ($2::uuid[]))`,
	"team_conflicts":   `lineage_id = any ($2::uuid[])`,
	"team_requests":    `lineage_id = any ($2::uuid[])`,
	"memory_usage_log": `lineage_id = any ($2::uuid[])`,
	"memory_evidence":  `lineage_id = any ($2::uuid[])`,
}

// forgetTeams ends the memories of teams that were made of memories that are gone, or
// are held: they say nothing any more, in any version. The others that are of this group
// lose the author's names. Both have a new version then, by which other deployments take
// it over, and on top of what was there before nobody can write.
func (e *eraser) forgetTeams(ctx context.Context, m erasedMemories) error {
	from := append(store.OrEmpty(m.gone), m.mixed...)
	var rows []struct {
		GroupID string `db:"group_id"`
		ID      string `db:"lineage_id"`
		Ends    bool
	}
	if err := e.t.Select(ctx, &rows, teamMemoriesQuery, e.group, from); err != nil {
		return err
	}
	all, end := map[string]pq.StringArray{}, map[string]bool{}
	for _, r := range rows {
		if all[r.GroupID] = append(all[r.GroupID], r.ID); r.Ends {
			end[r.ID] = true
		}
	}
	home := e.group
	defer func() { e.group, e.shared = home, nil }()
	for _, id := range slices.Sorted(maps.Keys(all)) {
		e.group, e.shared = id, all[id]
		if err := e.forgetTeam(ctx, end, from); err != nil {
			return err
		}
		if err := e.search(ctx); err != nil {
			return err
		}
	}
	e.leave("team memories elsewhere", e.counts.Team,
		"they have ended here; elsewhere they end with `reverie team pull` there, or `reverie team push` here. "+
			"Their older versions there are erased there")
	return nil
}

// forgetTeam is for one team what forgetTeams is for all: it ends those of its memories
// that are among end, which were made of memories from.
func (e *eraser) forgetTeam(ctx context.Context, end map[string]bool, from pq.StringArray) error {
	if _, err := store.LockGroup(ctx, e.t, e.group); err != nil { // nobody writes to it meanwhile
		return err
	}
	_, before, err := e.teamHeads(ctx)
	if err != nil {
		return err
	}
	var ids pq.StringArray
	for _, m := range before {
		ended := m.Statement == text.Erased && m.Origin.MemoryID == m.VersionID // by an erasure here
		if end[m.ID] = end[m.ID] && !ended; end[m.ID] {
			ids = append(ids, m.ID)
		}
	}
	e.counts.Team += len(ids)
	if err := e.blankTeam(ctx, store.OrEmpty(ids), from); err != nil {
		return err
	}
	if err := e.redactTables(ctx); err != nil {
		return err
	}
	heads, after, err := e.teamHeads(ctx)
	if err != nil {
		return err
	}
	for i, m := range after {
		switch w := (reverie.TeamWrite{Memory: m}); {
		case end[m.ID]:
			w.Memory.Status, w.Memory.ChangeReason = reverie.StatusDeprecated, "erased"
			err = e.appendTeam(ctx, heads[i], w)
		case !reflect.DeepEqual(before[i], m):
			w.Memory.Status, w.Quotes = heads[i].Status, true
			err = e.appendTeam(ctx, heads[i], w)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// teamHeads are the newest versions of the memories that are worked on, by lineage id.
func (e *eraser) teamHeads(ctx context.Context) ([]reverie.Memory, []reverie.TeamMemory, error) {
	var heads []reverie.Memory
	if err := e.t.Select(ctx, &heads, teamHeadsOfQuery, e.group, e.shared); err != nil {
		return nil, nil, err
	}
	list, err := store.TeamMemories(ctx, e.t, e.group, heads)
	return heads, list, err
}

// appendTeam writes the version that an erasure makes of a head, which was made here. The
// words that the head rests on go along where the write says so.
func (e *eraser) appendTeam(ctx context.Context, head reverie.Memory, w reverie.TeamWrite) error {
	w.Memory.Origin, w.Memory.Versions, w.Memory.UpdatedAt = reverie.Origin{}, nil, head.LastSupportedAt
	if w.Quotes {
		found, err := store.TeamEvidence(ctx, e.t, e.group, pq.StringArray{head.ID})
		if err != nil {
			return err
		}
		w.Memory.Evidence = found[head.ID]
	}
	return store.AppendTeam(ctx, e.db, e.t, e.group, &head, w, reverie.NewID())
}

// blankTeam leaves of lineages of a team their rows, which say nothing. Of where versions
// were made their ids stay, by which other deployments see what came after what.
func (e *eraser) blankTeam(ctx context.Context, ids, from pq.StringArray) error {
	versions := pq.StringArray{}
	if err := e.t.Select(ctx, &versions, erasedVersionsQuery, e.group, ids); err != nil {
		return err
	}
	for _, c := range []struct {
		table, set string
		args       []any
	}{
		{"memories", `statement = $3, content_hash = $4, tags = '{}', change_summary = '', embedding = null,
			embedding_model = '', session_id = '',
				status = case when status in ('active', 'held') then 'deprecated' else status end, ended_at = coalesce(ended_at,
					greatest(updated_at, $5::timestamptz))
			where group_id = $1 and memory_id = any
				($2::uuid[])`, []any{versions, text.Erased, text.ContentHash(text.Erased), e.at}},
		{"memory_change_log", `old_statement = case when old_statement = '' then '' else $3 end, new_statement = case
			when new_statement = '' then '' else $3 end,
				change_summary = '', evidence = '[]' where group_id = $1 and (memory_id = any ($2::uuid[])
					or old_id = any ($2::uuid[]))`, []any{versions, text.Erased}},
		{"memory_origins", `body = 'null', versions = versions || jsonb_build_object('version_id', origin_memory_id,
			'version', coalesce((body->>'version')::int, 1),
				'deployment', deployment, 'updated_at', coalesce((body->>'made_at')::timestamptz, created_at))
			where group_id = $1 and memory_id = any ($2::uuid[]) and body <> 'null' and (origin_group_id = $3
				or origin_lineage_id = any ($4::uuid[]))`,
			[]any{versions, e.query.GroupID, from}},
	} {
		if err := e.changed(ctx, c.table, c.set, c.args...); err != nil {
			return err
		}
	}
	for _, d := range []struct{ table, where string }{
		{"team_conflicts", `lineage_id = any ($2::uuid[])`}, {"team_requests", `lineage_id = any ($2::uuid[])`},
		{"memory_evidence", `lineage_id = any ($2::uuid[])`}, {"memory_usage_log", `lineage_id = any ($2::uuid[])`},
		{"memory_usage_totals", `lineage_id = any ($2::uuid[])`}, {"rejudgements", `lineage_id = any ($2::uuid[])`},
	} {
		if err := e.deleted(ctx, d.table, d.where, ids); err != nil {
			return err
		}
	}
	return nil
}
