package reverie

import (
	"crypto/sha256"
	"encoding/hex"
	"slices"
	"strconv"
	"strings"
	"time"
)

// Session is a stretch of dialogue: the messages to which the platform gave one session id. Without such ids, it is
// messages between which no silence exceeds the group's limit.
type Session struct {
	GroupID string    `db:"group_id" json:"group_id"`
	ID      string    `db:"session_id" json:"session_id"`
	Cut     bool      `db:"cut" json:"cut"`           // made by silence, not named by the platform
	FirstAt time.Time `db:"first_at" json:"first_at"` // sent_at of its first message
	LastAt  time.Time `db:"last_at" json:"last_at"`
	// Asking says that a user has written since the last answer: the current turn is not counted yet.
	Asking         bool       `db:"asking" json:"asking"`
	Total          Tally      `db:"total" json:"total"`
	New            Tally      `db:"new" json:"new"`       // not extracted yet: the dialogue buffer
	Folded         Tally      `db:"folded" json:"folded"` // covered by the rolling summary
	Extractions    int        `db:"extractions" json:"extractions"`
	ExtractedUntil *time.Time `db:"extracted_until" json:"extracted_until"` // sent_at of the newest extracted message
	// Unfinished says that the last extraction failed or stopped early and left messages. The next one continues, even
	// with few messages.
	Unfinished bool `db:"unfinished" json:"unfinished,omitempty"`

	// DreamtUntil is the sent_at up to which a dream has covered the session. It is nil, or before LastAt, if there is
	// more. Extracting the session makes it nil.
	DreamtUntil *time.Time `db:"dreamt_until" json:"dreamt_until,omitempty"`

	// The failure state of its extraction, as in [Setback]; zero: none.
	Failures int        `db:"failures" json:"failures,omitempty"`
	Failure  string     `db:"failure" json:"failure,omitempty"`
	RetryAt  *time.Time `db:"retry_at" json:"retry_at,omitempty"`
	ParkedAt *time.Time `db:"parked_at" json:"parked_at,omitempty"`

	// The failure state of folding it, which is retried as long as there is something to fold.
	FoldFailures int        `db:"fold_failures" json:"fold_failures,omitempty"`
	FoldRetryAt  *time.Time `db:"fold_retry_at" json:"fold_retry_at,omitempty"`
}

// Tally counts messages of a session.
type Tally struct {
	Messages  int `db:"messages" json:"messages"`
	Tokens    int `db:"tokens" json:"tokens"` // estimated, see EstimateTokens
	ToolCalls int `db:"tool_calls" json:"tool_calls"`
	// A turn is a query and its answer: users' messages up to the assistant's next one.
	Turns int `db:"turns" json:"turns"`
}

// SessionRule says when a session is due. A limit of 0 is off.
type SessionRule struct {
	// Extraction is due after this much since the last one.
	Tokens, ToolCalls, Turns int
	Idle                     time.Duration // or after this silence, if anything is new

	// Short-term memory: turns that stay verbatim, and how many unsummarized turns, or tokens of turns, make all older
	// ones due to be folded.
	KeepTurns, FoldTurns, FoldTokens int
	ShortTermTTL                     time.Duration // after a longer silence a session is not folded any more

	// A person asks: sessions without a bot are due too, and retries are not delayed. Suspended sessions stay
	// suspended.
	Asked bool
}

// SessionQuery asks for the state that one chunk of an extraction needs.
type SessionQuery struct {
	GroupID    string
	SessionID  string
	Limit      int      // maximum number of messages
	MessageIDs []string // instead of Limit: exactly these, if not extracted yet
	Summaries  int      // allowed number of active summaries in the group; 0: any
}

// SessionState is the input of one chunk of an extraction, read in one snapshot.
type SessionState struct {
	Group    Group
	Session  Session
	Messages []Message   // not extracted, by sent_at, then by order of arrival
	More     bool        // the session has more of them
	Heads    []HeadState // the group's active memories of kind session, without summaries
	Archived []HeadState // archived facts, which become active again if they are repeated
	Summary  *HeadState  // the summary memory of this session, nil if there is none
	Weakest  []HeadState // summaries of other sessions that are archived to make room for a new one
}

// SessionSummary is the rolling summary of a session's older turns, and which messages it covers.
type SessionSummary struct {
	GroupID        string    `db:"group_id" json:"group_id"`
	SessionID      string    `db:"session_id" json:"session_id"`
	Summary        string    `db:"summary" json:"summary"`
	Messages       int       `db:"messages" json:"messages"`
	Turns          int       `db:"turns" json:"turns"`
	Tokens         int       `db:"tokens" json:"tokens"` // estimated tokens of the covered messages
	FirstMessageID string    `db:"first_message_id" json:"first_message_id"`
	LastMessageID  string    `db:"last_message_id" json:"last_message_id"`
	CoversSince    time.Time `db:"covers_since" json:"covers_since"` // sent_at of the two messages
	CoversUntil    time.Time `db:"covers_until" json:"covers_until"`
	RunID          string    `db:"run_id" json:"run_id"` // the run that last renewed it
	CreatedAt      time.Time `db:"created_at" json:"created_at"`
	UpdatedAt      time.Time `db:"updated_at" json:"updated_at"`
}

// FoldState is the input of folding a session, read in one snapshot.
type FoldState struct {
	Group    Group
	Session  Session
	Summary  *SessionSummary // nil: none yet
	Messages []Message       // messages that it does not cover, by sent_at, then by order of arrival
}

// SessionFold renews the rolling summary of a session with messages that it did not cover.
type SessionFold struct {
	Summary    SessionSummary // the new summary; RunID is the run's
	MessageIDs []string       // messages that it newly covers
	Turns      int            // turns of these messages
	Stats      Stats          // of the run so far, including this fold
}

// SessionFilter selects sessions for listing, latest first.
type SessionFilter struct {
	GroupID   string
	SessionID string // "" = all
	Waiting   bool   // only sessions with messages that are not extracted
	Limit     int
	Offset    int
}

// The tags of summary memories. A session has one summary memory, which gets a new version each time. It is never
// compared with facts.
const (
	TagSession = "session"
	TagSummary = "summary"
)

// MaxRollingSummary is the maximum number of characters of a rolling summary.
const MaxRollingSummary = 2000

// Add counts a message as the newest one of the session, neither extracted nor summarized; tokens are
// [EstimateTokens] of its text. A user's message opens a turn. The assistant's next message ends it, and the turn
// is counted with that message. Tool calls belong to the turn in which they happen.
func (s *Session) Add(m Message, tokens int) {
	one := Tally{Messages: 1, Tokens: tokens}
	switch m.Role {
	case RoleUser:
		s.Asking = true
	case RoleTool:
		one.ToolCalls = 1
	case RoleAssistant:
		if s.Asking {
			one.Turns = 1
		}
		s.Asking = false
	}
	s.Total, s.New = s.Total.Plus(one), s.New.Plus(one)
	if s.FirstAt.IsZero() || m.SentAt.Before(s.FirstAt) {
		s.FirstAt = m.SentAt
	}
	if m.SentAt.After(s.LastAt) {
		s.LastAt = m.SentAt
	}
}

// Unfolded returns the tally of messages that no rolling summary covers.
func (s Session) Unfolded() Tally { return s.Total.Minus(s.Folded) }

// Plus returns the sum.
func (t Tally) Plus(o Tally) Tally {
	return Tally{Messages: t.Messages + o.Messages, Tokens: t.Tokens + o.Tokens, ToolCalls: t.ToolCalls + o.ToolCalls, Turns: t.Turns + o.Turns}
}

// Minus returns the difference.
func (t Tally) Minus(o Tally) Tally {
	return Tally{Messages: t.Messages - o.Messages, Tokens: t.Tokens - o.Tokens, ToolCalls: t.ToolCalls - o.ToolCalls, Turns: t.Turns - o.Turns}
}

// Extract reports whether a session is due for extraction. A bot must take part in it. Enough must be new, or
// anything after a long silence, or the last extraction left messages. After a failure the session is delayed.
func (r SessionRule) Extract(s Session, now time.Time) bool {
	enough := reached(s.New.Tokens, r.Tokens) || reached(s.New.ToolCalls, r.ToolCalls) ||
		reached(s.New.Turns, r.Turns) || r.Idle > 0 && now.Sub(s.LastAt) >= r.Idle
	return s.New.Messages > 0 && r.Tries(s, now) && (s.Unfinished || enough && (r.Asked || s.WithBot()))
}

// WithBot reports whether a bot has answered in the session, or called a tool.
func (s Session) WithBot() bool { return s.Total.Turns > 0 || s.Total.ToolCalls > 0 }

// Tries reports whether the session's extraction is neither delayed nor suspended after a failure.
func (r SessionRule) Tries(s Session, now time.Time) bool {
	return s.ParkedAt == nil && r.again(s.RetryAt, now)
}

func (r SessionRule) again(retry *time.Time, now time.Time) bool {
	return r.Asked || retry == nil || !LeftAlone(*retry, now)
}

// Fold reports whether older turns of a session are due to be folded into its rolling summary. More must be
// verbatim than allowed, there must be turns beyond those that are kept, and the session's short-term memory must
// not have expired. A failed fold is delayed.
func (r SessionRule) Fold(s Session, now time.Time) bool {
	open := s.Unfolded()
	return r.again(s.FoldRetryAt, now) && open.Turns > r.KeepTurns && (exceeded(open.Turns, r.FoldTurns) || exceeded(open.Tokens, r.FoldTokens)) &&
		(r.ShortTermTTL <= 0 || now.Sub(s.LastAt) <= r.ShortTermTTL)
}

func reached(n, limit int) bool  { return limit > 0 && n >= limit }
func exceeded(n, limit int) bool { return limit > 0 && n > limit }

// CutPrefix is the beginning of the ids of sessions that are cut by silence.
const CutPrefix = "cut-"

// Cut is a session cut by silence, after new messages were added to it.
type Cut struct {
	ID       string   // "" for a new session: see [CutID]
	Was      []string // the known sessions that it consists of, earliest first; those with another id are removed
	Messages []int    // indexes of the new messages in it, by time
	FirstAt  time.Time
	LastAt   time.Time
}

// CutBySilence assigns a group's new messages without a session id to its sessions that are cut by silence. sent
// holds when they were sent.
//
// Two messages belong to the same session if no longer silence than silence lies between them. So known sessions
// are merged if new messages bridge them. The merged session keeps the id of the one with the most messages, so
// that few messages move. Fixed sessions are never merged, since jobs have already worked with them: a message
// between a fixed session and another belongs to the earlier one.
//
// If none is fixed and silence stays the same, the result depends only on when messages were sent, not on when they
// arrived. Only the ids depend on the order of arrival.
//
// known must hold all cut sessions that lie within silence of a new message, and may hold more. Sessions without
// new messages are not returned.
func CutBySilence(known []Session, fixed map[string]bool, sent []time.Time, silence time.Duration) []Cut {
	var pieces []piece
	for i := range known {
		pieces = append(pieces, piece{session: &known[i], since: known[i].FirstAt, until: known[i].LastAt})
	}
	for i, at := range sent {
		pieces = append(pieces, piece{message: i, since: at, until: at})
	}
	slices.SortStableFunc(pieces, func(a, b piece) int { return a.since.Compare(b.since) })
	var cuts []*cutting
	var last *cutting
	for _, p := range pieces {
		if last == nil || !last.takes(p, fixed, silence) {
			last = &cutting{Cut: Cut{FirstAt: p.since, LastAt: p.until}}
			cuts = append(cuts, last)
		}
		last.take(p, fixed)
	}
	var list []Cut
	for _, c := range cuts {
		if len(c.Messages) > 0 {
			list = append(list, c.Cut)
		}
	}
	return list
}

// piece is a known session or a new message.
type piece struct {
	session      *Session
	message      int
	since, until time.Time
}

// cutting is a session while it is being cut.
type cutting struct {
	Cut
	most    int  // messages of its largest known session
	fixed   bool // it holds a fixed session, which is then its only known one
	bridged bool // it ends with a new message
}

// takes reports whether a piece that begins no earlier belongs to the session.
func (c *cutting) takes(p piece, fixed map[string]bool, silence time.Duration) bool {
	if p.since.Sub(c.LastAt) > silence {
		return false
	}
	if p.session == nil || len(c.Was) == 0 {
		return true
	}
	return c.bridged && !c.fixed && !fixed[p.session.ID]
}

func (c *cutting) take(p piece, fixed map[string]bool) {
	if s := p.session; s == nil {
		c.Messages = append(c.Messages, p.message)
	} else {
		if c.Was = append(c.Was, s.ID); c.ID == "" || s.Total.Messages > c.most {
			c.ID, c.most = s.ID, s.Total.Messages
		}
		c.fixed = fixed[s.ID]
	}
	if !p.until.Before(c.LastAt) {
		c.LastAt, c.bridged = p.until, p.session == nil
	}
}

// CutID makes the id of a session cut by silence, from its group and the time of its first message when it was cut.
// No two sessions are cut for the same instant. If the platform has used the id for a session of its own, the
// caller increases try.
func CutID(groupID string, first time.Time, try int) string {
	first = first.UTC()
	of := []string{groupID, first.Format(time.RFC3339Nano)}
	if try > 0 {
		of = append(of, strconv.Itoa(try))
	}
	sum := sha256.Sum256([]byte(strings.Join(of, "\x00")))
	return CutPrefix + first.Format("20060102T150405Z") + "-" + hex.EncodeToString(sum[:4])
}
