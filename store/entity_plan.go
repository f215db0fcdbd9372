package store

import (
	"fmt"
	"slices"
	"time"

	"reverie/internal/reverie"
	"reverie/internal/text"
)

// planCheck looks for what no plan of entities may hold.
type planCheck struct {
	plan    reverie.EntityPlan
	created map[string]bool
	seen    map[string]bool // what may be there once
}

// checkEntityPlan refuses a plan that contradicts itself, before anything is
// locked. Its errors are reverie.ErrInvalid and name the line.
func checkEntityPlan(plan reverie.EntityPlan) error {
	c := planCheck{plan: plan, created: map[string]bool{}, seen: map[string]bool{}}
	for _, e := range plan.Creates {
		if err := c.create(e); err != nil {
			return invalid(err, "create of entity %q (%s)", e.Subject, e.ID)
		}
	}
	for _, n := range plan.Names {
		if err := c.further(n); err != nil {
			return invalid(err, "name %q of entity %s", n.Name, n.EntityID)
		}
	}
	for i, st := range plan.Claims {
		if err := c.claim(st); err != nil {
			return invalid(err, "claim %d (%s, %s of entity %s)", i+1, st.Action, st.Claim.Aspect, st.Claim.EntityID)
		}
	}
	if err := c.observations(); err != nil {
		return invalid(err, "observations")
	}
	return nil
}

func invalid(err error, format string, args ...any) error {
	return fmt.Errorf(format+": %w: %w", append(args, err, reverie.ErrInvalid)...)
}

// once refuses what was there before, by its key.
func (c *planCheck) once(what string, parts ...any) error {
	key := fmt.Sprintf("%q", parts)
	if c.seen[key] {
		return fmt.Errorf("the plan has %s twice", what)
	}
	c.seen[key] = true
	return nil
}

func (c *planCheck) create(e reverie.Entity) error {
	if !reverie.IsID(e.ID) {
		return fmt.Errorf("it has no id")
	}
	if _, known := c.plan.Heads[e.ID]; known || c.created[e.ID] {
		return fmt.Errorf("its id is another entity's")
	}
	c.created[e.ID] = true
	subjects := 0
	for _, n := range e.Names {
		if n.EntityID != "" && n.EntityID != e.ID {
			return fmt.Errorf("name %q is entity %s's", n.Name, n.EntityID)
		}
		if n.Kind == reverie.NameSubject {
			subjects++
			if n.Name != e.Subject {
				return fmt.Errorf("it goes by %q and by %q", e.Subject, n.Name)
			}
		}
		if err := c.name(e.ID, n); err != nil {
			return err
		}
	}
	if subjects != 1 {
		return fmt.Errorf("it has %d subjects among its names, and needs one", subjects)
	}
	return nil
}

// further is a name of an entity that is known.
func (c *planCheck) further(n reverie.EntityName) error {
	if n.Kind == reverie.NameSubject {
		return fmt.Errorf("a known entity keeps its subject; a further name is an alias")
	}
	return c.name(n.EntityID, n)
}

func (c *planCheck) name(entityID string, n reverie.EntityName) error {
	key := nameKey(n.Kind, n.Name)
	switch {
	case n.Kind != reverie.NameID && n.Kind != reverie.NameSubject && n.Kind != reverie.NameAlias:
		return fmt.Errorf("a name is an id, a subject or an alias, not %q", n.Kind)
	case key == "":
		return fmt.Errorf("name %q is empty", n.Name)
	case n.Key != "" && n.Key != key:
		return fmt.Errorf("the key of name %q is %q, not %q", n.Name, key, n.Key)
	case n.Kind == reverie.NameID:
		return c.once("account "+n.Name, "account", n.Name)
	}
	return c.once("name "+n.Name, "name", entityID, key)
}

func (c *planCheck) claim(st reverie.ClaimStep) error {
	claim := st.Claim
	switch st.Action {
	case reverie.ActionCreate:
		if !reverie.IsID(claim.LineageID) || st.HeadID != "" {
			return fmt.Errorf("a new claim has a lineage and no head")
		}
	case reverie.ActionUpdate, reverie.ActionKeep:
		if !reverie.IsID(st.HeadID) {
			return fmt.Errorf("it names no head")
		}
		if err := c.once("a step of head "+st.HeadID, "head", st.HeadID); err != nil {
			return err
		}
	default:
		return fmt.Errorf("a plan can only create, update or keep a claim")
	}
	for what, v := range map[string]float64{"confidence": claim.Confidence, "strength": claim.Strength} {
		if !(v >= 0 && v <= 1) { // NaN fails too
			return fmt.Errorf("%s %v is not within 0..1", what, v)
		}
	}
	if err := checkClaimEvidence(st.Evidence); err != nil || st.Action == reverie.ActionKeep {
		return err
	}
	return c.text(claim)
}

// text is what a new version says.
func (c *planCheck) text(claim reverie.Claim) error {
	switch {
	case !reverie.IsID(claim.ID):
		return fmt.Errorf("a new version has no id")
	case claim.Value == "" || claim.ContentHash == "":
		return fmt.Errorf("a new version needs a value and its content hash")
	case claim.Aspect != reverie.AspectImpression && claim.Aspect != reverie.AspectFeature &&
		claim.Aspect != reverie.AspectRelation:
		return fmt.Errorf("aspect %q is none of impression, feature, relation", claim.Aspect)
	case (claim.Aspect == reverie.AspectImpression) != (text.NameKey(claim.Name) == ""):
		return fmt.Errorf("features and relations have a name, impressions have none")
	case (claim.Aspect == reverie.AspectRelation) != (claim.TargetID != nil):
		return fmt.Errorf("relations have a target, others have none")
	case claim.TargetID != nil && !reverie.IsID(*claim.TargetID):
		return fmt.Errorf("target %q is no id", *claim.TargetID)
	}
	if err := c.once("version "+claim.ID, "version", claim.ID); err != nil {
		return err
	}
	return c.once("claim "+claim.Text(), "claim", claim.EntityID, claim.Aspect, text.NameKey(claim.Name), claim.Self,
		claim.ContentHash)
}

func checkClaimEvidence(list []reverie.Evidence) error {
	if len(list) == 0 {
		return fmt.Errorf("it has no evidence")
	}
	for _, e := range list {
		if _, err := time.Parse(time.DateOnly, e.LocalDate); err != nil || e.MessageID == "" {
			return fmt.Errorf("evidence from message %q: it needs the message, and local date %q must be YYYY-MM-DD",
				e.MessageID, e.LocalDate)
		}
	}
	return nil
}

func (c *planCheck) observations() error {
	ended := slices.Concat(c.plan.Joined, c.plan.Expired)
	for _, o := range c.plan.Postponed {
		ended = append(ended, o.Continues...)
	}
	for _, id := range ended {
		if err := c.once("the end of observation "+id, "end", id); err != nil || !reverie.IsID(id) {
			return fmt.Errorf("%q has no id, or ends twice", id)
		}
	}
	for _, o := range c.plan.Postponed {
		if !reverie.IsID(o.ID) || o.ExpiresAt.IsZero() || o.LastAt.IsZero() {
			return fmt.Errorf("one of %q that is to wait needs an id, its last evidence and an end", o.Subject)
		}
		if err := c.once("observation "+o.ID, "observation", o.ID); err != nil {
			return err
		}
	}
	return nil
}
