package entity

import (
	"cmp"
	"maps"
	"slices"
	"strings"

	"reverie/internal/reverie"
	"reverie/internal/text"
)

// resolve settles whose each observation is, by rules alone. An account is its
// entity's, or becomes one. A name is looked up as it stands, with its proven
// aliases, among the names of the index, those that accounts of the participants show, and
// those that were proven of an account just now. One holder: it is theirs. Several:
// nobody can know, it waits. None: it becomes an entity once enough messages speak
// of it. A person and a thing of one name are two.
func resolve(list []merged, idx *index, c *participants, minEvidence int) (settled []resolved, v *resolver) {
	v = newResolver(list, idx, c, minEvidence)
	for _, m := range list {
		settled = append(settled, v.settle(m))
	}
	return settled, v
}

// resolver looks up names.
type resolver struct {
	*index
	participants *participants
	minEvidence  int // messages that must speak of a name without an account
	// key of a name that accounts of the participants show -> accounts, sorted
	shown  map[string][]string
	proven map[string][]string           // key of an alias that was proven just now -> accounts
	kinds  map[string]reverie.EntityKind // of accounts
	taken  map[string]string             // account -> entity that was only talked of so far
}

func newResolver(list []merged, idx *index, c *participants, minEvidence int) *resolver {
	v := &resolver{index: idx, participants: c, minEvidence: minEvidence,
		shown: map[string][]string{}, proven: map[string][]string{},
		kinds: map[string]reverie.EntityKind{}, taken: map[string]string{}}
	for _, m := range list {
		if m.Account == "" {
			continue
		}
		v.kinds[m.Account] = m.Kind
		for _, alias := range m.Aliases {
			key := text.NameKey(alias)
			v.proven[key] = append(v.proven[key], m.Account)
		}
	}
	for _, id := range slices.Sorted(maps.Keys(c.accounts)) {
		v.kinds[id] = c.accounts[id].kind
		for _, key := range c.accounts[id].keys() {
			v.shown[key] = append(v.shown[key], id)
		}
	}
	takers := map[string]int{}
	for id, a := range c.accounts {
		if entityID := v.talkedOf(a); entityID != "" {
			v.taken[id] = entityID
			takers[entityID]++
		}
	}
	maps.DeleteFunc(v.taken, func(_, entityID string) bool { return takers[entityID] > 1 })
	return v
}

// talkedOf returns the entity that an account without one is, as far as names
// tell: the only one that bears a name of the account, if it has no account, and
// nobody else writes under that name.
func (v *resolver) talkedOf(a *account) string {
	if v.byID[a.id] != "" {
		return ""
	}
	found := ""
	for _, key := range a.keys() {
		if len(v.shown[key]) > 1 {
			return ""
		}
		for _, id := range v.byKey[key] {
			switch {
			case v.kind(id) == reverie.EntityThing || id == found:
			case found != "" || len(v.entries[id].accounts) > 0 || v.kind(id) != a.kind:
				return ""
			default:
				found = id
			}
		}
	}
	return found
}

// entityOf returns the entity of an account, "" where it has none.
func (v *resolver) entityOf(account string) string {
	return cmp.Or(v.byID[account], v.taken[account])
}

// settle resolves one subject.
func (v *resolver) settle(m merged) resolved {
	one := resolved{merged: m}
	if m.Account != "" {
		one.entityID = v.entityOf(m.Account)
		one.create = one.entityID == ""
		return one
	}
	holders := v.holders(append([]string{m.Subject}, m.Aliases...), m.Kind)
	switch {
	case len(holders) > 1:
		one.postponed = reverie.PostponedAmbiguous
		for _, h := range holders {
			if h.entityID != "" {
				one.MatchingIDs = append(one.MatchingIDs, h.entityID)
			} else {
				one.maybe = append(one.maybe, h.account)
			}
		}
	case len(holders) == 1 && holders[0].entityID != "":
		one.entityID = holders[0].entityID
	case len(holders) == 1: // somebody who writes here, and is not known yet
		one.Account, one.Kind, one.create = holders[0].account, v.kinds[holders[0].account], true
	case len(m.Claims) > 0 && messages(m.Claims) >= v.minEvidence:
		one.create = true
	default:
		one.postponed = reverie.PostponedInsufficient
	}
	return one
}

// holder is who bears a name: an entity, or an account that is not one yet.
type holder struct {
	entityID string
	account  string
}

// holders returns who bears any of some names and is of the sort of a kind, sorted. Any
// kind will do for "".
func (v *resolver) holders(names []string, kind reverie.EntityKind) (list []holder) {
	add := func(h holder, k reverie.EntityKind) {
		if (kind == "" || sortOf(k) == sortOf(kind)) && !slices.Contains(list, h) {
			list = append(list, h)
		}
	}
	for _, name := range names {
		key := text.NameKey(name)
		for _, id := range v.byKey[key] {
			add(holder{entityID: id}, v.kind(id))
		}
		for _, account := range slices.Concat(v.shown[key], v.proven[key]) {
			if id := v.entityOf(account); id != "" {
				add(holder{entityID: id}, v.kind(id))
			} else {
				add(holder{account: account}, v.kinds[account])
			}
		}
	}
	slices.SortFunc(list, func(a, b holder) int {
		return strings.Compare(a.entityID+" "+a.account, b.entityID+" "+b.account)
	})
	return list
}

// messages counts the different messages that some claims rest on.
func messages(claims []reverie.ObservedClaim) int {
	var all []reverie.Evidence
	for _, c := range claims {
		all = append(all, c.Evidence...)
	}
	return len(distinct(all, func(e reverie.Evidence) string { return e.MessageID }))
}
