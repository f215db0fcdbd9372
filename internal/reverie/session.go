package reverie

import "time"

// Session is a stretch of dialogue: messages that their platform gave one session
// id, or, where it gave none, messages with no longer silence between them than
// the group allows.
type Session struct {
	GroupID string    `json:"group_id"`
	ID      string    `json:"session_id"`
	Cut     bool      `json:"cut"`      // by silence, and not named by the platform
	FirstAt time.Time `json:"first_at"` // sent_at of its first message
	LastAt  time.Time `json:"last_at"`
	// Asking tells that somebody has spoken since the last answer: a turn has begun
	// that is not counted yet.
	Asking         bool       `json:"asking"`
	Total          Tally      `json:"total"`
	New            Tally      `json:"new"`    // of it, not extracted yet: the dialogue buffer
	Folded         Tally      `json:"folded"` // of it, what the rolling summary covers
	Extractions    int        `json:"extractions"`
	ExtractedUntil *time.Time `json:"extracted_until"` // sent_at of the newest message that was extracted
	// Unfinished tells that the last extraction was cut short, or failed, and left some
	// of what it was to take: the next one goes on, however little that is.
	Unfinished bool `json:"unfinished,omitempty"`

	// DreamtUntil is up to which of its messages a dream has covered it: before LastAt,
	// or nil, while there is more. Its extraction makes it nil.
	DreamtUntil *time.Time `json:"dreamt_until,omitempty"`

	// What repeated failure to extract it has led to, as in [Setback]; none is zero.
	Failures int        `json:"failures,omitempty"`
	Failure  string     `json:"failure,omitempty"`
	RetryAt  *time.Time `json:"retry_at,omitempty"`
	ParkedAt *time.Time `json:"parked_at,omitempty"`

	// And to fold it: that is tried again for as long as there is something to fold.
	FoldFailures int        `json:"fold_failures,omitempty"`
	FoldRetryAt  *time.Time `json:"fold_retry_at,omitempty"`
}

// Tally counts messages of a session.
type Tally struct {
	Messages  int `json:"messages"`
	Tokens    int `json:"tokens"` // estimated, see EstimateTokens
	ToolCalls int `json:"tool_calls"`
	Turns     int `json:"turns"` // a query and its answer: what users say up to the next word of an assistant
}

// SessionRule says when a session is due. A limit of 0 is off.
type SessionRule struct {
	// For extraction: so much since the last one.
	Tokens, ToolCalls, Turns int
	Idle                     time.Duration // or anything at all, and silent for so long

	// For short-term memory: turns that stay verbatim, and how many turns, or tokens
	// of turns, that no summary covers make it fold all but those.
	KeepTurns, FoldTurns, FoldTokens int
	ShortTermTTL                     time.Duration // a session that is silent for longer is not folded any more

	IgnoreRetry bool // a person asks: do not wait after a failure; parked sessions stay parked
}

// SessionQuery asks for what one chunk of an extraction needs.
type SessionQuery struct {
	GroupID    string
	SessionID  string
	Limit      int      // messages at most
	MessageIDs []string // instead of Limit: exactly these, those that still wait
}

// SessionState is a session as one chunk sees it, read in one snapshot.
type SessionState struct {
	Group    Group
	Session  Session
	Messages []Message   // not extracted, by sent_at, then by order of arrival
	More     bool        // there are further ones
	Heads    []HeadState // the group's active memories of kind session, summaries left out
	Summary  *HeadState  // the summary memory of this session, nil where it has none
}

// SessionSummary is the rolling summary of a session's older turns, and what it
// covers.
type SessionSummary struct {
	GroupID        string    `db:"group_id" json:"group_id"`
	SessionID      string    `db:"session_id" json:"session_id"`
	Summary        string    `db:"summary" json:"summary"`
	Messages       int       `db:"messages" json:"messages"`
	Turns          int       `db:"turns" json:"turns"`
	Tokens         int       `db:"tokens" json:"tokens"` // of the messages, estimated
	FirstMessageID string    `db:"first_message_id" json:"first_message_id"`
	LastMessageID  string    `db:"last_message_id" json:"last_message_id"`
	CoversSince    time.Time `db:"covers_since" json:"covers_since"` // sent_at of those two
	CoversUntil    time.Time `db:"covers_until" json:"covers_until"`
	RunID          string    `db:"run_id" json:"run_id"` // that renewed it last
	CreatedAt      time.Time `db:"created_at" json:"created_at"`
	UpdatedAt      time.Time `db:"updated_at" json:"updated_at"`
}

// FoldState is what folding a session needs, read in one snapshot.
type FoldState struct {
	Group    Group
	Session  Session
	Summary  *SessionSummary // nil: none yet
	Messages []Message       // that it does not cover, by sent_at, then by order of arrival
}

// SessionFold renews the rolling summary of a session by messages that it did not cover.
type SessionFold struct {
	Summary    SessionSummary // as it is to be; RunID is the run's
	MessageIDs []string       // covered from now on
	Turns      int            // of them
	Stats      Stats          // of the run so far, this fold included
}

// SessionFilter selects sessions for listing, the latest first.
type SessionFilter struct {
	GroupID   string
	SessionID string // "" = all
	Waiting   bool   // only those with messages that are not extracted
	Limit     int
	Offset    int
}

// The tags of summary memories. A session has one such memory, a new version each
// time; it is never compared with facts.
const (
	TagSession = "session"
	TagSummary = "summary"
)

// MaxRollingSummary is how many characters a rolling summary may have.
const MaxRollingSummary = 2000
