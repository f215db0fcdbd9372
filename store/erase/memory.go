package erase

import (
	"context"

	"github.com/lib/pq"

	"reverie/internal/reverie"
	"reverie/store"
)

const (
	// What each lineage rests on that the author has supported. What ended a memory is no
	// support.
	erasedSupportQuery = `select lineage_id, count(*) filter (where action <> 'delete') as total,
			count(*) filter (where action <> 'delete' and ` + byAuthor + `) as theirs
		from memory_evidence x where group_id = $1 group by lineage_id having bool_or(` + byAuthor + `)`

	// byAuthor is true of evidence x from the author $2, or from the messages $3.
	byAuthor = `(x.author_id = $2 or x.message_id = any ($3::text[]))`

	erasedSourcesQuery = `select distinct m.lineage_id, s.source_lineage_id from memory_sources s
		join memories m on m.group_id = s.group_id and m.memory_id = s.memory_id where s.group_id = $1`

	// Summaries of sessions in which the author has spoken, which rest on the whole of them.
	erasedSummariesQuery = `select distinct lineage_id, session_id from memories
		where group_id = $1 and kind = 'session' and tags @> array['` + reverie.TagSummary + `']
			and session_id = any ($2::text[])`

	erasedNarrativesQuery = `select distinct lineage_id from memories
		where group_id = $1 and tags @> array['` + reverie.TagSummary + `'] and lineage_id = any ($2::uuid[])`

	erasedVersionsQuery = `select memory_id from memories where group_id = $1 and lineage_id = any ($2::uuid[])`
)

// erasedMemories are the lineages that an erasure touches.
type erasedMemories struct {
	gone  pq.StringArray // rest on the author alone, or are summaries, which are made anew
	mixed pq.StringArray // rest on others as well
	again pq.StringArray // sessions whose summaries are gone and rest on others as well
}

// memoriesOf divides what rests on the author: what rests on nobody else is gone, and
// with it what was made of that alone, and so on; the rest is mixed. Summaries and the
// narratives of dreams are made anew from what stays, instead of being mended.
func (e *eraser) memoriesOf(ctx context.Context) (erasedMemories, error) {
	var found erasedMemories
	var support []struct {
		ID            string `db:"lineage_id"`
		Total, Theirs int
	}
	if err := e.t.Select(ctx, &support, erasedSupportQuery, e.group, e.query.AuthorID, e.messages); err != nil {
		return found, err
	}
	var sources []struct {
		ID     string `db:"lineage_id"`
		Source string `db:"source_lineage_id"`
	}
	if err := e.t.Select(ctx, &sources, erasedSourcesQuery, e.group); err != nil {
		return found, err
	}
	var summaries []struct {
		ID      string `db:"lineage_id"`
		Session string `db:"session_id"`
	}
	if err := e.t.Select(ctx, &summaries, erasedSummariesQuery, e.group, e.sessions); err != nil {
		return found, err
	}
	others, mixed := map[string]int{}, map[string]bool{}
	for _, r := range support {
		if others[r.ID] = r.Total - r.Theirs; r.Theirs > 0 {
			mixed[r.ID] = true
		}
	}
	for _, r := range summaries {
		mixed[r.ID] = true
		found.again = append(found.again, r.Session)
	}
	of := map[string][]string{}
	for _, r := range sources {
		of[r.ID] = append(of[r.ID], r.Source)
	}
	if err := e.supportedByOthers(ctx, of, others); err != nil {
		return found, err
	}
	gone := map[string]bool{}
	for again := true; again; {
		again = false
		for id, list := range of {
			for _, source := range list {
				if mixed[source] && !mixed[id] {
					mixed[id], again = true, true
				}
			}
		}
		for id := range mixed {
			if !gone[id] && others[id] == 0 && allIn(gone, of[id]) {
				gone[id], again = true, true
			}
		}
	}
	var retold []string
	if err := e.t.Select(ctx, &retold, erasedNarrativesQuery, e.group, keysOf(mixed)); err != nil {
		return found, err
	}
	for _, id := range retold {
		gone[id] = true
	}
	for id := range gone {
		delete(mixed, id)
	}
	found.gone, found.mixed = keysOf(gone), keysOf(mixed)
	return found, nil
}

// supportedByOthers counts the messages that lineages with sources rest on besides, where
// the author is not among those.
func (e *eraser) supportedByOthers(ctx context.Context, of map[string][]string, others map[string]int) error {
	ids := pq.StringArray{}
	for id := range of {
		if _, known := others[id]; !known {
			ids = append(ids, id)
		}
	}
	var rows []struct {
		ID string `db:"lineage_id"`
		N  int
	}
	err := e.t.Select(ctx, &rows, `select lineage_id, count(*) as n from memory_evidence
		where group_id = $1 and lineage_id = any ($2::uuid[]) and action <> 'delete' group by lineage_id`, e.group, ids)
	for _, r := range rows {
		others[r.ID] = r.N
	}
	return err
}

func allIn(set map[string]bool, list []string) bool {
	for _, s := range list {
		if !set[s] {
			return false
		}
	}
	return true
}

// forgetMemories deletes what is gone, in all versions, takes the author's evidence from
// the rest, and holds what is mixed.
func (e *eraser) forgetMemories(ctx context.Context, m erasedMemories) error {
	var versions pq.StringArray
	if err := e.t.Select(ctx, &versions, erasedVersionsQuery, e.group, m.gone); err != nil {
		return err
	}
	for _, id := range versions {
		e.gone[id] = true
	}
	for _, id := range m.gone {
		e.gone[id] = true
	}
	e.counts.Erased = len(m.gone)
	for _, d := range []struct{ table, where string }{
		{"rejudgements", `lineage_id = any ($2::uuid[])`},
		{"past_rejudgements", `lineage_id = any ($2::uuid[])`},
		{"memory_values", `memory_id = any ($3::uuid[])`},
		{"memory_uses", `memory_id = any ($3::uuid[])`},
		{"memory_sources", `(memory_id = any ($3::uuid[]) or source_id = any ($3::uuid[])
			or source_lineage_id = any ($2::uuid[]))`},
		{"memory_evidence", `lineage_id = any ($2::uuid[])`},
		{"memory_change_log", `(memory_id = any ($3::uuid[]) or old_id = any ($3::uuid[]))`},
		{"decisions", `(memory_id = any ($3::uuid[]) or planned_id = any ($3::uuid[]) or target_id = any ($3::uuid[])
			and memory_id is null)`},
		{"memory_usage_log", `lineage_id = any ($2::uuid[])`},
		{"memory_usage_totals", `lineage_id = any ($2::uuid[])`},
	} {
		if err := e.deleted(ctx, d.table, `($2::uuid[] is not null and $3::uuid[] is not null)
			and `+d.where, m.gone, store.OrEmpty(versions)); err != nil {
			return err
		}
	}
	if err := e.changed(ctx, "decisions", `target_id = null where group_id = $1
		and target_id = any ($2::uuid[])`, store.OrEmpty(versions)); err != nil {
		return err
	}
	// What evolve showed keeps its places, by which the answer names it.
	if err := e.changed(ctx, "run_chunks", `memory_ids = array(select case when id = any ($2::uuid[])
		then '`+store.ZeroID+`'::uuid else id end
				from unnest(memory_ids) with ordinality as m (id, no) where id <> all ($2::uuid[]) or cardinality(message_ids) > 0
					order by no),
			questions = '{}', status = case when status in ('open', 'answered') then 'failed' else status end
		where group_id = $1 and memory_ids && $2::uuid[]`, store.OrEmpty(versions)); err != nil {
		return err
	}
	if err := e.deleted(ctx, "memories", `lineage_id = any ($2::uuid[])`, m.gone); err != nil {
		return err
	}
	if err := e.blank(ctx, m.mixed); err != nil {
		return err
	}
	if err := e.deleted(ctx, "memory_evidence", byAuthor, e.query.AuthorID, e.messages); err != nil {
		return err
	}
	return e.hold(ctx, m.mixed)
}
