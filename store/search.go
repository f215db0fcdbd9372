package store

import (
	"context"
	"database/sql"
	"fmt"

	"github.com/lib/pq"

	"reverie/internal/reverie"
	"reverie/internal/text"
	"reverie/store/pg"
)

const (
	// There is no index over vectors: a group has tens to hundreds of memories,
	// and reading them all behind the group's own index finds every one of them. The
	// offset keeps PostgreSQL from working each distance out twice, for the bound and
	// for the order.
	searchQuery   = near + activeNow + seen + nearest
	searchAtQuery = near + activeAt + seen + nearest
	allQuery      = near + activeNow + nearest
	allAtQuery    = near + activeAt + nearest

	// The distance of what another model has embedded is null, and comes first.
	near = `select * from (
			select ` + hitColumns + `, case when embedding_model = $3 then 1 - (embedding <=> $2::vector) end as score
			from `
	activeNow = `memories` + ofKinds + `status = 'active'`
	ofKinds   = ` where group_id = $1 and (cardinality($4::text[]) = 0 or kind = any ($4::text[])) and `
	activeAt  = versionsThen + `$7` + asThen + ofKinds + `updated_at <= $7::timestamptz and (status = 'active'
		or ended_at > $7) and statement <> '` + text.Erased + `'`
	seen    = ` and embedding_model = $3`
	nearest = ` offset 0) near
		where score is null or score >= $5::float8 order by score desc nulls first, memory_id limit nullif($6::int, 0)`

	nearestQuery = `select m.memory_id from memories m
		cross join lateral (select min(m.embedding <=> p.v) as distance from unnest($4::vector[]) as p (v)) d
		where m.group_id = $1 and m.status = 'active' and ($2 = '' or m.kind = $2) and m.embedding_model = $3
			and m.embedding is not null
		order by d.distance, m.memory_id limit nullif($5::int, 0)`
)

// hitColumns are those of what is found: what an answer tells of a memory, or ranks it
// by. A context has a hundred rows read to give eight.
const hitColumns = `memory_id, lineage_id, kind, session_id, statement, version, status, tags, strength, weight,
	content_hash,
	updated_at, last_supported_at`

type hitRow struct {
	MemoryRow
	Score sql.NullFloat64 `db:"score"`
}

// scanHits reads rows of hitColumns and a score, without looking each column up by its
// name in each row.
func scanHits(rows *sql.Rows, groupID string) (list []hitRow, err error) {
	defer func() { _ = rows.Close() }()
	for rows.Next() {
		r := hitRow{MemoryRow: MemoryRow{Memory: reverie.Memory{GroupID: groupID}}}
		if err := rows.Scan(&r.ID, &r.LineageID, &r.Kind, &r.SessionID, &r.Statement, &r.Version, &r.Status, &r.TagList,
			&r.Strength, &r.Weight,
			&r.ContentHash, &r.UpdatedAt, &r.LastSupportedAt, &r.Score); err != nil {
			return nil, err
		}
		list = append(list, r)
	}
	return list, rows.Err()
}

// Search returns the group's active memories nearest to a vector, best first,
// comparing every one of them that has a vector of the same model and width; or, of an
// instant, the versions that were active then, with the strength, weight and last support
// of then. The score of a hit is the plain cosine, for the caller to calibrate; of its
// memory it has hitColumns. A limit of 0 is no limit. A vector without a direction, or of
// another width than its model names, is reverie.ErrInvalid.
func (s *Store) Search(ctx context.Context, q reverie.SearchQuery) ([]reverie.Hit, error) {
	rows, err := s.search(ctx, q, searchQuery, searchAtQuery)
	return hits(rows), err
}

// Nearest is Search where the model is expected to have seen all that is compared. Where
// it has not, unseen is true, and hits are not to be relied on.
func (s *Store) Nearest(ctx context.Context, q reverie.SearchQuery) (list []reverie.Hit, unseen bool, err error) {
	if q.Limit > 0 {
		q.Limit++ // one that is unseen comes first
	}
	rows, err := s.search(ctx, q, allQuery, allAtQuery)
	if err != nil || len(rows) > 0 && !rows[0].Score.Valid {
		return nil, err == nil, err
	}
	if q.Limit > 0 {
		rows = rows[:min(len(rows), q.Limit-1)]
	}
	return hits(rows), false, nil
}

// search asks one query or, of an instant, the other.
func (s *Store) search(ctx context.Context, q reverie.SearchQuery, query, atQuery string) ([]hitRow, error) {
	what := fmt.Sprintf("search group %q", q.GroupID)
	if err := CheckVector(q.Model, q.Vector); err != nil {
		return nil, fmt.Errorf("%s: %w", what, err)
	}
	kinds := make(pq.StringArray, len(q.Kinds))
	for i, k := range q.Kinds {
		kinds[i] = string(k)
	}
	args := []any{q.GroupID, pg.Vector(q.Vector), q.Model, kinds, q.MinCosine, q.Limit}
	if !q.At.IsZero() {
		query, args = atQuery, append(args, q.At)
	}
	var list []hitRow
	err := s.db.QueryRows(ctx, what, func(rows *sql.Rows) (err error) {
		list, err = scanHits(rows, q.GroupID)
		return err
	}, query, args...)
	return list, err
}

func hits(rows []hitRow) []reverie.Hit {
	list := make([]reverie.Hit, len(rows))
	for i, r := range rows {
		list[i] = reverie.Hit{Memory: r.memory(), Score: r.Score.Float64}
	}
	return list
}

// NearestHeads returns the ids of the active memories that come nearest to any
// of the probes, best first: all those of one kind ("": of any) with a vector of
// that model. A limit of 0 is no limit.
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
	var ids []string
	err := s.db.Run(ctx, pg.Work{What: what, ReadOnly: true, Prepare: true,
		Do: func(ctx context.Context, t *pg.Tx) error {
			ids = nil
			array, err := s.db.Vectors(ctx, t, probes)
			if err != nil {
				return err
			}
			return t.Select(ctx, &ids, nearestQuery, groupID, string(kind), model, array, limit)
		}})
	return ids, err
}
