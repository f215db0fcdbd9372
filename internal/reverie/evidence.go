package reverie

import "time"

// Evidence is what a version rests on: a message, its author, and the words in
// it. The quote has been verified by [VerifyQuote]; where the model cited a
// message without quoting it, the quote is the beginning of the message itself.
type Evidence struct {
	MessageID string    `json:"message_id"`
	AuthorID  string    `json:"author_id,omitempty"`
	Author    string    `json:"author"`
	Quote     string    `json:"quote"`
	SentAt    time.Time `json:"sent_at,omitzero"`
	LocalDate string    `json:"local_date,omitempty"` // YYYY-MM-DD in the group's zone; distinct dates make strength
}

// MaxQuote is how many characters of a quote are kept.
const MaxQuote = 300
