package reverie

import "time"

// FadeRule says which memories maintenance archives.
type FadeRule struct {
	Forget    ForgetRule    // archives what is stale by it
	Threshold float64       // archives memories of a lower weight
	Tentative int           // archives weak memories that were never used, after this many silent active nights
	Closed    time.Duration // archives a dream's todo this long after it was closed; 0 = never
}

// Retention says how long data is kept that nothing needs any more. 0 = for ever.
type Retention struct {
	ShortTerm time.Duration // rolling summaries, counted from the session's last message
	Messages  time.Duration // texts of messages
	Answers   time.Duration // answers of models, counted from the end of their run
	Usage     time.Duration // rows of the usage log
}

// Fading is an active memory that may have to be archived.
type Fading struct {
	HeadState
	Reason string     `db:"-"`       // why it is archived
	BackAt *time.Time `db:"back_at"` // when a person restored it from the archive, nil if never
}

// Change returns the change log row of archiving the memory.
func (f Fading) Change() Change {
	return Change{GroupID: f.GroupID, ID: NewID(), Action: ActionArchive, MemoryID: f.ID, OldID: &f.ID, OldStatement: f.Statement,
		Summary: f.Reason, Version: f.Version}
}

// UpkeepQuery asks for the maintenance that is due in a group. Zero times mean never.
type UpkeepQuery struct {
	GroupID string
	Expiry
}

// Expiry holds the instants before which data has expired; zero = it never expires.
type Expiry struct {
	ShortTerm time.Time // by the last message of a session
	Messages  time.Time // by sent_at, and by the last message of a session that is not extracted
	Answers   time.Time // by the end of a run
	Usage     time.Time
	// Impressions is the configured default: people and things are followed. Messages that are pending for the
	// impression job are kept.
	Impressions bool
}

// Upkeep is the maintenance that is due in a group, read in one snapshot.
type Upkeep struct {
	Group       Group
	Nights      []string   // the newest active nights, sorted
	NewestAt    *time.Time // sent_at of the newest message, nil without any
	Interrupted bool       // a run of the job has the status running
	Expired     Pruned
}

// Pruned counts expired data.
type Pruned struct {
	ShortTerm int `db:"short_term" json:"short_term"` // removed rolling summaries
	Messages  int `db:"messages" json:"messages"`     // messages whose text was removed
	Answers   int `db:"answers" json:"answers"`       // removed answers of models
	Usage     int `db:"usage" json:"usage_log"`       // rows that were summed up and removed
}

// Total is the sum of all counts.
func (p Pruned) Total() int { return p.ShortTerm + p.Messages + p.Answers + p.Usage }

// Add adds the counts of another run.
func (p *Pruned) Add(o Pruned) {
	p.ShortTerm, p.Messages, p.Answers, p.Usage = p.ShortTerm+o.ShortTerm, p.Messages+o.Messages, p.Answers+o.Answers, p.Usage+o.Usage
}

// FadingQuery asks for a page of active memories, without core ones, that may have to be archived. They are sorted
// by lineage.
type FadingQuery struct {
	GroupID  string
	Rule     FadeRule
	ClosedBy time.Time // or a dream's todo that was closed by then; zero: none
	Silent   int       // or silent for this many active nights
	Today    string    // or a plan whose date is before this one
	After    string    // only lineages after this one
	Limit    int
}

// PruneBatch asks to remove expired data, at most a given number of rows.
type PruneBatch struct {
	Run   Run // the run that removes it, with its stats so far
	Limit int
	After time.Time // messages are searched from this sent_at on; earlier ones have been removed
	Expiry
}

// MaintainReply is the result of maintenance in a group.
type MaintainReply struct {
	Success  bool          `json:"success"`
	Job      Job           `json:"job"`
	GroupID  string        `json:"group_id"`
	RunID    string        `json:"run_id,omitempty"`
	Status   RunStatus     `json:"status,omitempty"`
	DryRun   bool          `json:"dry_run,omitempty"`
	Message  string        `json:"message,omitempty"` // "nothing to do"
	Error    string        `json:"error,omitempty"`
	Archived int           `json:"archived"`
	Pruned   Pruned        `json:"pruned"`
	Changes  []ChangeReply `json:"changes"` // archived memories
}
