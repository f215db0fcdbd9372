package recall

import (
	"context"
	"fmt"
	"slices"

	"reverie/internal/reverie"
)

// maxCandidates is how many of the nearest memories are ranked.
const maxCandidates = 100

// longTerm is what was found in long-term memory.
type longTerm struct {
	hits     []reverie.Hit // candidates, nearest first
	refused  []reverie.Hit // candidates of which none is near enough for the trigger
	below    []reverie.Hit // not near enough to be candidates; only where everything is asked for
	skipped  string        // why nothing was looked up
	warnings []string
}

// longTerm looks memories up where the trigger says so. Its errors are those of the
// store: an embedder that fails is a warning.
func (r *Recaller) longTerm(ctx context.Context, req ContextRequest, group reverie.Group, query string,
	everything bool) (longTerm, error) {
	if why := r.Options.skip(query); why != "" {
		return longTerm{skipped: why}, nil
	}
	if r.Searcher == nil {
		return longTerm{skipped: SkippedNoEmbeddings,
			warnings: []string{"memories were not looked up: no embedding model is configured; see [embed]"}}, nil
	}
	embedding := ctx
	if r.Options.EmbedTimeout > 0 {
		var cancel context.CancelFunc
		embedding, cancel = context.WithTimeout(ctx, r.Options.EmbedTimeout)
		defer cancel()
	}
	q := Query{GroupID: req.GroupID, Text: queryForm(query), Kinds: r.Options.Kinds, Limit: maxCandidates,
		Threshold: r.Options.MinSimilarity,
		At:        req.At, team: r.Searcher.Teams.of(group)}
	vector, err := r.Searcher.vector(embedding, q)
	switch {
	case ctx.Err() != nil:
		return longTerm{}, fmt.Errorf("make a context for group %q: %w", req.GroupID, ctx.Err())
	case err != nil:
		return longTerm{skipped: SkippedNoEmbeddings,
			warnings: []string{fmt.Sprintf("memories were not looked up: %v", err)}}, nil
	}
	hits, unseen, err := r.Searcher.near(ctx, embedding, q, vector)
	if err != nil {
		return longTerm{}, err
	}
	found := longTerm{hits: hits}
	if everything {
		if found.below, err = r.Searcher.below(ctx, q, vector, hits); err != nil {
			return longTerm{}, err
		}
	}
	if unseen != nil {
		found.warnings = []string{fmt.Sprintf("memories without a vector were left out: %v", unseen)}
	}
	if r.Options.Trigger == TriggerSemantic && (len(hits) == 0 || hits[0].Score < r.Options.SemanticThreshold) {
		found.hits, found.refused, found.skipped = nil, hits, SkippedNotSimilar
	}
	return found, nil
}

// ownSummary is the session whose summary memory would only repeat what stands
// beside it: the rolling summary, or all of its turns. "" where there is none.
func ownSummary(state reverie.RecallState) string {
	if state.Session == nil || len(state.Messages) == 0 && state.Summary == nil {
		return ""
	}
	if state.Summary == nil && answered(state.Messages) < state.Session.Total.Turns {
		return "" // turns before those that are given, which only the memory tells of
	}
	return state.Session.ID
}

// answered counts the turns that end in an answer.
func answered(messages []reverie.Message) int {
	turns, asking := 0, false
	for _, m := range messages {
		switch {
		case m.Role == reverie.RoleUser:
			asking = true
		case m.Role == reverie.RoleAssistant && asking:
			turns, asking = turns+1, false
		}
	}
	return turns
}

// isSummary tells the summary memory of a session.
func isSummary(h reverie.Hit, sessionID string) bool {
	return sessionID != "" && h.Kind == reverie.KindSession && h.SessionID == sessionID &&
		slices.Contains(h.Tags, reverie.TagSummary)
}
