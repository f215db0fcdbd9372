package erase

import (
	"context"
	"slices"

	"github.com/lib/pq"

	"reverie/internal/reverie"
	"reverie/internal/text"
)

// dropAliases deletes the further names of other people and things that hold a trace, and
// keys those names anew that they go by.
func (e *eraser) dropAliases(ctx context.Context) error {
	var rows []struct {
		ID   string `db:"name_id"`
		Kind string
		Name string
	}
	if err := e.t.Select(ctx, &rows, `select name_id, kind, name from entity_names where group_id = $1
		and kind <> 'id'`, e.group); err != nil {
		return err
	}
	drop := pq.StringArray{}
	var ids, names, keys pq.StringArray
	for _, r := range rows {
		name, found := e.traces.Redact(r.Name)
		switch {
		case found && r.Kind == string(reverie.NameSubject) && len([]rune(name)) <= reverie.MaxNameLength:
			ids, names, keys = append(ids, r.ID), append(names, name), append(keys, text.NameKey(name))
		case found:
			drop = append(drop, r.ID)
		}
	}
	if err := e.deleted(ctx, "entity_names", `name_id = any ($2::uuid[])`, drop); err != nil || len(ids) == 0 {
		return err
	}
	return e.changed(ctx, "entity_names", `name = u.name, name_key = u.name_key from unnest($2::uuid[], $3::text[],
		$4::text[]) as u (id, name, name_key)
		where x.group_id = $1 and x.name_id = u.id`, ids, names, keys)
}

// rehash gives statements and claims that say something else now the hash of that, and
// messages their length. The vectors go: maintenance makes them anew. Of two active ones that say the same by now the
// second ends.
func (e *eraser) rehash(ctx context.Context, table string, keys pq.StringArray) error {
	if len(keys) == 0 {
		return nil
	}
	switch table {
	case "memories":
		return e.rehashMemories(ctx, keys)
	case "entity_claims":
		return e.rehashClaims(ctx, keys)
	case "decisions":
		return e.rehashDecisions(ctx, keys)
	case "messages":
		return e.measure(ctx, keys)
	}
	return nil
}

func (e *eraser) rehashMemories(ctx context.Context, ids pq.StringArray) error {
	var rows []struct {
		ID        string `db:"memory_id"`
		Kind      string
		Session   string `db:"session_id"`
		Status    string
		Statement string
		Tags      pq.StringArray
		Hash      string `db:"content_hash"`
	}
	if err := e.t.Select(ctx, &rows, `select memory_id, kind, session_id, status, statement, tags, content_hash
		from memories
		where group_id = $1 and memory_id = any ($2::uuid[]) order by memory_id`, e.group, ids); err != nil {
		return err
	}
	for _, r := range rows {
		hash := text.ContentHash(r.Statement)
		if slices.Contains(r.Tags, reverie.TagSummary) {
			session := ""
			if reverie.Kind(r.Kind) == reverie.KindSession {
				session = r.Session
			}
			hash = text.SummaryHash(session, r.Statement)
		}
		if hash == r.Hash {
			continue
		}
		if _, err := e.t.Exec(ctx, `update memories m set content_hash = $3, embedding = null, embedding_model = '',
				status = case when w.twin then 'deprecated' else m.status end, ended_at = case when w.twin then $4::timestamptz
					else m.ended_at end
			from (select $5 = 'active' and exists (select 1 from memories o where o.group_id = $1 and o.kind = $6
				and o.content_hash = $3
				and o.status = 'active') as twin) w
			where m.group_id = $1 and m.memory_id = $2::uuid`, e.group, r.ID, hash, e.at, r.Status, r.Kind); err != nil {
			return err
		}
	}
	return nil
}

func (e *eraser) rehashClaims(ctx context.Context, ids pq.StringArray) error {
	var rows []struct {
		ID     string `db:"claim_id"`
		Aspect string
		Name   string
		Value  string
	}
	if err := e.t.Select(ctx, &rows, `select claim_id, aspect, name, value from entity_claims
		where group_id = $1 and claim_id = any ($2::uuid[]) order by claim_id`, e.group, ids); err != nil {
		return err
	}
	for _, r := range rows {
		if _, err := e.t.Exec(ctx, `update entity_claims c set content_hash = w.hash, name_key = $4,
				status = case when w.twin then 'deprecated' else c.status end, ended_at = case when w.twin then $5::timestamptz
					else c.ended_at end
			from (select x.claim_id, h.hash, x.status = 'active' and exists (select 1 from entity_claims o
				where o.group_id = $1 and o.entity_id = x.entity_id
					and o.aspect = x.aspect and o.name_key = $4 and o.self = x.self and o.content_hash = h.hash
						and o.status = 'active'
					and o.claim_id <> x.claim_id) as twin
				from entity_claims x cross join lateral (select case when x.aspect = 'relation' then x.content_hash else $3
					end as hash) h
				where x.group_id = $1 and x.claim_id = $2::uuid) w
			where c.group_id = $1 and c.claim_id =
				w.claim_id`, e.group, r.ID, text.ContentHash(r.Value), text.NameKey(r.Name), e.at); err != nil {
			return err
		}
	}
	return nil
}

// rehashDecisions goes by the runs of the decisions.
func (e *eraser) rehashDecisions(ctx context.Context, runs pq.StringArray) error {
	var statements []string
	if err := e.t.Select(ctx, &statements, `select distinct statement from decisions where group_id = $1
		and run_id = any ($2::uuid[])`, e.group, runs); err != nil {
		return err
	}
	hashes := make(pq.StringArray, len(statements))
	for i, s := range statements {
		hashes[i] = text.ContentHash(s)
	}
	_, err := e.t.Exec(ctx, `update decisions d set content_hash = u.hash from unnest($3::text[],
		$4::text[]) as u (statement, hash)
		where d.group_id = $1 and d.run_id = any ($2::uuid[]) and d.statement = u.statement and d.content_hash <> u.hash`,
		e.group, runs, pq.StringArray(statements), hashes)
	return err
}

// measure estimates the tokens of messages anew, and has their sessions counted with that.
func (e *eraser) measure(ctx context.Context, ids pq.StringArray) error {
	var rows []struct {
		ID      string `db:"message_id"`
		Text    string
		Session string `db:"session_id"`
	}
	if err := e.t.Select(ctx, &rows, `select message_id, text, session_id from messages where group_id = $1
		and message_id = any ($2::text[]) and tokens > 0`, e.group, ids); err != nil {
		return err
	}
	var found pq.StringArray
	var tokens pq.Int64Array
	for _, r := range rows {
		found, tokens = append(found, r.ID), append(tokens, int64(text.EstimateTokens(r.Text)))
		if r.Session != "" {
			e.sessions = append(e.sessions, r.Session)
		}
	}
	e.sessions = distinct(e.sessions)
	_, err := e.t.Exec(ctx, `update messages m set tokens = u.tokens from unnest($2::text[], $3::int[]) as u (id, tokens)
		where m.group_id = $1 and m.message_id = u.id`, e.group, found, tokens)
	return err
}
