package reverie

import "time"

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
