// Package recall is how memories are read back: found by meaning, with a score
// that says the same for every embedding model.
package recall

import (
	"context"
	"fmt"
	"strings"
	"time"

	"reverie"
	"reverie/llm"
)

// Store is what searching reads, and where vectors that were missing go.
type Store interface {
	Search(ctx context.Context, q reverie.SearchQuery) ([]reverie.Hit, error)
	MissingEmbeddings(ctx context.Context, groupID, model string, at time.Time, limit int) ([]reverie.Memory, error)
	SetEmbeddings(ctx context.Context, groupID, model string, vectors map[string][]float32) error
}

// Embeddings turns the query into a vector.
type Embeddings interface {
	Embed(ctx context.Context, meta llm.Meta, texts []string) ([][]float32, error)
	Key() string
}

// Searcher finds memories. It is safe for concurrent use.
type Searcher struct {
	Store       Store
	Embeddings  Embeddings
	Calibration reverie.Calibration // of the embedding model
}

// Query asks for the memories nearest to a text.
type Query struct {
	GroupID   string
	Text      string
	Kinds     []reverie.Kind // empty = all
	Limit     int
	Threshold float64   // least score, 0..1
	At        time.Time // zero = now; else what was active at that instant
}

// healBatch is how many memories without a vector of the current model are
// embedded and stored at once; a group has tens to hundreds.
const healBatch = 500

// Search returns the active memories that score at least the threshold, best
// first. It is exact: every active memory of the group is compared, or every version
// that was active at an instant. Those stored while the embedder was out of reach, or
// by another model, are embedded first: none is left out, or it is an error.
func (s *Searcher) Search(ctx context.Context, q Query) ([]reverie.Hit, error) {
	if strings.TrimSpace(q.Text) == "" {
		return nil, fmt.Errorf("search in group %q: the query is empty: %w", q.GroupID, reverie.ErrInvalid)
	}
	vector, err := s.vector(ctx, q)
	if err != nil {
		return nil, err
	}
	hits, unseen, err := s.near(ctx, ctx, q, vector)
	if err == nil {
		err = unseen
	}
	if err != nil {
		return nil, err
	}
	return hits, nil
}

// vector embeds the text of a query.
func (s *Searcher) vector(ctx context.Context, q Query) ([]float32, error) {
	vectors, err := s.Embeddings.Embed(ctx, llm.Meta{GroupID: q.GroupID, Purpose: "search"}, []string{q.Text})
	if err != nil {
		return nil, fmt.Errorf("embed the query: %w", err)
	}
	return vectors[0], nil
}

// near returns the memories nearest to a vector. Unseen says why some that the
// current model has not seen could not be embedded, within the context of embedding,
// and are not among them.
//
// Almost always the model has seen them all. So both questions are asked at once,
// and the search once more where it has not.
func (s *Searcher) near(ctx, embedding context.Context, q Query, vector []float32) (hits []reverie.Hit, unseen, err error) {
	var missing []reverie.Memory
	asked := make(chan error, 1)
	go func() {
		var err error
		missing, err = s.Store.MissingEmbeddings(ctx, q.GroupID, s.Embeddings.Key(), q.At, healBatch)
		asked <- err
	}()
	hits, err = s.nearest(ctx, q, vector)
	if askErr := <-asked; err == nil {
		err = askErr
	}
	if err != nil || len(missing) == 0 {
		return hits, nil, err
	}
	unseen = s.heal(embedding, q, missing)
	hits, err = s.nearest(ctx, q, vector)
	return hits, unseen, err
}

// nearest returns the memories nearest to a vector, of those that the current model
// has seen.
func (s *Searcher) nearest(ctx context.Context, q Query, vector []float32) ([]reverie.Hit, error) {
	hits, err := s.Store.Search(ctx, reverie.SearchQuery{GroupID: q.GroupID, Kinds: q.Kinds, Vector: vector,
		Model: s.Embeddings.Key(), MinCosine: s.Calibration.Cosine(q.Threshold), At: q.At, Limit: q.Limit})
	if err != nil {
		return nil, fmt.Errorf("search group %q: %w", q.GroupID, err)
	}
	for i := range hits {
		hits[i].Score = s.Calibration.Score(hits[i].Score)
	}
	return hits, nil
}

// heal embeds what the current model has not seen: what is missing, and all that
// is after it, batch by batch, or a search would miss what is not embedded yet.
func (s *Searcher) heal(ctx context.Context, q Query, missing []reverie.Memory) error {
	for len(missing) > 0 {
		if err := s.embed(ctx, q.GroupID, missing); err != nil {
			return err
		}
		if len(missing) < healBatch {
			return nil
		}
		var err error
		if missing, err = s.Store.MissingEmbeddings(ctx, q.GroupID, s.Embeddings.Key(), q.At, healBatch); err != nil {
			return err
		}
	}
	return nil
}

// embed gives memories their vectors.
func (s *Searcher) embed(ctx context.Context, groupID string, missing []reverie.Memory) error {
	texts := make([]string, len(missing))
	for i, m := range missing {
		texts[i] = m.Statement
	}
	vectors, err := s.Embeddings.Embed(ctx, llm.Meta{GroupID: groupID, Purpose: "embed"}, texts)
	if err != nil {
		return fmt.Errorf("embed %d memories of group %q that have no vector yet: %w", len(missing), groupID, err)
	}
	byID := make(map[string][]float32, len(missing))
	for i, m := range missing {
		byID[m.ID] = vectors[i]
	}
	return s.Store.SetEmbeddings(ctx, groupID, s.Embeddings.Key(), byID)
}
