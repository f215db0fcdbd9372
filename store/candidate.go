package store

import (
	"context"
	"fmt"
	"slices"

	"github.com/lib/pq"

	"reverie/internal/reverie"
	"reverie/store/pg"
)

// One pass over the group's active memories for each probe: see searchQuery for
// why there is no index over vectors.
const candidatesQuery = `select p.no, c.* from unnest($4::vector[]) with ordinality as p (v, no)
	cross join lateral (
		select * from (
			select ` + MemoryColumns + `, 1 - (embedding <=> p.v) as score from memories
			where group_id = $1 and kind = $2 and status = 'active' and embedding_model = $3 and embedding is not null
				and memory_id <> all ($5::uuid[]) and ($8 = '' or $8 <> all (tags))) near
		where score >= $6::float8 order by score desc, memory_id limit nullif($7::int, 0)) c
	order by p.no, c.score desc, c.memory_id`

// probesAtOnce bounds one statement, whose time grows with its probes.
const probesAtOnce = 20

// Candidates returns, for each probe, the active memories of one kind that come
// nearest to it, best first and those of one score by id: all that have a vector
// of the same model and width are compared. The score of a hit is the plain
// cosine, for the caller to calibrate. A limit of 0 is no limit. A vector without
// a direction, or of another width than its model names, is reverie.ErrInvalid.
func (s *Store) Candidates(ctx context.Context, q reverie.CandidateQuery) ([][]reverie.Hit, error) {
	what := fmt.Sprintf("look for memories of group %q that come near new facts", q.GroupID)
	for i, p := range q.Probes {
		if err := CheckVector(q.Model, p); err != nil {
			return nil, fmt.Errorf("%s: probe %d: %w", what, i+1, err)
		}
	}
	var found [][]reverie.Hit
	for probes := range slices.Chunk(q.Probes, probesAtOnce) {
		q.Probes = probes
		hits, err := s.candidates(ctx, what, q)
		if err != nil {
			return nil, err
		}
		found = append(found, hits...)
	}
	return found, nil
}

// candidates is [Store.Candidates] of probes that go into one statement.
func (s *Store) candidates(ctx context.Context, what string, q reverie.CandidateQuery) ([][]reverie.Hit, error) {
	var rows []struct {
		No int `db:"no"` // of the probe, from 1
		hitRow
	}
	exclude := append(pq.StringArray{}, q.Exclude...) // never nil: nothing differs from all of NULL
	err := s.db.Run(ctx, pg.Work{What: what, ReadOnly: true, ByKey: true,
		Do: func(ctx context.Context, t *pg.Tx) error {
			rows = nil
			probes, err := s.db.Vectors(ctx, t, q.Probes)
			if err != nil {
				return err
			}
			return t.Select(ctx, &rows, candidatesQuery, q.GroupID, string(q.Kind), q.Model, probes, exclude, q.MinCosine,
				q.Limit, q.Untagged)
		}})
	if err != nil {
		return nil, err
	}
	found := make([][]reverie.Hit, len(q.Probes))
	for _, r := range rows {
		found[r.No-1] = append(found[r.No-1], reverie.Hit{Memory: r.memory(), Score: r.Score.Float64})
	}
	return found, nil
}
