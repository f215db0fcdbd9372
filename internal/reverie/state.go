package reverie

import (
	"slices"
	"strings"
	"time"
)

// GatherQuery asks for the state that one chunk needs: a group's heads, the window's oldest pending messages, and
// consumed ones as context.
type GatherQuery struct {
	GroupID      string
	Kind         Kind
	Since, Until time.Time // half-open over sent_at; a zero Since is the beginning
	Limit        int       // maximum number of pending messages
	Skip         int       // the oldest pending messages to skip: a dry run has planned for them
	MessageIDs   []string  // instead of Limit: exactly these, if still pending
	ContextSince time.Time // zero: no context
	ContextLimit int       // maximum number of the newest consumed messages
	// The asking run, "" for none: memories that its own changes queued to be judged again wait for the next run.
	RunID string
}

// PastQuery asks for a group's state as a chunk of an earlier evolve run saw it.
type PastQuery struct {
	GroupID      string
	RunID        string
	At           time.Time // when the chunk's question was asked
	MessageIDs   []string  // messages of the chunk
	MemoryIDs    []string  // versions that the chunk was shown
	Days         int       // days of consumed messages that it was also shown; 0: none
	Until        time.Time // the end of the run's window, for these messages
	ContextLimit int       // maximum number of the newest of them
}

// State is the input of one chunk, read in one snapshot.
type State struct {
	Group  Group
	Nights []string    // the newest active nights, sorted
	Heads  []HeadState // active, oldest lineage first
	// Archived are archived heads of the same kind, latest support first. A statement that repeats one makes it active
	// again.
	Archived []HeadState
	// Again are further memories to be judged again: held ones, and active ones of other kinds. Heads that have a
	// JudgeAgain reason are not among them.
	Again []HeadState
	// Taken are the texts ([Memory.Text]) of active memories of the kinds in Again, other than the heads' kind.
	Taken   map[string]bool
	Pending []Message // by sent_at, then by order of arrival
	More    bool      // the window has further pending messages
	Context []Message // consumed, sent in [ContextSince, Until), oldest first
}

// HeadState is a lineage's head, active, archived or held, and the local dates of its evidence.
type HeadState struct {
	Memory
	SupportDates []string   `db:"support_dates"` // YYYY-MM-DD, sorted
	UsedAt       *time.Time `db:"used_at"`       // last use in an answer, nil for never
	// Awaits are the pending messages that are or were evidence of a memory that is to be judged again.
	Awaits []string
	Waits  string // the run that holds a plan for it for a person, "" for none
	// Rejected lists what a person has rejected for it and its present sources: an action, and the hash of the
	// statement.
	Rejected []string
}

// Refused reports whether a person has rejected this step on the memory as it is.
func (h HeadState) Refused(s Step) bool {
	return h.JudgeAgain == "" && slices.Contains(h.Rejected, strings.TrimSpace(string(s.Action)+" "+s.ContentHash))
}

// Held reports whether the memory is not recalled until it is judged again.
func (h HeadState) Held() bool { return h.Status == StatusHeld }

// ImportResult is the result of importing a batch of messages.
type ImportResult struct {
	New   int `json:"new"`
	Known int `json:"known"` // the id is already stored; left unchanged
	// Changed counts the known messages whose text differs.
	Changed int `json:"changed,omitempty"`
	// Erased counts messages that were erased with their author, and are not stored again.
	Erased int `json:"erased,omitempty"`
	// Changes are newer texts of known messages, and deletions. They are stored separately.
	Changes []MessageChange `json:"-"`
}

// MemoryQuery selects memories of a group for listing.
type MemoryQuery struct {
	GroupID   string
	Status    Status    // "" = all
	Kind      Kind      // "" = all
	At        time.Time // zero = now; else memories active at that instant, whatever Status says
	Recorded  bool      // At is in the time of writing, not in the chat's time
	SessionID string    // "" = all; else only memories of this session
	Tag       string    // "" = all; else only memories with this tag
	Core      bool      // only memories of weight CoreWeight or more
	Type      Type      // "" = all
	Text      string    // only memories that contain all of its words, case-insensitively
	Order     MemoryOrder
	Limit     int
	Offset    int
}

// MemoryOrder is the sort order of a list of memories.
type MemoryOrder string

// The orders. The default has the oldest lineage first; the others have the highest value first.
const (
	OrderChanged   MemoryOrder = "changed"   // by the version's time
	OrderSupported MemoryOrder = "supported" // by the last support
	OrderStrength  MemoryOrder = "strength"
	OrderWeight    MemoryOrder = "weight"
	OrderOldest    MemoryOrder = "oldest" // the same as the default
)

// MemoryOrders are all orders.
var MemoryOrders = []MemoryOrder{OrderChanged, OrderSupported, OrderStrength, OrderWeight, OrderOldest}

// SearchQuery ranks the memories of one group by meaning and by words, without an approximate index. It compares
// only vectors of the same model and width.
type SearchQuery struct {
	GroupID     string
	Kinds       []Kind      // empty = all
	Texts       []string    // the text as written, then in other scripts; empty: only the vector counts
	Vector      []float32   // nil: only words count
	Model       string      // model@dims of Vector
	Calibration Calibration // of Model; the zero value takes cosines as they are
	At          time.Time   // zero = now; else memories active at that instant
	Recorded    bool        // At is in the time of writing, not in the chat's time
	Limit       int         // 0 = all
	Only        []string    // ids of versions; nil = any

	// If fewer than Fewer active memories score at least Reaching, archived ones that do are returned too; 0 = never.
	// With At, there are none.
	Fewer    int
	Reaching float64
}

// Ranking is the result of a search: the best memories, and how many there are.
type Ranking struct {
	Hits     []Hit // best first
	Archived []Hit // best first
	Total    int   // active memories that were compared
	Unseen   int   // those without a vector of the model

	// The group's team setting, and whether it has links; unset if nothing was found.
	Team   string
	Linked bool
}

// RunQuery selects runs, newest first.
type RunQuery struct {
	GroupID string    // "" = all
	Job     Job       // "" = all
	Status  RunStatus // "" = all; held also selects ended runs with a waiting plan
	Since   time.Time
	Before  string // run id: only older ones; "" = from the newest on
	Held    bool   // only runs with a waiting plan
	Limit   int
}

// StatsBars is the number of bars of a distribution.
const StatsBars = 10

// StatsDays is the number of days for which changes are counted.
const StatsDays = 30

// MemoryStats are statistics of the memories of a group, or of all groups.
type MemoryStats struct {
	GroupID     string      `json:"group_id,omitempty"` // "" = all groups
	Groups      int         `json:"groups"`
	Kinds       []KindStats `json:"kinds"`    // kinds that have memories
	Lineages    int         `json:"lineages"` // each has one or more versions
	Versions    int         `json:"versions"`
	Active      int         `json:"active"`
	Core        int         `json:"core"`        // active memories of weight CoreWeight or more
	Established int         `json:"established"` // active memories of strength EstablishedStrength or more
	Tentative   int         `json:"tentative"`   // the other active memories
	// Strength and Weight count the active ones by tenths of the range.
	Strength  []int              `json:"strength"`
	Weight    []int              `json:"weight"`
	Oldest    *time.Time         `json:"oldest"` // creation of the oldest active lineage
	Newest    *time.Time         `json:"newest"` // creation of the newest active version
	Days      []DayStats         `json:"days"`   // StatsDays entries; the last one is today, in UTC
	Vectors   VectorStats        `json:"vectors"`
	Sessions  int                `json:"sessions"`  // sessions with active memories
	Summaries int                `json:"summaries"` // active summaries of sessions
	Usage     UsageStats         `json:"usage"`
	Used      []MemoryUsageStats `json:"most_used"` // most used first, at most StatsUsed
}

// StatsUsed is the number of most used memories in MemoryStats.
const StatsUsed = 5

// KindStats counts the lineages of one kind by the status of their newest version. Deprecated means deleted.
type KindStats struct {
	Kind     Kind `json:"kind" db:"kind"`
	Active   int  `json:"active" db:"active"`
	Archived int  `json:"archived" db:"archived"`
	Held     int  `json:"held" db:"held"`
	Deleted  int  `json:"deleted" db:"deleted"`
	Versions int  `json:"versions" db:"versions"`
}

// DayStats counts the changes of one day.
type DayStats struct {
	Date    string         `json:"date"`
	Changes int            `json:"changes"`
	Actions map[Action]int `json:"actions,omitempty"`
}

// VectorStats counts active memories with and without vectors.
type VectorStats struct {
	Present int            `json:"present"`
	Missing int            `json:"missing"`
	Models  map[string]int `json:"models"` // name@dims
}

// UsageStats counts rows of the usage log, including pruned ones.
type UsageStats struct {
	Offered    int `json:"offered"`
	Referenced int `json:"referenced"` // the answer used the memory
	Ignored    int `json:"ignored"`    // the answer did not use it
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
