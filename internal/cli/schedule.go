package cli

import (
	"fmt"
	"time"
)

// Fires is the next starts of a job.
type Fires struct {
	Job   string      `json:"job"`
	Spec  string      `json:"spec"`  // "" = never
	Next  []time.Time `json:"next"`  // in UTC
	Local []time.Time `json:"local"` // the same in the requested zone
}

// PrintSchedule shows when each job starts, in UTC and in another zone.
func (con *Console) PrintSchedule(plan []Fires, loc *time.Location) error {
	page := struct {
		Jobs []Fires
		Now  time.Time
		Zone string
	}{plan, con.Now(), ""}
	if loc.String() != "UTC" {
		page.Zone = loc.String()
	}
	return con.Page("schedule", page)
}

// Ahead formats the time until a start, to the minute: 9m, 1h09m, 3d04h.
func Ahead(d time.Duration) string {
	d = d.Round(time.Minute)
	days, hours, minutes := int(d.Hours())/24, int(d.Hours())%24, int(d.Minutes())%60
	switch {
	case days > 0:
		return fmt.Sprintf("%dd%02dh", days, hours)
	case hours > 0:
		return fmt.Sprintf("%dh%02dm", hours, minutes)
	}
	return fmt.Sprintf("%dm", minutes)
}
