package reverie

import (
	"slices"
	"strings"
	"time"
)

// GatherQuery asks for what one chunk needs: a group's heads, its oldest
// pending messages of the window, and consumed ones as context.
type GatherQuery struct {
	GroupID      string
	Kind         Kind
	Since, Until time.Time // half-open over sent_at; a zero Since is the beginning
	Limit        int       // pending messages at most
	Skip         int       // the oldest pending messages to pass over (a dry run has planned for them)
	MessageIDs   []string  // instead of Limit: exactly these, those still pending
	ContextSince time.Time // zero: no context
	ContextLimit int       // newest consumed messages at most
	RunID        string    // that asks, "" for none: what its own changes have queued to be judged again waits for the next
}

// PastQuery asks for a group as a chunk of a past run of evolve found it.
type PastQuery struct {
	GroupID      string
	RunID        string
	At           time.Time // when the chunk was asked about
	MessageIDs   []string  // of the chunk
	MemoryIDs    []string  // versions that it was shown
	Days         int       // of consumed messages that it was shown besides; 0: none
	Until        time.Time // the end of the run's window, for those
	ContextLimit int       // newest of those at most
}

// State is a group as one chunk sees it, read in one snapshot.
type State struct {
	Group  Group
	Nights []string    // the newest dates on which the group talked, sorted
	Heads  []HeadState // active, oldest lineage first
	// Archived are archived heads of the same kind, those supported last first: what says
	// one of them again brings it back.
	Archived []HeadState
	// Again are the further memories to be judged again: those that are held until then,
	// and active ones of other kinds. Of the heads those are that say why.
	Again []HeadState
	// Taken is what active memories of the kinds say that are held or to be judged again
	// beside the heads': see [Memory.Text].
	Taken   map[string]bool
	Pending []Message // by sent_at, then by order of arrival
	More    bool      // there are further pending messages in the window
	Context []Message // consumed, sent in [ContextSince, Until), oldest first
}

// HeadState is a lineage's head, active, archived or held, and the local dates its lineage has
// evidence on.
type HeadState struct {
	Memory
	SupportDates []string   `db:"support_dates"` // YYYY-MM-DD, sorted
	UsedAt       *time.Time `db:"used_at"`       // when it was used in an answer last, nil for never
	// Awaits are, where it is to be judged again, the pending messages that are or were
	// its evidence.
	Awaits []string
	Waits  string // the run whose plan for it waits for a person, "" for none
	// Rejected is what a person has refused to do with it, and with what it rests on: an action,
	// and the hash of what it would say.
	Rejected []string
}

// Refused tells whether a person has refused a step on the memory as it is.
func (h HeadState) Refused(s Step) bool {
	return h.JudgeAgain == "" && slices.Contains(h.Rejected, strings.TrimSpace(string(s.Action)+" "+s.ContentHash))
}

// Held tells whether nobody recalls it until it has been judged again.
func (h HeadState) Held() bool { return h.Status == StatusHeld }

// ImportResult counts what became of a batch of messages.
type ImportResult struct {
	New   int `json:"new"`
	Known int `json:"known"` // same id already stored; left as it was
	// Changed are those of the known ones that have another text now.
	Changed int `json:"changed,omitempty"`
	// Erased had been forgotten with their author, and did not come in again.
	Erased int `json:"erased,omitempty"`
	// Changes are newer texts of known ones, which are stored by themselves, and deletions.
	Changes []MessageChange `json:"-"`
}

// MemoryQuery selects memories of a group for listing.
type MemoryQuery struct {
	GroupID   string
	Status    Status    // "" = all
	Kind      Kind      // "" = all
	At        time.Time // zero = now; else what was active at that instant (Status is then ignored)
	Recorded  bool      // At is of the time of writing, and not of the chat's
	SessionID string    // "" = all; else only what is of this session
	Tag       string    // "" = all; else only what bears this tag
	Core      bool      // only what weighs CoreWeight or more
	Type      Type      // "" = all
	Text      string    // only what has all words of it in it, in large or small letters
	Order     MemoryOrder
	Limit     int
	Offset    int
}

// MemoryOrder is what memories are listed by.
type MemoryOrder string

// The orders. The empty one has the oldest lineage first; the others what there is most
// of first.
const (
	OrderChanged   MemoryOrder = "changed"   // the version
	OrderSupported MemoryOrder = "supported" // the last support
	OrderStrength  MemoryOrder = "strength"
	OrderWeight    MemoryOrder = "weight"
	OrderOldest    MemoryOrder = "oldest" // as the empty one
)

// MemoryOrders are all orders.
var MemoryOrders = []MemoryOrder{OrderChanged, OrderSupported, OrderStrength, OrderWeight, OrderOldest}

// SearchQuery ranks the memories of one group by what a text means and by its words,
// exactly. Vectors of other models or widths are never compared.
type SearchQuery struct {
	GroupID     string
	Kinds       []Kind      // empty = all
	Texts       []string    // the text as it was written, then in other scripts; none: the vector alone counts
	Vector      []float32   // nil: the words alone count
	Model       string      // model@dims of Vector
	Calibration Calibration // of Model; the zero value takes cosines as they are
	At          time.Time   // zero = now; else what was active at that instant
	Recorded    bool        // At is of the time of writing, and not of the chat's
	Limit       int         // 0 = all
	Only        []string    // ids of versions; nil = any

	// Archived memories that score at least Reaching are looked for, too, where fewer active ones
	// than so many do; 0 = never. Of an instant there are none.
	Fewer    int
	Reaching float64
}

// Ranking is what a search found: the best, and how many there are.
type Ranking struct {
	Hits     []Hit // best first
	Archived []Hit // best first
	Total    int   // active memories that were compared
	Unseen   int   // of them: without a vector of the model

	// What the group says about its team, and whether it has links; not told where nothing was found.
	Team   string
	Linked bool
}

// RunQuery selects runs, newest first.
type RunQuery struct {
	GroupID string    // "" = all
	Job     Job       // "" = all
	Status  RunStatus // "" = all; held is all of which a plan waits, however they ended, too
	Since   time.Time
	Before  string // run id: only older ones; "" = from the newest on
	Held    bool   // only those of which a plan waits
	Limit   int
}

// StatsBars is how many parts a distribution has.
const StatsBars = 10

// StatsDays is how many days of changes are counted.
const StatsDays = 30

// MemoryStats says how the memories of a group stand, or of all groups together.
type MemoryStats struct {
	GroupID     string      `json:"group_id,omitempty"` // "" = all groups
	Groups      int         `json:"groups"`
	Kinds       []KindStats `json:"kinds"`    // those that there are
	Lineages    int         `json:"lineages"` // each with one version or more
	Versions    int         `json:"versions"`
	Active      int         `json:"active"`
	Core        int         `json:"core"`        // of them: weight from CoreWeight on
	Established int         `json:"established"` // of them: strength from EstablishedStrength on
	Tentative   int         `json:"tentative"`   // of them: the others
	// Strength and Weight count the active ones by tenths of the range.
	Strength  []int              `json:"strength"`
	Weight    []int              `json:"weight"`
	Oldest    *time.Time         `json:"oldest"` // birth of the oldest active lineage
	Newest    *time.Time         `json:"newest"` // of the newest active version
	Days      []DayStats         `json:"days"`   // StatsDays of them, the last one is today, in UTC
	Vectors   VectorStats        `json:"vectors"`
	Sessions  int                `json:"sessions"`  // that active memories are of
	Summaries int                `json:"summaries"` // active memories that sum one up
	Usage     UsageStats         `json:"usage"`
	Used      []MemoryUsageStats `json:"most_used"` // by how often answers used them, at most StatsUsed
}

// StatsUsed is how many of the most used memories are named.
const StatsUsed = 5

// KindStats counts memories of one kind: lineages by the status of their newest
// version, where one that is deprecated was deleted.
type KindStats struct {
	Kind     Kind `json:"kind" db:"kind"`
	Active   int  `json:"active" db:"active"`
	Archived int  `json:"archived" db:"archived"`
	Held     int  `json:"held" db:"held"`
	Deleted  int  `json:"deleted" db:"deleted"`
	Versions int  `json:"versions" db:"versions"`
}

// DayStats counts what changed on one day.
type DayStats struct {
	Date    string         `json:"date"`
	Changes int            `json:"changes"`
	Actions map[Action]int `json:"actions,omitempty"`
}

// VectorStats says which active memories can be searched.
type VectorStats struct {
	Present int            `json:"present"`
	Missing int            `json:"missing"`
	Models  map[string]int `json:"models"` // name@dims
}

// UsageStats counts uses: rows of the usage log, and those pruned from it.
type UsageStats struct {
	Offered    int `json:"offered"`
	Referenced int `json:"referenced"` // of them: the answer used it
	Ignored    int `json:"ignored"`    // of them: it did not
	Never      int `json:"never"`      // active memories that were never offered
}

// MemoryUsageStats is an active memory and how often it was used.
type MemoryUsageStats struct {
	GroupID    string `json:"group_id" db:"group_id"`
	MemoryID   string `json:"memory_id" db:"memory_id"`
	Statement  string `json:"statement" db:"statement"`
	Offered    int    `json:"offered" db:"offered"`
	Referenced int    `json:"referenced" db:"referenced"`
}
