package reverie

import "time"

// Factors are what the rank of a recalled memory is made of.
type Factors struct {
	Similarity float64 `json:"similarity" db:"similarity"` // to the query, by meaning and by words, 0..1
	Weight     float64 `json:"weight" db:"weight"`         // 0..2, of the lineage
	Strength   float64 `json:"strength" db:"strength"`     // 0..1
	Recency    float64 `json:"recency" db:"recency"`       // 0..1, by when it was last supported
}

// maxNudge is how far what is known of a memory moves it among those that bear on the query
// as much.
const maxNudge = 0.05

// Score is the similarity, and at most 0.05 for weight, strength and recency together.
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
	Query     string  `db:"query" json:"query"`       // its beginning, at most MaxUsageQuery characters
	Position  int     `db:"position" json:"position"` // counts from 1, best first
	Score     float64 `db:"score" json:"score"`
	Factors
	Statement      string     `db:"statement" json:"statement"`           // of the version; read, never written
	WasReferenced  *bool      `db:"was_referenced" json:"was_referenced"` // nil until the answer is known
	ReferenceScore *float64   `db:"reference_score" json:"reference_score,omitempty"`
	WeightAfter    *float64   `db:"weight_after" json:"weight_after,omitempty"`
	CreatedAt      time.Time  `db:"created_at" json:"created_at"`
	JudgedAt       *time.Time `db:"judged_at" json:"judged_at,omitempty"`
}

// MaxUsageQuery is how much of a query the usage log keeps, in characters.
const MaxUsageQuery = 300

// UsageQuery asks for what one context offered: the one named, or the newest of a
// session.
type UsageQuery struct {
	GroupID   string // "" = all groups
	SessionID string
	UsageID   string
}

// UsageVerdict says whether an answer used a memory that was offered.
type UsageVerdict struct {
	MemoryID   string
	Referenced bool
	Score      float64 // 0..1, of the reference
	Repeated   bool    // the answer says it, and so did the question: it loses nothing
}

// WeightRule says how verdicts move weights.
type WeightRule struct {
	Referenced float64 // added where the answer used the memory
	Ignored    float64 // added where it did not, though it bore on the query by RelatedScore: below 0
	Min, Max   float64 // bounds of the weight
}

// UsageCount counts what became of a lineage's memories in contexts: rows of the
// usage log, and those that were pruned from it.
type UsageCount struct {
	Offered       int        `db:"offered" json:"offered"`       // in so many contexts
	Referenced    int        `db:"referenced" json:"referenced"` // of them: the answer used it
	Ignored       int        `db:"ignored" json:"ignored"`       // of them: it did not; of the rest nobody has said
	LastOfferedAt *time.Time `db:"last_offered_at" json:"last_offered_at,omitempty"`
}

// RecallQuery asks for what a context needs besides memories.
type RecallQuery struct {
	GroupID   string
	SessionID string    // "" = none
	Turns     int       // the newest at most, answered or not
	Since     time.Time // turns and summary of before are past; zero = all
	Text      string    // the query, folded: names of entities are looked up in it
	At        time.Time // zero = now; else what was known and said by then

	Quotes int       // messages from outside of the session at most
	Asked  []string  // what they are to bear on: a text as it was written, then in other scripts
	Until  time.Time // quotes are of this instant or before
	Share  float64   // of what the words asked weigh that a quote holds at least, 0..1
}

// RecallState is a group and a session as a context sees them, read in one
// snapshot.
type RecallState struct {
	Group    Group
	Linked   bool            // somebody in it is linked with somebody in another group
	Session  *Session        // nil: none was named, or it is not known
	Messages []Message       // of the newest turns, tools left out, oldest first
	Summary  *SessionSummary // nil: none
	Quotes   []ContextQuote  // best first
	Named    []EntityName    // names of entities that stand in the query, letter by letter
}
