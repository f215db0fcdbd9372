package entity

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"reverie/internal/reverie"
	"reverie/internal/safety"
	"reverie/internal/text"
)

// validate holds a plan against the state that it rests on and takes out what breaks a
// rule, with a refusal for each; what is left is confirmed, and may be applied. A plan
// that build has made breaks none: this guards what is stored against a fault in build.
// What hangs on something that is taken out is taken out too.
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
		return v.create(e) || v.refuse("create", e.Subject, ruleKnown, "it is no new entity with names of its own")
	})
	plan.Names = keep(plan.Names, func(n reverie.EntityName) bool {
		return v.name(n) || v.refuse("name", n.Name, rulePlan, "it is no new name of an entity that is known")
	})
	plan.Claims = keep(plan.Claims, func(s reverie.ClaimStep) bool {
		return v.step(s) || v.refuse(string(s.Claim.Aspect), v.subject(s.Claim.EntityID), rulePlan,
			"it is no claim with evidence, or does not fit the entity and the claim that it rests on")
	})
	plan.Postponed = keep(plan.Postponed, func(o reverie.Observation) bool {
		return mayWait(o) || v.refuse("subject", o.Subject, rulePlan, "it does not say what waits, why, or until when")
	})
	plan = v.dropEmpty(plan)
	plan.Heads = v.heads(plan)
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
func keep[T any](list []T, ok func(T) bool) []T {
	return slices.DeleteFunc(slices.Clone(list), func(item T) bool { return !ok(item) })
}

// refuse notes what is wrong, and is false.
func (v *validator) refuse(what, of, rule, wrong string) bool {
	v.refused = append(v.refused, reverie.Refusal{Action: what, Handle: handle(of), Rule: rule, Detail: wrong})
	return false
}

// first tells whether something was not there before, and notes it.
func (v *validator) first(parts ...string) bool {
	key := strings.Join(parts, "\x00")
	before := v.once[key]
	v.once[key] = true
	return !before
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
	_, read := v.entities[entityID]
	return created || read || v.idx.entries[entityID] != nil
}

// create tells whether an entity is new. Accounts make identities of their own;
// whoever has none is known by name alone, which must then be new.
func (v *validator) create(e reverie.Entity) bool {
	kinds := map[reverie.NameKind]int{}
	for _, n := range e.Names {
		kinds[n.Kind]++
	}
	ok := reverie.IsID(e.ID) && !v.exists(e.ID) && isKind(e.Kind) && isShown(e.Subject) && kinds[reverie.NameSubject] == 1
	for _, n := range e.Names {
		ok = ok && n.EntityID == e.ID
		switch {
		case n.Kind == reverie.NameID:
			ok = ok && v.isNewAccount(n)
		case kinds[reverie.NameID] > 0:
			ok = ok && v.isNewName(n)
		default:
			ok = ok && v.isNewName(n) && !v.isKnown(n, e.Kind) && v.first("name", sortOf(e.Kind), n.Key)
		}
	}
	if ok {
		v.creates[e.ID] = e
	}
	return ok
}

// isNewAccount tells an account that is nobody's yet.
func (v *validator) isNewAccount(n reverie.EntityName) bool {
	return n.Name != "" && v.idx.byID[n.Name] == "" && v.first("account", n.Name)
}

// isNewName tells a name that may be kept, and that the plan gives its entity once.
func (v *validator) isNewName(n reverie.EntityName) bool {
	return isShown(n.Name) && n.Key != "" && n.Key == text.NameKey(n.Name) && v.first("borne", n.EntityID, n.Key)
}

// isKnown tells whether the index has a name for something of that sort.
func (v *validator) isKnown(n reverie.EntityName, kind reverie.EntityKind) bool {
	return slices.ContainsFunc(v.idx.byKey[n.Key],
		func(id string) bool { return sortOf(v.idx.kind(id)) == sortOf(kind) })
}

// name tells whether a known entity may have a further name. It keeps its subject.
func (v *validator) name(n reverie.EntityName) bool {
	switch {
	case v.roots[n.EntityID] == "":
		return false
	case n.Kind == reverie.NameID:
		return v.isNewAccount(n)
	}
	return n.Kind == reverie.NameAlias && !v.borne[n.EntityID+n.Key] && v.isNewName(n)
}

// step tells whether a write of a claim may stand.
func (v *validator) step(s reverie.ClaimStep) bool {
	c := s.Claim
	unproved := func(e reverie.Evidence) bool {
		return e.MessageID == "" || e.LocalDate == "" || c.Self && e.AuthorID == ""
	}
	ok := v.rests(s) && within(c.Confidence) && within(c.Strength) &&
		len(s.Evidence) > 0 && !slices.ContainsFunc(s.Evidence, unproved)
	return ok && (s.Action == reverie.ActionKeep || v.says(c) &&
		v.first("claim", c.EntityID, string(c.Aspect), text.NameKey(c.Name), fmt.Sprint(c.Self), c.ContentHash))
}

// rests tells whether a step fits what it rests on: an entity, and a claim in force. A
// person's own words and others' do not take each other's place.
func (v *validator) rests(s reverie.ClaimStep) bool {
	c := s.Claim
	if s.Action == reverie.ActionCreate {
		_, created := v.creates[c.EntityID]
		return (created || v.roots[c.EntityID] != "") && s.HeadID == "" && c.Version == 1 && c.ParentID == nil
	}
	head, ok := v.inForce[s.HeadID]
	return ok && (s.Action == reverie.ActionKeep || s.Action == reverie.ActionUpdate && c.Version == head.Version+1) &&
		head.Aspect == c.Aspect && head.EntityID == c.EntityID && head.LineageID == c.LineageID &&
		(head.Self == c.Self || v.entities[v.owners[head.ID]].Kind == reverie.EntityThing) && v.first("head", s.HeadID)
}

// says tells whether the words of a claim may be kept, and have what their aspect needs.
func (v *validator) says(c reverie.Claim) bool {
	rule, _ := checkWords(c.Value, reverie.MaxValueLength)
	named := isShown(c.Name) && text.NameKey(c.Name) != ""
	if rule != "" || !reverie.IsID(c.ID) || c.ContentHash == "" {
		return false
	}
	switch c.Aspect {
	case reverie.AspectImpression:
		return c.Name == "" && c.TargetID == nil
	case reverie.AspectFeature:
		return named && c.TargetID == nil
	case reverie.AspectRelation:
		return named && c.TargetID != nil && *c.TargetID != cmp.Or(v.roots[c.EntityID], c.EntityID) && v.exists(*c.TargetID)
	}
	return false
}

// within tells finite numbers from 0 to 1.
func within(f float64) bool { return f >= 0 && f <= 1 }

// mayWait tells whether an observation says what waits, why and until when.
func mayWait(o reverie.Observation) bool {
	return reverie.IsID(o.ID) && o.Subject != "" && !o.LastAt.IsZero() && !o.ExpiresAt.IsZero() &&
		(o.Postponed == reverie.PostponedAmbiguous || o.Postponed == reverie.PostponedInsufficient) &&
		len(o.Claims) > 0 && !slices.ContainsFunc(o.Claims,
		func(c reverie.ObservedClaim) bool { return len(c.Evidence) == 0 || !within(c.Confidence) })
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
			return v.refuse("create", e.Subject, string(safety.RuleEmpty), "nothing is left to say of it")
		})
		claims := keep(plan.Claims, func(s reverie.ClaimStep) bool {
			return s.Action == reverie.ActionKeep || s.Claim.TargetID == nil || v.exists(*s.Claim.TargetID) ||
				v.refuse(string(s.Claim.Aspect), v.subject(s.Claim.EntityID), ruleTarget, "its target is not known")
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
