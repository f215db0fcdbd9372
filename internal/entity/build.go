package entity

import (
	"cmp"
	"maps"
	"slices"
	"time"

	"reverie/internal/reverie"
	"reverie/internal/safety"
	"reverie/internal/text"
)

// draft is the input of a plan.
type draft struct {
	groupID, runID string
	chunkNo        int
	now            time.Time
	expireAfter    time.Duration
	list           []resolved
	resolver       *resolver                 // the resolver that has settled the list
	expired        []string                  // observations that have waited too long: see unexpired
	entities       map[string]reverie.Entity // by id: of the list, of relation targets and of the participants
}

// build makes the plan of a chunk: new entities, names, claims and postponed observations. The plan records the
// versions of the known entities that it writes to.
func build(in draft) reverie.EntityPlan {
	b := &builder{draft: in, drafts: map[string]*entityDraft{}, draftByIndex: map[int]*entityDraft{},
		knownNames: map[string]bool{}, roots: map[string]string{},
		members: map[string]string{},
		plan: reverie.EntityPlan{GroupID: in.groupID, RunID: in.runID, ChunkNo: in.chunkNo, Heads: map[string]int{},
			Expired: in.expired}}
	for id, e := range in.entities {
		for _, n := range e.Names {
			b.roots[n.EntityID] = id
			if n.Kind == reverie.NameID {
				b.members[n.Name] = n.EntityID
			} else {
				b.knownNames[n.EntityID+n.Key] = true
			}
		}
	}
	for i, one := range in.list {
		if one.postponed == "" {
			b.assignDraft(i, one)
		}
	}
	for i, one := range in.list {
		if one.postponed != "" {
			b.postpone(one.merged, one.Claims, one.postponed, b.candidates(one))
		} else {
			b.assignClaims(b.draftByIndex[i], one.merged)
		}
	}
	b.write()
	return b.plan
}

// builder is a plan in progress.
type builder struct {
	draft
	plan         reverie.EntityPlan
	drafts       map[string]*entityDraft
	order        []*entityDraft
	draftByIndex map[int]*entityDraft // by index in the list
	roots        map[string]string    // entity -> the entity that it is merged into
	members      map[string]string    // account -> the entity that has it, which may be merged into another
	knownNames   map[string]bool      // names that an entity has, or is given: its id with the name's key
}

// entityDraft is an entity that the plan writes to, or refers to.
type entityDraft struct {
	id          string
	known       bool
	kind        reverie.EntityKind
	subject     string
	accounts    []string                // its platform ids
	newAccounts []string                // those accounts that are new to it
	aliases     []furtherName           // names that may be new to it
	claims      []reverie.ObservedClaim // a relation's Account is the id of its target's entity
	referenced  bool                    // a relation, or a postponed observation, refers to it
}

// furtherName is a further name of an entity, with the account that has it; "" if no account does.
type furtherName struct{ name, account string }

// addNames adds further names.
func (p *entityDraft) addNames(account string, names ...string) {
	for _, name := range names {
		p.aliases = append(p.aliases, furtherName{name, account})
	}
}

// entityDraft returns the draft with a key, and makes it if there is none.
func (b *builder) entityDraft(key string, make func() *entityDraft) *entityDraft {
	p := b.drafts[key]
	if p == nil {
		p = make()
		b.drafts[key] = p
		b.order = append(b.order, p)
	}
	return p
}

func (b *builder) knownDraft(entityID string) *entityDraft {
	return b.entityDraft("entity "+entityID, func() *entityDraft {
		p := &entityDraft{id: entityID, known: true, subject: b.entities[entityID].Subject}
		if e := b.resolver.entries[entityID]; e != nil {
			p.kind, p.accounts = e.kind, slices.Clip(e.accounts)
		}
		return p
	})
}

// accountDraft returns the draft of the entity that an account becomes.
func (b *builder) accountDraft(account, name string, kind reverie.EntityKind) *entityDraft {
	return b.entityDraft("account "+account, func() *entityDraft {
		p := &entityDraft{id: reverie.NewID(), kind: kind, subject: name, accounts: []string{account},
			newAccounts: []string{account}}
		if a := b.resolver.participants.accounts[account]; a != nil {
			p.subject, p.kind = a.name(), a.kind
			p.addNames(account, a.names...)
		}
		return p
	})
}

// assignDraft finds or makes the draft of the entity that an observation is about.
func (b *builder) assignDraft(i int, one resolved) {
	var p *entityDraft
	switch {
	case one.entityID != "":
		p = b.knownDraft(one.entityID)
		if a := one.Account; a != "" && b.resolver.byID[a] == "" && !slices.Contains(p.accounts, a) {
			p.accounts, p.newAccounts = append(p.accounts, a), append(p.newAccounts, a)
		}
	case one.Account != "":
		p = b.accountDraft(one.Account, one.Subject, one.Kind)
	default:
		p = &entityDraft{id: reverie.NewID(), kind: one.Kind, subject: one.Subject}
		b.order = append(b.order, p)
	}
	for _, observation := range one.observations {
		if observation.Account == "" { // the participants have the names of accounts
			p.addNames(one.Account, observation.Subject)
		}
	}
	p.addNames(one.Account, one.Aliases...)
	b.draftByIndex[i] = p
}

// assignClaims gives the claims of a subject to its draft. A relation to an unknown target is postponed by itself.
func (b *builder) assignClaims(p *entityDraft, m merged) {
	var waits []reverie.ObservedClaim
	var candidates []*entityDraft
	reason := reverie.PostponedInsufficient
	for _, c := range m.Claims {
		if c.Aspect != reverie.AspectRelation {
			p.claims = append(p.claims, c)
			continue
		}
		switch targets := b.targets(c); {
		case len(targets) == 0:
			waits = append(waits, c)
		case len(targets) > 1:
			waits, candidates, reason = append(waits, c), append(candidates, targets...), reverie.PostponedAmbiguous
		case targets[0] == p:
			b.refuse(string(c.Aspect), p.subject, ruleTarget, "it relates its subject to itself")
		default:
			targets[0].referenced, c.Account = true, targets[0].id
			p.claims = append(p.claims, c)
		}
	}
	if len(waits) == 0 {
		for _, o := range m.waiting() {
			b.plan.Joined = append(b.plan.Joined, o.ID)
		}
		return
	}
	if len(p.accounts) > 0 && m.Account == "" {
		m.Account = p.accounts[0]
	}
	b.postpone(m, waits, reason, candidates)
}

// targets returns the possible targets of a relation. If there are several, the relation is ambiguous.
func (b *builder) targets(c reverie.ObservedClaim) (list []*entityDraft) {
	if c.Account != "" {
		return []*entityDraft{b.holderDraft(holder{b.resolver.entityOf(c.Account), c.Account}, c.Value)}
	}
	for _, h := range b.resolver.holders([]string{c.Value}, "") {
		list = append(list, b.holderDraft(h, c.Value))
	}
	key := text.NameKey(c.Value)
	bears := func(other furtherName) bool { return text.NameKey(other.name) == key }
	for _, other := range b.order {
		if !other.known && len(other.accounts) == 0 && (bears(furtherName{name: other.subject}) ||
			slices.ContainsFunc(other.aliases, bears)) {
			list = append(list, other)
		}
	}
	return list
}

func (b *builder) holderDraft(h holder, name string) *entityDraft {
	if h.entityID != "" {
		return b.knownDraft(h.entityID)
	}
	return b.accountDraft(h.account, name, cmp.Or(b.resolver.kinds[h.account], reverie.EntityPerson))
}

// candidates returns the drafts that an ambiguous subject may mean.
func (b *builder) candidates(one resolved) (list []*entityDraft) {
	for _, id := range one.MatchingIDs {
		list = append(list, b.knownDraft(id))
	}
	for _, account := range one.maybeAccounts {
		list = append(list, b.holderDraft(holder{account: account}, one.Subject))
	}
	return list
}

// postpone postpones claims of a subject, and joins them with its earlier postponed observations. An observation that
// does not change is kept. Claims much older than the newest one are refused; otherwise they would never expire while
// the name is in use. Each account that the subject may mean becomes an entity, so that it is still known when others
// write and it does not.
func (b *builder) postpone(m merged, claims []reverie.ObservedClaim, reason reverie.PostponementReason,
	candidates []*entityDraft) {
	left, waiting := supports(claims), m.waiting()
	if len(waiting) == 1 && maps.Equal(left, supports(waiting[0].Claims)) &&
		(m.Account != "" || len(m.Aliases) == len(waiting[0].Aliases)) {
		return
	}
	o := m.Observation
	o.GroupID, o.ID, o.RunID, o.CreatedAt = b.groupID, reverie.NewID(), b.runID, b.now
	o.Claims, o.Status, o.Postponed, o.LastAt, o.MatchingIDs = nil, reverie.ObservationWaiting, reason, time.Time{}, nil
	for _, c := range claims {
		o.LastAt = later(o.LastAt, newest(c.Evidence))
	}
	for _, p := range waiting {
		before := supports(p.Claims)
		if maps.DeleteFunc(before, func(s string, _ bool) bool { return left[s] }); len(before) > 0 {
			b.plan.Joined = append(b.plan.Joined, p.ID) // some of its claims are settled
		} else {
			o.Continues = append(o.Continues, p.ID)
		}
	}
	o.ExpiresAt = o.LastAt.Add(b.expireAfter)
	for _, c := range claims {
		if newest(c.Evidence).Add(b.expireAfter).After(o.LastAt) {
			o.Claims = append(o.Claims, c)
		} else {
			b.refuse(string(c.Aspect), m.Subject, ruleExpired, "it has waited too long")
		}
	}
	if len(claims) == 0 {
		b.refuse("subject", m.Subject, string(safety.RuleEmpty),
			"another name for somebody who is not known, and nothing besides")
		return
	}
	for _, p := range candidates {
		if known := len(p.accounts) > 0 || p.known; known && !slices.Contains(o.MatchingIDs, p.id) {
			p.referenced = true
			o.MatchingIDs = append(o.MatchingIDs, p.id)
		}
	}
	slices.Sort(o.MatchingIDs)
	b.plan.Postponed = append(b.plan.Postponed, o)
}

// waiting returns the postponed observations that are part of a subject.
func (m merged) waiting() (list []reverie.Observation) {
	for _, o := range m.observations {
		if o.ID != "" {
			list = append(list, o)
		}
	}
	return list
}

// supports returns a set of claims, each with a message that it cites.
func supports(claims []reverie.ObservedClaim) map[string]bool {
	set := map[string]bool{}
	for _, c := range claims {
		for _, e := range c.Evidence {
			set[claimKey(c)+"\x00"+e.MessageID] = true
		}
	}
	return set
}

func (b *builder) run() *string {
	if b.runID == "" {
		return nil
	}
	return &b.runID
}

func (b *builder) refuse(what, of, rule, detail string) {
	b.plan.Refusals = append(b.plan.Refusals, reverie.Refusal{Action: what, Handle: handle(of), Rule: rule,
		Detail: detail})
}

// citedBy returns the messages that the claims of a plan cite, written or postponed.
func citedBy(plan reverie.EntityPlan) map[string]bool {
	cited := map[string]bool{}
	note := func(list []reverie.Evidence) {
		for _, e := range list {
			cited[e.MessageID] = true
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
	return cited
}

// write turns drafts into new entities, names and claims.
func (b *builder) write() {
	for _, id := range slices.Sorted(maps.Keys(b.resolver.participants.accounts)) {
		if entityID := b.resolver.byID[id]; entityID != "" {
			b.knownDraft(entityID).addNames(id, b.resolver.participants.accounts[id].names...)
		}
	}
	for _, p := range b.order {
		if !p.known && !p.referenced && len(p.claims) == 0 && (len(p.accounts) == 0 || !b.hasFurtherNames(p)) {
			continue // only a postponed observation mentions it
		}
		if p.known {
			b.writeNames(p)
		} else {
			b.create(p)
		}
		b.claim(p)
	}
}

// hasFurtherNames reports whether a new entity has a name that its account does not show.
func (b *builder) hasFurtherNames(p *entityDraft) bool {
	return slices.ContainsFunc(p.aliases, func(a furtherName) bool {
		key := text.NameKey(a.name)
		return key != text.NameKey(p.subject) && !slices.ContainsFunc(p.accounts,
			func(id string) bool { return b.resolver.participants.shows(id, key) })
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

// writeNames writes names that a known entity does not have yet.
func (b *builder) writeNames(p *entityDraft) {
	for _, account := range p.newAccounts {
		b.plan.Names = append(b.plan.Names, b.name(p.id, reverie.NameID, account))
	}
	names := b.aliases(p)
	if b.plan.Names = append(b.plan.Names, names...); len(p.newAccounts)+len(names) > 0 {
		b.noteVersion(p)
	}
}

// aliases returns the names that are new to an entity, each once. The name of an account goes to the entity that has
// the account.
func (b *builder) aliases(p *entityDraft) (list []reverie.EntityName) {
	for _, a := range p.aliases {
		key := text.NameKey(a.name)
		if rule, _ := checkWords(a.name, reverie.MaxNameLength); rule != "" || key == "" {
			continue
		}
		of := cmp.Or(b.speaker(p, a.account), p.id)
		if !b.knownNames[of+key] && !(a.account == "" && p.known && b.resolver.hasName(p.id, a.name)) {
			list = append(list, b.name(of, reverie.NameAlias, a.name))
		}
	}
	return list
}

// name makes one row of the identity index.
func (b *builder) name(entityID string, kind reverie.NameKind, name string) reverie.EntityName {
	n := reverie.EntityName{ID: reverie.NewID(), EntityID: entityID, Kind: kind, Name: name, Key: name,
		CreatedAt: b.now, RunID: b.run()}
	if kind != reverie.NameID {
		n.Key = text.NameKey(name)
		b.knownNames[entityID+n.Key] = true
	}
	return n
}

// noteVersion notes the version of a known entity that the plan writes to.
func (b *builder) noteVersion(p *entityDraft) {
	if e, ok := b.entities[p.id]; ok && p.known {
		b.plan.Heads[p.id] = e.Version
	}
}
