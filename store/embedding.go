package store

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/lib/pq"

	"reverie/internal/reverie"
	"reverie/internal/text"
	"reverie/store/pg"
)

const (
	cachedQuery = `select content_hash, vector_send(embedding) as embedding from embedding_cache
		where group_id = $1 and model = $2 and content_hash = any ($3::text[])`

	missingQuery   = missingOf + `status in ('active', 'archived')` + oldestFirst
	missingAtQuery = missingOf + `(updated_at <= $4::timestamptz and (status = 'active' or ended_at > $4)
		or said_at <= $4 and (status = 'active' or said_until > $4))` + oldestFirst

	missingOf = `select ` + MemoryColumns + ` from memories where group_id = $1 and embedding_model <> $2
		and statement <> '` + text.Erased + `' and `
	oldestFirst = ` order by status, updated_at, memory_id limit nullif($3::int, 0)` // active ones first

	vectorModelsQuery = `select array(select distinct embedding_model from memories m
		where m.group_id = $1 and status = 'active' and embedding_model <> '') from groups where group_id = $1`

	cacheQuery = `insert into embedding_cache (group_id, model, content_hash, embedding, created_at)
		select $1, $2, u.hash, u.embedding, $5::timestamptz from unnest($3::text[], $4::vector[]) as u (hash, embedding)
		on conflict (group_id, model, content_hash) do nothing`

	setEmbeddingsQuery = `update memories m set embedding = u.embedding, embedding_model = $2
		from unnest($3::uuid[], $4::vector[]) as u (id, embedding)
		where m.group_id = $1 and m.memory_id = u.id`

	calibrationQuery = `select model, pairs, floor, related, ceiling, accuracy, measured_at from embedding_calibrations
		where group_id = $1 and model = $2 and pairs >= $3`

	keepCalibrationQuery = `insert into embedding_calibrations as kept
			(group_id, model, pairs, floor, related, ceiling, accuracy, measured_at) values ($1, $2, $3, $4, $5, $6, $7, $8)
		on conflict (group_id, model) do update set pairs = excluded.pairs, floor = excluded.floor,
			related = excluded.related, ceiling = excluded.ceiling, accuracy = excluded.accuracy,
			measured_at = excluded.measured_at where kept.pairs < excluded.pairs`
)

// MissingEmbeddings lists active and archived memories without a vector of the given model (name@dims). Active ones
// come first, and the oldest first among them, at most limit (0: all). For an instant, in chat time or recorded time,
// it lists the versions that were active then; the zero time is now.
func (s *Store) MissingEmbeddings(ctx context.Context, groupID, model string, at time.Time,
	limit int) ([]reverie.Memory, error) {
	query, args := missingQuery, []any{groupID, model, limit}
	if !at.IsZero() {
		query, args = missingAtQuery, append(args, at)
	}
	what := fmt.Sprintf("list the memories of group %q to embed", groupID)
	return pg.QueryAll[reverie.Memory](ctx, s.db.Of(ctx, groupID), what, query, args...)
}

// VectorModels returns the models (name@dims) of the vectors of a group's active
// memories. An unknown group is reverie.ErrNotFound.
func (s *Store) VectorModels(ctx context.Context, groupID string) ([]string, error) {
	var models pq.StringArray
	err := s.db.Of(ctx, groupID).QueryRow(ctx, fmt.Sprintf("see what has embedded the memories of group %q", groupID),
		&models, vectorModelsQuery, groupID)
	return models, pg.NotFoundIfEmpty(err, "group %q", groupID)
}

// SetEmbeddings sets the vectors of versions, by id, for one model. The statement of a version never changes, so a
// vector is never outdated. Ids that the group does not have are ignored.
func (s *Store) SetEmbeddings(ctx context.Context, groupID, model string, byID map[string][]float32) error {
	return s.writeVectors(ctx, fmt.Sprintf("store vectors of group %q", groupID), groupID, model, byID, setEmbeddingsQuery)
}

// noGroup is the group id of rows for all groups, such as calibrations.
const noGroup = ""

type cachedRow struct {
	Hash   string    `db:"content_hash"`
	Vector pg.Vector `db:"embedding"`
}

// CachedEmbeddings returns the cached vectors of a group and model, by content hash.
func (s *Store) CachedEmbeddings(ctx context.Context, groupID, model string, hashes []string) (map[string][]float32,
	error) {
	found := map[string][]float32{}
	if len(hashes) == 0 {
		return found, nil
	}
	rows, err := pg.QueryByKey[cachedRow](ctx, s.db.Of(ctx, groupID), "read cached vectors", cachedQuery, groupID, model,
		pq.StringArray(hashes))
	for _, r := range rows {
		found[r.Hash] = r.Vector
	}
	return found, err
}

// SaveEmbeddings caches vectors of a group and model by content hash. Vectors that are cached already are not changed.
func (s *Store) SaveEmbeddings(ctx context.Context, groupID, model string, byHash map[string][]float32) error {
	return s.writeVectors(ctx, "cache vectors", groupID, model, byHash, cacheQuery, s.db.Now())
}

// writeVectors writes vectors by key with one statement. All writers use the same order of keys, so that they cannot
// deadlock. The arguments are the group, the model, the keys, their vectors, and then more.
func (s *Store) writeVectors(ctx context.Context, what, groupID, model string, byKey map[string][]float32,
	query string, further ...any) error {
	if len(byKey) == 0 {
		return nil
	}
	keys := slices.Sorted(maps.Keys(byKey))
	list := make([][]float32, len(keys))
	for i, k := range keys {
		if err := CheckVector(model, byKey[k]); err != nil {
			return fmt.Errorf("%s: vector of %s: %w", what, k, err)
		}
		list[i] = byKey[k]
	}
	return s.db.Of(ctx, groupID).Run(ctx, pg.Work{What: what, Prepare: true, Do: func(ctx context.Context, t *pg.Tx) error {
		array, err := t.Vectors(ctx, list)
		if err != nil {
			return err
		}
		return t.Exec(ctx, query, append([]any{groupID, model, keys, array}, further...)...)
	}})
}

// CheckVector refuses a vector without a meaningful cosine, or of another width than its model@dims names.
func CheckVector(model string, v []float32) error {
	if err := reverie.CheckVector(v); err != nil {
		return err
	}
	if !strings.HasSuffix(model, fmt.Sprintf("@%d", len(v))) {
		return fmt.Errorf("embedding of width %d does not fit model %q, which must be name@dims: %w", len(v), model,
			reverie.ErrInvalid)
	}
	return nil
}

// ModelCalibration returns the calibration of a model (name@dims) that was measured with this version of the pairs or a
// later one, or [reverie.ErrNotFound].
func (s *Store) ModelCalibration(ctx context.Context, model string, pairs int) (c reverie.ModelCalibration, err error) {
	err = s.db.QueryRow(asLogin(ctx), "read the calibration of "+model, &c, calibrationQuery, noGroup, model, pairs)
	return c, pg.NotFoundIfEmpty(err, "a calibration of %s", model)
}

// KeepModelCalibration stores the calibration of a model, and returns the stored one. For one version of the pairs, the
// first calibration stays, so that all processes use the same.
func (s *Store) KeepModelCalibration(ctx context.Context, c reverie.ModelCalibration) (reverie.ModelCalibration, error) {
	if err := s.db.Exec(ctx, "keep the calibration of "+c.Model, keepCalibrationQuery, noGroup, c.Model, c.Pairs,
		c.Floor, c.Related, c.Ceiling, c.Accuracy, c.MeasuredAt); err != nil {
		return c, err
	}
	return s.ModelCalibration(ctx, c.Model, c.Pairs)
}
