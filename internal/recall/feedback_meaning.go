package recall

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"unicode"

	"reverie/internal/llm"
	"reverie/internal/reverie"
	"reverie/internal/text"
)

// An answer is compared by its sentences: as a whole it says too much to come near
// any one memory.
const (
	maxCompared   = 40
	minCompared   = 4 // of QueryLength
	sentenceStops = "。！？!?；;\n\r"
)

// meanings says how near an answer comes to each memory: the calibrated similarity
// of its nearest sentence, 0 where the question had come as near already. It asks
// the model once.
func (f *Feedback) meanings(ctx context.Context, rows []reverie.Usage, response string) ([]float64, error) {
	texts := sentencesOf(response)
	said := len(texts)
	if said == 0 {
		return nil, nil
	}
	for _, r := range rows {
		texts = append(texts, r.Statement)
	}
	vectors, err := f.Embeddings.Embed(ctx, llm.Meta{GroupID: rows[0].GroupID, Purpose: "feedback"}, texts)
	if err != nil {
		return nil, fmt.Errorf("embed the answer: %w", err)
	}
	scores := make([]float64, len(rows))
	for i, r := range rows {
		for _, sentence := range vectors[:said] {
			scores[i] = max(scores[i], f.Calibration.Score(reverie.Cosine(sentence, vectors[said+i])))
		}
		if scores[i] <= r.Similarity {
			scores[i] = 0
		}
	}
	return scores, nil
}

// sentencesOf divides an answer into sentences that say something, the longest
// ones of a long answer, each as long as a statement at most.
func sentencesOf(response string) []string {
	var list []string
	add := func(s string) {
		if s = text.Excerpt(s, reverie.MaxStatement); QueryLength(s) >= minCompared && !slices.Contains(list, s) {
			list = append(list, s)
		}
	}
	from := 0
	for i, r := range response {
		full := r == '.' && (i+1 == len(response) || unicode.IsSpace(rune(response[i+1])))
		if full || strings.ContainsRune(sentenceStops, r) {
			add(response[from:i])
			from = i + len(string(r))
		}
	}
	add(response[from:])
	if len(list) > maxCompared {
		slices.SortStableFunc(list, func(a, b string) int { return QueryLength(b) - QueryLength(a) })
		list = list[:maxCompared]
	}
	return list
}
