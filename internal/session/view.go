package session

import (
	"strconv"
	"time"

	"reverie/internal/reverie"
	"reverie/internal/text"
	"reverie/prompts"
)

// shownOf are the messages that are shown.
func shownOf(messages []reverie.Message) (list []reverie.Message) {
	for _, m := range messages {
		if m.Speaks() {
			list = append(list, m)
		}
	}
	return list
}

// views turns facts and messages into what the model sees.
type views struct {
	loc     *time.Location
	handles map[string]int // message id -> number, for replies
}

// fact shows a fact as m<n>.
func (v views) fact(n int, h reverie.HeadState) prompts.KnownFact {
	return prompts.KnownFact{ID: "m" + strconv.Itoa(n), Statement: h.Statement,
		LastSupportedAt: text.LocalDate(h.LastSupportedAt, v.loc)}
}

// message shows a message as number n.
func (v views) message(n int, m reverie.Message) prompts.MessageView {
	return prompts.Message(n, v.handles[m.ReplyTo], m, v.loc)
}

// messages shows messages by their numbers, from 1.
func (v views) messages(list []reverie.Message) []prompts.MessageView {
	v.handles = make(map[string]int, len(list))
	for i, m := range list {
		v.handles[m.ID] = i + 1
	}
	shown := make([]prompts.MessageView, len(list))
	for i, m := range list {
		shown[i] = v.message(i+1, m)
	}
	return shown
}

// fitting is how many messages fit a budget of tokens, those that are not shown for
// nothing; the first one that is shown always does.
func (v views) fitting(messages []reverie.Message, budget int) int {
	shown := 0
	for i, m := range messages {
		if !m.Speaks() {
			continue
		}
		shown++
		if budget -= prompts.Tokens(v.message(shown, m)); budget < 0 && shown > 1 {
			return i
		}
	}
	return len(messages)
}

// texts are the words of messages, for the choice of a language.
func texts(messages []reverie.Message) []string {
	list := make([]string, len(messages))
	for i, m := range messages {
		list[i] = m.Text
	}
	return list
}
