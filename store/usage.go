package store

import (
	"context"
	"database/sql"
	"errors"
	"fmt"

	"github.com/lib/pq"

	"reverie/internal/reverie"
	"reverie/internal/text"
	"reverie/store/pg"
)

const (
	logUsageQuery = `insert into memory_usage_log (group_id, usage_id, memory_id, lineage_id, session_id, query,
		position,
			score, similarity, weight, strength, recency, created_at)
		select * from unnest($1::text[], $2::uuid[], $3::uuid[], $4::uuid[], $5::text[], $6::text[], $7::int[],
			$8::float8[], $9::float8[], $10::float8[], $11::float8[], $12::float8[], $13::timestamptz[])
		on conflict (group_id, usage_id, memory_id) do nothing`

	offeredColumns = `l.group_id, l.usage_id, l.memory_id, l.lineage_id, l.session_id, l.query, l.position, l.score,
		l.similarity,
			l.weight, l.strength, l.recency, m.statement, l.created_at`

	offeredQuery = `select ` + offeredColumns + `, l.was_referenced, l.reference_score, l.weight_after, l.judged_at
		from memory_usage_log l join memories m on m.group_id = l.group_id and m.memory_id = l.memory_id
		where l.group_id = $1 and l.usage_id = $2
		order by l.position, l.memory_id`

	// A context is known to its group alone; a group is found by one probe of its index.
	usageGroupsQuery = `select g.group_id from groups g where ($1 = '' or g.group_id = $1) and exists (
			select 1 from memory_usage_log l where l.group_id = g.group_id and l.session_id = $2 and l.session_id <> '')
		order by g.group_id`

	newestUsageQuery = `select usage_id from memory_usage_log where group_id = $1 and session_id = $2
		and session_id <> ''
		order by created_at desc, usage_id desc limit 1`

	usageGroupQuery = `select group_id from memory_usage_log where ($1 = '' or group_id = $1) and usage_id = $2
			and ($3 = '' or session_id = $3) limit 1`

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

// LogUsage writes rows of any groups in one transaction. Rows that are there
// already stay as they are; a zero CreatedAt is now.
func (s *Store) LogUsage(ctx context.Context, rows []reverie.Usage) error {
	if len(rows) == 0 {
		return nil
	}
	var groups, usages, ids, lineages, sessions, queries, times pq.StringArray
	var positions pq.Int64Array
	var scores, similarities, weights, strengths, recencies pq.Float64Array
	for _, r := range rows {
		if !reverie.IsID(r.UsageID) || !reverie.IsID(r.MemoryID) || !reverie.IsID(r.LineageID) {
			return fmt.Errorf("log the use of memory %q in context %q of group %q: an id has not the form of one: %w",
				r.MemoryID, r.UsageID, r.GroupID, reverie.ErrInvalid)
		}
		if r.CreatedAt.IsZero() {
			r.CreatedAt = s.db.Now()
		}
		groups, usages, ids, lineages = append(groups, pg.ValidText(r.GroupID)), append(usages, r.UsageID), append(ids,
			r.MemoryID), append(lineages, r.LineageID)
		sessions, queries = append(sessions, pg.ValidText(r.SessionID)), append(queries, text.Excerpt(pg.ValidText(r.Query),
			reverie.MaxUsageQuery))
		positions, times = append(positions, int64(r.Position)), append(times, pg.Timestamp(r.CreatedAt))
		scores, similarities, weights = append(scores, r.Score), append(similarities, r.Similarity), append(weights, r.Weight)
		strengths, recencies = append(strengths, r.Strength), append(recencies, r.Recency)
	}
	return s.db.Run(ctx, pg.Work{What: fmt.Sprintf("log %d uses of memories", len(rows)), Prepare: true,
		Do: func(ctx context.Context, t *pg.Tx) error {
			_, err := t.Exec(ctx, logUsageQuery, groups, usages, ids, lineages, sessions, queries, positions,
				scores, similarities, weights, strengths, recencies, times)
			return err
		}})
}

// Offered returns the rows of one context, best first, with the statements that
// were offered: of the one that is named, or the newest of the session; none where
// the session was offered nothing. A context that is not known, or not of that
// group and session, is reverie.ErrNotFound, and so is a session without messages
// or contexts. A session of several groups, where none is named, is
// reverie.ErrInvalid, and the error names them.
func (s *Store) Offered(ctx context.Context, q reverie.UsageQuery) ([]reverie.Usage, error) {
	var rows []reverie.Usage
	err := s.db.Run(ctx, pg.Work{
		What:     "read what a context offered",
		ReadOnly: true,
		ByKey:    true,
		Do: func(ctx context.Context, t *pg.Tx) error {
			rows = nil
			groupID, usageID, err := findUsage(ctx, t, q)
			if err != nil || usageID == "" {
				return err
			}
			return t.Select(ctx, &rows, offeredQuery, groupID, usageID)
		}})
	return utcUsage(rows), err
}

// findUsage names the context that is meant and its group; "" where there is none.
func findUsage(ctx context.Context, t *pg.Tx, q reverie.UsageQuery) (groupID, usageID string, err error) {
	var groups []string
	if q.UsageID != "" {
		if !reverie.IsID(q.UsageID) {
			return "", "", unknownUsage(q)
		}
		err = t.Select(ctx, &groups, usageGroupQuery, q.GroupID, q.UsageID, q.SessionID)
	} else {
		err = t.Select(ctx, &groups, usageGroupsQuery, q.GroupID, q.SessionID)
	}
	switch {
	case err != nil:
		return "", "", err
	case len(groups) == 0 && q.UsageID != "":
		return "", "", unknownUsage(q)
	case len(groups) == 0:
		return "", "", knownSession(ctx, t, q)
	case len(groups) > 1:
		return "", "", fmt.Errorf("session %q is one of %d groups, such as %q; say which: %w", q.SessionID, len(groups),
			groups[:min(len(groups), 10)], reverie.ErrInvalid)
	case q.UsageID != "":
		return groups[0], q.UsageID, nil
	}
	err = t.Get(ctx, &usageID, newestUsageQuery, groups[0], q.SessionID)
	return groups[0], usageID, err
}

func unknownUsage(q reverie.UsageQuery) error {
	where := ""
	if q.SessionID != "" {
		where += fmt.Sprintf(" of session %q", q.SessionID)
	}
	if q.GroupID != "" {
		where += fmt.Sprintf(" of group %q", q.GroupID)
	}
	return fmt.Errorf("no context%s that offered memories has the usage id %q: %w", where, q.UsageID, reverie.ErrNotFound)
}

// knownSession refuses a session of which nothing is known.
func knownSession(ctx context.Context, t *pg.Tx, q reverie.UsageQuery) error {
	var groupID string
	err := t.Get(ctx, &groupID, sessionGroupQuery, q.GroupID, q.SessionID)
	if errors.Is(err, sql.ErrNoRows) {
		return fmt.Errorf("session %q has no messages, and was offered no memories: %w", q.SessionID, reverie.ErrNotFound)
	}
	return err
}

// utcUsage turns times that come back in the session's zone into UTC.
func utcUsage(rows []reverie.Usage) []reverie.Usage {
	for i, r := range rows {
		rows[i].CreatedAt, rows[i].JudgedAt = r.CreatedAt.UTC(), pg.UTC(r.JudgedAt)
	}
	return rows
}

// UsageOf counts how often the memories of lineages were offered and used, by
// lineage. Those that never were offered are not in it.
func (s *Store) UsageOf(ctx context.Context, groupID string, lineageIDs []string) (map[string]reverie.UsageCount,
	error) {
	var counts map[string]reverie.UsageCount
	err := s.db.Run(ctx, pg.Work{What: fmt.Sprintf("count uses of memories of group %q", groupID), ReadOnly: true,
		ByKey: true, Do: func(ctx context.Context, t *pg.Tx) error {
			var err error
			counts, err = usageOf(ctx, t, groupID, lineageIDs)
			return err
		}})
	return counts, err
}

func usageOf(ctx context.Context, t *pg.Tx, groupID string, lineageIDs []string) (map[string]reverie.UsageCount,
	error) {
	var rows []struct {
		LineageID string `db:"lineage_id"`
		reverie.UsageCount
	}
	err := t.Select(ctx, &rows, usageOfQuery, groupID, pq.StringArray(lineageIDs))
	counts := make(map[string]reverie.UsageCount, len(rows))
	for _, r := range rows {
		r.LastOfferedAt = pg.UTC(r.LastOfferedAt)
		counts[r.LineageID] = r.UsageCount
	}
	return counts, err
}
