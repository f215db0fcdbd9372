package reverie

import "time"

// OverviewQuery asks for the state of a group, or of all groups together ("").
type OverviewQuery struct {
	GroupID                 string
	Night, Today            time.Time // start of recent runs; start of today, for the spend
	SpokeSince, SilentSince time.Time // a silent group's last message lies between the two
	Limit                   int       // maximum number of rows of each list
}

// Overview is the state of one or all groups.
type Overview struct {
	LastRun          *time.Time    `db:"last_run"`
	Waiting          int           // runs with something for a person to review
	Runs             []RunCount    `db:"-"` // recent runs, by status
	Today, Yesterday Spend         `db:"-"`
	Failing          []Failing     `db:"-"` // parked ones first, then the newest
	Silent           []SilentGroup `db:"-"` // latest message first
}

// RunCount counts runs of one status, and their effects.
type RunCount struct {
	Status                          RunStatus
	Runs, Created, Updated, Deleted int
}

// Failing is a job of a group with its failure state.
type Failing struct {
	Setback
	Total int // number of all of them, listed or not
}

// SilentGroup is a group in which nobody writes any more.
type SilentGroup struct {
	ID    string `db:"group_id"`
	Name  string
	Last  time.Time // when the last message was sent
	Total int       // number of all of them, listed or not
}

// RunProgress is the progress of a running run.
type RunProgress struct {
	Run
	Chunks, Applied int
	Read            int  // messages in applied chunks
	Pending         int  // messages of the window that are still pending
	Changes         int  // changes of memories
	Alive           bool // a process holds the lease of its group
}

// All is how many messages the run takes, as far as that is known.
func (r RunProgress) All() int { return r.Read + r.Pending }
