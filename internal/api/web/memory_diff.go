package web

import (
	"time"

	"reverie/internal/reverie"
)

// diffData is how a group's memories differ between the beginnings of two dates.
type diffData struct {
	From, To string // as they were chosen; To "" = now
	Kinds    []string
	Kind     string
	Reply    *reverie.DiffReply // nil until dates are chosen
	Parts    []diffPart
}

// diffPart are the memories of one sort of difference.
type diffPart struct {
	Sort string // added, changed, gone
	List []reverie.DiffEntry
}

func (s *site) diffPage(v *visit) (any, error) {
	g, err := v.inGroup("memories")
	if err != nil {
		return nil, err
	}
	d := diffData{From: v.FormValue("from"), To: v.FormValue("to"), Kinds: memoryKinds}
	if d.Kind, err = v.choice("kind", memoryKinds); err != nil || d.From == "" {
		return d, err
	}
	q := reverie.BetweenQuery{GroupID: g.ID, Kind: reverie.Kind(notAll(d.Kind))}
	if q.From, err = s.Beginning(g.Group, d.From); err != nil {
		return nil, err
	}
	if q.To, err = s.Beginning(g.Group, d.To); err != nil {
		return nil, err
	}
	reply, err := s.Diff(v.Context(), q, false)
	if err != nil {
		return nil, err
	}
	d.Reply, d.Parts = &reply, []diffPart{{"added", reply.Added}, {"changed", reply.Changed}, {"gone", reply.Gone}}
	return d, nil
}

// asOf reads the date of a list of memories; "" is the zero time.
func (s *site) asOf(v *visit, g reverie.Group) (string, time.Time, error) {
	date := v.FormValue("at")
	at, err := s.Beginning(g, date)
	return date, at, err
}
