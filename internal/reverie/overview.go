package reverie

import "time"

// OverviewQuery asks how a group stands, "" for all groups together.
type OverviewQuery struct {
	GroupID                 string
	Night, Today            time.Time // from when on runs are lately, and spend is of today
	SpokeSince, SilentSince time.Time // a silent group's last message is from the one to the other
	Limit                   int       // rows at most, of each list
}

// Overview is how groups stand together.
type Overview struct {
	LastRun          *time.Time    `db:"last_run"`
	Waiting          int           // runs of which something waits for a person
	Runs             []RunCount    `db:"-"` // by status, those lately
	Today, Yesterday Spend         `db:"-"`
	Failing          []Failing     `db:"-"` // what waits for a person first, then the newest
	Silent           []SilentGroup `db:"-"` // the last to speak first
}

// RunCount counts runs of one status, and what they did.
type RunCount struct {
	Status                          RunStatus
	Runs, Created, Updated, Deleted int
}

// Failing is what holds a job of a group up.
type Failing struct {
	Setback
	Total int // of all such, listed or not
}

// SilentGroup is one in which nobody speaks any more.
type SilentGroup struct {
	ID    string `db:"group_id"`
	Name  string
	Last  time.Time // message
	Total int       // of all such, listed or not
}

// RunProgress is how far a run that is under way has come.
type RunProgress struct {
	Run
	Chunks, Applied int
	Read            int  // messages, in what was applied
	Pending         int  // messages of its window that are still to be read
	Changes         int  // of memories
	Alive           bool // somebody works on its group
}

// All is how many messages the run takes, as far as that is known.
func (r RunProgress) All() int { return r.Read + r.Pending }
