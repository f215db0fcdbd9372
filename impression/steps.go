package impression

import (
	"cmp"
	"slices"
	"strings"
	"time"

	"reverie"
)

// observed is a claim of a party on its way to a step: by the person themselves,
// or by others.
type observed struct {
	aimed
	self bool
	hash string
	last time.Time // sent_at of its newest evidence
}

// claim turns what is said of a party into steps. What it says of itself and what
// others say of it are claims apart, and neither replaces the other. What is said
// already is supported; a feature has one value for each who says it, so that
// another replaces it; impressions and relations are replaced where the observation
// says which. See mayReplace for who may, and when.
func (b *builder) claim(p *party) {
	heads := b.heads(p)
	var fresh []observed
	for _, o := range bySpeaker(p) {
		if h := slices.IndexFunc(heads, func(h *head) bool { return h.says(o) }); h >= 0 {
			heads[h].by = &o
		} else {
			fresh = append(fresh, o)
		}
	}
	var steps []reverie.ClaimStep
	for i, o := range fresh {
		if slices.ContainsFunc(fresh[i+1:], func(newer observed) bool { return newer.succeeds(o, p.kind) }) {
			b.refuse(o.ObservedClaim, p, ruleOutdated, "a later message of the same chunk says otherwise")
			continue
		}
		h := replaced(heads, o, p.kind)
		if h != nil && !o.last.After(h.last()) {
			b.refuse(o.ObservedClaim, p, ruleOutdated, "what is known rests on a later message")
			continue
		}
		steps = append(steps, b.version(p, o, h))
	}
	for _, h := range heads {
		switch {
		case h.by == nil:
		case h.gone:
			b.refuse(h.by.ObservedClaim, p, ruleOutdated, "a later message of the same chunk says otherwise")
		default:
			steps = append(steps, h.keep())
		}
	}
	if b.plan.Claims = append(b.plan.Claims, steps...); len(steps) > 0 {
		b.rest(p)
	}
}

// bySpeaker divides the claims of a party by who said them, and orders them by time.
// The same relation under two names of its target is one.
func bySpeaker(p *party) []observed {
	targets := map[string]string{} // claim -> target
	var claims []reverie.ObservedClaim
	for _, c := range p.claims {
		if c.targetID != "" {
			c.Account = c.targetID // so that unite compares whom it means
			targets[claimKey(c.ObservedClaim)] = c.targetID
		}
		claims = append(claims, c.ObservedClaim)
	}
	var list []observed
	for _, c := range unite(claims) {
		said := map[bool][]reverie.Evidence{}
		for _, e := range c.Evidence {
			self := slices.Contains(p.accounts, e.AuthorID)
			said[self] = append(said[self], e)
		}
		for _, self := range []bool{true, false} {
			if len(said[self]) == 0 {
				continue
			}
			o := observed{aimed: aimed{c, targets[claimKey(c)]}, self: self, hash: reverie.ContentHash(c.Value), last: newest(said[self])}
			if o.targetID != "" {
				o.hash = reverie.ContentHash(o.targetID)
			}
			o.Evidence = said[self]
			list = append(list, o)
		}
	}
	slices.SortStableFunc(list, func(a, b observed) int {
		return cmp.Or(a.last.Compare(b.last), strings.Compare(claimKey(a.ObservedClaim), claimKey(b.ObservedClaim)))
	})
	return list
}

// succeeds tells whether a newer observation takes an older one's place before
// either is stored.
func (o observed) succeeds(older observed, kind reverie.EntityKind) bool {
	return o.Aspect == reverie.AspectFeature && older.Aspect == reverie.AspectFeature && o.last.After(older.last) &&
		reverie.NameKey(o.Name) == reverie.NameKey(older.Name) && mayReplace(o, older.self, authors(older.Evidence), kind)
}

// mayReplace tells whether an observation may take the place of a claim. Of a
// thing anybody may correct what is said; what a person says of themselves only
// the person; what others say only those who said it.
func mayReplace(o observed, self bool, saidBy []string, kind reverie.EntityKind) bool {
	if kind == reverie.EntityThing {
		return true
	}
	if o.self || self {
		return o.self && self
	}
	by := authors(o.Evidence)
	return !slices.ContainsFunc(saidBy, func(id string) bool { return !slices.Contains(by, id) })
}

// head is a claim in force and what befalls it in the plan.
type head struct {
	reverie.Claim
	target string    // of a relation, as it is read now
	by     *observed // supports it
	gone   bool      // it is replaced
}

// heads are the claims of a party that are in force, the latest supported first.
func (b *builder) heads(p *party) []*head {
	var list []*head
	for _, c := range b.entities[p.id].Claims {
		if !p.known || c.Status != reverie.StatusActive {
			continue
		}
		h := &head{Claim: c}
		if c.TargetID != nil {
			h.target = cmp.Or(b.roots[*c.TargetID], *c.TargetID)
		}
		list = append(list, h)
	}
	slices.SortFunc(list, func(a, b *head) int {
		return cmp.Or(b.LastSupportedAt.Compare(a.LastSupportedAt), strings.Compare(a.ID, b.ID))
	})
	return list
}

// says tells whether a head says what was observed.
func (h *head) says(o observed) bool {
	if h.Aspect != o.Aspect || h.Self != o.self || reverie.NameKey(h.Name) != reverie.NameKey(o.Name) {
		return false
	}
	if o.Aspect == reverie.AspectRelation {
		return h.target == o.targetID
	}
	return h.ContentHash == o.hash
}

// last is when a head was last supported, by the plan too.
func (h *head) last() time.Time {
	if h.by == nil {
		return h.LastSupportedAt
	}
	return later(h.LastSupportedAt, h.by.last)
}

// replaced finds the head whose place an observation takes: another value of the
// same feature, or the claim that it names; nil where it stands beside.
func replaced(heads []*head, o observed, kind reverie.EntityKind) *head {
	for _, h := range heads {
		if h.gone || h.Aspect != o.Aspect || !mayReplace(o, h.Self, h.SaidBy, kind) {
			continue
		}
		if o.Aspect == reverie.AspectFeature && reverie.NameKey(h.Name) == reverie.NameKey(o.Name) || o.names(h) {
			return h
		}
	}
	return nil
}

// names tells whether an observation says that it replaces a head.
func (o observed) names(h *head) bool {
	if o.Replaces == "" {
		return false
	}
	hash := reverie.ContentHash(o.Replaces)
	return hash == reverie.ContentHash(h.Value) || h.Name != "" && hash == reverie.ContentHash(h.Name+" "+h.Value)
}

// version is the step that writes an observation, in the place of a head or as a
// claim of its own.
func (b *builder) version(p *party, o observed, h *head) reverie.ClaimStep {
	days := dates(o.Evidence)
	c := reverie.Claim{GroupID: b.groupID, ID: reverie.NewID(), LineageID: reverie.NewID(), Version: 1, EntityID: p.id, Aspect: o.Aspect,
		Name: o.Name, Value: o.Value, Self: o.self, SaidBy: authors(o.Evidence), ContentHash: o.hash, Confidence: o.Confidence,
		Strength: reverie.Reinforce(reverie.TentativeStrength, len(days)-1), Status: reverie.StatusActive, RunID: b.run(),
		CreatedAt: b.now, UpdatedAt: b.now, LastSupportedAt: o.last, SupportDates: days}
	if o.targetID != "" {
		c.TargetID = &o.targetID
	}
	step := reverie.ClaimStep{Action: reverie.ActionCreate, Evidence: o.Evidence, Reason: o.Reason}
	if h != nil {
		h.gone = true
		parent := h.ID
		c.LineageID, c.ParentID, c.Version, c.EntityID, c.CreatedAt = h.LineageID, &parent, h.Version+1, h.EntityID, h.CreatedAt
		step.Action, step.HeadID, step.OldValue = reverie.ActionUpdate, h.ID, h.Value
	}
	step.Claim = c
	return step
}

// keep is the step that supports a head.
func (h *head) keep() reverie.ClaimStep {
	c := h.Claim
	days := dates(h.by.Evidence)
	further := slices.DeleteFunc(slices.Clone(days), func(day string) bool { return slices.Contains(h.SupportDates, day) })
	c.Strength = reverie.Reinforce(c.Strength, len(further))
	c.Confidence = max(c.Confidence, h.by.Confidence)
	c.LastSupportedAt = h.last()
	c.SupportDates = slices.Sorted(slices.Values(append(further, h.SupportDates...)))
	c.SaidBy = slices.Compact(slices.Sorted(slices.Values(append(authors(h.by.Evidence), h.SaidBy...))))
	return reverie.ClaimStep{Action: reverie.ActionKeep, Claim: c, HeadID: c.ID, Evidence: h.by.Evidence, Reason: h.by.Reason}
}
