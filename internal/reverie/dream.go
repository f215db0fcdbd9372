package reverie

import (
	"fmt"
	"slices"
	"strconv"
	"time"
)

// DreamType is the subject of a dream item.
type DreamType string

// The types of items. The narrative of a dream has no type.
const (
	DreamPreference DreamType = "preference" // how somebody wants, likes or does things
	DreamTheme      DreamType = "theme"      // what the group returns to
	DreamTodo       DreamType = "todo"       // an open thread: a task or a promise
)

// DreamTypes are all types, in display order.
var DreamTypes = []DreamType{DreamPreference, DreamTheme, DreamTodo}

// The tags of memories of kind dream. An item has TagDream, TagLongTerm and its type; a finished todo also has
// TagDone. The narrative has TagDream and TagSummary: a group has one, with a new version from each dream.
const (
	TagDream    = "dream"
	TagLongTerm = "long-term"
	TagDone     = "done"
)

// DreamTypeOf returns the type of a dream item. It is "" for the narrative and for memories of other kinds.
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

// IsNarrative reports whether a memory is the narrative of a group's dreams.
func IsNarrative(m Memory) bool { return m.Kind == KindDream && slices.Contains(m.Tags, TagSummary) }

// DreamRule says when a group is due to dream.
type DreamRule struct {
	Idle     time.Duration // a session was silent for this long; 0 = off
	Sessions int           // or this many sessions ended since the last dream; 0 = off
	Interval time.Duration // at least this long after the last dream
	Silence  time.Duration // the silence that ends a session
}

// DreamSigns are the facts that decide whether a group is due to dream, read in one snapshot.
type DreamSigns struct {
	LastAt      *time.Time // end of the last dream; nil: there was none
	Interrupted bool       // a dream began and was not applied: it still runs, or its process died
	CutShort    bool       // the newest dream failed or was deferred, so some of its material may be left
	// Fresh counts the ended sessions with messages that no dream covers. QuietSince is the last message of the session
	// that has been silent longest, nil if there is none.
	Fresh      int
	QuietSince *time.Time
	// New counts the active memory versions that no dream has used: those of the group and of ended sessions, without
	// dreams.
	New int
	// Through is the session that ended last, "" if none has. A dream covers sessions up to it.
	Through string
	Unread  int // those of Fresh with a bot and messages that no extraction has read
}

// DreamQuery asks for the material of a group's dream.
type DreamQuery struct {
	GroupID string
	EndedBy time.Time // only sessions whose last message is not later; zero: all
	Through string    // only sessions up to this one, by last message, then id; "" = all
	// MemoryIDs, if not empty, are the only versions that count as new: an interrupted dream had chosen them.
	MemoryIDs []string
}

// DreamState is a group as a dream needs it, read in one snapshot.
type DreamState struct {
	Group    Group
	Signs    DreamSigns
	Sessions []Session // sessions that the dream covers: the fresh ones, and those with new memories; oldest first
	// New versions: first of kind session, by last message, each summary first; then of kind group, oldest first.
	Material  []HeadState
	Known     []HeadState // active memories of kind group that earlier dreams used, oldest first
	Items     []HeadState // active memories of kind dream, also finished todos, without the narrative
	Archived  []HeadState // archived items, which become active again if a dream repeats them
	Narrative *HeadState  // of the last dream; nil if there is none
	Active    int         // active memories of the group, of all kinds
}

// Source is a memory version that another version rests on.
type Source struct {
	MemoryID  string `json:"memory_id"`
	LineageID string `json:"lineage_id"`
}

// DreamUse is the material that a dream has used when its plan is applied.
type DreamUse struct {
	MemoryIDs []string  // versions, each used for the first time
	Sessions  []Session // sessions covered up to their LastAt, if their message count is unchanged
}

// Dream is the result of a group's dreams: the page of `reverie dream show`.
type Dream struct {
	Group     Group
	Run       *Run       // the last dream; nil: there was none
	Waiting   []Run      // dreams to be approved by a person, newest first
	Narrative *DreamItem // nil: there is none
	Items     []DreamItem
	Gone      bool // no item is active, but some were: they were archived or deleted
}

// DreamItem is an active memory of kind dream and its support.
type DreamItem struct {
	Memory
	Type     DreamType      `json:"type,omitempty"` // "" for the narrative
	Done     bool           `json:"done,omitempty"` // of a todo: it is closed
	Evidence int            `json:"evidence"`       // messages that support it through its sources
	Sources  []SourceMemory `json:"sources"`
}

// SourceMemory is a memory version that another version rests on, with its text of that time.
type SourceMemory struct {
	MemoryID  string    `db:"memory_id" json:"memory_id"`
	LineageID string    `db:"lineage_id" json:"lineage_id"`
	Kind      Kind      `db:"kind" json:"kind"`
	SessionID string    `db:"session_id" json:"session_id,omitempty"`
	Summary   bool      `db:"summary" json:"summary,omitempty"` // it is the summary of its session
	Statement string    `db:"statement" json:"statement"`
	At        time.Time `db:"at" json:"at"`             // when its newest evidence was sent
	Active    bool      `db:"active" json:"active"`     // the memory still says so
	Now       string    `db:"now" json:"now,omitempty"` // the current statement of its memory, if it differs
}

// The bounds of a group's and the configuration's dream settings.
const (
	MaxDreamTime     = 365 * 24 * time.Hour
	MaxDreamSessions = 10000
)

// off is the setting with which a group turns a feature off.
const off = "off"

// DreamRule returns the group's own dream rule, with otherwise for settings that the group leaves out. Errors name
// the group and a valid value.
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
