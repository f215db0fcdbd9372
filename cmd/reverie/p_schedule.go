package main

import (
	"fmt"
	"time"

	"reverie/internal/config"
)

// fires is when a job starts next.
type fires struct {
	Job   string      `json:"job"`
	Spec  string      `json:"spec"`  // "" = never
	Next  []time.Time `json:"next"`  // in UTC
	Local []time.Time `json:"local"` // the same in the zone that was asked for
}

func (con *console) printSchedule(plan []fires, loc *time.Location) error {
	var t table
	head := []string{"JOB", "SPEC", "UTC", "IN"}
	if loc != time.UTC && loc.String() != "UTC" {
		head = append(head, loc.String())
	}
	t.row(head...)
	now := con.now()
	const minute = "Mon 2006-01-02 15:04"
	for _, f := range plan {
		if f.Spec == "" {
			t.row(f.Job, config.Never)
		}
		for i, at := range f.Next {
			job, spec := "", ""
			if i == 0 {
				job, spec = f.Job, f.Spec
			}
			cells := []string{job, spec, at.Format(minute), ahead(at.Sub(now)), f.Local[i].Format(minute)}
			t.row(cells[:len(head)]...)
		}
	}
	return t.write(con.stdout, con.style())
}

// ahead is how far off a start is, to the minute: 9m, 1h09m, 3d04h.
func ahead(d time.Duration) string {
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
