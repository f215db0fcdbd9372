package store

import (
	"context"
	"fmt"
	"slices"

	"github.com/lib/pq"

	"reverie/internal/reverie"
	"reverie/internal/text"
	"reverie/store/pg"
)

const (
	logUsageQuery = `insert into memory_usage_log (group_id, usage_id, memory_id, lineage_id, session_id, query,
		position,
			score, similarity, weight, strength, recency, created_at)
		select u.group_id, usage_id, memory_id, lineage_id, session_id, case when u.created_at <= e.at then '` + text.Erased + `' else query end,
			position, score, similarity, weight, strength, recency, u.created_at
		from unnest($1::text[], $2::uuid[], $3::uuid[], $4::uuid[], $5::text[], $6::text[], $7::int[], $8::float8[],
			$9::float8[], $10::float8[], $11::float8[], $12::float8[], $13::timestamptz[]) as u (group_id, usage_id, memory_id,
			lineage_id, session_id, query, position, score, similarity, weight, strength, recency, created_at)
		left join (select group_id, max(created_at) as at from erasures where group_id = any ($1::text[]) group by 1) e
			on e.group_id = u.group_id
		on conflict (group_id, usage_id, memory_id) do nothing`

	// This waits for an erasure in progress.
	awaitErasureQuery = `select 1 from groups where group_id = $1 for share`

	offeredColumns = `l.group_id, l.usage_id, l.memory_id, l.lineage_id, l.session_id, l.query, l.position, l.score,
		l.similarity,
			l.weight, l.strength, l.recency, m.statement, l.created_at`

	offeredQuery = `select ` + offeredColumns + `, l.was_referenced, l.reference_score, l.weight_after, l.judged_at
		from memory_usage_log l join memories m on m.group_id = $1 and m.memory_id = l.memory_id
		where l.group_id = $1 and l.usage_id = $2
		order by l.position, l.memory_id`

	// The newest context of a session in each of its groups, with one index probe for each group.
	newestUsagesQuery = `select g.group_id, u.usage_id from groups g
		cross join lateral (select usage_id from memory_usage_log l
			where l.group_id = g.group_id and l.session_id = $2 and l.session_id <> ''
			order by created_at desc, usage_id desc limit 1) u
		where $1 = '' or g.group_id = $1 order by g.group_id`

	// A context belongs to one group.
	usageQuery = `select group_id, usage_id from memory_usage_log where ($1 = '' or group_id = $1)
		and ($2 = '' or session_id = $2) and usage_id = $3 limit 1`

	sessionGroupQuery = `select group_id from sessions where ($1 = '' or group_id = $1) and session_id = $2 limit 1`

	usageOfQuery = `select lineage_id, sum(offered)::bigint as offered, sum(referenced)::bigint as referenced,
			sum(ignored)::bigint as ignored, max(last_offered_at) as last_offered_at
		from (select lineage_id, count(*) as offered, count(*) filter (where was_referenced) as referenced,
				count(*) filter (where not was_referenced) as ignored, max(created_at) as last_offered_at
			from memory_usage_log where group_id = $1 and lineage_id = any ($2::uuid[]) group by lineage_id
			union all select lineage_id, offered, referenced, ignored, last_offered_at
			from memory_usage_totals where group_id = $1 and lineage_id = any ($2::uuid[])) u
		group by lineage_id`
)

// LogUsage writes rows of any groups in one transaction. Existing rows are not changed; a zero CreatedAt means now. If
// anything was erased from the group since, the query is not stored, because it may name the erased person.
func (s *Store) LogUsage(ctx context.Context, rows []reverie.Usage) error {
	if len(rows) == 0 {
		return nil
	}
	var columns pg.Columns
	var groups pq.StringArray
	for _, r := range rows {
		if !reverie.IsID(r.UsageID) || !reverie.IsID(r.MemoryID) || !reverie.IsID(r.LineageID) {
			return fmt.Errorf("log the use of memory %q in context %q of group %q: one of these ids is not an id: %w",
				r.MemoryID, r.UsageID, r.GroupID, reverie.ErrInvalid)
		}
		if r.CreatedAt.IsZero() {
			r.CreatedAt = s.db.Now()
		}
		groups = append(groups, pg.ValidText(r.GroupID))
		columns.Add(pg.ValidText(r.GroupID), r.UsageID, r.MemoryID, r.LineageID, pg.ValidText(r.SessionID),
			text.Excerpt(pg.ValidText(r.Query), reverie.MaxUsageQuery), r.Position, r.Score, r.Similarity, r.Weight, r.Strength,
			r.Recency, r.CreatedAt)
	}
	return s.db.Run(ctx, pg.Work{What: fmt.Sprintf("log %d uses of memories", len(rows)), Prepare: true,
		Do: func(ctx context.Context, t *pg.Tx) error {
			for _, id := range slices.Compact(slices.Sorted(slices.Values(groups))) {
				if err := t.Exec(ctx, awaitErasureQuery, id); err != nil {
					return err
				}
			}
			return columns.Exec(ctx, t, logUsageQuery)
		}})
}

// Offered returns the rows of one context, best first, with the offered statements. It is the named context, or the
// newest of the session; the result is empty if the session was offered nothing. A context that does not exist, or not
// in that group and session, is reverie.ErrNotFound. So is a session without messages and contexts. If a session exists
// in several groups and none is named, that is reverie.ErrInvalid, and the error names them.
func (s *Store) Offered(ctx context.Context, q reverie.UsageQuery) ([]reverie.Usage, error) {
	what := "read what a context offered"
	return lookup(ctx, s, q.GroupID, what, func(ctx context.Context, t *pg.Tx) (rows []reverie.Usage, err error) {
		groupID, usageID, err := findUsage(ctx, t, q)
		if err != nil || usageID == "" {
			return rows, err
		}
		err = t.Select(ctx, &rows, offeredQuery, groupID, usageID)
		return rows, err
	})
}

// findUsage returns the context that a query means, and its group; "" if there is none.
func findUsage(ctx context.Context, t *pg.Tx, q reverie.UsageQuery) (groupID, usageID string, err error) {
	type offer struct {
		GroupID string `db:"group_id"`
		UsageID string `db:"usage_id"`
	}
	query, args := newestUsagesQuery, []any{q.GroupID, q.SessionID}
	if q.UsageID != "" {
		if !reverie.IsID(q.UsageID) {
			return "", "", unknownUsage(q)
		}
		query, args = usageQuery, append(args, q.UsageID)
	}
	found, err := pg.Select[offer](ctx, t, query, args...)
	switch {
	case err != nil:
		return "", "", err
	case len(found) == 0 && q.UsageID != "":
		return "", "", unknownUsage(q)
	case len(found) == 0:
		return "", "", knownSession(ctx, t, q)
	case len(found) > 1:
		var groups []string
		for _, c := range found[:min(len(found), 10)] {
			groups = append(groups, c.GroupID)
		}
		return "", "", fmt.Errorf("session %q is in %d groups, such as %q; name the group: %w", q.SessionID, len(found),
			groups, reverie.ErrInvalid)
	}
	return found[0].GroupID, found[0].UsageID, nil
}

func unknownUsage(q reverie.UsageQuery) error {
	where := ""
	if q.SessionID != "" {
		where += fmt.Sprintf(" of session %q", q.SessionID)
	}
	if q.GroupID != "" {
		where += fmt.Sprintf(" of group %q", q.GroupID)
	}
	return fmt.Errorf("a context%s with memories and the usage id %q: %w", where, q.UsageID, reverie.ErrNotFound)
}

// knownSession refuses an unknown session.
func knownSession(ctx context.Context, t *pg.Tx, q reverie.UsageQuery) error {
	_, err := pg.Get[string](ctx, t, sessionGroupQuery, q.GroupID, q.SessionID)
	return pg.NotFoundIfEmpty(err, "session %q", q.SessionID)
}

// UsageCounts counts how often the memories of lineages were offered and used, by lineage. Lineages that were never
// offered are left out.
func UsageCounts(ctx context.Context, t *pg.Tx, groupID string, lineageIDs []string) (map[string]reverie.UsageCount,
	error) {
	var rows []struct {
		LineageID string `db:"lineage_id"`
		reverie.UsageCount
	}
	err := t.Select(ctx, &rows, usageOfQuery, groupID, pq.StringArray(lineageIDs))
	counts := make(map[string]reverie.UsageCount, len(rows))
	for _, r := range rows {
		counts[r.LineageID] = r.UsageCount
	}
	return counts, err
}

// Writers to several lineages lock them in the order of their ids. They lock the first versions together with the
// heads, since a head may change, and a first version does not. So two transactions that judge at the same time wait
// for each other. All locks are taken before the first weight moves, because the moves are computed for whole lineages.
//
// A weight stops at the bound. A weight beyond the bound stays, because a person has set it. Rows whose head has
// changed, or that were judged meanwhile, are returned unchanged, and a retry reads them again.
//
// Lineages are looked up by arrays of one element. With an equation, PostgreSQL would read the log by lineage if it
// planned while the log was empty, and so read all that the group was ever offered.
const (
	judgedVersions = ` join memories m on m.group_id = $1 and m.lineage_id = any (array[l.lineage_id])
		where l.group_id = $1 and l.usage_id = $2 and l.was_referenced is null and (m.version = 1
			or m.version = (select max(h.version) from memories h where h.group_id = $1
				and h.lineage_id = l.lineage_id))`

	lockJudgedQuery = `select 1 from memory_usage_log l` + judgedVersions + ` and l.memory_id = any ($3::uuid[])
		order by m.lineage_id, m.version, l.memory_id for no key update of l, m`

	judgeQuery = `
	with locked as materialized (
		select l.memory_id, l.lineage_id, v.referenced, v.score, l.similarity >= $11::float8 and not v.repeated as related, m.memory_id as version_id,
			m.group_id, m.strength, m.weight, m.last_supported_at
		from memory_usage_log l
		join unnest($3::uuid[], $4::bool[], $5::float8[], $12::bool[]) as v (memory_id, referenced, score, repeated) on v.memory_id = l.memory_id` +
		judgedVersions + `),
	moves as (
		select m.memory_id, m.status, case when d.referenced then $6::float8 when d.related then $7::float8 else 0 end as by
		from (select lineage_id, bool_or(referenced) as referenced, bool_or(related) as related from locked group by lineage_id) d
		cross join lateral (select h.memory_id, h.status from memories h
			where h.group_id = $1 and h.lineage_id = d.lineage_id order by h.version desc limit 1) m),
	moved as (
		update memories m set weight = case
			when x.by > 0 then greatest(m.weight, least(m.weight + x.by, $9::float8))
			else least(m.weight, greatest(m.weight + x.by, $8::float8)) end
		from moves x where m.group_id = $1 and m.memory_id = x.memory_id and m.status = x.status
		returning m.lineage_id, m.memory_id, m.weight),
	kept as (` + InsertValues + `null, greatest($10::timestamptz, (select max(valid_until) from memory_values
		where group_id = $1))
		from (select distinct on (k.version_id) k.group_id, k.version_id as memory_id, k.strength, k.weight,
			k.last_supported_at
			from locked k join moved w on w.memory_id = k.version_id and w.weight <> k.weight) m),
	judged as (
		update memory_usage_log l
		set was_referenced = v.referenced, reference_score = v.score, weight_after = w.weight, judged_at = $10::timestamptz
		from (select distinct memory_id, lineage_id, referenced, score from locked) v join moved w
			on w.lineage_id = v.lineage_id
		where l.group_id = $1 and l.usage_id = $2 and l.memory_id = v.memory_id
		returning l.memory_id, l.was_referenced, l.reference_score, l.weight_after, l.judged_at)
	select ` + offeredColumns + `, coalesce(j.was_referenced, l.was_referenced) as was_referenced,
		coalesce(j.reference_score, l.reference_score) as reference_score,
		coalesce(j.weight_after, l.weight_after) as weight_after, coalesce(j.judged_at, l.judged_at) as judged_at
	from memory_usage_log l join memories m on m.group_id = $1 and m.memory_id = l.memory_id
	left join judged j on j.memory_id = l.memory_id
	where l.group_id = $1 and l.usage_id = $2
	order by l.position, l.memory_id`
)

// Judge writes the verdicts on the memories that one context offered, and moves the weights of their lineages' newest
// versions, each once. It uses one statement after the locks. Rows that were judged before are not changed, nor are
// their weights. It returns the resulting rows. It takes no lease, makes no versions, and writes nothing to the change
// log: the usage log explains each weight.
func (s *Store) Judge(ctx context.Context, groupID, usageID string, verdicts []reverie.UsageVerdict,
	rule reverie.WeightRule) ([]reverie.Usage, error) {
	what := fmt.Sprintf("judge what context %s of group %q offered", usageID, groupID)
	if err := checkWeightRule(rule); err != nil || !reverie.IsID(usageID) {
		if err == nil {
			err = reverie.ErrNotFound
		}
		return nil, fmt.Errorf("%s: %w", what, err)
	}
	var ids pq.StringArray
	var referenced, repeated pq.BoolArray
	var scores pq.Float64Array
	for _, v := range verdicts {
		if !reverie.IsID(v.MemoryID) {
			return nil, fmt.Errorf("%s: memory %q: %w", what, v.MemoryID, reverie.ErrNotFound)
		}
		ids, referenced, scores = append(ids, v.MemoryID), append(referenced, v.Referenced), append(scores, v.Score)
		repeated = append(repeated, v.Repeated)
	}
	var rows []reverie.Usage
	err := s.db.Run(ctx, pg.Work{
		What:  what,
		ByKey: true,
		Do: func(ctx context.Context, t *pg.Tx) error {
			for range pg.MaxTries {
				rows = nil
				if err := t.Exec(ctx, lockJudgedQuery, groupID, usageID, ids); err != nil {
					return err
				}
				if err := t.Select(ctx, &rows, judgeQuery, groupID, usageID, ids, referenced, scores,
					rule.Referenced, rule.Ignored, rule.Min, rule.Max, s.db.Now(),
					reverie.RelatedScore, repeated); err != nil {
					return err
				}
				if !slices.ContainsFunc(rows, func(r reverie.Usage) bool {
					return r.WasReferenced == nil && slices.Contains(ids,
						r.MemoryID)
				}) {
					return nil
				}
			}
			return fmt.Errorf("its memories keep changing; try again: %w", reverie.ErrConflict)
		}})
	return rows, err
}

// checkWeightRule refuses a rule with values that a weight cannot have.
func checkWeightRule(r reverie.WeightRule) error {
	if !(r.Referenced >= 0 && r.Ignored <= 0 && r.Min >= 0 && r.Min <= r.Max &&
		r.Max <= reverie.MaxWeight) { // also refuses NaN
		return fmt.Errorf("weights cannot move by %v and %v within %v..%v: %w", r.Referenced, r.Ignored, r.Min, r.Max,
			reverie.ErrInvalid)
	}
	return nil
}
