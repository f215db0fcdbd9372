package web

import "reverie/internal/reverie"

// peopleShown is how many people and things a page lists.
const peopleShown = 50

// peopleData is a page of a group's people and things.
type peopleData struct {
	Kinds           []string // to choose from
	Kind, Name      string   // as they were chosen
	Entities        []reverie.EntityReply
	Total, From, To int
	Before, After   string // addresses of the pages beside it; "" = none
}

var peopleKinds = []string{"all", "person", "bot", "thing"}

func (s *site) peoplePage(v *visit) (any, error) {
	g, err := v.inGroup("people")
	if err != nil {
		return nil, err
	}
	d := peopleData{Kinds: peopleKinds, Name: v.FormValue("q")}
	if d.Kind, err = v.choice("kind", peopleKinds); err != nil {
		return nil, err
	}
	offset, err := v.number("offset", 0)
	if err != nil {
		return nil, err
	}
	list, err := s.Entities(v.Context(), g.ID, reverie.EntityFilter{Kind: reverie.EntityKind(notAll(d.Kind)),
		Name: d.Name}, peopleShown, offset)
	if err != nil {
		return nil, err
	}
	d.Entities, d.Total, d.From, d.To = list.Entities, list.Total, offset+1, offset+len(list.Entities)
	d.Before, d.After = v.pages(offset, peopleShown, list.Total)
	return d, nil
}

// personData is somebody or something, and what became of it.
type personData struct {
	reverie.EntityReply
	Changes []reverie.EntityChange // newest first
	Cut     bool                   // there are older ones
}

// changesShown is how many changes the page of an entity lists.
const changesShown = 100

func (s *site) personPage(v *visit) (any, error) {
	g, err := v.inGroup("people")
	if err != nil {
		return nil, err
	}
	id := v.PathValue("entity")
	entity, err := s.Entity(v.Context(), g.ID, id)
	if err != nil {
		return nil, err
	}
	history, err := s.EntityHistory(v.Context(), g.ID, id)
	if err != nil {
		return nil, err
	}
	d := personData{EntityReply: entity.EntityReply}
	for i := len(history.Changes) - 1; i >= 0 && !d.Cut; i-- {
		d.Changes = append(d.Changes, history.Changes[i])
		d.Cut = len(d.Changes) == changesShown && i > 0
	}
	v.title = entity.Subject
	return d, nil
}
