package reverie

import (
	"fmt"
	"slices"
	"strconv"
	"time"
)

// DreamType says what an item of a dream is about.
type DreamType string

// The types of items. The narrative of a dream is none of them.
const (
	DreamPreference DreamType = "preference" // how somebody wants, likes or does things
	DreamTheme      DreamType = "theme"      // what the group comes back to
	DreamTodo       DreamType = "todo"       // an open thread: what is to be done, or was promised
)

// DreamTypes are all types, in the order in which they are shown.
var DreamTypes = []DreamType{DreamPreference, DreamTheme, DreamTodo}

// The tags of memories of kind dream. Items have TagDream, TagLongTerm and their
// type; a todo that is done has TagDone, too. The narrative, of which a group has
// one, a new version with each dream, has TagDream and TagSummary.
const (
	TagDream    = "dream"
	TagLongTerm = "long-term"
	TagDone     = "done"
)

// DreamTypeOf is the type of an item, "" for what is none: the narrative, or a
// memory of another kind.
func DreamTypeOf(m Memory) DreamType {
	if m.Kind != KindDream || IsNarrative(m) {
		return ""
	}
	for _, t := range DreamTypes {
		if slices.Contains(m.Tags, string(t)) {
			return t
		}
	}
	return ""
}

// IsNarrative tells whether a memory is the narrative of a group's dreams.
func IsNarrative(m Memory) bool { return m.Kind == KindDream && slices.Contains(m.Tags, TagSummary) }

// DreamRule says when a group is due to dream.
type DreamRule struct {
	Idle     time.Duration // a session has been silent for so long; 0 is off
	Sessions int           // or so many sessions have ended since the last dream; 0 is off
	Interval time.Duration // at least so long after the last dream
	Silence  time.Duration // that ends a session
}

// DreamSigns is what says whether a group is due to dream, read in one snapshot.
type DreamSigns struct {
	LastAt      *time.Time // when the last dream ended; nil: there was none
	Interrupted bool       // a dream was begun and not applied: its process died, or it is under way
	CutShort    bool       // the newest dream failed or was deferred: of what it was about, some may be left
	// Fresh counts the sessions with messages that no dream has covered, among those
	// that have ended; QuietSince is when the one that has been silent the longest had
	// its last message, nil where there is none.
	Fresh      int
	QuietSince *time.Time
	// New counts the active memory versions, dreams left out, that no dream has taken
	// in: the group's, and those of sessions that have ended.
	New int
	// Through is the session that ended last, "" where none has: what a dream reaches
	// up to.
	Through string
	Unread  int // of Fresh, the sessions with a bot and messages that no extraction has read
}

// DreamQuery asks for what a dream of a group takes in.
type DreamQuery struct {
	GroupID string
	EndedBy time.Time // only sessions whose last message is no later; zero: all
	Through string    // only sessions up to this one, by last message, then id; "" = all
	// MemoryIDs, where there are any, are the only versions that are new: those that a
	// dream which was interrupted had chosen.
	MemoryIDs []string
}

// DreamState is a group as a dream sees it, read in one snapshot.
type DreamState struct {
	Group     Group
	Signs     DreamSigns
	Sessions  []Session   // that the dream covers: the fresh ones, and those that anything new is of; the oldest first
	Material  []HeadState // new: of kind session by their session's last message, the summary of each first; then of kind group, oldest first
	Known     []HeadState // of kind group, active, and taken in before; oldest first
	Items     []HeadState // of kind dream, active, the narrative left out; those that are done among them
	Archived  []HeadState // items that come back when they are dreamt of again
	Narrative *HeadState  // of the last dream; nil where there is none
	Active    int         // active memories of the group, of every kind
}

// Source is a memory version that another one rests on.
type Source struct {
	MemoryID  string `json:"memory_id"`
	LineageID string `json:"lineage_id"`
}

// DreamUse is what a dream has taken in when its plan is applied.
type DreamUse struct {
	MemoryIDs []string  // versions, each for the first time
	Sessions  []Session // covered up to their LastAt, where they have as many messages still
}

// Dream is what a group's dreams have left: the page of `reverie dream show`.
type Dream struct {
	Group     Group
	Run       *Run       // the last dream; nil: there was none
	Waiting   []Run      // dreams that a person is to approve, newest first
	Narrative *DreamItem // nil: there is none
	Items     []DreamItem
	Gone      bool // nothing is active, but something was: it was archived or deleted
}

// DreamItem is an active memory of kind dream and what it rests on.
type DreamItem struct {
	Memory
	Type     DreamType      `json:"type,omitempty"` // "" for the narrative
	Done     bool           `json:"done,omitempty"` // a todo that has been closed
	Evidence int            `json:"evidence"`       // messages that it rests on, through its sources
	Sources  []SourceMemory `json:"sources"`
}

// SourceMemory is a memory version that another version rests on, as it was then.
type SourceMemory struct {
	MemoryID  string    `db:"memory_id" json:"memory_id"`
	LineageID string    `db:"lineage_id" json:"lineage_id"`
	Kind      Kind      `db:"kind" json:"kind"`
	SessionID string    `db:"session_id" json:"session_id,omitempty"`
	Summary   bool      `db:"summary" json:"summary,omitempty"` // of its session
	Statement string    `db:"statement" json:"statement"`
	At        time.Time `db:"at" json:"at"`             // its newest evidence
	Active    bool      `db:"active" json:"active"`     // its memory still says so
	Now       string    `db:"now" json:"now,omitempty"` // what its memory says by now, where that is otherwise
}

// The least and most that a group, or the configuration, may say about its dreams.
const (
	MaxDreamTime     = 365 * 24 * time.Hour
	MaxDreamSessions = 10000
)

// off is what a group says that does not want a thing at all.
const off = "off"

// DreamRule is the rule by which the group dreams: its own, and the one given where
// it says nothing. Errors name the group and what to write instead.
func (g Group) DreamRule(otherwise DreamRule) (rule DreamRule, err error) {
	rule = otherwise
	if g.DreamIdle == off {
		rule.Idle = 0
	} else if g.DreamIdle != "" {
		rule.Idle, err = g.duration("dream idle", g.DreamIdle, MaxDreamTime, "8760h, such as 12h, or off")
	}
	if err == nil && g.DreamInterval != "" {
		rule.Interval, err = g.duration("dream interval", g.DreamInterval, MaxDreamTime, "8760h, such as 12h")
	}
	if err != nil {
		return rule, err
	}
	switch g.DreamSessions {
	case "":
	case off:
		rule.Sessions = 0
	default:
		n, err := strconv.Atoi(g.DreamSessions)
		if err != nil || n < 1 || n > MaxDreamSessions {
			return rule, fmt.Errorf("group %q: dream sessions %q: %w: write a number from 1 to %d, or off", g.ID, g.DreamSessions, ErrInvalid, MaxDreamSessions)
		}
		rule.Sessions = n
	}
	rule.Silence, err = g.Silence(otherwise.Silence)
	return rule, err
}
