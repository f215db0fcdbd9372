package reverie

import "time"

// Factors are the parts of a recalled memory's rank.
type Factors struct {
	Similarity float64 `json:"similarity" db:"similarity"` // to the query, by meaning and words, 0..1
	Weight     float64 `json:"weight" db:"weight"`         // 0..2, of the lineage
	Strength   float64 `json:"strength" db:"strength"`     // 0..1
	Recency    float64 `json:"recency" db:"recency"`       // 0..1, by the time of the last support
}

// maxNudge is how much weight, strength and recency can change the score of a memory.
const maxNudge = 0.05

// Score is the similarity plus at most 0.05 for weight, strength and recency together.
func (f Factors) Score() float64 {
	return f.Similarity + maxNudge*(f.Weight/MaxWeight+f.Strength+f.Recency)/3
}

// Usage is one memory that was offered in one context: a row of memory_usage_log.
type Usage struct {
	GroupID   string  `db:"group_id" json:"group_id"`
	UsageID   string  `db:"usage_id" json:"usage_id"`   // of the context
	MemoryID  string  `db:"memory_id" json:"memory_id"` // the version that was offered
	LineageID string  `db:"lineage_id" json:"lineage_id"`
	SessionID string  `db:"session_id" json:"session_id,omitempty"`
	Query     string  `db:"query" json:"query"`       // the first MaxUsageQuery characters
	Position  int     `db:"position" json:"position"` // counts from 1, best first
	Score     float64 `db:"score" json:"score"`
	Factors
	Statement      string     `db:"statement" json:"statement"`           // of the version; only read
	WasReferenced  *bool      `db:"was_referenced" json:"was_referenced"` // nil until an answer is reported
	ReferenceScore *float64   `db:"reference_score" json:"reference_score,omitempty"`
	WeightAfter    *float64   `db:"weight_after" json:"weight_after,omitempty"`
	CreatedAt      time.Time  `db:"created_at" json:"created_at"`
	JudgedAt       *time.Time `db:"judged_at" json:"judged_at,omitempty"`
}

// MaxUsageQuery is the maximum number of characters of a query in the usage log.
const MaxUsageQuery = 300

// UsageQuery asks for the memories of one context: the named one, or the newest of a session.
type UsageQuery struct {
	GroupID   string // "" = all groups
	SessionID string
	UsageID   string
}

// UsageVerdict says whether an answer used an offered memory.
type UsageVerdict struct {
	MemoryID   string
	Referenced bool
	Score      float64 // 0..1, of the memory in the answer
	Repeated   bool    // both the answer and the question say it: its weight does not drop
}

// WeightRule says how verdicts change weights.
type WeightRule struct {
	Referenced float64 // added if the answer used the memory
	Ignored    float64 // added if it did not, though the similarity was RelatedScore or more; negative
	Min, Max   float64 // bounds of the weight
}

// UsageCount counts the uses of a lineage in contexts: rows of the usage log, including pruned ones.
type UsageCount struct {
	Offered    int `db:"offered" json:"offered"`       // contexts that offered it
	Referenced int `db:"referenced" json:"referenced"` // of them: the answer used it
	// Of them: the answer did not use it; the rest has no report.
	Ignored       int        `db:"ignored" json:"ignored"`
	LastOfferedAt *time.Time `db:"last_offered_at" json:"last_offered_at,omitempty"`
}

// RecallQuery asks for the parts of a context other than memories.
type RecallQuery struct {
	GroupID   string
	SessionID string    // "" = none
	Turns     int       // maximum number of the newest turns, answered or not
	Since     time.Time // earlier turns and summaries have expired; zero = none has
	Text      string    // the folded query, in which entity names are searched
	At        time.Time // zero = now; else what was known and said by then

	Quotes int       // maximum number of messages from outside the session
	Asked  []string  // the text for finding quotes: as written, then in other scripts
	Until  time.Time // quotes were sent by then
	Share  float64   // minimum share of the weight of the query's words that a quote contains, 0..1
}

// RecallState is the state of a group and a session for a context, read in one snapshot.
type RecallState struct {
	Group    Group
	Linked   bool            // an entity of the group is linked with one of another group
	Session  *Session        // nil: none was named, or it is unknown
	Messages []Message       // of the newest turns, without tool output, oldest first
	Summary  *SessionSummary // nil: none
	Quotes   []ContextQuote  // best first
	Named    []EntityName    // entity names that occur in the query
}
