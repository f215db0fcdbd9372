package web

import (
	"slices"
	"unicode/utf8"

	"reverie/internal/api"
	"reverie/internal/recall"
	"reverie/internal/reverie"
)

// messagesShown is the number of messages on a page of conversation.
const messagesShown = 60

// spoken is the maximum number of characters shown of a message in a list. The requested message is shown in full.
const spoken = 4000

// talkData is a part of a group's conversation.
type talkData struct {
	Session      string // "" = all
	Around       string // the requested message; "" = none
	Days         []talkDay
	Older, Newer string // addresses; "" = there are no more
}

// talkDay is the messages of one date.
type talkDay struct {
	Date     string
	Messages []saidMessage
}

// saidMessage is a message, and the shown part of its text.
type saidMessage struct {
	reverie.ConversationMessage
	Said string // the text, or its beginning
	Cut  int    // number of characters of a shortened text; else 0
}

// newSaid shows a message, in full or as one of a list.
func newSaid(m reverie.ConversationMessage, whole bool) saidMessage {
	said := saidMessage{m, m.Text, 0}
	if n := utf8.RuneCountInString(m.Text); n > spoken && !whole {
		said.Said, said.Cut = string([]rune(m.Text)[:spoken]), n
	}
	return said
}

func (s *site) talkPage(v *visit) (any, error) {
	d := talkData{Session: v.FormValue("session"), Around: v.FormValue("around")}
	reply, err := s.Messages(v.Context(), reverie.MessageQuery{GroupID: v.Group.ID, SessionID: d.Session, Around: d.Around,
		Before: v.FormValue("before"), After: v.FormValue("after"), Limit: messagesShown})
	if err != nil {
		return nil, err
	}
	for _, m := range reply.Messages {
		date := m.SentAt.In(v.Zone()).Format("2006-01-02")
		if n := len(d.Days); n == 0 || d.Days[n-1].Date != date {
			d.Days = append(d.Days, talkDay{Date: date})
		}
		day := &d.Days[len(d.Days)-1]
		day.Messages = append(day.Messages, newSaid(m, m.ID == d.Around))
	}
	if n := len(reply.Messages); n > 0 {
		if reply.Older {
			d.Older = query(talkURL(v.Group.ID), "session", d.Session, "before", reply.Messages[0].ID)
		}
		if reply.Newer {
			d.Newer = query(talkURL(v.Group.ID), "session", d.Session, "after", reply.Messages[n-1].ID)
		}
	}
	return d, nil
}

// peopleShown is the number of entities on a page.
const peopleShown = 50

// peopleData is a page of a group's entities.
type peopleData struct {
	Kinds           []string // the choices
	Kind, Name      string   // the chosen values
	Entities        []reverie.EntityReply
	Total, From, To int
	Before, After   string // addresses of the adjacent pages; "" = none
}

var peopleKinds = []string{"all", "person", "bot", "thing"}

func (s *site) peoplePage(v *visit) (any, error) {
	d := peopleData{Kinds: peopleKinds, Name: v.FormValue("q"), Kind: v.choice("kind", peopleKinds)}
	offset := v.number("offset", 0)
	list, err := s.Entities(v.Context(), v.Group.ID, reverie.EntityFilter{Kind: reverie.EntityKind(notAll(d.Kind)),
		Name: d.Name}, peopleShown, offset)
	if err != nil {
		return nil, err
	}
	d.Entities, d.Total, d.From, d.To = list.Entities, list.Total, offset+1, offset+len(list.Entities)
	d.Before, d.After = v.pages(offset, peopleShown, list.Total)
	return d, nil
}

// personData is an entity and its history.
type personData struct {
	reverie.EntityReply
	Changes []reverie.EntityChange // newest first
	Cut     bool                   // there are older ones
}

// changesShown is the maximum number of changes on an entity's page.
const changesShown = 100

func (s *site) personPage(v *visit) (any, error) {
	id := v.PathValue("entity")
	entity, err := s.Entity(v.Context(), v.Group.ID, id)
	if err != nil {
		return nil, err
	}
	history, err := s.EntityHistory(v.Context(), v.Group.ID, id)
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

// dreamData is the result of a group's dreams.
type dreamData struct {
	reverie.DreamPage
	Parts []dreamPart
}

// dreamPart is the items of one type.
type dreamPart struct {
	Name  string // key of texts: dreampart.<name>
	Items []reverie.DreamItem
}

// dreamParts are the parts below the narrative, in order.
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
	page, err := s.Dream(v.Context(), v.Group.ID)
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

// recallData explains the context of a query.
type recallData struct {
	Query, Session string
	MaxTokens      int
	Recalled       *reverie.Recalled // nil: no query
	Offered        int
	Best           float64 // score
}

func (s *site) recallPage(v *visit) (any, error) {
	d := recallData{Query: v.FormValue("q"), Session: v.FormValue("session")}
	if v.FormValue("tokens") != "" {
		d.MaxTokens = v.number("tokens", 0)
	}
	if d.Query == "" || v.bad != nil {
		return d, nil
	}
	r, err := s.Explain(v.Context(), recall.ContextRequest{GroupID: v.Group.ID, SessionID: d.Session, Query: d.Query,
		MaxTokens: d.MaxTokens})
	if err != nil {
		return nil, err
	}
	for _, c := range r.Candidates {
		d.Best = max(d.Best, c.Score)
		if c.Fate == recall.FateOffered {
			d.Offered++
		}
	}
	d.Recalled = &r
	return d, nil
}

// MaxQuery is the maximum length of a query, in characters.
func (recallData) MaxQuery() int { return api.MaxQuery }
