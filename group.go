package reverie

import (
	"fmt"
	"time"
	_ "time/tzdata" // time zones are compiled in: a scratch container has none
)

// Group is a chat group: the tenant of everything. Its id leads every key.
type Group struct {
	ID       string `db:"group_id" json:"group_id"`
	Name     string `db:"name" json:"name"`
	TimeZone string `db:"time_zone" json:"time_zone"` // IANA name, such as Asia/Shanghai
	Language string `db:"language" json:"language"`   // "zh", "en", or "" to go by the messages
	Paused   bool   `db:"paused" json:"paused"`
	// DayBoundary is the local time, HH:MM, at which a date of this group begins:
	// "" and "00:00" are midnight, "04:00" counts the small hours to the day before.
	DayBoundary string `db:"day_boundary" json:"day_boundary"`
	// Past are the zones and boundaries that the group had before, oldest first.
	// Only what plans nights reads them.
	Past []PastCalendar `db:"-" json:"-"`
}

// PastCalendar is how a group's dates were divided up to an instant, which is
// the end of one of those dates.
type PastCalendar struct {
	TimeZone    string    `db:"time_zone" json:"time_zone"`
	DayBoundary string    `db:"day_boundary" json:"day_boundary"`
	ValidUntil  time.Time `db:"valid_until" json:"valid_until"` // exclusive
}

// MaxGroupIDLength bounds a group id, in bytes.
const MaxGroupIDLength = 200

// Location returns the group's time zone, or an error that names the group and
// the zone that is unknown. An empty zone is UTC.
func (g Group) Location() (*time.Location, error) {
	if g.TimeZone == "" {
		return time.UTC, nil
	}
	if g.TimeZone == "Local" { // would depend on the machine
		return nil, fmt.Errorf("group %q: time zone %q: %w: use an IANA name such as Asia/Shanghai", g.ID, g.TimeZone, ErrInvalid)
	}
	loc, err := time.LoadLocation(g.TimeZone)
	if err != nil {
		return nil, fmt.Errorf("group %q: time zone %q: %w: use an IANA name such as Asia/Shanghai", g.ID, g.TimeZone, ErrInvalid)
	}
	return loc, nil
}

// GroupEntry is a group in a list.
type GroupEntry struct {
	Group
	Pending       int        `json:"pending"` // messages
	OldestPending *time.Time `json:"oldest_pending,omitempty"`
	Active        int        `json:"active"` // memories
	LastRun       *Run       `json:"last_run,omitempty"`
	Setbacks      []Setback  `json:"setbacks,omitempty"`
}

// Parked tells whether a job of the group waits for a person.
func (g GroupEntry) Parked() bool {
	for _, s := range g.Setbacks {
		if s.ParkedAt != nil {
			return true
		}
	}
	return false
}

// GroupState is how a group stands, for choosing among groups.
type GroupState string

// The states of a group. A parked one may be paused too.
const (
	GroupActive GroupState = "active" // neither paused nor parked
	GroupPaused GroupState = "paused" // by a person
	GroupParked GroupState = "parked" // by repeated failure
)

// GroupQuery selects groups, by id.
type GroupQuery struct {
	GroupID string     // "" = all
	State   GroupState // "" = all
	After   string     // only ids after this one
	Limit   int        // 0 = no limit
}

// GroupChange is what a person changes about a group; nil leaves a thing as it is.
type GroupChange struct {
	Name        *string
	TimeZone    *string
	DayBoundary *string
	Language    *string
	Paused      *bool
}
