package web

import (
	"slices"

	"reverie/internal/reverie"
)

// dreamData is what a group's dreams have left.
type dreamData struct {
	reverie.DreamPage
	Parts []dreamPart
}

// dreamPart is the items of one sort.
type dreamPart struct {
	Name  string // of texts: dreampart.<name>
	Items []reverie.DreamItem
}

// dreamParts are the parts below the narrative, in their order.
var dreamParts = []struct {
	name  string
	shows func(reverie.DreamItem) bool
}{
	{"preference", func(i reverie.DreamItem) bool { return i.Type == reverie.DreamPreference }},
	{"theme", func(i reverie.DreamItem) bool { return i.Type == reverie.DreamTheme }},
	{"todo", func(i reverie.DreamItem) bool { return i.Type == reverie.DreamTodo && !i.Done }},
	{"done", func(i reverie.DreamItem) bool { return i.Done }},
	{"other", func(i reverie.DreamItem) bool { return i.Type == "" }},
}

func (s *site) dreamPage(v *visit) (any, error) {
	g, err := v.inGroup("dream")
	if err != nil {
		return nil, err
	}
	page, err := s.Dream(v.Context(), g.ID)
	if err != nil {
		return nil, err
	}
	d := dreamData{DreamPage: page}
	for _, part := range dreamParts {
		items := slices.DeleteFunc(slices.Clone(page.Items), func(i reverie.DreamItem) bool { return !part.shows(i) })
		if len(items) > 0 {
			d.Parts = append(d.Parts, dreamPart{part.name, items})
		}
	}
	return d, nil
}
