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
