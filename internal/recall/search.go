// Package recall reads memories back: it finds them by meaning and by words, with a score that is comparable
// between embedding models.
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
	"reverie/internal/text"
)

// Store reads memories for a search, and stores vectors that were missing.
type Store interface {
	Search(ctx context.Context, q reverie.SearchQuery) (reverie.Ranking, error)
	// GroupTeam returns a group's team setting, see reverie.Group, and whether the group has links.
	GroupTeam(ctx context.Context, groupID string) (team string, linked bool, err error)
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
	Embeddings  Embeddings         // nil: only words count
	Without     error              // why there are no embeddings; nil: none are configured
	Calibration reverie.Calibrator // of the embedding model
	// How long to wait for vectors before only words count; 0 = no limit.
	EmbedTimeout time.Duration
	Teams        TeamRule
	Links        Links // nil: links are not followed
	// Instead returns a context that may read another group, if contexts are confined to one group; nil if they are
	// not.
	Instead func(ctx context.Context, groupID string) context.Context
}

// Links reads the facts that linked groups share.
type Links interface {
	// Shared reads the facts of linked groups; with past, also those of the past.
	Shared(ctx context.Context, groupID string, past bool) ([]reverie.SharedFacts, error)
}

// Query asks for the memories that are relevant to a text.
type Query struct {
	GroupID   string
	Text      string
	Kinds     []reverie.Kind // empty = all
	Limit     int
	Threshold float64   // minimum score, 0..1
	OrNearest bool      // if no memory reaches the threshold, return the nearest few
	At        time.Time // zero = now; else memories active at that instant
	Recorded  bool      // At is in the time of writing, not in the chat's time

	fewer    int     // see reverie.SearchQuery
	reaching float64 // see reverie.SearchQuery
	team     string  // tenant whose memories are searched too; "" = none
	linked   bool    // somebody in the group is linked with another group
	alone    bool    // team and linked are not known yet
}

// Found is the result of a query.
type Found struct {
	// Those above the threshold, or the nearest if none was required; best first, then archived ones.
	Hits     []reverie.Hit
	Below    []reverie.Hit // those below the threshold, up to the limit, best first
	Total    int           // active memories that were compared
	Warnings []string

	archived []reverie.Hit // best first
}

// Search ranks the active memories of a group and of its team by a text, or those active at an instant. Archived
// memories follow, up to the limit. It compares every memory, by meaning and by words, without an approximate
// index. Memories without a vector of the current model are embedded first. If there is no embedder, or it fails or
// is slow, only words count, and a warning says so.
func (s *Searcher) Search(ctx context.Context, q Query) (Found, error) {
	if strings.TrimSpace(q.Text) == "" {
		return Found{}, fmt.Errorf("search in group %q: the query is empty: %w", q.GroupID, reverie.ErrInvalid)
	}
	q.fewer, q.reaching, q.alone = cmp.Or(q.Limit, math.MaxInt32), q.Threshold, true
	found, err := s.find(ctx, q)
	found.Hits = append(found.Hits, found.archived...)
	if q.Limit > 0 {
		found.Hits = found.Hits[:min(len(found.Hits), q.Limit)]
	}
	if q.OrNearest && len(found.Hits) == 0 {
		n := 0
		for n < min(len(found.Below), nearestFew) && (found.Below[n].Cosine != nil || found.Below[n].Score > 0) {
			n++
		}
		found.Hits, found.Below = found.Below[:n:n], found.Below[n:]
	}
	return found, err
}

// nearestFew is the number of memories returned if none is similar enough.
const nearestFew = 3

// find is [Searcher.Search] with the memories on both sides of the threshold.
func (s *Searcher) find(ctx context.Context, q Query) (found Found, err error) {
	embedding := ctx
	if s.EmbedTimeout > 0 {
		var cancel context.CancelFunc
		embedding, cancel = context.WithTimeout(ctx, s.EmbedTimeout)
		defer cancel()
	}
	form := queryForm(q.Text)
	sq := reverie.SearchQuery{GroupID: q.GroupID, Kinds: q.Kinds, Texts: text.Scripts(form), At: q.At,
		Recorded: q.Recorded, Limit: q.Limit, Fewer: q.fewer, Reaching: q.reaching}
	if sq.Vector, sq.Calibration, err = s.vector(embedding, q.GroupID, form); err != nil {
		found.Warnings = append(found.Warnings, fmt.Sprintf("memories are looked for by their words alone: %v", err))
	} else {
		sq.Model = s.Embeddings.Key()
	}
	r, unseen, err := s.rank(ctx, embedding, sq)
	if err == nil && q.alone {
		q.team, q.linked, err = s.besideOf(ctx, q.GroupID, r)
	}
	if team, has := q.ofTeam(); err == nil && has {
		sq.GroupID = team
		theirs, unseenThere, theirErr := s.rank(s.instead(ctx, team), s.instead(embedding, team), sq)
		add(&r, theirs, q.Limit)
		unseen, err = errors.Join(unseen, unseenThere), theirErr
	}
	if err == nil && q.linked && s.Links != nil {
		sq.GroupID = q.GroupID
		if s.addLinked(ctx, &r, sq) != nil { // the error may name a group that the caller must not know
			found.Warnings, err = append(found.Warnings, "not all that linked groups remember could be read"), ctx.Err()
		}
	}
	switch {
	case err != nil:
		return Found{}, fmt.Errorf("search group %q: %w", q.GroupID, err)
	case unseen != nil:
		found.Warnings = append(found.Warnings, fmt.Sprintf("memories without a vector are found by their words alone: %v", unseen))
	}
	n, _ := slices.BinarySearchFunc(r.Hits, q.Threshold, func(h reverie.Hit, least float64) int {
		if h.Score >= least {
			return -1
		}
		return 1
	})
	found.Hits, found.Below, found.archived, found.Total = r.Hits[:n:n], r.Hits[n:], r.Archived, r.Total
	return found, nil
}

// Reply converts the result to an answer. It says why nothing, or nothing related, was found.
func (f Found) Reply(q Query) reverie.SearchReply {
	reply := reverie.SearchReply{Success: true, Query: q.Text, Results: []reverie.SearchResult{}, Warnings: f.Warnings}
	for _, h := range f.Hits {
		reply.Results = append(reply.Results, reverie.SearchResult{MemoryID: h.ID, Statement: h.Statement, Score: h.Score,
			FromGroupID: h.From, Version: h.Version, Kind: h.Kind, Status: h.Status, Related: h.Score >= reverie.RelatedScore, UpdatedAt: h.UpdatedAt.UTC()})
	}
	switch {
	case len(f.Hits) > 0 && f.Hits[0].Score >= q.Threshold:
	case len(f.Hits) > 0:
		reply.Message = fmt.Sprintf("nothing reaches %.2f, where related texts begin; these are the nearest of %d", q.Threshold, f.Total)
	case f.Total == 0 && (len(q.Kinds) > 0 || !q.At.IsZero()):
		reply.Message = "nothing found: the group has no such memories"
	case f.Total == 0:
		reply.Message = "nothing found: the group has no memories yet"
	case len(f.Below) > 0:
		reply.Message = fmt.Sprintf("nothing found: the best of %d has a score of %.2f, and the threshold is %.2f; lower it or ask in other words",
			f.Total, f.Below[0].Score, q.Threshold)
	}
	return reply
}

// errNoEmbeddings is why only words count if no embedding model is configured.
var errNoEmbeddings = errors.New("no embedding model is configured; see [embed]")

// vector embeds the form of a query, and returns the calibration of the vector's model.
func (s *Searcher) vector(ctx context.Context, groupID, form string) (v []float32, c reverie.Calibration, err error) {
	if s.Embeddings == nil {
		return nil, c, cmp.Or(s.Without, errNoEmbeddings)
	}
	vectors, err := s.Embeddings.Embed(ctx, llm.Meta{GroupID: groupID, Purpose: "search"}, []string{form})
	if err == nil {
		c, err = s.Calibration.Calibrate(ctx, groupID)
	}
	if err != nil {
		return nil, c, fmt.Errorf("embed the query: %w", err)
	}
	return vectors[0], c, nil
}

// rank ranks the memories of one tenant. unseen is why some memories without a vector of the current model could
// not be embedded, within the embedding context.
//
// Almost always all memories have a vector: then one query is enough.
func (s *Searcher) rank(ctx, embedding context.Context, q reverie.SearchQuery) (r reverie.Ranking, unseen, err error) {
	r, err = s.Store.Search(ctx, q)
	if err != nil || r.Unseen == 0 || q.Vector == nil {
		return r, nil, err
	}
	unseen = s.heal(embedding, q)
	r, err = s.Store.Search(ctx, q)
	return r, unseen, err
}

// healBatch is the number of memories that are embedded and stored at once; a group has tens to hundreds.
const healBatch = 500

// heal embeds the memories without a vector of the current model, batch by batch; a search would miss them.
func (s *Searcher) heal(ctx context.Context, q reverie.SearchQuery) error {
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

// embed stores the vectors of memories.
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

// TeamRule says whose memories a group recalls beside its own. The zero value means no team.
type TeamRule struct {
	On   bool
	Name string // the team of groups without a team setting; "" = none
}

// instead returns a context that may read another group.
func (s *Searcher) instead(ctx context.Context, groupID string) context.Context {
	if s.Instead == nil {
		return ctx
	}
	return s.Instead(ctx, groupID)
}

// of returns the tenant of a group's team, "" if it has none. A team itself has none.
func (r TeamRule) of(g reverie.Group) string {
	team := cmp.Or(g.Team, r.Name)
	if _, is := reverie.TeamOf(g.ID); is || !r.On || team == "" || team == reverie.GroupOff {
		return ""
	}
	return reverie.TeamGroupID(team)
}

// besideOf returns a group's team and whether the group has links: from its ranking if known, otherwise from the
// store.
func (s *Searcher) besideOf(ctx context.Context, groupID string, r reverie.Ranking) (team string, linked bool, err error) {
	team, linked = r.Team, r.Linked
	if len(r.Hits)+len(r.Archived) == 0 {
		team, linked, err = s.Store.GroupTeam(ctx, groupID)
	}
	if errors.Is(err, reverie.ErrNotFound) {
		return "", false, nil // and nothing is found in it
	}
	return s.Teams.of(reverie.Group{ID: groupID, Team: team}), linked, err
}

// ofTeam returns the tenant of a group's team; has is false if there is none.
func (q Query) ofTeam() (tenant string, has bool) {
	return q.team, q.team != "" && (len(q.Kinds) == 0 || slices.Contains(q.Kinds, reverie.KindTeam))
}

// add merges the result for another tenant into r.
func add(r *reverie.Ranking, theirs reverie.Ranking, limit int) {
	r.Hits, r.Archived = nearest(r.Hits, theirs.Hits, limit), nearest(r.Archived, theirs.Archived, limit)
	r.Total += theirs.Total
}

// nearest merges the hits of two tenants, best first.
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

// Recency is the factor for the age of a memory's newest support. It is 1 at age 0, falls toward 0.5, and is
// halfway there after one half-life.
func Recency(age, halfLife time.Duration) float64 {
	if age <= 0 || halfLife <= 0 {
		return 1
	}
	return 0.5 + 0.5*math.Exp2(-float64(age)/float64(halfLife))
}

// rank sorts candidates by their value for the query, best first: see [reverie.Factors.Score]. Of memories that say
// the same, only the best counts; the others get their fate here. The result does not depend on the order of the
// hits.
func rank(hits []reverie.Hit, now time.Time, halfLife time.Duration) []reverie.RecallCandidate {
	list, hash := make([]reverie.RecallCandidate, 0, len(hits)), make(map[string]string, len(hits))
	for _, h := range hits {
		list, hash[h.ID] = append(list, candidate(h, now, halfLife)), h.ContentHash
	}
	byWorth(list)
	said := map[string]bool{}
	for i := range list {
		hash := hash[list[i].MemoryID]
		if hash != "" && said[hash] {
			list[i].Fate = FateRepeats
		}
		said[hash] = true
	}
	return list
}

// byWorth sorts candidates, best first.
func byWorth(list []reverie.RecallCandidate) {
	slices.SortFunc(list, func(a, b reverie.RecallCandidate) int {
		return cmp.Or(cmp.Compare(b.Score, a.Score), cmp.Compare(a.LineageID, b.LineageID))
	})
}

// candidate computes the value of a memory for a query.
func candidate(h reverie.Hit, now time.Time, halfLife time.Duration) reverie.RecallCandidate {
	f := reverie.Factors{Similarity: h.Score, Weight: h.Weight, Strength: h.Strength,
		Recency: Recency(now.Sub(h.LastSupportedAt), halfLife)}
	return reverie.RecallCandidate{Words: h.Words, ContextMemory: reverie.ContextMemory{GroupID: h.GroupID, FromGroupID: h.From, MemoryID: h.ID,
		LineageID: h.LineageID, Kind: h.Kind,
		Status: h.Status, Statement: h.Statement, Version: h.Version, Score: f.Score(), Factors: f, Tags: append([]string{}, h.Tags...),
		UpdatedAt: h.UpdatedAt.UTC(), LastSupportedAt: h.LastSupportedAt.UTC()}}
}
