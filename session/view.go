package session

import (
	"encoding/json"
	"strconv"
	"strings"
	"time"

	"reverie"
	"reverie/prompts"
)

// maxShownText is how many characters of one message are shown; the rest of a
// pasted novel says little about who pasted it. Quotes are verified against the
// whole text.
const maxShownText = 6000

// shows tells whether a message is shown to the model: an empty one says nothing,
// and a tool's output is nobody's word.
func shows(m reverie.Message) bool {
	return m.Role != reverie.RoleTool && strings.TrimSpace(m.Text) != ""
}

// shownOf are the messages that are shown.
func shownOf(messages []reverie.Message) (list []reverie.Message) {
	for _, m := range messages {
		if shows(m) {
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
	return prompts.KnownFact{ID: "m" + strconv.Itoa(n), Statement: h.Statement, LastSupportedAt: reverie.LocalDate(h.LastSupportedAt, v.loc)}
}

// message shows a message as number n.
func (v views) message(n int, m reverie.Message) prompts.MessageView {
	view := prompts.MessageView{ID: n, Time: m.SentAt.In(v.loc).Format(time.RFC3339), Author: m.Author,
		ReplyTo: v.handles[m.ReplyTo], Text: reverie.Excerpt(m.Text, maxShownText)}
	if m.Role != reverie.RoleUser {
		view.Role = string(m.Role)
	}
	return view
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
		if !shows(m) {
			continue
		}
		shown++
		if budget -= tokens(v.message(shown, m)); budget < 0 && shown > 1 {
			return i
		}
	}
	return len(messages)
}

// tokens estimates what a view costs.
func tokens(view any) int {
	raw, err := json.Marshal(view)
	if err != nil { // strings and numbers always encode
		panic(err)
	}
	return reverie.EstimateTokens(string(raw)) + 1
}

// texts are the words of messages, for the choice of a language.
func texts(messages []reverie.Message) []string {
	list := make([]string, len(messages))
	for i, m := range messages {
		list[i] = m.Text
	}
	return list
}
