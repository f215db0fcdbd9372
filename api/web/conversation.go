package web

import "reverie"

// messagesShown is how many messages a page of conversation has.
const messagesShown = 60

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
	Messages []reverie.ConversationMessage
}

func (s *site) talkPage(v *visit) (any, error) {
	g, err := v.inGroup("conversation")
	if err != nil {
		return nil, err
	}
	d := talkData{Session: v.FormValue("session"), Around: v.FormValue("around")}
	reply, err := s.Messages(v.Context(), reverie.MessageQuery{GroupID: g.ID, SessionID: d.Session, Around: d.Around,
		Before: v.FormValue("before"), After: v.FormValue("after"), Limit: messagesShown})
	if err != nil {
		return nil, err
	}
	for _, m := range reply.Messages {
		date := m.SentAt.In(v.zone()).Format("2006-01-02")
		if n := len(d.Days); n == 0 || d.Days[n-1].Date != date {
			d.Days = append(d.Days, talkDay{Date: date})
		}
		day := &d.Days[len(d.Days)-1]
		day.Messages = append(day.Messages, m)
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
