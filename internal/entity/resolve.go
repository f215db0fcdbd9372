package entity

import (
	"cmp"
	"maps"
	"slices"
	"strings"

	"reverie/internal/reverie"
	"reverie/internal/text"
)

// resolve determines the entity of each observation, by rules alone. An account has its entity, or becomes one. A name
// is looked up with its proven aliases: in the index, among the names that participants show, and among the aliases
// proven in this chunk. With one holder, it is that holder. With several, the observation is ambiguous and is
// postponed. With none, it becomes an entity once enough messages are about it. A person and a thing of one name are
// two entities.
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
	minEvidence  int // messages about a name without an account before it becomes an entity
	// key of a name -> accounts of participants that show it, sorted
	shown     map[string][]string
	proven    map[string][]string           // key of an alias proven in this chunk -> accounts
	kinds     map[string]reverie.EntityKind // of accounts
	takeovers map[string]string             // account -> entity without an account that it takes over
}

func newResolver(list []merged, idx *index, c *participants, minEvidence int) *resolver {
	v := &resolver{index: idx, participants: c, minEvidence: minEvidence,
		shown: map[string][]string{}, proven: map[string][]string{},
		kinds: map[string]reverie.EntityKind{}, takeovers: map[string]string{}}
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
		if entityID := v.entityToTakeOver(a); entityID != "" {
			v.takeovers[id] = entityID
			takers[entityID]++
		}
	}
	maps.DeleteFunc(v.takeovers, func(_, entityID string) bool { return takers[entityID] > 1 })
	return v
}

// entityToTakeOver returns the entity that was known only by name, and that an account without an entity takes over. It
// must be the only entity with a name of the account, and have no account. No other participant may show that name.
func (v *resolver) entityToTakeOver(a *account) string {
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

// entityOf returns the entity of an account, "" if it has none.
func (v *resolver) entityOf(account string) string {
	return cmp.Or(v.byID[account], v.takeovers[account])
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
				one.maybeAccounts = append(one.maybeAccounts, h.account)
			}
		}
	case len(holders) == 1 && holders[0].entityID != "":
		one.entityID = holders[0].entityID
	case len(holders) == 1: // a participant who is not known yet
		one.Account, one.Kind, one.create = holders[0].account, v.kinds[holders[0].account], true
	case len(m.Claims) > 0 && messages(m.Claims) >= v.minEvidence:
		one.create = true
	default:
		one.postponed = reverie.PostponedInsufficient
	}
	return one
}

// holder is an entity with a name, or an account that is no entity yet.
type holder struct {
	entityID string
	account  string
}

// holders returns the holders of any of the names, of the same sort as kind, sorted. The kind "" matches every sort.
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

// messages counts the distinct messages that claims cite.
func messages(claims []reverie.ObservedClaim) int {
	var all []reverie.Evidence
	for _, c := range claims {
		all = append(all, c.Evidence...)
	}
	return len(distinct(all, func(e reverie.Evidence) string { return e.MessageID }))
}
