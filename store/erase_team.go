package store

import (
	"context"
	"maps"
	"slices"

	"github.com/lib/pq"

	"reverie"
)

// The memories of teams that were made of the group's, and whether of such as are gone, or
// are judged again.
const teamMemoriesQuery = `select o.group_id, m.lineage_id, bool_or(o.origin_lineage_id = any ($2::uuid[])) as ends
	from memory_origins o join memories m on m.group_id = o.group_id and m.memory_id = o.memory_id
	where o.origin_group_id = $1 and o.group_id <> $1
	group by o.group_id, m.lineage_id order by o.group_id, m.lineage_id`

// teamRows are the rows of lineages $2 of a team, in the tables that have some.
var teamRows = map[string]string{
	"memories":          `lineage_id = any ($2::uuid[])`,
	"memory_change_log": `memory_id in (select memory_id from memories where group_id = $1 and lineage_id = any ($2::uuid[]))`,
	"memory_origins":    `memory_id in (select memory_id from memories where group_id = $1 and lineage_id = any ($2::uuid[]))`,
	"team_conflicts":    `lineage_id = any ($2::uuid[])`,
	"team_requests":     `lineage_id = any ($2::uuid[])`,
	"memory_usage_log":  `lineage_id = any ($2::uuid[])`,
	"memory_evidence":   `lineage_id = any ($2::uuid[])`,
}

// forgetTeams ends the memories of teams that were made of memories that are gone, or
// are held: they say nothing any more, in any version. The rows stay, so that the next
// push ends them in other deployments, too. The others that are of this group lose the
// author's names.
func (e *eraser) forgetTeams(ctx context.Context, m erasedMemories) error {
	var rows []struct {
		GroupID string `db:"group_id"`
		ID      string `db:"lineage_id"`
		Ends    bool
	}
	if err := e.t.list(ctx, &rows, teamMemoriesQuery, e.group, append(orEmpty(m.gone), m.mixed...)); err != nil {
		return err
	}
	type team struct{ all, end pq.StringArray }
	teams := map[string]*team{}
	for _, r := range rows {
		of := teams[r.GroupID]
		if of == nil {
			of = &team{}
			teams[r.GroupID] = of
		}
		if of.all = append(of.all, r.ID); r.Ends {
			of.end = append(of.end, r.ID)
			e.counts.Team++
		}
	}
	home := e.group
	defer func() { e.group, e.shared = home, nil }()
	for _, id := range slices.Sorted(maps.Keys(teams)) {
		e.group, e.shared = id, teams[id].all
		if err := e.forgetTeam(ctx, orEmpty(teams[id].end)); err != nil {
			return err
		}
		if err := e.redactTables(ctx); err != nil {
			return err
		}
		if err := e.search(ctx); err != nil {
			return err
		}
	}
	e.leave("team memories elsewhere", e.counts.Team, "they have ended here; `reverie team push` ends them in the deployments that share them")
	return nil
}

func (e *eraser) forgetTeam(ctx context.Context, ids pq.StringArray) error {
	var versions pq.StringArray
	if err := e.t.list(ctx, &versions, erasedVersionsQuery, e.group, ids); err != nil {
		return err
	}
	hash := reverie.ContentHash(reverie.Erased)
	for _, c := range []struct {
		table, set string
		args       []any
	}{
		{"memories", `statement = $3, content_hash = $4, tags = '{}', change_summary = '', embedding = null, embedding_model = '', session_id = '',
				status = case when status in ('active', 'held') then 'deprecated' else status end, ended_at = coalesce(ended_at, $5::timestamptz)
			where group_id = $1 and memory_id = any ($2::uuid[])`, []any{versions, reverie.Erased, hash, e.at}},
		{"memory_change_log", `old_statement = case when old_statement = '' then '' else $3 end, new_statement = case when new_statement = '' then '' else $3 end,
				change_summary = '', evidence = '[]' where group_id = $1 and (memory_id = any ($2::uuid[]) or old_id = any ($2::uuid[]))`, []any{versions, reverie.Erased}},
		{"memory_origins", `body = '{}', versions = default where group_id = $1 and memory_id = any ($2::uuid[])`, []any{versions}},
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
