package recall

import (
	"context"

	"reverie"
)

// FeedbackStore is what feedback reads and writes.
type FeedbackStore interface {
	// Offered returns the rows of one context, best first, with the statements that
	// were offered: of the one that is named, or the newest of the session.
	Offered(ctx context.Context, q reverie.UsageQuery) ([]reverie.Usage, error)
	// Judge writes the verdicts on what one context offered and moves the weights of
	// the lineages, each once: rows that were judged before stay as they are. It
	// returns the rows as they stand then.
	Judge(ctx context.Context, groupID, usageID string, verdicts []reverie.UsageVerdict, rule reverie.WeightRule) ([]reverie.Usage, error)
}

// FeedbackOptions are how answers are judged.
type FeedbackOptions struct {
	Threshold float64 // of [References], 0..1, from which an answer used a memory
	Weights   reverie.WeightRule
}

// Feedback learns from answers which memories help. It is safe for concurrent use.
type Feedback struct {
	Store       FeedbackStore
	Usage       *UsageLog           // nil: what was offered is in the store already
	Embeddings  Embeddings          // nil: words alone count
	Calibration reverie.Calibration // of Embeddings
	Options     FeedbackOptions
}

// FeedbackRequest reports an answer. SessionID or UsageID says to what.
type FeedbackRequest struct {
	GroupID   string // "" = all groups
	SessionID string
	UsageID   string
	Response  string // the answer
}
