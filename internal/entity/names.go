package entity

import (
	"cmp"
	"maps"
	"slices"

	"reverie/internal/reverie"
	"reverie/internal/text"
)

// write turns parties into creates, names and claims.
func (b *builder) write() {
	for _, id := range slices.Sorted(maps.Keys(b.participants.accounts)) {
		if entityID := b.idx.byID[id]; entityID != "" {
			b.knownParty(entityID).goesBy(id, b.participants.accounts[id].names...)
		}
	}
	for _, p := range b.order {
		if !p.known && !p.target && len(p.claims) == 0 && (len(p.accounts) == 0 || !b.goesByMore(p)) {
			continue // what it waits for is all that is said of it
		}
		if p.known {
			b.further(p)
		} else {
			b.create(p)
		}
		b.claim(p)
	}
}

// goesByMore tells whether a new entity has a name that its account does not show.
func (b *builder) goesByMore(p *entityDraft) bool {
	return slices.ContainsFunc(p.aliases, func(a byname) bool {
		key := text.NameKey(a.name)
		return key != text.NameKey(p.subject) && !slices.ContainsFunc(p.accounts,
			func(id string) bool { return b.participants.shows(id, key) })
	})
}

// create writes a new entity with its names.
func (b *builder) create(p *entityDraft) {
	e := reverie.Entity{GroupID: b.groupID, ID: p.id, Kind: p.kind, Subject: p.subject, Status: reverie.EntityActive,
		Version:   1,
		CreatedAt: b.now, UpdatedAt: b.now, RunID: b.run()}
	for _, account := range p.accounts {
		e.Names = append(e.Names, b.name(p.id, reverie.NameID, account))
	}
	e.Names = append(e.Names, b.name(p.id, reverie.NameSubject, p.subject))
	e.Names = append(e.Names, b.aliases(p)...)
	b.plan.Creates = append(b.plan.Creates, e)
}

// further writes names that a known entity does not have yet.
func (b *builder) further(p *entityDraft) {
	for _, account := range p.adds {
		b.plan.Names = append(b.plan.Names, b.name(p.id, reverie.NameID, account))
	}
	names := b.aliases(p)
	if b.plan.Names = append(b.plan.Names, names...); len(p.adds)+len(names) > 0 {
		b.rest(p)
	}
}

// aliases are the names of a entity that are new to it, each once. What an account
// goes by is a name of the entity that has the account.
func (b *builder) aliases(p *entityDraft) (list []reverie.EntityName) {
	for _, a := range p.aliases {
		key := text.NameKey(a.name)
		if rule, _ := checkWords(a.name, reverie.MaxNameLength); rule != "" || key == "" {
			continue
		}
		of := cmp.Or(b.speaker(p, a.account), p.id)
		if !b.named[of+key] && !(a.account == "" && p.known && b.idx.bears(p.id, a.name)) {
			list = append(list, b.name(of, reverie.NameAlias, a.name))
		}
	}
	return list
}

// name makes one entry of the identity index.
func (b *builder) name(entityID string, kind reverie.NameKind, name string) reverie.EntityName {
	n := reverie.EntityName{ID: reverie.NewID(), EntityID: entityID, Kind: kind, Name: name, Key: name,
		CreatedAt: b.now, RunID: b.run()}
	if kind != reverie.NameID {
		n.Key = text.NameKey(name)
		b.named[entityID+n.Key] = true
	}
	return n
}

// rest notes the version of a known entity that the plan rests on.
func (b *builder) rest(p *entityDraft) {
	if e, ok := b.entities[p.id]; ok && p.known {
		b.plan.Heads[p.id] = e.Version
	}
}
