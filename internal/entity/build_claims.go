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

// observed is a claim about an entity, made by the person themselves or by others, before it becomes a step.
type observed struct {
	reverie.ObservedClaim
	targetID string // of a relation
	speaker  string // entity that says it of itself, "" where others do
	hash     string
	lastAt   time.Time // sent_at of its newest evidence
}

// claim turns the observed claims about an entity into steps. What a person says of themselves and what others say of
// them are separate claims, and do not replace each other. A claim that exists already is supported. A feature has one
// value for each speaker, so a new value replaces the old one. Impressions and relations are replaced only where the
// observation names the old claim. See mayReplace for who may replace a claim, and when.
func (b *builder) claim(p *entityDraft) {
	heads := b.heads(p)
	var fresh []observed
	for _, o := range b.bySpeaker(p) {
		if h := slices.IndexFunc(heads, func(h *currentClaim) bool { return h.says(o) }); h >= 0 {
			heads[h].supportedBy = &o
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
		if h != nil && !o.lastAt.After(h.lastSupport()) {
			b.refuse(string(o.Aspect), p.subject, ruleOutdated, "what is known rests on a later message")
			continue
		}
		steps = append(steps, b.version(p, o, h))
	}
	for _, h := range heads {
		switch {
		case h.supportedBy == nil:
		case h.isReplaced:
			b.refuse(string(h.Aspect), p.subject, ruleOutdated, "a later message of the same chunk says otherwise")
		default:
			steps = append(steps, h.keep())
		}
	}
	if b.plan.Claims = append(b.plan.Claims, steps...); len(steps) > 0 {
		b.noteVersion(p)
	}
}

// bySpeaker divides the claims about an entity by speaker, and orders them by time. The same relation under two names
// of its target is one claim. A claim may cite the person's own words beside those of others. Then the person's words
// must contain it, which "haha, sure" does not, and they replace no other claim.
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
				if part.Replaces = ""; !quotesContainValue(part) {
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
			o := observed{ObservedClaim: c, targetID: c.Account, speaker: speaker, lastAt: newest(c.Evidence)}
			o.hash = text.ContentHash(cmp.Or(o.targetID, c.Value))
			list = append(list, o)
		}
	}
	slices.SortStableFunc(list, func(a, b observed) int {
		return cmp.Or(a.lastAt.Compare(b.lastAt), strings.Compare(claimKey(a.ObservedClaim), claimKey(b.ObservedClaim)))
	})
	return list
}

// speaker returns the entity of p that has the account, "" for an account of somebody else. Entities that a person has
// merged keep their own claims.
func (b *builder) speaker(p *entityDraft, account string) string {
	if !slices.Contains(p.accounts, account) {
		return ""
	}
	return cmp.Or(b.members[account], p.id)
}

// succeeds reports whether a newer observation replaces an older one before either is stored.
func (o observed) succeeds(older observed, kind reverie.EntityKind) bool {
	return o.Aspect == reverie.AspectFeature && older.Aspect == reverie.AspectFeature && o.lastAt.After(older.lastAt) &&
		text.NameKey(o.Name) == text.NameKey(older.Name) && mayReplace(o, older.speaker, authors(older.Evidence), kind)
}

// mayReplace reports whether an observation may replace a claim of a speaker, or of others (""). A claim about a thing
// may be corrected by anybody. A claim of a person about themselves may be replaced only by that person. A claim of
// others may be replaced only by all who made it.
func mayReplace(o observed, speaker string, saidBy []string, kind reverie.EntityKind) bool {
	if kind == reverie.EntityThing {
		return true
	}
	by := authors(o.Evidence)
	return o.speaker == speaker && (speaker != "" || !slices.ContainsFunc(saidBy,
		func(id string) bool { return !slices.Contains(by, id) }))
}

// currentClaim is an active claim, and what the plan does to it.
type currentClaim struct {
	reverie.Claim
	target      string    // of a relation: the entity that its target is merged into
	supportedBy *observed // the observation that supports it
	isReplaced  bool      // the plan replaces it
}

// heads returns the active claims of an entity, the latest supported first.
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

// says reports whether a claim says what was observed.
func (h *currentClaim) says(o observed) bool {
	if h.Aspect != o.Aspect || h.speaker() != o.speaker || text.NameKey(h.Name) != text.NameKey(o.Name) {
		return false
	}
	if o.Aspect == reverie.AspectRelation {
		return h.target == o.targetID
	}
	return h.ContentHash == o.hash
}

// speaker returns the entity that says the claim of itself, "" where others do.
func (h *currentClaim) speaker() string {
	if h.Self {
		return h.EntityID
	}
	return ""
}

// lastSupport returns when a claim was last supported, including by this plan.
func (h *currentClaim) lastSupport() time.Time {
	if h.supportedBy == nil {
		return h.LastSupportedAt
	}
	return later(h.LastSupportedAt, h.supportedBy.lastAt)
}

// replaced returns the claim that an observation replaces, nil for none. It is the other value of the same feature, or
// the claim that the observation names. Of named claims, one with the same key comes first.
func replaced(heads []*currentClaim, o observed, kind reverie.EntityKind) (named *currentClaim) {
	for _, h := range heads {
		if h.isReplaced || h.Aspect != o.Aspect || !mayReplace(o, h.speaker(), h.SaidBy, kind) {
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

// names reports whether an observation says that it replaces a claim.
func (o observed) names(h *currentClaim) bool {
	if o.Replaces == "" {
		return false
	}
	hash := text.ContentHash(o.Replaces)
	return hash == text.ContentHash(h.Value) || h.Name != "" && hash == text.ContentHash(h.Name+" "+h.Value)
}

// version returns the step that writes an observation as a new claim, or as a new version of claim h.
func (b *builder) version(p *entityDraft, o observed, h *currentClaim) reverie.ClaimStep {
	days := dates(o.Evidence)
	c := reverie.Claim{GroupID: b.groupID, ID: reverie.NewID(), LineageID: reverie.NewID(), Version: 1,
		EntityID: cmp.Or(o.speaker, p.id), Aspect: o.Aspect,
		Name: o.Name, Value: o.Value, Self: o.speaker != "", SaidBy: authors(o.Evidence), ContentHash: o.hash,
		Confidence: o.Confidence,
		Strength:   reverie.Reinforce(reverie.TentativeStrength, len(days)-1), Status: reverie.StatusActive,
		RunID:     b.run(),
		CreatedAt: b.now, UpdatedAt: b.now, LastSupportedAt: o.lastAt, SupportDates: days}
	if o.targetID != "" {
		c.TargetID = &o.targetID
	}
	step := reverie.ClaimStep{Action: reverie.ActionCreate, Evidence: o.Evidence, Reason: o.Reason}
	if h != nil {
		h.isReplaced = true
		parent := h.ID
		c.LineageID, c.ParentID, c.Version, c.EntityID, c.CreatedAt = h.LineageID, &parent, h.Version+1, h.EntityID,
			h.CreatedAt
		step.Action, step.HeadID, step.OldText = reverie.ActionUpdate, h.ID, h.Text()
	}
	step.Claim = c
	return step
}

// keep returns the step that supports a claim.
func (h *currentClaim) keep() reverie.ClaimStep {
	c := h.Claim
	days := dates(h.supportedBy.Evidence)
	further := slices.DeleteFunc(slices.Clone(days),
		func(day string) bool { return slices.Contains(h.SupportDates, day) })
	c.Strength = reverie.Reinforce(c.Strength, len(further))
	c.Confidence = max(c.Confidence, h.supportedBy.Confidence)
	c.LastSupportedAt = h.lastSupport()
	c.SupportDates = slices.Sorted(slices.Values(append(further, h.SupportDates...)))
	c.SaidBy = slices.Compact(slices.Sorted(slices.Values(append(authors(h.supportedBy.Evidence), h.SaidBy...))))
	return reverie.ClaimStep{Action: reverie.ActionKeep, Claim: c, HeadID: c.ID, Evidence: h.supportedBy.Evidence,
		Reason: h.supportedBy.Reason}
}
