package web

import (
	"errors"
	"net/http"
	"unicode/utf8"

	"reverie/internal/reverie"
	"reverie/internal/text"
)

// messagesShown is how many messages a page of conversation has.
const messagesShown = 60

// spoken is how many characters of a message are shown among others. All is shown of the
// one that is asked for.
const spoken = 4000

// talkData is a part of a group's conversation.
type talkData struct {
	Session      string // "" = all
	Around       string // the message that was asked for; "" = none
	Days         []talkDay
	Older, Newer string // addresses; "" = there is nothing more
}

// talkDay is what was said on one date.
type talkDay struct {
	Date     string
	Messages []saidMessage
}

// saidMessage is a message, and how much of it is shown.
type saidMessage struct {
	reverie.ConversationMessage
	Said string // its text, or the beginning of that
	Cut  int    // how many characters it has, where they are not all there; else 0
}

// newSaid shows a message, whole or as one of many.
func newSaid(m reverie.ConversationMessage, whole bool) saidMessage {
	said := saidMessage{m, m.Text, 0}
	if n := utf8.RuneCountInString(m.Text); n > spoken && !whole {
		said.Said, said.Cut = string([]rune(m.Text)[:spoken]), n
	}
	return said
}

func (s *site) talkPage(v *visit) (any, error) {
	g, err := v.inGroup("conversation")
	if err != nil {
		return nil, err
	}
	d := talkData{Session: v.FormValue("session"), Around: v.FormValue("around")}
	reply, err := s.Messages(v.Context(), reverie.MessageQuery{GroupID: g.ID, SessionID: d.Session, Around: d.Around,
		Before: v.FormValue("before"), After: v.FormValue("after"), Limit: messagesShown})
	if errors.Is(err, reverie.ErrNotFound) {
		return d, s.missingTalk(v, d)
	}
	if err != nil {
		return nil, err
	}
	for _, m := range reply.Messages {
		date := m.SentAt.In(v.zone()).Format("2006-01-02")
		if n := len(d.Days); n == 0 || d.Days[n-1].Date != date {
			d.Days = append(d.Days, talkDay{Date: date})
		}
		day := &d.Days[len(d.Days)-1]
		day.Messages = append(day.Messages, newSaid(m, m.ID == d.Around))
	}
	if n := len(reply.Messages); n > 0 {
		if reply.Older {
			d.Older = query(talkURL(g.ID), "session", d.Session, "before", reply.Messages[0].ID)
		}
		if reply.Newer {
			d.Newer = query(talkURL(g.ID), "session", d.Session, "after", reply.Messages[n-1].ID)
		}
	}
	return d, nil
}

// missingTalk has the page say what of a conversation is not there: the session, or a
// message, as one that was answered and never came in.
func (s *site) missingTalk(v *visit, d talkData) error {
	if d.Session != "" {
		_, err := s.Messages(v.Context(), reverie.MessageQuery{GroupID: v.group.ID, SessionID: d.Session, Limit: 1})
		if errors.Is(err, reverie.ErrNotFound) {
			v.refuse(http.StatusNotFound, "talk.no_session", text.Excerpt(d.Session, 60))
			return nil
		}
		if err != nil {
			return err
		}
	}
	v.refuse(http.StatusNotFound, "talk.no_message")
	return nil
}
