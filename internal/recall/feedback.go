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
	// Offered returns the memories of one context, best first, with their statements: of the named context, or of the
	// newest of the session. An unknown one is reverie.ErrNotFound.
	Offered(ctx context.Context, q reverie.UsageQuery) ([]reverie.Usage, error)
	// Judge stores the verdicts on the memories of one context and moves the weights of their lineages. Rows with a
	// verdict stay unchanged. It returns all rows as stored.
	Judge(ctx context.Context, groupID, usageID string, verdicts []reverie.UsageVerdict,
		rule reverie.WeightRule) ([]reverie.Usage, error)
}

// FeedbackOptions configure how answers are judged.
type FeedbackOptions struct {
	Threshold float64 // score of [References], 0..1, from which an answer used a memory
	Weights   reverie.WeightRule
}

// Feedback learns from answers which memories help. It is safe for concurrent use.
type Feedback struct {
	Store       FeedbackStore
	Usage       *UsageLog          // nil: the offers are already in the store
	Embeddings  Embeddings         // nil: only words count
	Calibration reverie.Calibrator // of Embeddings
	Options     FeedbackOptions
}

// FeedbackRequest reports an answer. SessionID or UsageID identifies the context.
type FeedbackRequest struct {
	GroupID   string // "" = all groups
	SessionID string
	UsageID   string
	Response  string // the answer
}

// NothingOffered is the message of a reply without anything to learn.
const NothingOffered = "no memories were offered"

// Report judges which offered memories an answer used, and moves their weights. It does so once: nothing moves if
// the context's answer was reported before. It judges the named context, or the newest of the session that offered
// any memories.
//
// The error is [reverie.ErrInvalid] for a request without a context or without an answer, and for a session of
// several groups if no group is named. It is [reverie.ErrNotFound] for an unknown context or session.
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

// waits reports whether an offered memory has no verdict yet.
func waits(u reverie.Usage) bool { return u.WasReferenced == nil }

// judge decides for each offered memory whether the answer used it. It uses the higher of two scores: by words and
// by meaning.
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

// fillFeedback adds the verdicts on one context to the reply.
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

// An answer is compared sentence by sentence: as a whole it is similar to no single memory.
const (
	maxCompared   = 40
	minCompared   = 4 // of QueryLength
	sentenceStops = "。！？!?；;\n\r"
)

// meanings returns how similar an answer is to each memory: the calibrated similarity of its nearest sentence, or 0
// if the question is as similar. It calls the model once.
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

// sentencesOf splits an answer into sentences with content. Of a long answer it takes the longest ones, each cut to
// the length of a statement.
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
