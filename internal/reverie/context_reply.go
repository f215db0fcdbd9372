package reverie

import "time"

// ContextReply is what a bot is given for its next turn. Text is all of it in one
// piece, ready to stand in a prompt; the other fields say what is in it.
type ContextReply struct {
	Success   bool              `json:"success"`
	GroupID   string            `json:"group_id"`
	SessionID string            `json:"session_id,omitempty"`
	Query     string            `json:"query"`
	UsageID   string            `json:"usage_id,omitempty"` // to report which memories the answer used; "" where none is offered
	Text      string            `json:"text"`               // "" where there is nothing to say
	Memories  []ContextMemory   `json:"memories"`           // best first
	Entities  []ContextEntity   `json:"entities"`
	ShortTerm *ContextShortTerm `json:"short_term,omitempty"`
	Counts    ContextCounts     `json:"counts"`
	Tokens    int               `json:"tokens"`     // estimated, of Text
	MaxTokens int               `json:"max_tokens"` // that Text may have
	// Skipped says why no memories were looked up: first_round, query_too_short,
	// no_keyword, not_similar, trigger_never, no_embeddings; "" where they were.
	Skipped  string   `json:"skipped,omitempty"`
	Warnings []string `json:"warnings,omitempty"`
}

// ContextMemory is a memory that is offered.
type ContextMemory struct {
	GroupID         string    `json:"-"` // the group, or its team
	MemoryID        string    `json:"memory_id"`
	LineageID       string    `json:"lineage_id"`
	Kind            Kind      `json:"kind"`
	Statement       string    `json:"statement"`
	Version         int       `json:"version"`
	Score           float64   `json:"score"` // the product of the factors
	Factors         Factors   `json:"factors"`
	Tags            []string  `json:"tags"`
	UpdatedAt       time.Time `json:"updated_at"`
	LastSupportedAt time.Time `json:"last_supported_at"`
}

// ContextEntity is somebody or something that the query names.
type ContextEntity struct {
	EntityID string     `json:"entity_id"`
	Kind     EntityKind `json:"kind"`
	Subject  string     `json:"subject"`
	Lines    []string   `json:"lines"` // what is said of it, strongest first
}

// ContextShortTerm is what was said in the session: a summary of the older turns,
// and the newest ones word for word.
type ContextShortTerm struct {
	Summary *SessionSummary  `json:"summary,omitempty"`
	Turns   []ContextMessage `json:"turns"` // oldest first
}

// ContextMessage is a message of a newest turn.
type ContextMessage struct {
	MessageID string    `json:"message_id"`
	Author    string    `json:"author"`
	Role      Role      `json:"role"`
	Text      string    `json:"text"`
	SentAt    time.Time `json:"sent_at"`
}

// ContextCounts counts what a context was made of.
type ContextCounts struct {
	Candidates int `json:"candidates"` // memories near enough to be ranked
	LongTerm   int `json:"long_term"`  // memories offered
	Entities   int `json:"entities"`
	ShortTerm  int `json:"short_term"` // messages given word for word
	Summarized int `json:"summarized"` // messages that the summary covers
	Dropped    int `json:"dropped"`    // memories, entities and messages that the budget left no room for
}

// FeedbackReply says which of the offered memories an answer used, and where their
// weights are now.
type FeedbackReply struct {
	Success    bool             `json:"success"`
	GroupID    string           `json:"group_id"`
	SessionID  string           `json:"session_id,omitempty"`
	UsageID    string           `json:"usage_id,omitempty"`
	Offered    int              `json:"offered"`
	Referenced int              `json:"referenced"`
	Known      bool             `json:"known,omitempty"` // it was reported before: nothing has moved
	Message    string           `json:"message,omitempty"`
	Memories   []FeedbackMemory `json:"memories"`
	Warnings   []string         `json:"warnings,omitempty"`
}

// FeedbackMemory is a memory that had been offered.
type FeedbackMemory struct {
	MemoryID       string  `json:"memory_id"`
	Statement      string  `json:"statement"`
	WasReferenced  bool    `json:"was_referenced"`
	ReferenceScore float64 `json:"reference_score"` // 0..1
	Weight         float64 `json:"weight"`          // after it
}
