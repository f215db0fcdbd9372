package impression

import (
	"cmp"
	"maps"
	"slices"
	"time"

	"reverie"
)

// draft is all that a plan is built from.
type draft struct {
	groupID, runID string
	chunkNo        int
	now            time.Time
	expireAfter    time.Duration
	asOf           time.Time // when the chunk's newest message was sent
	list           []resolved
	idx            *index
	cast           *cast
	expired        []string                  // observations that have waited too long: see unexpired
	entities       map[string]reverie.Entity // by id: those of the list, of relation targets and of the cast
}

// build makes the plan of a chunk: what is created, named, claimed, and what
// waits. The plan rests on the versions of the known entities that it writes. Each
// message that a written or postponed claim cites has the outcome cited; those of
// earlier chunks may be among them.
func build(in draft) reverie.EntityPlan {
	b := &builder{draft: in, parties: map[string]*party{}, of: map[int]*party{}, accounts: map[string][]string{}, named: map[string]bool{}, roots: map[string]string{},
		plan: reverie.EntityPlan{GroupID: in.groupID, RunID: in.runID, ChunkNo: in.chunkNo, Heads: map[string]int{},
			Expired: in.expired}}
	var list []merged
	for _, one := range in.list {
		list = append(list, one.merged)
	}
	b.who = newResolver(list, in.idx, in.cast)
	for id, e := range in.entities {
		for _, n := range e.Names {
			b.roots[n.EntityID] = id
		}
	}
	for account, id := range in.idx.byID {
		b.accounts[id] = append(b.accounts[id], account)
	}
	for i, one := range in.list {
		if one.postponed == "" {
			b.meet(i, one)
		}
	}
	for i, one := range in.list {
		if one.postponed != "" {
			b.postpone(one.merged, one.Claims, one.postponed)
		} else {
			b.divide(b.of[i], one.merged)
		}
	}
	b.write()
	b.plan.Outcomes = cited(b.plan)
	return b.plan
}

// builder is a plan under way.
type builder struct {
	draft
	who      *resolver
	plan     reverie.EntityPlan
	parties  map[string]*party
	order    []*party
	of       map[int]*party      // by place in the list
	accounts map[string][]string // of known entities
	roots    map[string]string   // entity -> the one that it is read as
	named    map[string]bool     // names that the plan gives
}

// party is an entity that the plan writes to, or points to.
type party struct {
	id       string
	known    bool
	kind     reverie.EntityKind
	subject  string
	accounts []string // its platform ids
	adds     []string // of those, the ones that are new to it
	aliases  []string // names that it may not have yet
	claims   []aimed
	target   bool // a relation points to it
}

// aimed is a claim whose target, if it is a relation, is settled.
type aimed struct {
	reverie.ObservedClaim
	targetID string
}

// party returns the party under a key, a new one where there is none.
func (b *builder) party(key string, make func() *party) *party {
	p := b.parties[key]
	if p == nil {
		p = make()
		b.parties[key] = p
		b.order = append(b.order, p)
	}
	return p
}

func (b *builder) knownParty(entityID string) *party {
	return b.party("entity "+entityID, func() *party {
		return &party{id: entityID, known: true, kind: b.idx.entities[entityID], subject: b.entities[entityID].Subject,
			accounts: slices.Sorted(slices.Values(b.accounts[entityID]))}
	})
}

// accountParty is the entity that an account becomes.
func (b *builder) accountParty(account, name string, kind reverie.EntityKind) *party {
	return b.party("account "+account, func() *party {
		p := &party{id: reverie.NewID(), kind: kind, subject: name, accounts: []string{account}, adds: []string{account}}
		if a := b.cast.accounts[account]; a != nil {
			p.subject, p.kind, p.aliases = a.name(), a.kind, slices.Clone(a.names)
		}
		return p
	})
}

// meet finds or makes the party that an observation is about.
func (b *builder) meet(i int, one resolved) {
	var p *party
	switch {
	case one.entityID != "":
		p = b.knownParty(one.entityID)
		if a := one.Account; a != "" && b.idx.byID[a] == "" && !slices.Contains(p.accounts, a) {
			p.accounts, p.adds = append(p.accounts, a), append(p.adds, a)
		}
	case one.Account != "":
		p = b.accountParty(one.Account, one.Subject, one.Kind)
	default:
		p = &party{id: reverie.NewID(), kind: one.Kind, subject: one.Subject}
		b.order = append(b.order, p)
	}
	for _, piece := range one.pieces {
		if piece.Account == "" { // an account's names are in the cast
			p.aliases = append(p.aliases, piece.Subject)
		}
	}
	p.aliases = append(p.aliases, one.Aliases...)
	b.of[i] = p
}

// divide gives a party what is observed of it. A relation to somebody who is not
// known waits alone.
func (b *builder) divide(p *party, m merged) {
	var waits []reverie.ObservedClaim
	var reason reverie.PostponementReason
	var matching []string
	written := false
	for _, c := range m.Claims {
		if c.Aspect != reverie.AspectRelation {
			p.claims, written = append(p.claims, aimed{ObservedClaim: c}), true
			continue
		}
		target, candidates := b.target(c)
		switch {
		case target == nil:
			waits = append(waits, c)
			if matching = append(matching, candidates...); len(candidates) > 1 {
				reason = reverie.PostponedAmbiguous
			}
		case target == p:
			b.refuse(c, p, ruleTarget, "it relates its subject to itself")
		default:
			target.target = true
			p.claims, written = append(p.claims, aimed{c, target.id}), true
		}
	}
	if len(waits) == 0 {
		b.plan.Joined = append(b.plan.Joined, m.parts...)
		return
	}
	m.MatchingIDs = slices.Compact(slices.Sorted(slices.Values(matching)))
	if len(p.accounts) > 0 && m.Account == "" {
		m.Account = p.accounts[0]
	}
	m.fresh = m.fresh || written // what is left of a waiting one is another
	b.postpone(m, waits, cmp.Or(reason, reverie.PostponedInsufficient))
}

// target finds whom a relation points to: nil, and whom it may be, where nobody
// can know.
func (b *builder) target(c reverie.ObservedClaim) (p *party, candidates []string) {
	if c.Account != "" {
		return b.holderParty(holder{b.who.entityOf(c.Account), c.Account}, c), nil
	}
	key := reverie.NameKey(c.Value)
	for _, h := range b.who.holders([]string{c.Value}, "") {
		p, candidates = b.holderParty(h, c), append(candidates, cmp.Or(h.entityID, h.account))
	}
	for _, other := range b.order {
		if !other.known && len(other.accounts) == 0 && slices.ContainsFunc(slices.Concat(other.aliases, []string{other.subject}), func(name string) bool {
			return reverie.NameKey(name) == key
		}) {
			p, candidates = other, append(candidates, other.id)
		}
	}
	if len(candidates) != 1 {
		p = nil
		candidates = slices.DeleteFunc(candidates, func(id string) bool { return b.idx.entities[id] == "" })
	}
	return p, candidates
}

func (b *builder) holderParty(h holder, c reverie.ObservedClaim) *party {
	if h.entityID != "" {
		return b.knownParty(h.entityID)
	}
	return b.accountParty(h.account, c.Value, cmp.Or(b.who.kinds[h.account], reverie.EntityPerson))
}

// postpone lets some claims of a subject wait, as one with what of it waited
// before. What only waits on stays as it is.
func (b *builder) postpone(m merged, claims []reverie.ObservedClaim, reason reverie.PostponementReason) {
	if !m.fresh && len(m.parts) == 1 {
		return
	}
	b.plan.Joined = append(b.plan.Joined, m.parts...)
	o := m.Observation
	o.GroupID, o.ID, o.RunID, o.CreatedAt = b.groupID, reverie.NewID(), b.runID, b.now
	o.Claims, o.Status, o.Postponed, o.LastAt = claims, reverie.ObservationWaiting, reason, time.Time{}
	for _, c := range claims {
		o.LastAt = later(o.LastAt, newest(c.Evidence))
	}
	o.ExpiresAt = o.LastAt.Add(b.expireAfter)
	switch {
	case len(claims) == 0:
		b.plan.Refusals = append(b.plan.Refusals, reverie.Refusal{Action: "subject", Handle: handle(m.Subject), Rule: string(reverie.RuleEmpty),
			Detail: "another name for somebody who is not known, and nothing besides"})
	case !o.ExpiresAt.After(b.asOf):
		b.plan.Refusals = append(b.plan.Refusals, reverie.Refusal{Action: "subject", Handle: handle(m.Subject), Rule: ruleExpired,
			Detail: "what is left of it has waited too long"})
	default:
		b.plan.Postponed = append(b.plan.Postponed, o)
	}
}

// write turns parties into creates, names and claims.
func (b *builder) write() {
	for _, id := range slices.Sorted(maps.Keys(b.cast.accounts)) {
		if entityID := b.idx.byID[id]; entityID != "" {
			p := b.knownParty(entityID)
			p.aliases = append(p.aliases, b.cast.accounts[id].names...)
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

// goesByMore tells whether a new party has a name that its account does not show.
func (b *builder) goesByMore(p *party) bool {
	return slices.ContainsFunc(p.aliases, func(name string) bool {
		key := reverie.NameKey(name)
		return key != reverie.NameKey(p.subject) && !slices.ContainsFunc(p.accounts, func(id string) bool { return b.cast.shows(id, key) })
	})
}

// create writes a new entity with its names.
func (b *builder) create(p *party) {
	e := reverie.Entity{GroupID: b.groupID, ID: p.id, Kind: p.kind, Subject: p.subject, Status: reverie.EntityActive, Version: 1,
		CreatedAt: b.now, UpdatedAt: b.now, RunID: b.run()}
	for _, account := range p.accounts {
		e.Names = append(e.Names, b.name(p.id, reverie.NameID, account))
	}
	e.Names = append(e.Names, b.name(p.id, reverie.NameSubject, p.subject))
	e.Names = append(e.Names, b.aliases(p)...)
	b.plan.Creates = append(b.plan.Creates, e)
}

// further writes names that a known entity does not have yet.
func (b *builder) further(p *party) {
	for _, account := range p.adds {
		b.plan.Names = append(b.plan.Names, b.name(p.id, reverie.NameID, account))
	}
	if b.plan.Names = append(b.plan.Names, b.aliases(p)...); len(b.plan.Names) > 0 && b.plan.Names[len(b.plan.Names)-1].EntityID == p.id {
		b.rest(p)
	}
}

// aliases are the names of a party that are new to it, each once.
func (b *builder) aliases(p *party) (list []reverie.EntityName) {
	for _, name := range p.aliases {
		if rule, _ := checkWords(name, reverie.MaxNameLength); rule != "" || reverie.NameKey(name) == "" {
			continue
		}
		if !b.named[p.id+reverie.NameKey(name)] && !(p.known && b.idx.bears(p.id, name)) {
			list = append(list, b.name(p.id, reverie.NameAlias, name))
		}
	}
	return list
}

// name makes one entry of the identity index.
func (b *builder) name(entityID string, kind reverie.NameKind, name string) reverie.EntityName {
	n := reverie.EntityName{ID: reverie.NewID(), EntityID: entityID, Kind: kind, Name: name, Key: name, CreatedAt: b.now, RunID: b.run()}
	if kind != reverie.NameID {
		n.Key = reverie.NameKey(name)
		b.named[entityID+n.Key] = true
	}
	return n
}

// rest notes the version of a known entity that the plan rests on.
func (b *builder) rest(p *party) {
	if e, ok := b.entities[p.id]; ok && p.known {
		b.plan.Heads[p.id] = e.Version
	}
}

func (b *builder) run() *string {
	if b.runID == "" {
		return nil
	}
	return &b.runID
}

func (b *builder) refuse(c reverie.ObservedClaim, p *party, rule, detail string) {
	b.plan.Refusals = append(b.plan.Refusals, reverie.Refusal{Action: string(c.Aspect), Handle: handle(p.subject), Rule: rule, Detail: detail})
}

// cited gives the messages that a plan's claims rest on, written or waiting, their
// outcome.
func cited(plan reverie.EntityPlan) map[string]reverie.Outcome {
	outcomes := map[string]reverie.Outcome{}
	note := func(list []reverie.Evidence) {
		for _, e := range list {
			outcomes[e.MessageID] = reverie.OutcomeCited
		}
	}
	for _, step := range plan.Claims {
		note(step.Evidence)
	}
	for _, o := range plan.Postponed {
		for _, c := range o.Claims {
			note(c.Evidence)
		}
	}
	return outcomes
}
