package entity

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"reverie/internal/llm/answer"
	"reverie/internal/reverie"
	"reverie/internal/text"
)

// unexpired divides the postponed observations into the live ones, which may still be joined, and the ids of the
// expired ones. An observation is live if it has not expired by asOf, the time of the chunk's newest message. It is
// also live if a fresh observation of the same name was made before it expired. The others are expired only if they
// were created by longAgo; else they are left alone, for a backfill to join.
func unexpired(waiting, fresh []reverie.Observation, asOf, longAgo time.Time) (live []reverie.Observation,
	expired []string) {
	latest := map[string][]time.Time{} // key of a name, or an account -> times of its fresh observations
	for _, o := range fresh {
		for _, key := range handles(o) {
			latest[key] = append(latest[key], o.LastAt)
		}
	}
	for _, o := range waiting {
		inTime := func(at time.Time) bool { return o.ExpiresAt.After(at) }
		switch {
		case inTime(asOf) || slices.ContainsFunc(handles(o),
			func(key string) bool { return slices.ContainsFunc(latest[key], inTime) }):
			live = append(live, o)
		case !o.CreatedAt.After(longAgo):
			expired = append(expired, o.ID)
		}
	}
	slices.Sort(expired)
	return live, expired
}

// handles returns the keys by which observations of one subject are joined: its account, else its names.
func handles(o reverie.Observation) []string {
	if o.Account != "" {
		return []string{"account " + o.Account}
	}
	var keys []string
	for _, name := range append([]string{o.Subject}, o.Aliases...) {
		keys = append(keys, sortOf(o.Kind)+" "+text.NameKey(name))
	}
	return keys
}

// aggregate joins what all batches, and earlier runs, observed of one subject, whatever their order. It drops claims
// that are weak, empty, boilerplate or too long.
//
// Observations of one account are joined. Without an account they are joined if they have the same name, or if a name
// of one is a proven name of the other. Shared evidence joins none, because one sentence may be about two people.
// Whether a name means an account is left to resolve, which knows the index.
func aggregate(fresh, waiting []reverie.Observation, c *participants, minConfidence float64) (list []merged,
	refused []reverie.Refusal) {
	observations := slices.Clone(fresh)
	for _, o := range waiting {
		if isShown(o.Subject) { // rules may have changed since it was stored
			observations = append(observations, o)
		}
	}
	slices.SortFunc(observations, compareObservations)
	for _, group := range joined(observations) {
		m, dropped := combine(group, c, minConfidence)
		refused = append(refused, dropped...)
		if len(m.Claims) > 0 || len(m.Aliases) > 0 {
			list = append(list, m)
		}
	}
	return list, refused
}

func compareObservations(a, b reverie.Observation) int {
	return cmp.Or(strings.Compare(a.Account, b.Account), strings.Compare(text.NameKey(a.Subject),
		text.NameKey(b.Subject)),
		strings.Compare(string(a.Kind), string(b.Kind)), a.LastAt.Compare(b.LastAt), strings.Compare(a.ID, b.ID),
		strings.Compare(fmt.Sprint(a), fmt.Sprint(b)))
}

// joined divides observations into groups by subject, in the order of the groups' first members.
func joined(observations []reverie.Observation) [][]reverie.Observation {
	group := make([]int, len(observations)) // for each observation the first one of its group
	for i := range group {
		group[i] = i
	}
	join := func(i, j int) {
		from, to := max(group[i], group[j]), min(group[i], group[j])
		for k := from; from > to && k < len(group); k++ {
			if group[k] == from {
				group[k] = to
			}
		}
	}
	first := map[string]int{} // a name, or an account -> the first observation that has it
	for i, o := range observations {
		for _, key := range handles(o) {
			if _, again := first[key]; !again {
				first[key] = i
			}
			join(i, first[key])
		}
	}
	var groups [][]reverie.Observation
	at := map[int]int{} // by the first observation of the group
	for i, o := range observations {
		if group[i] == i {
			at[i] = len(groups)
			groups = append(groups, nil)
		}
		groups[at[group[i]]] = append(groups[at[group[i]]], o)
	}
	return groups
}

// sortOf returns the sort of subject of a kind: a thing or somebody. A bot is somebody, like a person.
func sortOf(k reverie.EntityKind) string {
	if k == reverie.EntityThing {
		return "thing"
	}
	return "somebody"
}

// combine makes one subject of a group of observations. Each claim is checked as it was observed; the others are
// refused with a reason. Claims of different speakers stay separate, so that they do not raise each other's confidence.
func combine(group []reverie.Observation, c *participants, minConfidence float64) (m merged,
	refused []reverie.Refusal) {
	m = merged{Observation: reverie.Observation{Account: group[0].Account}, observations: group}
	m.setNames(c)
	names := append([]string{m.Subject}, m.Aliases...)
	if a := c.accounts[m.Account]; a != nil {
		names = append(names, a.names...)
	}
	bySpeaker := map[string][]reverie.ObservedClaim{}
	for _, p := range group {
		for _, claim := range p.Claims {
			if rule, detail := claimFault(claim, names, minConfidence); rule != "" {
				refused = append(refused, reverie.Refusal{Action: string(claim.Aspect), Handle: handle(m.Subject),
					Rule: rule, Detail: detail})
				continue
			}
			by := strings.Join(authors(claim.Evidence), "\x00")
			bySpeaker[by] = append(bySpeaker[by], claim)
		}
	}
	for _, claims := range bySpeaker {
		m.Claims = append(m.Claims, unite(claims)...)
	}
	slices.SortFunc(m.Claims, compareClaims)
	for _, claim := range m.Claims {
		m.LastAt = later(m.LastAt, newest(claim.Evidence))
	}
	return m, refused
}

// setNames sets subject, kind and aliases. An account is called by its first name, any other subject by its longest
// observed name. The kind is bot only if all observations say so.
func (m *merged) setNames(c *participants) {
	names, best := map[string]string{}, "" // names by key as written; the key of the subject
	for _, o := range m.observations {
		if m.Kind == "" || o.Kind == reverie.EntityPerson {
			m.Kind = o.Kind
		}
		for _, name := range append([]string{o.Subject}, o.Aliases...) {
			key := text.NameKey(name)
			if names[key] == "" || name < names[key] {
				names[key] = name
			}
		}
		key := text.NameKey(o.Subject)
		if cmp.Or(utf8.RuneCountInString(key)-utf8.RuneCountInString(best), strings.Compare(best, key)) > 0 {
			best = key
		}
	}
	m.Subject = names[best]
	if a := c.accounts[m.Account]; a != nil {
		m.Subject, m.Kind = a.name(), a.kind
	}
	delete(names, text.NameKey(m.Subject))
	m.Aliases = slices.Sorted(maps.Values(names))
}

// claimFault returns why a claim does not count, or "". The rules may have changed since a postponed claim was checked.
func claimFault(c reverie.ObservedClaim, names []string, least float64) (rule, detail string) {
	if rule, detail = checkClaim(c); rule != "" {
		return rule, detail
	}
	switch key := text.NameKey(c.Value); {
	case c.Confidence < least:
		return ruleConfidence, answer.TooUnsure(c.Confidence, least)
	case c.Aspect != reverie.AspectRelation && (words().Nothing[key] || slices.Contains(nameKeys(names), key)):
		return ruleBoilerplate, fmt.Sprintf("%q says nothing of it", text.Excerpt(c.Value, 60))
	}
	return "", ""
}

// claimKey is equal for claims that say the same. It combines the aspect, the key and the normalized text.
func claimKey(c reverie.ObservedClaim) string {
	said := text.ContentHash(c.Value)
	if c.Aspect == reverie.AspectRelation {
		said = "name " + text.NameKey(c.Value)
		if c.Account != "" {
			said = "account " + c.Account
		}
	}
	return string(c.Aspect) + "\x00" + text.NameKey(c.Name) + "\x00" + said
}

// unite joins claims that say the same, whatever their order. The result has all their evidence, each message once, and
// the highest confidence with the words of that claim.
func unite(claims []reverie.ObservedClaim) []reverie.ObservedClaim {
	sorted := slices.Clone(claims)
	keys := make(map[string]int, len(claims))
	slices.SortFunc(sorted, compareClaims)
	var list []reverie.ObservedClaim
	for _, c := range sorted {
		key := claimKey(c)
		at, again := keys[key]
		if !again {
			keys[key] = len(list)
			c.Evidence = uniteEvidence(c.Evidence)
			list = append(list, c)
			continue
		}
		one := &list[at]
		one.Evidence = uniteEvidence(one.Evidence, c.Evidence)
		one.Replaces, one.Reason = cmp.Or(one.Replaces, c.Replaces), cmp.Or(one.Reason, c.Reason)
	}
	return list
}

// compareClaims orders claims. Among those that say the same, the highest confidence comes first, then the earliest.
func compareClaims(a, b reverie.ObservedClaim) int {
	return cmp.Or(strings.Compare(claimKey(a), claimKey(b)), cmp.Compare(b.Confidence, a.Confidence),
		newest(a.Evidence).Compare(newest(b.Evidence)), strings.Compare(fmt.Sprint(a), fmt.Sprint(b)))
}

// quotesContainValue reports whether the quotes of a claim contain a word of its value. Of a script without spaces, two
// adjacent characters count as a word.
func quotesContainValue(c reverie.ObservedClaim) bool {
	var words []string
	for _, run := range strings.FieldsFunc(textForm(c.Value), func(r rune) bool { return !isLetter(r) }) {
		runes := []rune(run)
		switch {
		case !text.Joins(runes[0]):
			for i := range len(runes) - 1 {
				words = append(words, string(runes[i:i+2]))
			}
		case len(runes) > 2: // shorter ones are in every sentence
			words = append(words, run)
		}
	}
	return slices.ContainsFunc(c.Evidence, func(e reverie.Evidence) bool {
		text := textForm(e.Quote)
		return slices.ContainsFunc(words, func(word string) bool { return len(places(text, word)) > 0 })
	})
}

// uniteEvidence joins lists of evidence, oldest first. Each message comes once, with its longest quote.
func uniteEvidence(lists ...[]reverie.Evidence) []reverie.Evidence {
	all := slices.Concat(lists...)
	slices.SortFunc(all, func(a, b reverie.Evidence) int {
		return cmp.Or(a.SentAt.Compare(b.SentAt), strings.Compare(a.MessageID, b.MessageID),
			len(b.Quote)-len(a.Quote), strings.Compare(a.Quote, b.Quote),
			strings.Compare(a.AuthorID+"\x00"+a.Author, b.AuthorID+"\x00"+b.Author))
	})
	return slices.CompactFunc(all, func(a, b reverie.Evidence) bool { return a.MessageID == b.MessageID })
}

// newest returns when the latest evidence was sent.
func newest(list []reverie.Evidence) (at time.Time) {
	for _, e := range list {
		at = later(at, e.SentAt)
	}
	return at
}

func later(a, b time.Time) time.Time {
	if b.After(a) {
		return b
	}
	return a
}

// authors returns the authors of the evidence, sorted, each once.
func authors(list []reverie.Evidence) []string {
	return distinct(list, func(e reverie.Evidence) string { return e.AuthorID })
}

// dates returns the local dates of the evidence, sorted, each once.
func dates(list []reverie.Evidence) []string {
	return distinct(list, func(e reverie.Evidence) string { return e.LocalDate })
}

func distinct(list []reverie.Evidence, of func(reverie.Evidence) string) []string {
	var values []string
	for _, e := range list {
		values = append(values, of(e))
	}
	slices.Sort(values)
	return slices.Compact(values)
}
