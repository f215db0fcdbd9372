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

// FeedbackStore is what feedback reads and writes.
type FeedbackStore interface {
	// Offered returns the rows of one context, best first, with the statements that
	// were offered: of the one that is named, or the newest of the session. One that
	// nobody knows is reverie.ErrNotFound.
	Offered(ctx context.Context, q reverie.UsageQuery) ([]reverie.Usage, error)
	// Judge writes the verdicts on what one context offered and moves the weights of
	// the lineages, each once: rows that were judged before stay as they are. It
	// returns the rows as they stand then.
	Judge(ctx context.Context, groupID, usageID string, verdicts []reverie.UsageVerdict,
		rule reverie.WeightRule) ([]reverie.Usage, error)
}

// FeedbackOptions are how answers are judged.
type FeedbackOptions struct {
	Threshold float64 // of [References], 0..1, from which an answer used a memory
	Weights   reverie.WeightRule
}

// Feedback learns from answers which memories help. It is safe for concurrent use.
type Feedback struct {
	Store       FeedbackStore
	Usage       *UsageLog          // nil: what was offered is in the store already
	Embeddings  Embeddings         // nil: words alone count
	Calibration reverie.Calibrator // of Embeddings
	Options     FeedbackOptions
}

// FeedbackRequest reports an answer. SessionID or UsageID says to what.
type FeedbackRequest struct {
	GroupID   string // "" = all groups
	SessionID string
	UsageID   string
	Response  string // the answer
}

// NothingOffered is what a reply says where there was nothing to learn from.
const NothingOffered = "no memories were offered"

// Report judges which of the memories that were offered an answer used, and moves
// their weights, once: of a context whose answer was reported before, nothing
// moves. It judges the context that is named, or the newest of the session that
// offered any memories. A request without either, or without an answer, is
// [reverie.ErrInvalid], and so is a session of several groups where none is named.
// A context or session that nobody knows is [reverie.ErrNotFound].
func (f *Feedback) Report(ctx context.Context, req FeedbackRequest) (reverie.FeedbackReply, error) {
	reply := reverie.FeedbackReply{Success: true, GroupID: req.GroupID, SessionID: req.SessionID, UsageID: req.UsageID,
		Memories: []reverie.FeedbackMemory{}}
	if req.SessionID == "" && req.UsageID == "" {
		return reply, fmt.Errorf("report an answer: neither session nor context is named: %w", reverie.ErrInvalid)
	}
	if strings.TrimSpace(req.Response) == "" {
		return reply, fmt.Errorf("report an answer: it is empty: %w", reverie.ErrInvalid)
	}
	if f.Usage != nil {
		if err := f.Usage.Flush(ctx); err != nil {
			return reply, fmt.Errorf("report an answer: %w", err)
		}
	}
	rows, err := f.Store.Offered(ctx, reverie.UsageQuery{GroupID: req.GroupID, SessionID: req.SessionID,
		UsageID: req.UsageID})
	if err != nil {
		return reply, fmt.Errorf("report an answer: %w", err)
	}
	if len(rows) == 0 {
		reply.Message = NothingOffered
		return reply, nil
	}
	if reply.Known = !slices.ContainsFunc(rows, waits); !reply.Known {
		var verdicts []reverie.UsageVerdict
		if verdicts, reply.Warnings, err = f.judge(ctx, rows, req.Response); err != nil {
			return reply, fmt.Errorf("report an answer: %w", err)
		}
		rows, err = f.Store.Judge(ctx, rows[0].GroupID, rows[0].UsageID, verdicts, f.Options.Weights)
		if err != nil {
			return reply, fmt.Errorf("report an answer: %w", err)
		}
	}
	fillFeedback(&reply, rows)
	return reply, nil
}

// waits tells whether nobody has said yet what became of an offer.
func waits(u reverie.Usage) bool { return u.WasReferenced == nil }

// judge says of each memory that was offered whether the answer used it: by its
// words, or by its meaning where that is surer.
func (f *Feedback) judge(ctx context.Context, rows []reverie.Usage,
	response string) (verdicts []reverie.UsageVerdict, warnings []string, err error) {
	statements := make([]string, len(rows))
	for i, r := range rows {
		statements[i] = r.Statement
	}
	scores := References(rows[0].Query, response, statements)
	said := References("", response, statements)
	if f.Embeddings != nil {
		meant, err := f.meanings(ctx, rows, response)
		switch {
		case ctx.Err() != nil:
			return nil, nil, ctx.Err()
		case err != nil:
			warnings = append(warnings, fmt.Sprintf("the answer is judged by its words alone: %v", err))
		}
		for i, m := range meant {
			scores[i] = max(scores[i], m)
		}
	}
	for i, r := range rows {
		if waits(r) {
			verdicts = append(verdicts, reverie.UsageVerdict{MemoryID: r.MemoryID,
				Referenced: scores[i] >= f.Options.Threshold, Score: scores[i], Repeated: said[i] >= f.Options.Threshold})
		}
	}
	return verdicts, warnings, nil
}

// fillFeedback says what became of the offers of one context.
func fillFeedback(reply *reverie.FeedbackReply, rows []reverie.Usage) {
	reply.GroupID, reply.SessionID, reply.UsageID, reply.Offered = rows[0].GroupID, rows[0].SessionID, rows[0].UsageID,
		len(rows)
	for _, r := range rows {
		m := reverie.FeedbackMemory{MemoryID: r.MemoryID, Statement: r.Statement, Weight: r.Weight}
		if r.WasReferenced != nil && *r.WasReferenced {
			m.WasReferenced = true
			reply.Referenced++
		}
		if r.ReferenceScore != nil {
			m.ReferenceScore = *r.ReferenceScore
		}
		if r.WeightAfter != nil {
			m.Weight = *r.WeightAfter
		}
		reply.Memories = append(reply.Memories, m)
	}
}

// An answer is compared by its sentences: as a whole it says too much to come near
// any one memory.
const (
	maxCompared   = 40
	minCompared   = 4 // of QueryLength
	sentenceStops = "。！？!?；;\n\r"
)

// meanings says how near an answer comes to each memory: the calibrated similarity
// of its nearest sentence, 0 where the question comes as near by its meaning. It asks
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
	query := queryForm(rows[0].Query)
	asked := strings.TrimSpace(query) != ""
	if asked {
		texts = append(texts, query)
	}
	vectors, err := f.Embeddings.Embed(ctx, llm.Meta{GroupID: rows[0].GroupID, Purpose: "feedback"}, texts)
	var scale reverie.Calibration
	if err == nil {
		scale, err = f.Calibration.Calibrate(ctx, rows[0].GroupID)
	}
	if err != nil {
		return nil, fmt.Errorf("embed the answer: %w", err)
	}
	scores := make([]float64, len(rows))
	for i := range rows {
		near := func(v []float32) float64 { return scale.Score(reverie.Cosine(v, vectors[said+i])) }
		for _, sentence := range vectors[:said] {
			scores[i] = max(scores[i], near(sentence))
		}
		if asked && scores[i] <= near(vectors[len(vectors)-1]) {
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
