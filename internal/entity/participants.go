package entity

import (
	"fmt"
	"slices"

	"reverie/internal/reverie"
	"reverie/internal/text"
)

// newParticipants reads who wrote a chunk's messages, and those that they reply to. Its
// accounts have no labels yet: see [participants.name].
func newParticipants(messages, replied []reverie.Message) *participants {
	c := &participants{accounts: map[string]*account{}, labels: map[string]string{}}
	for _, m := range slices.Concat(messages, replied) {
		if m.AuthorID == "" || m.Role == reverie.RoleTool {
			continue
		}
		a := c.add(m.AuthorID, reverie.EntityPerson)
		if m.Role == reverie.RoleAssistant {
			a.kind = reverie.EntityBot
		}
		a.goesBy(m.Author)
	}
	return c
}

// add returns an account, a new one where it is not known.
func (c *participants) add(id string, kind reverie.EntityKind) *account {
	a := c.accounts[id]
	if a == nil {
		a = &account{id: id, kind: kind}
		c.accounts[id] = a
		c.order = append(c.order, id)
	}
	return a
}

// goesBy adds a display name. One that is a word for whoever is meant just now
// ("me", 我) names nobody, though somebody writes under it.
func (a *account) goesBy(name string) {
	if name = text.Excerpt(name, reverie.MaxNameLength); !slices.Contains(a.names, name) && !isNobody(name) {
		a.names = append(a.names, name)
	}
}

// called is the first of the account's names that may be kept and shown, "" where
// none may.
func (a *account) called() string {
	at := slices.IndexFunc(a.names, isShown)
	if at < 0 {
		return ""
	}
	return a.names[at]
}

// isShown tells names that may stand before a model from markup, instructions and
// the like.
func isShown(name string) bool {
	rule, _ := checkWords(name, reverie.MaxNameLength)
	return rule == ""
}

// maxLabel leaves room for a number behind a name.
const maxLabel = reverie.MaxNameLength - 6

// nameless is the label, with a number, of an account whose names mean nobody or
// are not fit to be shown.
const nameless = "member"

// name gives every account its label: its first name in the chunk that is fit to
// be shown, with a number behind it where another account of the chunk, or another
// entity that is known, bears that name too. No label is another's real name.
func (c *participants) name(known *directory) {
	c.known = known.index
	bearers := map[string]int{} // key -> accounts of the participants that bear it
	for _, id := range c.order {
		for _, key := range c.accounts[id].keys() {
			bearers[key]++
		}
	}
	numbers := map[string]int{} // key -> the last number behind it
	for _, id := range c.order {
		a := c.accounts[id]
		base := text.Excerpt(a.called(), maxLabel)
		key := text.NameKey(base)
		if key == "" {
			base, key = nameless, nameless
		}
		a.label = base
		if base == nameless || bearers[key] > 1 || known.othersBear(key, known.byID[id]) || c.labels[key] != "" {
			for of := key; ; {
				numbers[of]++
				a.label = fmt.Sprintf("%s#%d", base, numbers[of])
				key = text.NameKey(a.label)
				if c.labels[key] == "" && bearers[key] == 0 && len(known.byKey[key]) == 0 {
					break
				}
			}
		}
		c.labels[key] = id
	}
}

// knows tells whether an account of the participants, or an entity, bears a name.
func (c *participants) knows(key string) bool {
	return c.known != nil && len(c.known.byKey[key]) > 0 || len(c.bearers(key)) > 0
}

// keys are the distinct keys of the account's names.
func (a *account) keys() []string {
	var keys []string
	for _, name := range a.names {
		if key := text.NameKey(name); key != "" && !slices.Contains(keys, key) {
			keys = append(keys, key)
		}
	}
	return keys
}
