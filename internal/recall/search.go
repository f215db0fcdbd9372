// Package recall is how memories are read back: found by meaning, with a score
// that says the same for every embedding model.
package recall

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
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
	Recorded  bool      // At is of the time of writing, and not of the chat's

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
		MinCosine: s.Calibration.Cosine(q.Threshold), At: q.At, Recorded: q.Recorded, Limit: q.Limit}
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

// TeamRule says whose memories a group recalls beside its own. The zero value is
// nobody's.
type TeamRule struct {
	On   bool
	Name string // the team of groups that name none themselves; "" = none
	// Beside is a context which may read a team's tenant, too, where one is confined to
	// the group; nil where none is.
	Beside func(ctx context.Context, tenant string) context.Context
}

// beside is a context that may read a tenant.
func (r TeamRule) beside(ctx context.Context, tenant string) context.Context {
	if r.Beside == nil {
		return ctx
	}
	return r.Beside(ctx, tenant)
}

// of is the tenant of a group's team, "" where it has none. A team has none.
func (r TeamRule) of(g reverie.Group) string {
	team := cmp.Or(g.Team, r.Name)
	if _, is := reverie.TeamOf(g.ID); is || !r.On || team == "" || team == reverie.GroupOff {
		return ""
	}
	return reverie.TeamGroupID(team)
}

// teamOf looks up what a group's team is.
func (s *Searcher) teamOf(ctx context.Context, groupID string) (string, error) {
	if !s.Teams.On {
		return "", nil
	}
	team, err := s.Store.GroupTeam(ctx, groupID)
	if errors.Is(err, reverie.ErrNotFound) {
		return "", nil // and nothing is found in it
	}
	if err != nil {
		return "", fmt.Errorf("search group %q: %w", groupID, err)
	}
	return s.Teams.of(reverie.Group{ID: groupID, Team: team}), nil
}

// ofTeam is the same question of the group's team, false where there is none to ask.
func (q Query) ofTeam() (Query, bool) {
	if q.team == "" || len(q.Kinds) > 0 && !slices.Contains(q.Kinds, reverie.KindTeam) {
		return Query{}, false
	}
	q.GroupID, q.team = q.team, ""
	return q, true
}

// nearest are the hits of two tenants, best first.
func nearest(own, team []reverie.Hit, limit int) []reverie.Hit {
	if len(team) == 0 {
		return own
	}
	all := slices.Concat(own, team)
	slices.SortStableFunc(all, func(a, b reverie.Hit) int { return cmp.Compare(b.Score, a.Score) })
	if limit > 0 {
		all = all[:min(len(all), limit)]
	}
	return all
}

// Recency is how much the age of a memory's newest support counts: 1 for one that
// is supported now, half of the way to 0.5 after a half-life, never less than 0.5.
func Recency(age, halfLife time.Duration) float64 {
	if age <= 0 || halfLife <= 0 {
		return 1
	}
	return 0.5 + 0.5*math.Exp2(-float64(age)/float64(halfLife))
}

// rank orders candidates by what they are worth to the query, best first: similarity
// x weight x strength x recency. Of memories that say the same, the best one counts;
// those others, and what is worth nothing, have their fate at once. The order does not
// depend on that of the hits.
func rank(hits []reverie.Hit, now time.Time, halfLife time.Duration) []reverie.RecallCandidate {
	list, hash := make([]reverie.RecallCandidate, 0, len(hits)), make(map[string]string, len(hits))
	for _, h := range hits {
		list, hash[h.ID] = append(list, candidate(h, now, halfLife)), h.ContentHash
	}
	byWorth(list)
	said := map[string]bool{}
	for i := range list {
		m := &list[i]
		switch hash := hash[m.MemoryID]; {
		case m.Score <= 0:
			m.Fate = FateWorthless
		case hash != "" && said[hash]:
			m.Fate = FateRepeats
		default:
			said[hash] = true
		}
	}
	return list
}

// byWorth puts candidates into their order, best first.
func byWorth(list []reverie.RecallCandidate) {
	slices.SortFunc(list, func(a, b reverie.RecallCandidate) int {
		return cmp.Or(cmp.Compare(b.Score, a.Score), cmp.Compare(a.LineageID, b.LineageID))
	})
}

// candidate says what a memory is worth to a query.
func candidate(h reverie.Hit, now time.Time, halfLife time.Duration) reverie.RecallCandidate {
	f := reverie.Factors{Similarity: h.Score, Weight: h.Weight, Strength: h.Strength,
		Recency: Recency(now.Sub(h.LastSupportedAt), halfLife)}
	return reverie.RecallCandidate{ContextMemory: reverie.ContextMemory{GroupID: h.GroupID, MemoryID: h.ID,
		LineageID: h.LineageID, Kind: h.Kind,
		Statement: h.Statement, Version: h.Version, Score: f.Score(), Factors: f, Tags: append([]string{}, h.Tags...),
		UpdatedAt: h.UpdatedAt.UTC(), LastSupportedAt: h.LastSupportedAt.UTC()}}
}
