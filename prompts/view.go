package prompts

import (
	"encoding/json"
	"time"

	"reverie/internal/reverie"
	"reverie/internal/text"
)

// MaxText is how many characters of one message are shown; the rest of a pasted
// novel says little about who pasted it. Quotes are verified against the whole text.
const MaxText = 6000

// MessageView is a message as a model sees it.
type MessageView struct {
	ID      int    `json:"id"`   // 1..N
	Time    string `json:"time"` // RFC 3339 in the group's zone
	Author  string `json:"author"`
	Role    string `json:"role,omitempty"` // left out for a user
	ReplyTo int    `json:"reply_to,omitempty"`
	Text    string `json:"text"`
}

// Message shows a message as number n, which replies to the one with the other
// number, 0 for none. What people do not see of its author's name and its text, the model
// does not see either.
func Message(n, replyTo int, m reverie.Message, loc *time.Location) MessageView {
	view := MessageView{ID: n, Time: m.SentAt.In(loc).Format(time.RFC3339), Author: text.Visible(m.Author),
		ReplyTo: replyTo, Text: text.Excerpt(text.Visible(m.Text), MaxText)}
	if m.Role != reverie.RoleUser {
		view.Role = string(m.Role)
	}
	return view
}

// Tokens estimates what a view costs.
func Tokens(view any) int {
	raw, err := json.Marshal(view)
	if err != nil { // strings, numbers, booleans and maps of them always encode
		panic(err)
	}
	return text.EstimateTokens(string(raw)) + 1
}
