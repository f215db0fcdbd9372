package reverie

import "time"

// Pull is how far a chat has been pulled from a server that hands it over.
type Pull struct {
	GroupID  string    `db:"group_id" json:"group_id"`
	Source   string    `db:"source" json:"source"`     // the server's address, without secrets
	ChatID   string    `db:"chat_id" json:"chat_id"`   // as the server calls it
	Since    time.Time `db:"-" json:"since"`           // from here on is asked for next; zero: from the beginning
	Messages int       `db:"messages" json:"messages"` // that were new
	Error    string    `db:"error" json:"error"`       // of the last pull, "" where it succeeded
	PulledAt time.Time `db:"pulled_at" json:"pulled_at"`
}
