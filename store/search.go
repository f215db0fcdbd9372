package store

import (
	"context"
	"database/sql"
	"fmt"
	"slices"

	"github.com/lib/pq"

	"reverie/internal/reverie"
	"reverie/internal/text"
	"reverie/store/pg"
)

const (
	// There is no index over vectors, nor over the words of memories. A group has tens to hundreds of memories, and a
	// scan through the group's own index finds every one of them.
	//
	// Archived memories come last. They are read if fewer active memories than $10 have at least the score $11. They
	// need that score, too, and are scored in the same way.
	searchQuery = asking + `$5::text[]` + theWords + compared + ` from memories` + ofKinds + `status = 'active'),` + weighed + best + `),
		gone as materialized (select ` + compared + ` from memories` + ofKinds + `status = 'archived'
			and (select count(*) from ranked where score >= $11::float8) < $10::int),
		late as (select * from (` + scored + `(select *, ` + ofWords + ` from gone) t) s) l where score >= $11::float8` + bestFirst + `)
		` + found + `(select *, false as late from ranked union all select *, true from late) r join memories` + foundLast

	ofKinds = ` where group_id = $1 and (cardinality($4::text[]) = 0 or kind = any ($4::text[]))
		and ($12::uuid[] is null or memory_id = any ($12::uuid[])) and `

	// Words are scored as in BM25, with k 1.2 and b 0.75, where a memory contains a word once or not at all. The sum,
	// divided by the weight of all words of the query, is the share of the query that is found. Words in another script
	// than the query's count if they are found, and cost nothing if not. The scores for meaning and for words are
	// combined by multiplying what each of them leaves open.
	//
	// In a large group most memories have one of few sets of the query's words. So the sets are counted and scored, and
	// the columns of a hit are read for the best only.
	asking   = `with asked as materialized (select w.lexeme, min(f.no) = 1 as written from unnest(`
	theWords = `) with ordinality as f (form, no)
				cross join lateral unnest(reverie_words(f.form)) as w (lexeme, positions, weights) group by w.lexeme),
		them as materialized (select `
	compared = `memory_id, ` + said + `, case when embedding_model = $3 then 1 - (embedding <=> $2::vector) end as cosine`
	said     = `length(words) as long, tsvector_to_array(ts_delete(words, tsvector_to_array(
				ts_delete(words, array(select lexeme from asked))))) as said`
	weighed = `
		everything as materialized (select count(*)::float8 as n, greatest(avg(long), 1)::float8 as long,
			count(*) filter (where cosine is null) as unseen from them),
		sets as materialized (select said, count(*) as n from them group by said),
		weighed as materialized (
			select a.lexeme, a.written, ln(1 + (e.n - f.n + 0.5) / (f.n + 0.5)) as idf from asked a cross join everything e
				cross join lateral (select coalesce(sum(n), 0)::float8 as n from sets where a.lexeme = any (said)) f),
		known as materialized (select said, ` + ofWords + ` from sets),
		ranked as materialized (`
	ofWords = `(select sum(idf order by lexeme) from weighed where lexeme = any (said)) as known`
	scored  = `select memory_id, cosine, share, 1 - (1 - ` + meaning + `) * power(1 - share, ` + wordPower + `) as score from (
			select memory_id, cosine, least(coalesce(known, 0) * 2.2::float8 / (1 + 1.2::float8 * (0.25::float8 + 0.75::float8 * t.long / e.long))
				/ coalesce((select sum(idf order by lexeme) from weighed where written), 'infinity'), 1) as share
			from everything e cross join `

	best      = scored + `them t join known using (said)) s` + bestFirst
	bestFirst = ` order by ` + inOrder + ` limit nullif($9::int, 0)`
	inOrder   = `score desc, cosine desc nulls last, memory_id`

	// Which other groups a search must read is returned with the ranking: see reverie.Ranking.
	found     = `select ` + hitColumns + `, cosine, share, score, e.n::bigint, e.unseen, (select team from groups where group_id = $1), ` + isLinked + ` from `
	foundLast = ` using (memory_id) cross join everything e where group_id = $1 order by late, ` + inOrder

	// meaning is reverie.Calibration.Score of a cosine, 0 without one.
	meaning = `(0.7::float8 * least(greatest((cosine - $6::float8) / ($7::float8 - $6::float8), 0), 1)
				+ 0.3::float8 * least(greatest((cosine - $7::float8) / ($8::float8 - $7::float8), 0), 1))`

	// wordPower is the exponent of the words' remaining share: a third of the words makes a score of 0.7.
	wordPower = `3`

	nearestQuery = `select m.memory_id from memories m
		cross join lateral (select min(m.embedding <=> p.v) as distance from unnest($4::vector[]) as p (v)) d
		where m.group_id = $1 and m.status = 'active' and ($2 = '' or m.kind = $2) and m.embedding_model = $3
			and m.embedding is not null
		order by d.distance, m.memory_id limit nullif($5::int, 0)`
)

// The same search over the versions that were active at an instant.
var (
	searchAtQuery = func() string {
		versions, active := AtInstant("$10", "$11")
		return asking + `$5::text[]` + theWords + compared + ` from ` + versions + ofKinds + active + `),` + weighed + best + `)
			` + found + `(select *, false as late from ranked) r join ` + versions + foundLast
	}()
)

// hitColumns are the columns of a hit: those that an answer shows or that rank it. A context reads a hundred rows to
// return eight.
const hitColumns = `memory_id, lineage_id, kind, session_id, statement, version, status, tags, strength, weight,
	content_hash,
	updated_at, last_supported_at`

// Search ranks the group's active memories by a text and its vector, best first. It compares every one of them.
// Archived memories follow if few active ones match. For an instant, it ranks the versions that were active then, with
// their strength, weight and last support of that time. The memory of a hit has only hitColumns. A vector without a
// direction, or of another width than its model names, is reverie.ErrInvalid.
func (s *Store) Search(ctx context.Context, q reverie.SearchQuery) (r reverie.Ranking, err error) {
	what := fmt.Sprintf("search group %q", q.GroupID)
	var vector any
	if q.Vector != nil {
		if err := CheckVector(q.Model, q.Vector); err != nil {
			return r, fmt.Errorf("%s: %w", what, err)
		}
		vector = pg.Vector(q.Vector)
	}
	c := q.Calibration.Whole()
	query, args := searchQuery, []any{q.GroupID, vector, q.Model, valid(q.Kinds), valid(q.Texts), c.Floor, c.Related, c.Ceiling, q.Limit}
	if q.At.IsZero() {
		args = append(args, q.Fewer, q.Reaching, pq.StringArray(q.Only))
	} else {
		query, args = searchAtQuery, append(args, q.At, q.Recorded, pq.StringArray(q.Only))
	}
	err = s.db.Of(ctx, q.GroupID).QueryRows(ctx, what, func(rows *sql.Rows) (err error) {
		r, err = scanRanking(rows, q.GroupID)
		for i, h := range r.Hits {
			switch {
			case !q.At.IsZero():
				r.Hits[i].Memory = h.Then()
			case h.Status == reverie.StatusArchived: // all following hits are archived, too
				r.Hits, r.Archived = r.Hits[:i], r.Hits[i:]
				return err
			}
		}
		return err
	}, query, args...)
	return r, err
}

// valid replaces text that cannot be stored.
func valid[T ~string](list []T) pq.StringArray {
	texts := make(pq.StringArray, len(list))
	for i, t := range list {
		texts[i] = pg.ValidText(string(t))
	}
	return texts
}

// scanRanking reads rows of hitColumns with their scores. It scans by position, without looking up columns by name.
func scanRanking(rows *sql.Rows, groupID string) (r reverie.Ranking, err error) {
	defer func() { _ = rows.Close() }()
	for rows.Next() {
		h := reverie.Hit{Memory: reverie.Memory{GroupID: groupID}}
		if err := rows.Scan(&h.ID, &h.LineageID, &h.Kind, &h.SessionID, &h.Statement, &h.Version, &h.Status,
			(*pq.StringArray)(&h.Tags), &h.Strength, &h.Weight, &h.ContentHash, &h.UpdatedAt, &h.LastSupportedAt,
			&h.Cosine, &h.Words, &h.Score, &r.Total, &r.Unseen, &r.Team, &r.Linked); err != nil {
			return reverie.Ranking{}, err
		}
		r.Hits = append(r.Hits, h)
	}
	return r, rows.Err()
}

// NearestHeads returns the ids of the active memories nearest to any of the probes, best first. It compares all
// memories of one kind ("": any) that have a vector of that model. A limit of 0 is no limit.
func (s *Store) NearestHeads(ctx context.Context, groupID string, kind reverie.Kind, model string, probes [][]float32,
	limit int) ([]string, error) {
	what := fmt.Sprintf("rank the memories of group %q", groupID)
	for i, p := range probes {
		if err := CheckVector(model, p); err != nil {
			return nil, fmt.Errorf("%s: probe %d: %w", what, i+1, err)
		}
	}
	if len(probes) == 0 {
		return nil, nil
	}
	return pg.Run(ctx, s.db.Of(ctx, groupID), pg.Work{What: what, ReadOnly: true, Prepare: true}, func(
		ctx context.Context, t *pg.Tx) (ids []string, err error) {
		array, err := t.Vectors(ctx, probes)
		if err != nil {
			return ids, err
		}
		err = t.Select(ctx, &ids, nearestQuery, groupID, string(kind), model, array, limit)
		return ids, err
	})
}

// The memories are read once, and compared with each probe as in a search. Those in q.Beside are compared like stored
// ones.
const candidatesQuery = `with stored as materialized (
		select memory_id as id, words, case when embedding_model = $3 then embedding end as vector from memories
			where group_id = $1 and kind = $12 and (status = 'active' or $17 and memory_id` + archivedOf + `$12` + newestArchived + `)
				and memory_id <> all ($13::uuid[]) and ($14 = '' or $14 <> all (tags))
		union all
		select b.id, reverie_words(b.statement), b.vector from unnest($9::uuid[], $10::text[], $11::vector[]) as b (id, statement, vector))
	select p.no, c.memory_id, c.score from unnest($4::uuid[], $2::vector[]) with ordinality as p (id, vector, no)
	cross join lateral (` + asking + `($5::text[])[p.no:p.no]` + theWords + `id as memory_id, ` + said + `, 1 - (vector <=> p.vector) as cosine
			from stored where id <> p.id),` + weighed + scored + `them t join known using (said)) s)
		select memory_id, score from ranked where score >= $15::float8 order by score desc, memory_id limit nullif($16::int, 0)) c
	order by p.no, c.score desc, c.memory_id`

// probesAtOnce is the most probes of one statement, whose time grows with them.
const probesAtOnce = 20

// Candidates returns, for each probe, the nearest memories, best first, and equal scores by id. It compares all active
// and the newest archived memories of one kind, and those in q.Beside. It compares as [Store.Search] does: by words,
// and by the vectors of the model where both have one. A limit of 0 is no limit. A vector without a direction, or of
// another width than its model names, is reverie.ErrInvalid.
func (s *Store) Candidates(ctx context.Context, q reverie.CandidateQuery) ([][]reverie.Near, error) {
	what := fmt.Sprintf("look for memories of group %q that come near new facts", q.GroupID)
	for i, p := range slices.Concat(q.Probes, q.Beside) {
		if q.Model == "" {
			break
		}
		if err := CheckVector(q.Model, p.Vector); err != nil {
			return nil, fmt.Errorf("%s: probe %d: %w", what, i+1, err)
		}
	}
	var found [][]reverie.Near
	for probes := range slices.Chunk(q.Probes, probesAtOnce) {
		q.Probes = probes
		near, err := s.candidates(ctx, what, q)
		if err != nil {
			return nil, err
		}
		found = append(found, near...)
	}
	return found, nil
}

// candidates is [Store.Candidates] for the probes of one statement.
func (s *Store) candidates(ctx context.Context, what string, q reverie.CandidateQuery) ([][]reverie.Near, error) {
	var rows []struct {
		No int `db:"no"` // of the probe, from 1
		reverie.Near
	}
	exclude := append(pq.StringArray{}, q.Exclude...) // not nil: no id differs from all of NULL
	err := s.db.Of(ctx, q.GroupID).Run(ctx, pg.Work{What: what, ReadOnly: true, ByKey: true,
		Do: func(ctx context.Context, t *pg.Tx) error {
			ids, _, vectors, err := s.columns(ctx, t, q.Model, q.Probes)
			if err != nil {
				return err
			}
			besideIDs, beside, besideVectors, err := s.columns(ctx, t, q.Model, q.Beside)
			if err != nil {
				return err
			}
			c := q.Calibration.Whole()
			return t.Select(ctx, &rows, candidatesQuery, q.GroupID, vectors, q.Model, ids, pq.GenericArray{A: forms(q.Probes)},
				c.Floor, c.Related, c.Ceiling, besideIDs, beside, besideVectors, string(q.Kind), exclude, q.Untagged, q.MinScore,
				q.Limit, !q.Active)
		}})
	if err != nil {
		return nil, err
	}
	found := make([][]reverie.Near, len(q.Probes))
	for _, r := range rows {
		found[r.No-1] = append(found[r.No-1], r.Near)
	}
	return found, nil
}

// columns returns texts as arrays of equal length. The array of vectors is NULL without a model.
func (s *Store) columns(ctx context.Context, t *pg.Tx, model string, list []reverie.Probe) (ids, statements pq.StringArray,
	vectors any, err error) {
	var all [][]float32
	for _, p := range list {
		ids, statements, all = append(ids, p.ID), append(statements, pg.ValidText(p.Text)), append(all, p.Vector)
	}
	if model != "" && len(all) > 0 {
		vectors, err = t.Vectors(ctx, all)
	}
	return ids, statements, vectors, err
}

// forms returns the texts in each script in which they may be written, one row for each script.
func forms(list []reverie.Probe) [][]string {
	rows, most := make([][]string, len(list)), 0
	for i, p := range list {
		rows[i] = text.Scripts(pg.ValidText(p.Text))
		most = max(most, len(rows[i]))
	}
	for i := range rows {
		rows[i] = append(rows[i], make([]string, most-len(rows[i]))...)
	}
	return rows
}

const (
	// One statement has its own snapshot, and needs one round trip. Rows other than the group's are returned as JSON of
	// the structs of package reverie.
	recallQuery = `select ` + GroupColumns + `, ` + isLinked + `,
			(select row_to_json(s) from (` + recallSessionQuery + `) s)::text as session,
			(select row_to_json(s) from (` + recallSummaryQuery + `) s)::text as summary,
			(select json_agg(m) from (` + recallMessagesQuery + `) m)::text as messages,
			(select json_agg(n) from (` + recallNamesQuery + `) n)::text as names, ` + recallQuotes + `
		from groups where group_id = $1`

	recallSessionQuery = `select group_id, session_id, cut, to_char(first_at` + forJSON + ` as first_at,
		to_char(last_at` + forJSON + ` as last_at, asking,
				json_build_object('messages', messages, 'tokens', tokens, 'tool_calls', tool_calls, 'turns', turns) as total,
				json_build_object('messages', new_messages, 'tokens', new_tokens, 'tool_calls', new_tool_calls, 'turns',
					new_turns) as new,
				json_build_object('messages', folded_messages, 'tokens', folded_tokens, 'turns', folded_turns) as folded,
				extractions, to_char(extracted_until` + forJSON + ` as extracted_until
			from sessions where group_id = $1 and session_id = $2 and session_id <> ''`

	recallSummaryQuery = `select group_id, session_id, summary, messages, turns, tokens, first_message_id,
		last_message_id, run_id,
				to_char(covers_since` + forJSON + ` as covers_since, to_char(covers_until` + forJSON + ` as covers_until,
				to_char(created_at` + forJSON + ` as created_at, to_char(updated_at` + forJSON + ` as updated_at
			from session_summaries where group_id = $1 and session_id = $2 and covers_until >= $3::timestamptz`

	recallMessagesQuery = `select message_id as id, author_id, author, role, text,
		to_char(sent_at` + forJSON + ` as sent_at, session_id from messages m
			where group_id = $1 and session_id = $2 and session_id <> '' and sent_at >= $3::timestamptz and role <> 'tool'
				and pruned_at is null
				and (select true from message_uses u where u.group_id = $1 and u.job = 'summarize'
					and u.message_id = m.message_id) is null
			order by m.sent_at desc, seq desc limit $4::int`

	// The longest names first, so that the limit drops the shortest.
	recallNamesQuery = `select n.name_id, n.entity_id, n.kind, n.name, n.name_key,
		to_char(n.created_at` + forJSON + ` as created_at, n.run_id, e.kind as entity_kind
			from entity_names n join entities e on e.group_id = $1 and e.entity_id = n.entity_id
			where n.group_id = $1 and n.ended_at is null and n.kind <> 'id' and $5::text <> '' and strpos($5::text,
				n.name_key) > 0
			order by char_length(n.name_key) desc, n.name_key, n.created_at, n.name_id limit 200`

	recallQuotes = `case when $9::int > 0 then (select json_agg(q) from (select message_id, author, said as text, score,
		to_char(sent_at` + forJSON + ` as sent_at from reverie_quotes($1, $6::text[], $2, $7::timestamptz, $8::float8, $9::int)) q)
			end::text as quotes`
	// The function reads a distributed table, so no server can run it within a statement about another table.
	quotesAloneQuery = `select (select json_agg(q) from (select message_id, author, said as text, score,
		to_char(sent_at` + forJSON + ` as sent_at from reverie_quotes($1, $3::text[], $2, $4::timestamptz, $5::float8, $6::int)) q)::text`

	// forJSON ends the conversion of a time to Go's JSON form, whatever the connection's time zone.
	forJSON = ` at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"')`
)

// maxRecalled is the most messages that are read for the newest turns, even if many users ask at length.
const maxRecalled = 1000

// recallRow is the row of recallQuery.
type recallRow struct {
	reverie.Group
	Linked   bool                             `db:"linked"`
	Session  pg.JSON[*reverie.Session]        `db:"session"`
	Summary  pg.JSON[*reverie.SessionSummary] `db:"summary"`
	Messages pg.JSON[[]reverie.Message]       `db:"messages"` // newest first
	Names    pg.JSON[[]recallName]            `db:"names"`
	Quotes   pg.JSON[[]reverie.ContextQuote]  `db:"quotes"`
}

// recallName is a name with fields that clients do not get.
type recallName struct {
	reverie.EntityName
	Key    string             `json:"name_key"`
	Entity reverie.EntityKind `json:"entity_kind"`
}

// RecallState reads what a context needs besides memories, in one snapshot. An unknown group is reverie.ErrNotFound; an
// unknown session has nothing. For an instant, it reads what was said by then, and the rolling summary if that was not
// renewed since.
//
// It reads back from the newest message until it has enough turns, usually with one query.
func (s *Store) RecallState(ctx context.Context, q reverie.RecallQuery) (reverie.RecallState, error) {
	what := fmt.Sprintf("read what is under way in group %q", q.GroupID)
	text, asked := text.Simplify(text.Fold(q.Text)), valid(q.Asked)
	for limit := min(8*max(q.Turns, 0), maxRecalled); ; limit = min(8*limit, maxRecalled) {
		var row recallRow
		query, args := recallQuery, []any{q.GroupID, q.SessionID, pg.OrMinusInfinity(q.Since), limit, text, asked, q.Until, q.Share, q.Quotes}
		alone := s.db.Distributed() && q.Quotes > 0
		if alone {
			args[8] = 0
		}
		if !q.At.IsZero() {
			query, args = recallAtQuery, append(args, q.At)
		}
		err := s.db.Of(ctx, q.GroupID).QueryRow(ctx, what, &row, query, args...)
		if err != nil {
			return reverie.RecallState{}, pg.NotFoundIfEmpty(err, "group %q", q.GroupID)
		}
		if alone {
			if err := s.db.QueryRow(ctx, what, &row.Quotes, quotesAloneQuery, q.GroupID, q.SessionID, asked, q.Until, q.Share,
				q.Quotes); err != nil {
				return reverie.RecallState{}, err
			}
		}
		list := row.Messages.V
		slices.Reverse(list)
		from, enough := turnsFrom(list, q.Turns)
		if enough || len(list) < limit || limit == 0 || limit == maxRecalled {
			row.Messages.V = list[from:]
			return row.state(), nil
		}
	}
}

func (r recallRow) state() reverie.RecallState {
	state := reverie.RecallState{Group: r.Group, Linked: r.Linked, Quotes: r.Quotes.V}
	for _, n := range r.Names.V {
		n.EntityName.Key, n.EntityName.Entity = n.Key, n.Entity
		state.Named = append(state.Named, n.EntityName)
	}
	if r.Session.V == nil {
		return state
	}
	state.Session, state.Summary, state.Messages = r.Session.V, r.Summary.V, r.Messages.V
	for i := range state.Messages {
		state.Messages[i].GroupID = r.ID
	}
	return state
}

// turnsFrom returns where the newest n turns begin. An earlier turn ends where a user follows an assistant; enough
// reports that there is one.
func turnsFrom(list []reverie.Message, n int) (from int, enough bool) {
	turns := 1
	for i := len(list) - 2; i >= 0; i-- {
		if list[i].Role == reverie.RoleAssistant && list[i+1].Role == reverie.RoleUser {
			turns++
		}
		if turns > n {
			return i + 1, true
		}
	}
	return 0, false
}
