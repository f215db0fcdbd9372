package web

import (
	"fmt"
	"slices"

	"reverie"
)

// nightsPerPage is how many nights the timeline shows at once.
const nightsPerPage = 30

// timelineView is what became of a group's memories, night by night.
type timelineView struct {
	Group   reverie.GroupReply
	Changed chart // created, updated and deleted
	Kept    chart
	Nights  []nightView // newest first
	Before  string      // the date that the older nights come before; "" = there are none
	Newest  bool        // the page begins at the newest night
	Cut     bool
}

// nightView is one night.
type nightView struct {
	reverie.Night
	Changes []changeView
}

func (s *site) timelinePage(v *visit) (any, error) {
	g, err := v.inGroup("timeline")
	if err != nil {
		return nil, err
	}
	before := v.URL.Query().Get("before")
	reply, err := s.Nights(v.Context(), g.ID, before, nightsPerPage)
	if err != nil {
		return nil, err
	}
	d := timelineView{Group: g, Newest: before == "", Cut: reply.Cut}
	for _, n := range reply.Nights {
		night := nightView{Night: n}
		for _, c := range n.Changes {
			night.Changes = append(night.Changes, loggedChange(c, g.ID, v.zone()))
		}
		d.Nights = append(d.Nights, night)
	}
	if n := len(reply.Nights); n > 0 && reply.More {
		d.Before = reply.Nights[n-1].Date
	}
	d.draw(v)
	return d, nil
}

// draw makes the pictures, in which time goes from the left to the right.
func (d *timelineView) draw(v *visit) {
	if len(d.Nights) == 0 {
		return
	}
	var changed, kept []column
	for _, n := range slices.Backward(d.Nights) {
		st := n.Stats
		title := fmt.Sprintf("%s: %s", n.Date, v.t("timeline.night", st.Created, st.Updated, st.Deleted, st.Kept))
		changed = append(changed, column{Title: title, URL: nightURL(n.Date),
			Up:   []part{{"bar-created", float64(st.Created)}, {"bar-updated", float64(st.Updated)}},
			Down: []part{{"bar-deleted", float64(st.Deleted)}}})
		kept = append(kept, column{Title: title, URL: nightURL(n.Date), Up: []part{{"bar-kept", float64(st.Kept)}}})
	}
	first, last := d.Nights[len(d.Nights)-1].Date, d.Nights[0].Date
	whole := func(n float64) string { return grouped(int(n)) }
	d.Changed = newChart("changed", v.t("timeline.changed"), v.t("timeline.desc", first, last), changed, whole)
	d.Kept = newChart("kept", v.t("timeline.kept"), v.t("timeline.desc", first, last), kept, whole)
	d.Kept.Low, d.Kept.First, d.Kept.Last = true, first, last
}
