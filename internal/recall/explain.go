package recall

import (
	"context"
	"fmt"
	"slices"
	"time"

	"reverie/internal/reverie"
)

// What becomes of a memory that was looked at for a context.
const (
	FateOffered      = "offered"
	FateRepeats      = "repeats"       // a better one says the same
	FateWorthless    = "worthless"     // a factor of its score is 0
	FateOwnSummary   = "own_summary"   // it sums up the session whose messages stand beside it
	FateBeyondCount  = "beyond_count"  // max_return are better
	FateBeyondTokens = "beyond_tokens" // max_tokens leaves no room for it
	FateNotSimilar   = "not_similar"   // no memory reaches semantic_threshold, and none is offered
	FateBelow        = "below"         // it does not reach min_similarity
)

// maxBelow is how many memories an explanation tells of that are not near enough to
// be candidates.
const maxBelow = 50

// Explain makes the context that [Recaller.Context] would, and tells of every memory
// that was looked at what it scored and what became of it. It logs no use.
func (r *Recaller) Explain(ctx context.Context, req ContextRequest) (reverie.Recalled, error) {
	d, err := r.draft(ctx, req, req.instant(r.Now()), true)
	if err != nil {
		return reverie.Recalled{}, err
	}
	return reverie.Recalled{ContextReply: *d.reply, Trigger: string(r.Options.Trigger),
		MinSimilarity: r.Options.MinSimilarity,
		Candidates:    append([]reverie.RecallCandidate{}, d.memories...)}, nil
}

// judge ranks what was found. Without a fate, and so to be offered if there is room, are
// the best ones, each statement once, as many as may be returned; the others follow.
func (r *Recaller) judge(long longTerm, ownSummary string, now time.Time) []reverie.RecallCandidate {
	kept := make([]reverie.Hit, 0, len(long.hits))
	var aside []reverie.RecallCandidate
	put := func(h reverie.Hit, fate string) {
		c := candidate(h, now, r.Options.HalfLife)
		c.Fate = fate
		aside = append(aside, c)
	}
	for _, h := range long.hits {
		if isSummary(h, ownSummary) {
			put(h, FateOwnSummary)
			continue
		}
		kept = append(kept, h)
	}
	for _, h := range long.refused {
		put(h, FateNotSimilar)
	}
	list, room := rank(kept, now, r.Options.HalfLife), r.Options.MaxReturn
	for i := range list {
		if list[i].Fate != "" {
			continue
		}
		if room--; room < 0 {
			list[i].Fate = FateBeyondCount
		}
	}
	list = append(list, aside...)
	byWorth(list)
	aside = nil
	for _, h := range long.below {
		put(h, FateBelow)
	}
	return append(list, aside...)
}

// below returns the memories nearest to a vector that are not among the hits because
// they do not reach the threshold of a query.
func (s *Searcher) below(ctx context.Context, q Query, vector []float32, hits []reverie.Hit) ([]reverie.Hit, error) {
	own, err := s.belowOf(ctx, q, vector, hits)
	team, has := q.ofTeam()
	if err != nil || !has {
		return own, err
	}
	theirs, err := s.belowOf(s.Teams.beside(ctx, team.GroupID), team, vector, hits)
	return nearest(own, theirs, maxBelow), err
}

// belowOf is below in one tenant.
func (s *Searcher) belowOf(ctx context.Context, q Query, vector []float32, hits []reverie.Hit) ([]reverie.Hit, error) {
	near, err := s.Store.Search(ctx, reverie.SearchQuery{GroupID: q.GroupID, Kinds: q.Kinds, Vector: vector,
		Model: s.Embeddings.Key(), MinCosine: -1, At: q.At, Limit: len(hits) + maxBelow})
	if err != nil {
		return nil, fmt.Errorf("search group %q: %w", q.GroupID, err)
	}
	known := make(map[string]bool, len(hits))
	for _, h := range hits {
		known[h.ID] = true
	}
	near = slices.DeleteFunc(near, func(h reverie.Hit) bool {
		return known[h.ID] ||
			h.Score >= s.Calibration.Cosine(q.Threshold)
	})
	for i := range near {
		near[i].Score = s.Calibration.Score(near[i].Score)
	}
	return near[:min(len(near), maxBelow)], nil
}
