package reverie

import (
	"crypto/sha256"
	"encoding/hex"
	"slices"
	"strconv"
	"strings"
	"time"
)

// Session is a stretch of dialogue: messages that their platform gave one session
// id, or, where it gave none, messages with no longer silence between them than
// the group allows.
type Session struct {
	GroupID string    `db:"group_id" json:"group_id"`
	ID      string    `db:"session_id" json:"session_id"`
	Cut     bool      `db:"cut" json:"cut"`           // by silence, and not named by the platform
	FirstAt time.Time `db:"first_at" json:"first_at"` // sent_at of its first message
	LastAt  time.Time `db:"last_at" json:"last_at"`
	// Asking tells that somebody has spoken since the last answer: a turn has begun
	// that is not counted yet.
	Asking         bool       `db:"asking" json:"asking"`
	Total          Tally      `db:"total" json:"total"`
	New            Tally      `db:"new" json:"new"`       // of it, not extracted yet: the dialogue buffer
	Folded         Tally      `db:"folded" json:"folded"` // of it, what the rolling summary covers
	Extractions    int        `db:"extractions" json:"extractions"`
	ExtractedUntil *time.Time `db:"extracted_until" json:"extracted_until"` // sent_at of the newest message that was extracted
	// Unfinished tells that the last extraction was cut short, or failed, and left some
	// of what it was to take: the next one goes on, however little that is.
	Unfinished bool `db:"unfinished" json:"unfinished,omitempty"`

	// DreamtUntil is up to which of its messages a dream has covered it: before LastAt,
	// or nil, while there is more. Its extraction makes it nil.
	DreamtUntil *time.Time `db:"dreamt_until" json:"dreamt_until,omitempty"`

	// What repeated failure to extract it has led to, as in [Setback]; none is zero.
	Failures int        `db:"failures" json:"failures,omitempty"`
	Failure  string     `db:"failure" json:"failure,omitempty"`
	RetryAt  *time.Time `db:"retry_at" json:"retry_at,omitempty"`
	ParkedAt *time.Time `db:"parked_at" json:"parked_at,omitempty"`

	// And to fold it: that is tried again for as long as there is something to fold.
	FoldFailures int        `db:"fold_failures" json:"fold_failures,omitempty"`
	FoldRetryAt  *time.Time `db:"fold_retry_at" json:"fold_retry_at,omitempty"`
}

// Tally counts messages of a session.
type Tally struct {
	Messages  int `db:"messages" json:"messages"`
	Tokens    int `db:"tokens" json:"tokens"` // estimated, see EstimateTokens
	ToolCalls int `db:"tool_calls" json:"tool_calls"`
	Turns     int `db:"turns" json:"turns"` // a query and its answer: what users say up to the next word of an assistant
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

	// A person asks: what no bot takes part in is due, too, and what failed does not wait;
	// parked sessions stay parked.
	Asked bool
}

// SessionQuery asks for what one chunk of an extraction needs.
type SessionQuery struct {
	GroupID    string
	SessionID  string
	Limit      int      // messages at most
	MessageIDs []string // instead of Limit: exactly these, those that still wait
	Summaries  int      // that may be active in the group; 0: any number
}

// SessionState is a session as one chunk sees it, read in one snapshot.
type SessionState struct {
	Group    Group
	Session  Session
	Messages []Message   // not extracted, by sent_at, then by order of arrival
	More     bool        // there are further ones
	Heads    []HeadState // the group's active memories of kind session, summaries left out
	Archived []HeadState // facts that come back when they are said again
	Summary  *HeadState  // the summary memory of this session, nil where it has none
	Weakest  []HeadState // summaries of other sessions that make room for one
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

// Add counts a message as the newest one of the session, not extracted yet and
// covered by no summary; tokens are [EstimateTokens] of its text. A user opens a
// turn, and the next word of an assistant ends it: the turn is counted with that
// message. Tools belong to the turn that they are called in.
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

// Unfolded counts what no rolling summary covers: what stands word for word.
func (s Session) Unfolded() Tally { return s.Total.Minus(s.Folded) }

// Plus adds two tallies.
func (t Tally) Plus(o Tally) Tally {
	return Tally{Messages: t.Messages + o.Messages, Tokens: t.Tokens + o.Tokens, ToolCalls: t.ToolCalls + o.ToolCalls, Turns: t.Turns + o.Turns}
}

// Minus takes a tally from another.
func (t Tally) Minus(o Tally) Tally {
	return Tally{Messages: t.Messages - o.Messages, Tokens: t.Tokens - o.Tokens, ToolCalls: t.ToolCalls - o.ToolCalls, Turns: t.Turns - o.Turns}
}

// Extract tells whether a session is due for extraction: a bot takes part in it, and enough
// is new, or anything is and it has been silent for long enough; or the last extraction has
// left it. After a failure it is left alone for a while.
func (r SessionRule) Extract(s Session, now time.Time) bool {
	enough := reached(s.New.Tokens, r.Tokens) || reached(s.New.ToolCalls, r.ToolCalls) ||
		reached(s.New.Turns, r.Turns) || r.Idle > 0 && now.Sub(s.LastAt) >= r.Idle
	return s.New.Messages > 0 && r.Tries(s, now) && (s.Unfinished || enough && (r.Asked || s.WithBot()))
}

// WithBot tells whether a bot has answered in the session, or called a tool.
func (s Session) WithBot() bool { return s.Total.Turns > 0 || s.Total.ToolCalls > 0 }

// Tries tells whether a session is not left alone after a failure to extract it.
func (r SessionRule) Tries(s Session, now time.Time) bool {
	return s.ParkedAt == nil && r.again(s.RetryAt, now)
}

func (r SessionRule) again(retry *time.Time, now time.Time) bool {
	return r.Asked || retry == nil || !LeftAlone(*retry, now)
}

// Fold tells whether older turns of a session are to be folded into its rolling
// summary: more stand word for word than may, there is something to fold beyond
// the turns that are kept, and its short-term memory is not over. A fold that failed
// waits a while.
func (r SessionRule) Fold(s Session, now time.Time) bool {
	open := s.Unfolded()
	return r.again(s.FoldRetryAt, now) && open.Turns > r.KeepTurns && (exceeded(open.Turns, r.FoldTurns) || exceeded(open.Tokens, r.FoldTokens)) &&
		(r.ShortTermTTL <= 0 || now.Sub(s.LastAt) <= r.ShortTermTTL)
}

func reached(n, limit int) bool  { return limit > 0 && n >= limit }
func exceeded(n, limit int) bool { return limit > 0 && n > limit }

// CutPrefix begins the ids of sessions that are cut by silence.
const CutPrefix = "cut-"

// Cut is a session cut by silence as it is with some messages more.
type Cut struct {
	ID       string   // "" for one that is new: see [CutID]
	Was      []string // the known sessions that it is made of, the earliest first; those of another id are no more
	Messages []int    // the new messages in it, by their index, in order of time
	FirstAt  time.Time
	LastAt   time.Time
}

// CutBySilence divides new messages of a group that name no session, by when they
// were sent, among its sessions that are cut by silence. Two messages with no
// longer silence between them than that are of one session, so that known sessions
// become one where new messages bridge them: it goes by the id of the one that has
// the most messages, for the others are what has to be moved. That does not befall
// one that is fixed, since somebody has worked with it: a message between such a
// one and another is the earlier one's. As long as none is fixed, and silence stays
// the same, which messages make a session depends on when they were sent alone,
// and not on how they arrived; which id it has does.
//
// Known are all cut sessions that lie within a silence of a new message; others may
// be among them. What nothing has befallen is not among the cuts.
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

// piece is a known session, or else a new message.
type piece struct {
	session      *Session
	message      int
	since, until time.Time
}

// cutting is a session that is being cut.
type cutting struct {
	Cut
	most    int  // messages of the largest known session in it
	fixed   bool // that one is, and then the only one
	bridged bool // its end is a new message
}

// takes tells whether a piece, which begins no earlier, belongs to the session.
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

// CutID is the id of a session that is cut by silence, made of its group and of
// when the first message was sent that it was cut for. No two are cut for messages
// of the same instant; where a platform has given the id to a session of its own,
// there are others to try.
func CutID(groupID string, first time.Time, try int) string {
	first = first.UTC()
	of := []string{groupID, first.Format(time.RFC3339Nano)}
	if try > 0 {
		of = append(of, strconv.Itoa(try))
	}
	sum := sha256.Sum256([]byte(strings.Join(of, "\x00")))
	return CutPrefix + first.Format("20060102T150405Z") + "-" + hex.EncodeToString(sum[:4])
}
