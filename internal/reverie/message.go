package reverie

import (
	"fmt"
	"slices"
	"strings"
	"time"
	"unicode/utf8"
)

// Role is the sort of author of a message.
type Role string

// The roles of a message's author.
const (
	RoleUser      Role = "user"
	RoleAssistant Role = "assistant"
	RoleTool      Role = "tool"
)

// Outcome is what the run that consumed a message did with it.
type Outcome string

// The outcomes of a consumed message. A message without one is pending.
const (
	OutcomeCited      Outcome = "cited"      // evidence of an accepted or held line
	OutcomeConsidered Outcome = "considered" // shown to the model, not cited
	OutcomeFiltered   Outcome = "filtered"   // never shown: empty, or a tool's output
)

// Filter is why a message is stored and counted, but never shown to a model. Such a message is stored as consumed,
// with the outcome filtered and without a run.
type Filter string

// The filters.
const (
	FilterNone    Filter = ""
	FilterEmpty   Filter = "empty"   // no words: a picture, a sticker
	FilterEvent   Filter = "event"   // not written by anybody: a join, a new title, a call
	FilterCommand Filter = "command" // a command to a bot
	FilterBot     Filter = "bot"     // by a bot that is not the group's assistant
)

// Message is one chat line.
type Message struct {
	GroupID   string    `db:"group_id" json:"-"`
	ID        string    `db:"message_id" json:"id"` // the platform's id, unique within the group
	AuthorID  string    `db:"author_id" json:"author_id"`
	Author    string    `db:"author" json:"author"` // display name
	Role      Role      `db:"role" json:"role"`
	Text      string    `db:"text" json:"text"`
	SentAt    time.Time `db:"sent_at" json:"sent_at"`
	SessionID string    `db:"session_id" json:"session_id,omitempty"`
	ReplyTo   string    `db:"reply_to" json:"reply_to,omitempty"`
	Filter    Filter    `db:"filter" json:"filter,omitempty"`

	// When this text was written; nil: it was never edited.
	EditedAt *time.Time `db:"edited_at" json:"edited_at,omitempty"`
	RunID    *string    `db:"run_id" json:"-"`
	Outcome  *Outcome   `db:"outcome" json:"-"`

	Cut     bool `db:"-" json:"-"` // the text is the beginning of a longer one
	Deleted bool `db:"-" json:"-"` // the platform deleted it: what is stored of it is removed

	Reactions []Reaction `db:"-" json:"-"` // all reactions on the platform; nil: unknown
}

// Bounds of a message, in bytes. They keep one bad line from filling memory; no chat platform comes near them.
const (
	MaxMessageIDLength   = 512 // also of author, author id, session id and reply_to
	MaxMessageTextLength = 1 << 20
	MaxMessageShown      = 32 << 10 // rules and models read this much; the rest is stored, and cannot be quoted
)

// Normalize fills optional fields (role, author id) and refuses what cannot be stored. Its errors are [ErrInvalid]
// and name the field.
func (m *Message) Normalize() error {
	if err := m.checkNames(); err != nil { // before one of them is used as the default of another
		return err
	}
	if m.Role == "" {
		m.Role = RoleUser
	}
	if m.AuthorID == "" {
		m.AuthorID = m.Author
	}
	if m.Author == "" {
		m.Author = m.AuthorID
	}
	m.SentAt = m.SentAt.UTC().Truncate(time.Microsecond) // the precision of PostgreSQL
	if m.EditedAt != nil {
		if at := m.EditedAt.UTC().Truncate(time.Microsecond); at != *m.EditedAt {
			m.EditedAt = &at
		}
	}
	switch {
	case m.ID == "":
		return fmt.Errorf("id is missing: %w", ErrInvalid)
	case m.Role != RoleUser && m.Role != RoleAssistant && m.Role != RoleTool:
		return fmt.Errorf("role %q is not one of user, assistant, tool: %w", m.Role, ErrInvalid)
	case m.AuthorID == "" && m.Role == RoleUser && m.Filter != FilterEvent:
		return fmt.Errorf("author and author_id are both missing: %w", ErrInvalid)
	case !slices.Contains([]Filter{FilterNone, FilterEmpty, FilterEvent, FilterCommand, FilterBot}, m.Filter):
		return fmt.Errorf("filter %q is not one of empty, event, command, bot: %w", m.Filter, ErrInvalid)
	case m.SentAt.Year() < 1970 || m.SentAt.Year() > 9999:
		return fmt.Errorf("sent_at is missing or out of range: %w", ErrInvalid)
	case m.EditedAt != nil && (m.EditedAt.Year() < 1970 || m.EditedAt.Year() > 9999):
		return fmt.Errorf("edited_at is out of range: %w", ErrInvalid)
	}
	return nil
}

// Since returns how the message differs from its stored version, which has these reactions and was edited at
// editedAt. With same, the stored text is the same.
func (m Message) Since(editedAt *time.Time, had []Reaction, same bool) MessageChange {
	c := MessageChange{ID: m.ID, Deleted: m.Deleted && !same}
	if m.Deleted {
		return c
	}
	if m.EditedAt != nil && (editedAt == nil || m.EditedAt.After(*editedAt)) {
		c.Text, c.Filter, c.EditedAt = &m.Text, m.Filter, *m.EditedAt
	}
	if m.Reactions != nil && !slices.Equal(had, m.Reactions) {
		gone := slices.Clone(had)
		for i := range gone {
			gone[i].Count = 0
		}
		c.Reactions = MergeReactions(gone, m.Reactions)
	}
	return c
}

// checkNames refuses strings that cannot be stored.
func (m *Message) checkNames() error {
	for _, f := range []struct {
		name, is string
		most     int
	}{{"id", m.ID, MaxMessageIDLength}, {"author_id", m.AuthorID, MaxMessageIDLength}, {"author", m.Author, MaxMessageIDLength},
		{"text", m.Text, MaxMessageTextLength}, {"session_id", m.SessionID, MaxMessageIDLength}, {"reply_to", m.ReplyTo, MaxMessageIDLength}} {
		switch {
		case len(f.is) > f.most:
			return fmt.Errorf("%s is longer than %d bytes: %w", f.name, f.most, ErrInvalid)
		case strings.ContainsRune(f.is, 0) || !utf8.ValidString(f.is):
			return fmt.Errorf("%s holds a NUL or invalid UTF-8: %w", f.name, ErrInvalid)
		}
	}
	return nil
}

// Pending reports whether no run has consumed the message yet.
func (m Message) Pending() bool { return m.RunID == nil && m.Outcome == nil }

// State returns the outcome of the message, or "pending".
func (m Message) State() string {
	if m.Outcome == nil {
		return "pending"
	}
	return string(*m.Outcome)
}

// Speaks reports whether a message is shown to models. Empty messages and tool output are not.
func (m Message) Speaks() bool { return m.Role != RoleTool && strings.TrimSpace(m.Text) != "" }
