package cli

import (
	"fmt"
	"time"

	"reverie/internal/config"
)

// Fires is when a job starts next.
type Fires struct {
	Job   string      `json:"job"`
	Spec  string      `json:"spec"`  // "" = never
	Next  []time.Time `json:"next"`  // in UTC
	Local []time.Time `json:"local"` // the same in the zone that was asked for
}

func (con *Console) PrintSchedule(plan []Fires, loc *time.Location) error {
	var t Table
	head := []string{"JOB", "SPEC", "UTC", "IN"}
	if loc != time.UTC && loc.String() != "UTC" {
		head = append(head, loc.String())
	}
	t.Cells(head)
	now := con.Now()
	const minute = "Mon 2006-01-02 15:04"
	for _, f := range plan {
		if f.Spec == "" {
			t.Row(f.Job, config.Never)
		}
		for i, at := range f.Next {
			job, spec := "", ""
			if i == 0 {
				job, spec = f.Job, f.Spec
			}
			cells := []string{job, spec, at.Format(minute), Ahead(at.Sub(now)), f.Local[i].Format(minute)}
			t.Cells(cells[:len(head)])
		}
	}
	return t.Write(con.Stdout, con.Style())
}

// Ahead is how far off a start is, to the minute: 9m, 1h09m, 3d04h.
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
