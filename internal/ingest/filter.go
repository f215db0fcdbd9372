package ingest

import (
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"reverie/internal/reverie"
)

// Filters say what of a chat no model sees, and who in it is the group's assistant.
type Filters struct {
	Commands   []string // what a command to a bot begins with
	Bots       Bots
	Assistants []string // ids or names
}

// Bots says what programs are that write in a chat.
type Bots string

// What programs may be. "" filters them.
const (
	BotsFilter    Bots = "filter"
	BotsAssistant Bots = "assistant" // their words are context, and never evidence
	BotsUser      Bots = "user"
)

// Apply gives the record's message its filter, and its role where a program wrote it. An
// empty text of no chat, as JSON Lines have it, is a turn of a dialogue that somebody
// hands over as it was: it counts in its session, and evolve is what filters it.
func (f Filters) Apply(r *Record) {
	m := &r.Message
	own := slices.Contains(f.Assistants, m.AuthorID) || slices.Contains(f.Assistants, m.Author)
	if m.Role != reverie.RoleTool && (own || r.Bot && f.Bots == BotsAssistant) {
		m.Role = reverie.RoleAssistant
	}
	switch {
	case r.Event:
		m.Filter = reverie.FilterEvent
	case m.Role == reverie.RoleTool: // that there was one counts
	case strings.TrimSpace(m.Text) == "" && r.Chat.ID != "":
		m.Filter = reverie.FilterEmpty
	case r.Bot && !own && f.Bots != BotsAssistant && f.Bots != BotsUser:
		m.Filter = reverie.FilterBot
	case m.Role != reverie.RoleAssistant && f.command(m.Text):
		m.Filter = reverie.FilterCommand
	}
}

// command tells whether a text begins with a prefix and a word that ends like one: a path
// such as /etc/hosts is none.
func (f Filters) command(text string) bool {
	text = strings.TrimSpace(text)
	for _, prefix := range f.Commands {
		rest, ok := strings.CutPrefix(text, prefix)
		if first, _ := utf8.DecodeRuneInString(rest); prefix == "" || !ok || !unicode.IsLetter(first) {
			continue
		}
		end := strings.IndexFunc(rest, func(r rune) bool { return unicode.IsSpace(r) || r == '/' })
		if end < 0 || rest[end] != '/' {
			return true
		}
	}
	return false
}
