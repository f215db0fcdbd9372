package recall

import (
	"context"
	"log/slog"
	"time"

	"reverie"
)

// ContextStore is what contexts are made from.
type ContextStore interface {
	Store
	RecallState(ctx context.Context, q reverie.RecallQuery) (reverie.RecallState, error)
	EntitiesByID(ctx context.Context, groupID string, ids []string) ([]reverie.Entity, error)
}

// Trigger says when memories are looked up.
type Trigger string

// The triggers.
const (
	TriggerAlways   Trigger = "always"
	TriggerKeywords Trigger = "keywords" // the query has one of the keywords
	TriggerSemantic Trigger = "semantic" // some memory comes near enough
	TriggerNever    Trigger = "never"
)

// Options are how contexts are made.
type Options struct {
	FirstRoundEmpty   bool    // nothing at all before the session's first answer
	MinQueryLength    int     // characters, see QueryLength; below it no memories are looked up
	Trigger           Trigger // of the memories
	Keywords          []string
	SemanticThreshold float64 // similarity that some memory must reach, 0..1
	MinSimilarity     float64 // of a memory, 0..1
	HalfLife          time.Duration
	Kinds             []reverie.Kind // empty = all
	ShortTermCount    int            // turns given word for word
	MaxReturn         int            // memories
	MaxEntities       int
	MaxTokens         int           // of the text
	ShortTermTTL      time.Duration // a session that is silent for longer has no short-term memory; 0 = for ever
}

// Recaller makes contexts. It is safe for concurrent use.
type Recaller struct {
	Store    ContextStore
	Searcher *Searcher // nil: no embedding model is configured, and no memories are found
	Usage    *UsageLog // nil: what is offered is not logged
	Options  Options
	Now      func() time.Time
	Log      *slog.Logger
}

// ContextRequest asks for what a bot should have before it for its next turn.
type ContextRequest struct {
	GroupID   string
	SessionID string // "" = none: no short-term memory
	Query     string // what it is asked
	MaxTokens int    // of the text; 0 = as the options say
}
