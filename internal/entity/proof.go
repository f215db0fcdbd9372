package entity

import (
	"bytes"
	"encoding/json"
	"slices"
	"strconv"
	"strings"

	"reverie/internal/llm/answer"
	"reverie/internal/reverie"
	"reverie/internal/safety"
	"reverie/internal/text"
)

// citations reads a list of citations, or a single one. What has another form
// cites nothing.
func citations(raw json.RawMessage) (list []reverie.Citation) {
	for _, item := range items(raw) {
		if cited, err := answer.Citations(item); err == nil {
			list = append(list, cited...)
		}
	}
	return list
}

// evidence verifies citations: each must quote a message of the question that a
// member wrote, and the words must stand in it. Of several quotes from one
// message the longest is kept. A quote in which its author speaks of
// themselves is none for anybody else; whom other words mean is the model's to see.
func (p *parser) evidence(raw json.RawMessage, of reverie.Observation) []reverie.Evidence {
	var list []reverie.Evidence
	for _, cited := range citations(bytes.TrimSpace(raw)) {
		n, err := strconv.Atoi(cited.Message)
		if err != nil || n < 1 || n > len(p.messages) {
			continue
		}
		m := p.messages[n-1]
		if strings.ContainsRune(cited.Quote, 0) { // no message holds a NUL, and the database takes none
			continue
		}
		if m.Role != reverie.RoleUser || !text.VerifyQuote(cited.Quote, m.Text) || p.ofItsAuthor(of, cited.Quote, m) {
			continue
		}
		e := safety.EvidenceOf(m, cited.Quote, p.loc)
		at := slices.IndexFunc(list, func(e reverie.Evidence) bool { return e.MessageID == m.ID })
		switch {
		case at < 0:
			list = append(list, e)
		case len(e.Quote) > len(list[at].Quote):
			list[at] = e
		}
	}
	return list
}

// ofItsAuthor tells a quote in the first person that names somebody other than its
// author nowhere, and is said to be about that other.
func (p *parser) ofItsAuthor(of reverie.Observation, quote string, m reverie.Message) bool {
	if of.Kind == reverie.EntityThing || of.Account == m.AuthorID || of.Account == "" &&
		p.participants.shows(m.AuthorID, text.NameKey(of.Subject)) {
		return false
	}
	text := strings.ReplaceAll(textForm(quote), "我们", "")
	says := func(name string) bool { return len(places(text, name)) > 0 }
	return slices.ContainsFunc(words().firstPerson, says) && !slices.ContainsFunc(p.namesOf(of), says)
}

// namesOf are the names of a subject as far as they are known here.
func (p *parser) namesOf(o reverie.Observation) []string {
	names := []string{o.Subject}
	if a := p.participants.accounts[o.Account]; a != nil {
		names = append(names, a.names...)
	}
	return names
}

// aliases keeps those further names of an observation's subject that are proven: the
// account has shown them, or a quote has them. The name of somebody else who writes here
// is no alias, so that a model cannot join two people.
func (p *parser) aliases(names []string, o reverie.Observation, said []reverie.Evidence) []string {
	var proven []string
	seen := map[string]bool{text.NameKey(o.Subject): true}
	for _, alias := range names {
		key := text.NameKey(alias)
		if seen[key] || o.Account != "" && p.participants.labels[key] == o.Account {
			continue
		}
		seen[key] = true
		if rule, detail := checkName(alias); rule != "" {
			p.refuse("alias", alias, rule, detail)
			continue
		}
		if shown := p.participants.bearers(key); len(shown) > 0 && !slices.Equal(shown, []string{o.Account}) {
			p.refuse("alias", alias, ruleAlias, "somebody else who writes here goes by it")
			continue
		}
		if !p.participants.shows(o.Account, key) && !slices.ContainsFunc(said,
			func(e reverie.Evidence) bool { return p.proves(e, alias, o) }) {
			p.refuse("alias", alias, ruleAlias, "no quote of this line says that its subject is called so")
			continue
		}
		proven = append(proven, alias)
	}
	return proven
}

// bearers are the accounts of the participants that show a name, or have it as their label,
// sorted.
func (c *participants) bearers(key string) []string {
	var list []string
	for id := range c.accounts {
		if c.shows(id, key) || c.labels[key] == id {
			list = append(list, id)
		}
	}
	slices.Sort(list)
	return list
}

// shows tells whether an account has gone by a name in the chunk.
func (c *participants) shows(id, key string) bool {
	a := c.accounts[id]
	return a != nil && slices.ContainsFunc(a.names, func(name string) bool { return text.NameKey(name) == key })
}

// proves tells whether a quote may say that a subject is called by an alias: the alias
// stands in it with a word for calling, and so does another name of the subject, or the
// subject says it.
func (p *parser) proves(e reverie.Evidence, alias string, o reverie.Observation) bool {
	text := textForm(e.Quote)
	calls := slices.ContainsFunc(words().aliasCues, func(cue string) bool { return strings.Contains(text, cue) })
	if !calls || len(places(text, alias)) == 0 {
		return false
	}
	return o.Account != "" && e.AuthorID == o.Account ||
		slices.ContainsFunc(p.namesOf(o), func(name string) bool { return len(places(text, name)) > 0 })
}
