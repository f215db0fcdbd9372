package session

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"

	"reverie/internal/llm"
	"reverie/internal/reverie"
	"reverie/internal/text"
)

// known chooses the facts that the model sees: all of them, or those of this
// session and, of the others, those that come nearest to what is said; without
// vectors the newest. Those of this session are shown first.
func (r *run) known(ctx context.Context, s *chunkInput) ([]reverie.HeadState, error) {
	heads := s.state.Heads
	var nearness map[string]float64
	if len(heads) > r.Limits.MaxShown && r.Embeddings != nil && !r.recorder.EmbeddingsOff {
		var err error
		if nearness, err = r.nearness(ctx, s); err != nil {
			if ctx.Err() != nil || llm.EndsRun(err) {
				return nil, err
			}
			r.recorder.EmbeddingsOff = r.EmbeddingsOptional
			r.recorder.Warn(fmt.Sprintf("facts are shown by how lately they were supported, not by relevance: %v", err))
		}
	}
	return choose(heads, s.state.Session.ID, nearness, r.Limits.MaxShown), nil
}

// nearness is how near each stored fact comes to any part of the chunk, by memory
// id.
func (r *run) nearness(ctx context.Context, s *chunkInput) (map[string]float64, error) {
	probes, err := r.Embeddings.Embed(ctx, r.recorder.Meta("embed"), pieces(shownOf(s.messages)))
	if err != nil || len(probes) == 0 {
		return nil, err
	}
	hits, err := r.Store.Candidates(ctx, reverie.CandidateQuery{GroupID: r.req.GroupID, Kind: reverie.KindSession,
		Model:  r.Embeddings.Key(),
		Probes: probes, MinCosine: -1, Limit: r.Limits.MaxShown, Untagged: reverie.TagSummary})
	if err != nil {
		return nil, err
	}
	near := map[string]float64{}
	for _, list := range hits {
		for _, h := range list {
			if best, ok := near[h.ID]; !ok || h.Score > best {
				near[h.ID] = h.Score
			}
		}
	}
	return near, nil
}

// choose takes at most so many facts: the session's own before others, the nearest
// before those of which nothing is known, the newest before older ones. They are
// shown by age, the session's own first, so that the same facts are always shown
// the same way.
func choose(heads []reverie.HeadState, sessionID string, nearness map[string]float64, limit int) []reverie.HeadState {
	own := func(h reverie.HeadState) int {
		if h.SessionID == sessionID {
			return 0
		}
		return 1
	}
	near := func(h reverie.HeadState) float64 {
		if score, ok := nearness[h.ID]; ok {
			return score
		}
		return -2 // below any cosine
	}
	chosen := slices.Clone(heads)
	slices.SortStableFunc(chosen, func(a, b reverie.HeadState) int {
		return cmp.Or(cmp.Compare(own(a), own(b)), cmp.Compare(near(b), near(a)),
			b.LastSupportedAt.Compare(a.LastSupportedAt))
	})
	keep := make(map[string]bool, limit)
	for _, h := range chosen[:min(limit, len(chosen))] {
		keep[h.ID] = true
	}
	shown := slices.DeleteFunc(slices.Clone(heads), func(h reverie.HeadState) bool { return !keep[h.ID] })
	slices.SortStableFunc(shown, func(a, b reverie.HeadState) int { return cmp.Compare(own(a), own(b)) })
	return shown
}

// Probes of a chunk: few and long, since one request embeds them all.
const (
	maxPieces   = 8
	maxPieceLen = 2000 // bytes
)

// pieces joins the texts of messages into at most maxPieces.
func pieces(messages []reverie.Message) (list []string) {
	if len(messages) == 0 {
		return nil
	}
	for part := range slices.Chunk(texts(messages), (len(messages)+maxPieces-1)/maxPieces) {
		list = append(list, text.Excerpt(strings.Join(part, "\n"), maxPieceLen))
	}
	return list
}
