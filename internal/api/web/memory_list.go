package web

import (
	"fmt"
	"slices"

	"reverie/internal/reverie"
	"reverie/internal/text"
)

// memoriesShown is how many memories a page lists.
const memoriesShown = 50

// memoriesData is a page of a group's memories.
type memoriesData struct {
	Statuses, Kinds   []string // to choose from
	Status, Kind, Tag string   // as they were chosen
	Core              bool
	At                string // the date as of whose beginning they are; "" = now
	Memories          []reverie.Memory
	Total, From, To   int
	Before, After     string // addresses of the pages beside it; "" = none
}

// What a list of memories may be narrowed to. The first is what it shows unless told
// otherwise.
var (
	memoryStatuses = []string{"active", "archived", "held", "deprecated", "all"}
	memoryKinds    = []string{"all", "group", "session", "dream", "team"}
)

func (s *site) memoriesPage(v *visit) (any, error) {
	g, err := v.inGroup("memories")
	if err != nil {
		return nil, err
	}
	d := memoriesData{Statuses: memoryStatuses, Kinds: memoryKinds, Tag: v.FormValue("tag"),
		Core: v.FormValue("core") != ""}
	if d.Status, err = v.choice("status", memoryStatuses); err != nil {
		return nil, err
	}
	if d.Kind, err = v.choice("kind", memoryKinds); err != nil {
		return nil, err
	}
	date, at, err := s.asOf(v, g.Group)
	if err != nil {
		return nil, err
	}
	d.At = date
	offset, err := v.number("offset", 0)
	if err != nil {
		return nil, err
	}
	list, err := s.List(v.Context(), reverie.MemoryQuery{GroupID: g.ID, Status: reverie.Status(notAll(d.Status)),
		Kind: reverie.Kind(notAll(d.Kind)),
		Tag:  d.Tag, Core: d.Core, At: at, Limit: memoriesShown, Offset: offset})
	if err != nil {
		return nil, err
	}
	d.Memories, d.Total, d.From, d.To = list.Memories, list.Total, offset+1, offset+len(list.Memories)
	d.Before, d.After = v.pages(offset, memoriesShown, list.Total)
	return d, nil
}

// choice reads which of some values the query has chosen: the first, where it says
// nothing.
func (v *visit) choice(name string, values []string) (string, error) {
	chosen := v.FormValue(name)
	switch {
	case chosen == "":
		return values[0], nil
	case slices.Contains(values, chosen):
		return chosen, nil
	}
	return "", fmt.Errorf("%s=%q is none of %q: %w", name, text.Excerpt(chosen, 40), values, reverie.ErrInvalid)
}

// notAll is a choice as the domain has it.
func notAll(chosen string) string {
	if chosen == "all" {
		return ""
	}
	return chosen
}

// pages are the addresses of the pages before and after this one, of so many rows each;
// "" where there is none.
func (v *visit) pages(offset, rows, total int) (before, after string) {
	at := func(offset int) string {
		q := v.URL.Query()
		q.Del("lang")
		q.Set("offset", fmt.Sprint(offset))
		return v.URL.EscapedPath() + "?" + q.Encode()
	}
	if offset > 0 {
		before = at(max(offset-rows, 0))
	}
	if offset+rows < total {
		after = at(offset + rows)
	}
	return before, after
}
