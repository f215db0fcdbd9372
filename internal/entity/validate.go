package entity

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"

	"reverie/internal/reverie"
	"reverie/internal/safety"
	"reverie/internal/text"
)

// validate holds a plan against the state that it rests on and takes out what
// breaks a rule, with a refusal for each; what is left is confirmed, and may be
// applied. No create of what the index knows, no second account of the plan's own
// making, no claim without a subject, a target or evidence, no number that is none,
// no step that is ambiguous or empty. What hangs on something that is taken out is
// taken out too.
func validate(plan reverie.EntityPlan, idx *index, entities map[string]reverie.Entity) (reverie.EntityPlan,
	[]reverie.Refusal) {
	v := &validator{idx: idx, entities: entities, roots: map[string]string{}, borne: map[string]bool{},
		owners: map[string]string{}, inForce: map[string]reverie.Claim{},
		creates: map[string]reverie.Entity{}, once: map[string]bool{}}
	for id, e := range entities {
		v.roots[id] = id
		for _, n := range e.Names {
			v.roots[n.EntityID] = id
			v.borne[n.EntityID+n.Key] = v.borne[n.EntityID+n.Key] || n.Kind != reverie.NameID
		}
		for _, c := range e.Claims {
			if v.owners[c.ID] = id; c.Status == reverie.StatusActive {
				v.inForce[c.ID] = c
			}
		}
	}
	plan.Creates = keep(plan.Creates, func(e reverie.Entity) bool {
		return v.held("create", e.Subject, ruleKnown, v.create(e))
	})
	plan.Names = keep(plan.Names, func(n reverie.EntityName) bool {
		return v.held("name", n.Name, rulePlan, v.name(n))
	})
	plan.Claims = keep(plan.Claims, func(s reverie.ClaimStep) bool {
		return v.held(string(s.Claim.Aspect), v.subject(s.Claim.EntityID), rulePlan, v.step(s))
	})
	plan.Postponed = keep(plan.Postponed, func(o reverie.Observation) bool {
		return v.held("subject", o.Subject, rulePlan, waitsForNothing(o))
	})
	plan = v.dropEmpty(plan)
	plan.Heads = v.heads(plan)
	plan.Outcomes = cited(plan)
	return plan, v.refused
}

// validator checks the parts of one plan.
type validator struct {
	idx      *index
	entities map[string]reverie.Entity
	roots    map[string]string         // entity -> the known one that it is read as
	borne    map[string]bool           // names of known entities: id and key
	owners   map[string]string         // claim -> entity that it is read with
	inForce  map[string]reverie.Claim  // by id
	creates  map[string]reverie.Entity // that stand so far
	once     map[string]bool           // what may be there once
	refused  []reverie.Refusal
}

// keep returns the items for which ok holds, in a list of their own.
func keep[T any](list []T, ok func(T) bool) (kept []T) {
	for _, item := range list {
		if ok(item) {
			kept = append(kept, item)
		}
	}
	return kept
}

// held tells whether nothing is wrong, and notes what is.
func (v *validator) held(what, of, rule, wrong string) bool {
	if wrong != "" {
		v.refused = append(v.refused, reverie.Refusal{Action: what, Handle: handle(of), Rule: rule, Detail: wrong})
	}
	return wrong == ""
}

// again tells whether something was there before, and notes it.
func (v *validator) again(parts ...string) bool {
	key := strings.Join(parts, "\x00")
	before := v.once[key]
	v.once[key] = true
	return before
}

func (v *validator) subject(entityID string) string {
	if e, ok := v.creates[entityID]; ok {
		return e.Subject
	}
	return v.entities[v.roots[entityID]].Subject
}

// exists tells whether an entity is known, or made by the plan.
func (v *validator) exists(entityID string) bool {
	_, created := v.creates[entityID]
	_, known := v.idx.entities[entityID]
	_, read := v.entities[entityID]
	return created || known || read
}

// create says what is wrong with a new entity, or nothing. Accounts make
// identities of their own; whoever has none is known by name alone, which must
// then be new.
func (v *validator) create(e reverie.Entity) (wrong string) {
	switch {
	case !reverie.IsID(e.ID) || v.exists(e.ID):
		return "its id is none, or another entity's"
	case e.Kind != reverie.EntityPerson && e.Kind != reverie.EntityBot && e.Kind != reverie.EntityThing:
		return fmt.Sprintf("kind %q is none of person, bot, thing", e.Kind)
	}
	if rule, detail := checkWords(e.Subject, reverie.MaxNameLength); rule != "" {
		return detail
	}
	accounts, subjects := 0, 0
	for _, n := range e.Names {
		switch {
		case n.EntityID != e.ID:
			return fmt.Sprintf("its name %q is another entity's", text.Excerpt(n.Name, 40))
		case n.Kind == reverie.NameID:
			accounts++
		case n.Kind == reverie.NameSubject:
			subjects++
		}
	}
	if subjects != 1 {
		return "it needs one name that it goes by"
	}
	for _, n := range e.Names {
		if n.Kind == reverie.NameID {
			if _, known := v.idx.byID[n.Name]; known || v.again("account", n.Name) {
				return "its account is another entity's"
			}
			continue
		}
		if wrong := v.nameless(n); wrong != "" {
			return wrong
		}
		if accounts == 0 && (v.known(n, e.Kind) || v.again("name", sortOf(e.Kind), n.Key)) {
			return fmt.Sprintf("%q is known already", text.Excerpt(n.Name, 40))
		}
	}
	v.creates[e.ID] = e
	return ""
}

// nameless says what makes a name none, or nothing; an entity bears it once.
func (v *validator) nameless(n reverie.EntityName) string {
	if rule, detail := checkWords(n.Name, reverie.MaxNameLength); rule != "" {
		return detail
	}
	if n.Key == "" || n.Key != text.NameKey(n.Name) {
		return "it has a name without a key"
	}
	if v.again("borne", n.EntityID, n.Key) {
		return "it is given twice"
	}
	return ""
}

// known tells whether the index has a name for something of that sort.
func (v *validator) known(n reverie.EntityName, kind reverie.EntityKind) bool {
	return slices.ContainsFunc(v.idx.byKey[n.Key],
		func(id string) bool { return sortOf(v.idx.entities[id]) == sortOf(kind) })
}

// name says what is wrong with a further name of a known entity, or nothing.
func (v *validator) name(n reverie.EntityName) (wrong string) {
	if v.roots[n.EntityID] == "" {
		return "its entity is not known"
	}
	switch n.Kind {
	case reverie.NameID:
		if _, known := v.idx.byID[n.Name]; known || n.Name == "" || v.again("account", n.Name) {
			return "the account is an entity's already"
		}
		return ""
	case reverie.NameAlias:
		if v.borne[n.EntityID+n.Key] {
			return "its entity has the name already"
		}
		return v.nameless(n)
	}
	return "a known entity keeps its subject"
}

// step says what is wrong with a write of a claim, or nothing.
func (v *validator) step(s reverie.ClaimStep) (wrong string) {
	if wrong := v.rests(s); wrong != "" {
		return wrong
	}
	c := s.Claim
	switch {
	case !within(c.Confidence):
		return "its confidence is not within 0 and 1"
	case !within(c.Strength):
		return "its strength is not within 0 and 1"
	case len(s.Evidence) == 0 || slices.ContainsFunc(s.Evidence,
		func(e reverie.Evidence) bool { return e.MessageID == "" || e.LocalDate == "" }):
		return "it has no evidence, or some that names no message and date"
	case c.Self && slices.ContainsFunc(s.Evidence, func(e reverie.Evidence) bool { return e.AuthorID == "" }):
		return "it is in the person's own words, of nobody"
	case s.Action == reverie.ActionKeep:
		return ""
	}
	if wrong := v.text(c); wrong != "" {
		return wrong
	}
	if v.again("claim", c.EntityID, string(c.Aspect), text.NameKey(c.Name), fmt.Sprint(c.Self), c.ContentHash) {
		return "the plan says it twice"
	}
	return ""
}

// rests says what is wrong with what a step rests on, or nothing.
func (v *validator) rests(s reverie.ClaimStep) (wrong string) {
	if s.Action == reverie.ActionCreate {
		switch _, created := v.creates[s.Claim.EntityID]; {
		case !created && v.roots[s.Claim.EntityID] == "":
			return "its entity is not known"
		case s.HeadID != "" || s.Claim.Version != 1 || s.Claim.ParentID != nil:
			return "a new claim rests on none"
		}
		return ""
	}
	if s.Action != reverie.ActionKeep && s.Action != reverie.ActionUpdate {
		return fmt.Sprintf("action %q is none of create, update, keep", s.Action)
	}
	currentClaim, ok := v.inForce[s.HeadID]
	switch {
	case !ok:
		return "the claim that it rests on is not in force"
	case currentClaim.Aspect != s.Claim.Aspect || currentClaim.EntityID != s.Claim.EntityID ||
		currentClaim.LineageID != s.Claim.LineageID:
		return "it rests on another claim"
	case currentClaim.Self != s.Claim.Self && v.entities[v.owners[currentClaim.ID]].Kind != reverie.EntityThing:
		return "a person's own words and others' do not take each other's place"
	case s.Action == reverie.ActionUpdate && s.Claim.Version != currentClaim.Version+1:
		return "it is not the version after its head"
	case v.again("head", s.HeadID):
		return "the plan has two steps for one claim"
	}
	return ""
}

// text says what is wrong with the words of a claim, or nothing.
func (v *validator) text(c reverie.Claim) string {
	if !reverie.IsID(c.ID) || c.ContentHash == "" {
		return "a new version has no id or no content hash"
	}
	if rule, detail := checkWords(c.Value, reverie.MaxValueLength); rule != "" {
		return detail
	}
	if c.Aspect == reverie.AspectImpression {
		if c.Name != "" || c.TargetID != nil {
			return "an impression has neither key nor target"
		}
		return ""
	}
	if rule, detail := checkWords(c.Name, reverie.MaxNameLength); rule != "" {
		return detail
	}
	switch {
	case text.NameKey(c.Name) == "":
		return "its key says nothing"
	case c.Aspect == reverie.AspectFeature && c.TargetID == nil:
		return ""
	case c.Aspect == reverie.AspectRelation && c.TargetID != nil && *c.TargetID != cmp.Or(v.roots[c.EntityID],
		c.EntityID) && v.exists(*c.TargetID):
		return ""
	}
	return "its target is itself, or nobody that is known"
}

// within tells finite numbers from 0 to 1.
func within(f float64) bool { return !math.IsNaN(f) && f >= 0 && f <= 1 }

// waitsForNothing says why an observation need not wait, or nothing.
func waitsForNothing(o reverie.Observation) string {
	switch {
	case !reverie.IsID(o.ID) || o.Subject == "" || o.LastAt.IsZero() || o.ExpiresAt.IsZero():
		return "it has no id, no subject or no end"
	case o.Postponed != reverie.PostponedAmbiguous && o.Postponed != reverie.PostponedInsufficient:
		return "it does not say why it waits"
	case len(o.Claims) == 0 || slices.ContainsFunc(o.Claims,
		func(c reverie.ObservedClaim) bool { return len(c.Evidence) == 0 || !within(c.Confidence) }):
		return "it says nothing, or without evidence"
	}
	return ""
}

// dropEmpty takes out new entities of which nothing is said, to which nothing
// points, which nothing that waits may be about, and which have no account and further name, and relations to those.
func (v *validator) dropEmpty(plan reverie.EntityPlan) reverie.EntityPlan {
	for {
		used := map[string]bool{}
		for _, s := range plan.Claims {
			used[s.Claim.EntityID] = true
			if s.Claim.TargetID != nil {
				used[*s.Claim.TargetID] = true
			}
		}
		for _, o := range plan.Postponed {
			for _, id := range o.MatchingIDs {
				used[id] = true
			}
		}
		creates := keep(plan.Creates, func(e reverie.Entity) bool {
			if used[e.ID] || names(e) > 1 {
				return true
			}
			delete(v.creates, e.ID)
			return v.held("create", e.Subject, string(safety.RuleEmpty), "nothing is left to say of it")
		})
		claims := keep(plan.Claims, func(s reverie.ClaimStep) bool {
			return s.Action == reverie.ActionKeep || s.Claim.TargetID == nil || v.exists(*s.Claim.TargetID) ||
				v.held(string(s.Claim.Aspect), v.subject(s.Claim.EntityID), ruleTarget, "its target is not known")
		})
		settled := len(creates) == len(plan.Creates) && len(claims) == len(plan.Claims)
		plan.Creates, plan.Claims = creates, claims
		if settled {
			return plan
		}
	}
}

// names counts the names of an entity with an account; without one they prove
// nothing.
func names(e reverie.Entity) int {
	if !slices.ContainsFunc(e.Names, func(n reverie.EntityName) bool { return n.Kind == reverie.NameID }) {
		return 0
	}
	return len(e.Names) - 1
}

// heads are the versions of the known entities that a plan writes to. A claim of an
// entity that was merged into another counts for that other, which it is read with.
func (v *validator) heads(plan reverie.EntityPlan) map[string]int {
	heads := map[string]int{}
	note := func(entityID string) {
		if e, ok := v.entities[v.roots[entityID]]; ok {
			heads[e.ID] = e.Version
		}
	}
	for _, n := range plan.Names {
		note(n.EntityID)
	}
	for _, s := range plan.Claims {
		if s.HeadID != "" {
			note(v.owners[s.HeadID])
		} else {
			note(s.Claim.EntityID)
		}
	}
	return heads
}
