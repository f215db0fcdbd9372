package reverie

import "time"

// FadeRule says which memories maintenance archives.
type FadeRule struct {
	Forget    ForgetRule    // of what is stale by it
	Threshold float64       // of less weight than this
	Tentative int           // of little strength, never used, and silent for so many active nights
	Closed    time.Duration // so long after it was closed a todo of a dream is archived; 0 = never
}

// Retention says how long is kept what nothing needs any more. 0 is for ever.
type Retention struct {
	ShortTerm time.Duration // rolling summaries, after the session's last message
	Messages  time.Duration // texts of messages
	Answers   time.Duration // of models, after the end of their run
	Usage     time.Duration // rows of the usage log
}

// Fading is an active memory that may be due to be archived.
type Fading struct {
	HeadState
	Reason string     `db:"-"`       // of archiving it
	BackAt *time.Time `db:"back_at"` // when a person took it back from the archive, nil where nobody did
}

// Change is archiving a memory as the change log has it.
func (f Fading) Change() Change {
	return Change{GroupID: f.GroupID, ID: NewID(), Action: ActionArchive, MemoryID: f.ID, OldID: &f.ID, OldStatement: f.Statement,
		Summary: f.Reason, Version: f.Version}
}

// UpkeepQuery asks for what waits to be done in a group. Zero times are never.
type UpkeepQuery struct {
	GroupID string
	Expiry
}

// Expiry are the instants before which things are kept no longer; zero is for ever.
type Expiry struct {
	ShortTerm time.Time // last message of a session
	Messages  time.Time // sent_at, and last message of a session that is not extracted
	Answers   time.Time // end of a run
	Usage     time.Time
	// Impressions says that people and things are followed where a group does not say
	// otherwise: messages that wait for that are kept.
	Impressions bool
}

// Upkeep is what waits to be done in a group, read in one snapshot.
type Upkeep struct {
	Group       Group
	Nights      []string   // active ones, the newest of them, sorted
	NewestAt    *time.Time // sent_at of its newest message, nil without any
	Interrupted bool       // a run of the job calls itself running
	Expired     Pruned
}

// Pruned counts what is kept no longer.
type Pruned struct {
	ShortTerm int `db:"short_term" json:"short_term"` // rolling summaries that were removed
	Messages  int `db:"messages" json:"messages"`     // whose text was removed
	Answers   int `db:"answers" json:"answers"`       // of models, that were removed
	Usage     int `db:"usage" json:"usage_log"`       // rows that were summed up and removed
}

// Total is all of it.
func (p Pruned) Total() int { return p.ShortTerm + p.Messages + p.Answers + p.Usage }

// Add adds what further work has pruned.
func (p *Pruned) Add(o Pruned) {
	p.ShortTerm, p.Messages, p.Answers, p.Usage = p.ShortTerm+o.ShortTerm, p.Messages+o.Messages, p.Answers+o.Answers, p.Usage+o.Usage
}

// FadingQuery asks for a page of active memories, core ones left out, that may be
// due: by lineage.
type FadingQuery struct {
	GroupID  string
	Rule     FadeRule
	ClosedBy time.Time // or a todo of a dream that has been closed since no later than this; zero: those are left out
	Silent   int       // or silent for so many active nights
	Today    string    // or a plan for a date before this one
	After    string    // only lineages after this one
	Limit    int
}

// PruneBatch removes what has expired, at most so many rows.
type PruneBatch struct {
	Run   Run // under which it is done; its stats are those before
	Limit int
	After time.Time // sent_at from which messages are looked for: before, none is left
	Expiry
}

// MaintainReply says what maintenance did to a group.
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
	Changes  []ChangeReply `json:"changes"` // the memories that were archived
}
