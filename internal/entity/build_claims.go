package entity

import (
	"cmp"
	"maps"
	"slices"
	"strings"
	"time"

	"reverie/internal/reverie"
	"reverie/internal/text"
)

// observed is a claim of an entity on its way to a step: by the person themselves,
// or by others.
type observed struct {
	reverie.ObservedClaim
	targetID string // of a relation
	speaker  string // entity that says it of itself, "" where others do
	hash     string
	last     time.Time // sent_at of its newest evidence
}

// claim turns what is said of an entity into steps. What it says of itself and what
// others say of it are claims apart, and neither replaces the other. What is said
// already is supported; a feature has one value for each who says it, so that
// another replaces it; impressions and relations are replaced where the observation
// says which. See mayReplace for who may, and when.
func (b *builder) claim(p *entityDraft) {
	heads := b.heads(p)
	var fresh []observed
	for _, o := range b.bySpeaker(p) {
		if h := slices.IndexFunc(heads, func(h *currentClaim) bool { return h.says(o) }); h >= 0 {
			heads[h].by = &o
		} else {
			fresh = append(fresh, o)
		}
	}
	var steps []reverie.ClaimStep
	for i, o := range fresh {
		if slices.ContainsFunc(fresh[i+1:], func(newer observed) bool { return newer.succeeds(o, p.kind) }) {
			b.refuse(string(o.Aspect), p.subject, ruleOutdated, "a later message of the same chunk says otherwise")
			continue
		}
		h := replaced(heads, o, p.kind)
		if h != nil && !o.last.After(h.last()) {
			b.refuse(string(o.Aspect), p.subject, ruleOutdated, "what is known rests on a later message")
			continue
		}
		steps = append(steps, b.version(p, o, h))
	}
	for _, h := range heads {
		switch {
		case h.by == nil:
		case h.gone:
			b.refuse(string(h.Aspect), p.subject, ruleOutdated, "a later message of the same chunk says otherwise")
		default:
			steps = append(steps, h.keep())
		}
	}
	if b.plan.Claims = append(b.plan.Claims, steps...); len(steps) > 0 {
		b.rest(p)
	}
}

// bySpeaker divides the claims of an entity by who said them, and orders them by time.
// The same relation under two names of its target is one. Where a claim rests on
// others' words besides the person's, theirs must say it too ("haha, sure" does not),
// and what it would replace is not theirs to say.
func (b *builder) bySpeaker(p *entityDraft) []observed {
	bySpeaker := map[string][]reverie.ObservedClaim{}
	for _, c := range p.claims {
		said := map[string][]reverie.Evidence{}
		for _, e := range c.Evidence {
			speaker := b.speaker(p, e.AuthorID)
			said[speaker] = append(said[speaker], e)
		}
		for _, speaker := range slices.Sorted(maps.Keys(said)) {
			part := c
			part.Evidence = said[speaker]
			if speaker != "" && len(said[""]) > 0 {
				if part.Replaces = ""; !sayIt(part) {
					b.refuse(string(part.Aspect), p.subject, ruleEvidence, "others say it; the person's own words do not")
					continue
				}
			}
			bySpeaker[speaker] = append(bySpeaker[speaker], part)
		}
	}
	var list []observed
	for _, speaker := range slices.Sorted(maps.Keys(bySpeaker)) {
		for _, c := range unite(bySpeaker[speaker]) {
			o := observed{ObservedClaim: c, targetID: c.Account, speaker: speaker, last: newest(c.Evidence)}
			o.hash = text.ContentHash(cmp.Or(o.targetID, c.Value))
			list = append(list, o)
		}
	}
	slices.SortStableFunc(list, func(a, b observed) int {
		return cmp.Or(a.last.Compare(b.last), strings.Compare(claimKey(a.ObservedClaim), claimKey(b.ObservedClaim)))
	})
	return list
}

// speaker is the entity of an entity that an account is: of several that a person
// has joined, each keeps its own words. It is "" for an account of somebody else.
func (b *builder) speaker(p *entityDraft, account string) string {
	if !slices.Contains(p.accounts, account) {
		return ""
	}
	return cmp.Or(b.members[account], p.id)
}

// succeeds tells whether a newer observation takes an older one's place before
// either is stored.
func (o observed) succeeds(older observed, kind reverie.EntityKind) bool {
	return o.Aspect == reverie.AspectFeature && older.Aspect == reverie.AspectFeature && o.last.After(older.last) &&
		text.NameKey(o.Name) == text.NameKey(older.Name) && mayReplace(o, older.speaker, authors(older.Evidence), kind)
}

// mayReplace tells whether an observation may take the place of what a speaker says
// of itself, or ("") what others say. Of a thing anybody may correct what is said;
// what a person says of themselves only the person; what others say only those who
// said it.
func mayReplace(o observed, speaker string, saidBy []string, kind reverie.EntityKind) bool {
	if kind == reverie.EntityThing {
		return true
	}
	by := authors(o.Evidence)
	return o.speaker == speaker && (speaker != "" || !slices.ContainsFunc(saidBy,
		func(id string) bool { return !slices.Contains(by, id) }))
}

// currentClaim is a claim in force, and what the plan does to it.
type currentClaim struct {
	reverie.Claim
	target string    // of a relation, as it is read now
	by     *observed // supports it
	gone   bool      // it is replaced
}

// heads are the claims of an entity that are in force, the latest supported first.
func (b *builder) heads(p *entityDraft) []*currentClaim {
	var list []*currentClaim
	for _, c := range b.entities[p.id].Claims {
		if !p.known || c.Status != reverie.StatusActive {
			continue
		}
		h := &currentClaim{Claim: c}
		if c.TargetID != nil {
			h.target = cmp.Or(b.roots[*c.TargetID], *c.TargetID)
		}
		list = append(list, h)
	}
	slices.SortFunc(list, func(a, b *currentClaim) int {
		return cmp.Or(b.LastSupportedAt.Compare(a.LastSupportedAt), strings.Compare(a.ID, b.ID))
	})
	return list
}

// says tells whether a claim says what was observed.
func (h *currentClaim) says(o observed) bool {
	if h.Aspect != o.Aspect || h.speaker() != o.speaker || text.NameKey(h.Name) != text.NameKey(o.Name) {
		return false
	}
	if o.Aspect == reverie.AspectRelation {
		return h.target == o.targetID
	}
	return h.ContentHash == o.hash
}

// speaker is the entity that says a claim of itself, "" where others do.
func (h *currentClaim) speaker() string {
	if h.Self {
		return h.EntityID
	}
	return ""
}

// last is when a claim was last supported, by the plan too.
func (h *currentClaim) last() time.Time {
	if h.by == nil {
		return h.LastSupportedAt
	}
	return later(h.LastSupportedAt, h.by.last)
}

// replaced finds the claim whose place an observation takes: another value of the
// same feature, or the claim that it names, of those the one under the same key
// first; nil where it stands beside.
func replaced(heads []*currentClaim, o observed, kind reverie.EntityKind) (named *currentClaim) {
	for _, h := range heads {
		if h.gone || h.Aspect != o.Aspect || !mayReplace(o, h.speaker(), h.SaidBy, kind) {
			continue
		}
		sameKey := text.NameKey(h.Name) == text.NameKey(o.Name)
		switch {
		case sameKey && (o.Aspect == reverie.AspectFeature || o.names(h)):
			return h
		case named == nil && o.names(h):
			named = h
		}
	}
	return named
}

// names tells whether an observation says that it replaces a claim.
func (o observed) names(h *currentClaim) bool {
	if o.Replaces == "" {
		return false
	}
	hash := text.ContentHash(o.Replaces)
	return hash == text.ContentHash(h.Value) || h.Name != "" && hash == text.ContentHash(h.Name+" "+h.Value)
}

// version is the step that writes an observation, in the place of a claim or as a
// claim of its own.
func (b *builder) version(p *entityDraft, o observed, h *currentClaim) reverie.ClaimStep {
	days := dates(o.Evidence)
	c := reverie.Claim{GroupID: b.groupID, ID: reverie.NewID(), LineageID: reverie.NewID(), Version: 1,
		EntityID: cmp.Or(o.speaker, p.id), Aspect: o.Aspect,
		Name: o.Name, Value: o.Value, Self: o.speaker != "", SaidBy: authors(o.Evidence), ContentHash: o.hash,
		Confidence: o.Confidence,
		Strength:   reverie.Reinforce(reverie.TentativeStrength, len(days)-1), Status: reverie.StatusActive,
		RunID:     b.run(),
		CreatedAt: b.now, UpdatedAt: b.now, LastSupportedAt: o.last, SupportDates: days}
	if o.targetID != "" {
		c.TargetID = &o.targetID
	}
	step := reverie.ClaimStep{Action: reverie.ActionCreate, Evidence: o.Evidence, Reason: o.Reason}
	if h != nil {
		h.gone = true
		parent := h.ID
		c.LineageID, c.ParentID, c.Version, c.EntityID, c.CreatedAt = h.LineageID, &parent, h.Version+1, h.EntityID,
			h.CreatedAt
		step.Action, step.HeadID, step.OldText = reverie.ActionUpdate, h.ID, h.Text()
	}
	step.Claim = c
	return step
}

// keep is the step that supports a claim.
func (h *currentClaim) keep() reverie.ClaimStep {
	c := h.Claim
	days := dates(h.by.Evidence)
	further := slices.DeleteFunc(slices.Clone(days),
		func(day string) bool { return slices.Contains(h.SupportDates, day) })
	c.Strength = reverie.Reinforce(c.Strength, len(further))
	c.Confidence = max(c.Confidence, h.by.Confidence)
	c.LastSupportedAt = h.last()
	c.SupportDates = slices.Sorted(slices.Values(append(further, h.SupportDates...)))
	c.SaidBy = slices.Compact(slices.Sorted(slices.Values(append(authors(h.by.Evidence), h.SaidBy...))))
	return reverie.ClaimStep{Action: reverie.ActionKeep, Claim: c, HeadID: c.ID, Evidence: h.by.Evidence,
		Reason: h.by.Reason}
}
