package web

import (
	"time"

	"reverie/internal/reverie"
)

const liveURL = "/ui/live"

// liveView is what is under way, as the template "live" shows it.
type liveView struct {
	URL, Here string // where a page looks for it again, and the page that it is on
	Zone      *time.Location
	Runs      []liveRun
}

// liveRun is a run that is under way.
type liveRun struct{ reverie.RunProgress }

// All is how many messages the run takes, as far as that is known.
func (r liveRun) All() int { return r.Read + r.Pending }

// Live is what is under way in a group, "" for all that the visitor sees.
func (v *visit) Live(groupID string) (liveView, error) {
	runs, err := v.site.UnderWay(v.Context(), groupID)
	d := liveView{URL: query(liveURL, "group", groupID), Here: v.place(), Zone: v.Zone()}
	for _, r := range runs {
		d.Runs = append(d.Runs, liveRun{r})
	}
	return d, err
}

// livePart is that part of a page alone, which a page that is looked at asks for again and again.
func (s *site) livePart(v *visit) (any, error) {
	groupID := v.FormValue("group")
	if err := v.aboutFiltered(groupID, ""); err != nil {
		return nil, err
	}
	return v.Live(groupID)
}
