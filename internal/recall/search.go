// Package recall is how memories are read back: found by meaning, with a score
// that says the same for every embedding model.
package recall

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"reverie/internal/llm"
	"reverie/internal/reverie"
)

// Store is what searching reads, and where vectors that were missing go.
type Store interface {
	Search(ctx context.Context, q reverie.SearchQuery) ([]reverie.Hit, error)
	// Nearest is Search, which tells instead where the model has not seen all.
	Nearest(ctx context.Context, q reverie.SearchQuery) (hits []reverie.Hit, unseen bool, err error)
	// GroupTeam is what a group says about its team: see reverie.Group.
	GroupTeam(ctx context.Context, groupID string) (string, error)
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
	Teams       TeamRule
}

// Query asks for the memories nearest to a text.
type Query struct {
	GroupID   string
	Text      string
	Kinds     []reverie.Kind // empty = all
	Limit     int
	Threshold float64   // least score, 0..1
	At        time.Time // zero = now; else what was active at that instant

	team string // tenant whose memories are looked at, too; "" = none
}

// healBatch is how many memories without a vector of the current model are
// embedded and stored at once; a group has tens to hundreds.
const healBatch = 500

// Search returns the active memories of a group and of its team that score at least
// the threshold, best first. It is exact: every active memory is compared, or every version
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
	if q.team, err = s.teamOf(ctx, q.GroupID); err != nil {
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

// near returns the memories of a group and of its team nearest to a vector. Unseen says why some that the
// current model has not seen could not be embedded, within the context of embedding,
// and are not among them.
//
// Almost always the model has seen them all: then one question to each is enough.
func (s *Searcher) near(ctx, embedding context.Context, q Query,
	vector []float32) (hits []reverie.Hit, unseen, err error) {
	hits, unseen, err = s.nearOf(ctx, embedding, q, vector)
	team, has := q.ofTeam()
	if err != nil || !has {
		return hits, unseen, err
	}
	theirs, unseenThere, err := s.nearOf(s.Teams.beside(ctx, team.GroupID), s.Teams.beside(embedding, team.GroupID),
		team, vector)
	return nearest(hits, theirs, q.Limit), errors.Join(unseen, unseenThere), err
}

// nearOf is near in one tenant.
func (s *Searcher) nearOf(ctx, embedding context.Context, q Query,
	vector []float32) (hits []reverie.Hit, unseen, err error) {
	sq := reverie.SearchQuery{GroupID: q.GroupID, Kinds: q.Kinds, Vector: vector, Model: s.Embeddings.Key(),
		MinCosine: s.Calibration.Cosine(q.Threshold), At: q.At, Limit: q.Limit}
	hits, some, err := s.Store.Nearest(ctx, sq)
	if err == nil && some {
		unseen = s.heal(embedding, q)
		hits, err = s.Store.Search(ctx, sq)
	}
	if err != nil {
		return nil, unseen, fmt.Errorf("search group %q: %w", q.GroupID, err)
	}
	for i := range hits {
		hits[i].Score = s.Calibration.Score(hits[i].Score)
	}
	return hits, unseen, nil
}

// heal embeds what the current model has not seen, batch by batch, or a search would
// miss it.
func (s *Searcher) heal(ctx context.Context, q Query) error {
	for {
		missing, err := s.Store.MissingEmbeddings(ctx, q.GroupID, s.Embeddings.Key(), q.At, healBatch)
		if err != nil || len(missing) == 0 {
			return err
		}
		if err := s.embed(ctx, q.GroupID, missing); err != nil || len(missing) < healBatch {
			return err
		}
	}
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
