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
	"reverie/internal/safety"
	"reverie/internal/text"
)

// unexpired divides what waits into what still may be joined and the ids of what has
// waited too long: by the chat's clock, as of the chunk's newest message, and by the
// run's, of what was there before longAgo. What the chat's clock alone has passed by
// is left alone, for a backfill to go on with; a fresh observation of its name that
// was made in time saves either.
func unexpired(waiting, fresh []reverie.Observation, asOf, longAgo time.Time) (live []reverie.Observation,
	expired []string) {
	latest := map[string][]time.Time{} // key of a name, or an account -> when it was observed
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

// handles are what observations of one subject are joined by: its account, else its
// names.
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

// aggregate puts together what all batches, and earlier runs, observed of one
// subject, whatever their order, and drops what is weak, empty, boilerplate or
// over-long.
//
// Observations of one account are one. Those without an account are one where
// they have the same name, where a name of the one is a proven name of the other,
// or where they say the same on the same message under names of which one is part
// of the other, and neither is known. Who else stands in that message is nobody's
// doing: shared evidence alone joins nobody, since two people may be spoken of in
// one sentence. Whether a name means an account is for resolve, which knows the
// index.
func aggregate(fresh, waiting []reverie.Observation, c *participants, r rules) (list []merged,
	refused []reverie.Refusal) {
	var observations []observation
	for _, o := range fresh {
		observations = append(observations, observation{Observation: o})
	}
	for _, o := range waiting {
		if isShown(o.Subject) { // by the rules of now
			observations = append(observations, observation{Observation: o, waits: o.ID})
		}
	}
	slices.SortFunc(observations, compareObservations)
	for _, group := range joined(observations, c) {
		m, dropped := combine(group, c, r)
		refused = append(refused, dropped...)
		if len(m.Claims) > 0 || len(m.Aliases) > 0 {
			list = append(list, m)
		}
	}
	return list, refused
}

func compareObservations(a, b observation) int {
	return cmp.Or(strings.Compare(a.Account, b.Account), strings.Compare(text.NameKey(a.Subject),
		text.NameKey(b.Subject)),
		strings.Compare(string(a.Kind), string(b.Kind)), a.LastAt.Compare(b.LastAt), strings.Compare(a.waits, b.waits),
		strings.Compare(fmt.Sprint(a.Observation), fmt.Sprint(b.Observation)))
}

// joined divides observations into groups of one subject, in the order of their first
// members.
func joined(observations []observation, c *participants) [][]observation {
	u := newUnion(len(observations))
	first := map[string]int{} // a name, or an account -> an observation that bears it
	same := func(key string, i int) {
		if j, ok := first[key]; ok {
			u.join(i, j)
		} else {
			first[key] = i
		}
	}
	type cite struct {
		observation int
		quote       string
	}
	claimed := map[string][]cite{}             // by a claim and a message
	names := make([]string, len(observations)) // of those whom nobody knows yet
	for i, p := range observations {
		if key := text.NameKey(p.Subject); !c.knows(key) {
			names[i] = key
		}
	}
	for i, p := range observations {
		for _, key := range handles(p.Observation) {
			same(key, i)
		}
		if p.Account != "" {
			continue
		}
		for _, c := range p.Claims {
			for _, e := range c.Evidence {
				key := sortOf(p.Kind) + " " + claimKey(c) + "\x00" + e.MessageID
				for _, other := range claimed[key] {
					if a, b := names[i], names[other.observation]; partOfName(a, b, e.Quote) &&
						partOfName(a, b, other.quote) {
						u.join(i, other.observation)
					}
				}
				claimed[key] = append(claimed[key], cite{i, e.Quote})
			}
		}
	}
	members := map[int][]observation{}
	for i, p := range observations {
		members[u.root(i)] = append(members[u.root(i)], p)
	}
	var groups [][]observation
	for _, root := range slices.Sorted(maps.Keys(members)) { // the first of each
		groups = append(groups, members[root])
	}
	return groups
}

// union is sets of numbers that are joined step by step.
type union []int

func newUnion(n int) union {
	u := make(union, n)
	for i := range u {
		u[i] = i
	}
	return u
}

func (u union) root(i int) int {
	for u[i] != i {
		u[i] = u[u[i]]
		i = u[i]
	}
	return i
}

// join makes two sets one, whose root is the smallest of its numbers.
func (u union) join(i, j int) {
	i, j = u.root(i), u.root(j)
	u[max(i, j)] = min(i, j)
}

// sortOf is what sort of subject a kind is: a bot is somebody, like a person.
func sortOf(k reverie.EntityKind) string {
	if k == reverie.EntityThing {
		return "thing"
	}
	return "somebody"
}

// partOfName tells whether one of two names, given by their keys, is part of the
// other, in words, and never stands apart from it in a quote: 小明 of 王小明, but not
// where both are named.
func partOfName(short, long, quote string) bool {
	if len(short) > len(long) {
		short, long = long, short
	}
	return utf8.RuneCountInString(short) > 1 && len(places(long, short)) > 0 &&
		len(places(textForm(quote), long)) > 0 && !standApart(quote, short, long)
}

// combine makes one of the observations of a subject. Its claims are those that
// count, each judged as it was observed; why the others do not is said beside.
// Claims of different speakers stay apart: nobody's words make another's surer.
func combine(group []observation, c *participants, r rules) (m merged, refused []reverie.Refusal) {
	m = merged{Observation: reverie.Observation{Account: group[0].Account}, observations: group}
	m.call(c)
	names := append([]string{m.Subject}, m.Aliases...)
	if a := c.accounts[m.Account]; a != nil {
		names = append(names, a.names...)
	}
	bySpeaker := map[string][]reverie.ObservedClaim{}
	for _, p := range group {
		for _, claim := range p.Claims {
			if rule, detail := weak(claim, names, r); rule != "" {
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

// call settles subject, kind and aliases of what was put together: an account
// goes by its first name, whatever else by the name that most messages speak of,
// and of those the longest.
func (m *merged) call(c *participants) {
	type use struct {
		name string
		n    int
	}
	uses, kinds := map[string]*use{}, map[reverie.EntityKind]int{}
	for _, p := range m.observations {
		cited := map[string]bool{}
		for _, claim := range p.Claims {
			for _, e := range claim.Evidence {
				cited[e.MessageID] = true
			}
		}
		kinds[p.Kind] += len(cited)
		for i, name := range append([]string{p.Subject}, p.Aliases...) {
			key := text.NameKey(name)
			if uses[key] == nil {
				uses[key] = &use{name: name}
			}
			if name < uses[key].name {
				uses[key].name = name
			}
			if i == 0 {
				uses[key].n += len(cited) + 1
			}
		}
	}
	for _, k := range []reverie.EntityKind{reverie.EntityThing, reverie.EntityBot, reverie.EntityPerson} {
		if n, ok := kinds[k]; ok && (m.Kind == "" || n >= kinds[m.Kind]) {
			m.Kind = k
		}
	}
	best := ""
	for key, u := range uses {
		if best == "" || cmp.Or(u.n-uses[best].n, utf8.RuneCountInString(key)-utf8.RuneCountInString(best),
			strings.Compare(best, key)) > 0 {
			best = key
		}
	}
	m.Subject = uses[best].name
	if a := c.accounts[m.Account]; a != nil {
		m.Subject, m.Kind = a.name(), a.kind
	}
	own := text.NameKey(m.Subject)
	for key, u := range uses {
		if key != own {
			m.Aliases = append(m.Aliases, u.name)
		}
	}
	slices.Sort(m.Aliases)
}

// weak says why a claim does not count, or nothing. The words of one that has waited were
// checked by the rules of then.
func weak(c reverie.ObservedClaim, names []string, r rules) (rule, detail string) {
	if rule, detail = checkClaim(c); rule != "" {
		return rule, detail
	}
	switch key := text.NameKey(c.Value); {
	case utf8.RuneCountInString(c.Value) > reverie.MaxValueLength:
		return string(safety.RuleTooLong), fmt.Sprintf("it has %d characters, at most %d are kept",
			utf8.RuneCountInString(c.Value), reverie.MaxValueLength)
	case utf8.RuneCountInString(c.Name) > reverie.MaxNameLength:
		return string(safety.RuleTooLong), fmt.Sprintf("its key has %d characters, at most %d are kept",
			utf8.RuneCountInString(c.Name), reverie.MaxNameLength)
	case c.Confidence < r.minConfidence:
		return ruleConfidence, answer.TooUnsure(c.Confidence, r.minConfidence)
	case c.Aspect != reverie.AspectRelation && slices.Contains(append(nameKeys(names), words().nothing...), key):
		return ruleBoilerplate, fmt.Sprintf("%q says nothing of it", text.Excerpt(c.Value, 60))
	}
	return "", ""
}

// claimKey tells claims that say the same from others: aspect, key, and what the
// text says, however it is written.
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

// unite makes one claim of those that say the same: with all their evidence, each
// message once, the highest confidence, and the words of the one it belongs to.
// Their order does not matter.
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

// compareClaims orders claims: of those that say the same, the surest comes
// first, then the earliest.
func compareClaims(a, b reverie.ObservedClaim) int {
	return cmp.Or(strings.Compare(claimKey(a), claimKey(b)), cmp.Compare(b.Confidence, a.Confidence),
		newest(a.Evidence).Compare(newest(b.Evidence)), strings.Compare(fmt.Sprint(a), fmt.Sprint(b)))
}

// sayIt tells whether the quotes of a claim have a word of it: of a script that
// writes no spaces, two characters side by side.
func sayIt(c reverie.ObservedClaim) bool {
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

// uniteEvidence puts evidence together, oldest first: each message once, with its
// longest quote.
func uniteEvidence(lists ...[]reverie.Evidence) []reverie.Evidence {
	all := slices.Concat(lists...)
	slices.SortFunc(all, func(a, b reverie.Evidence) int {
		return cmp.Or(a.SentAt.Compare(b.SentAt), strings.Compare(a.MessageID, b.MessageID),
			len(b.Quote)-len(a.Quote), strings.Compare(a.Quote, b.Quote),
			strings.Compare(a.AuthorID+"\x00"+a.Author, b.AuthorID+"\x00"+b.Author))
	})
	return slices.CompactFunc(all, func(a, b reverie.Evidence) bool { return a.MessageID == b.MessageID })
}

// newest is when the latest evidence was sent.
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

// authors are who said the evidence, sorted, each once.
func authors(list []reverie.Evidence) []string {
	return distinct(list, func(e reverie.Evidence) string { return e.AuthorID })
}

// dates are the local dates of the evidence, sorted, each once.
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
