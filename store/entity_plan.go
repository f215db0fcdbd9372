package store

import (
	"fmt"
	"slices"

	"reverie/internal/reverie"
	"reverie/internal/text"
)

// checkEntityPlan refuses a plan that contradicts itself, before anything is locked. Constraints of the schema refuse
// other errors, such as an unknown kind or an invalid number. Errors are reverie.ErrInvalid and name the part.
func checkEntityPlan(plan reverie.EntityPlan) error {
	seen := map[string]bool{}
	once := func(parts ...any) bool {
		key := fmt.Sprintf("%q", parts)
		first := !seen[key]
		seen[key] = true
		return first
	}
	newName := func(entityID string, n reverie.EntityName) bool {
		if n.Kind == reverie.NameID {
			return once("account", n.Name)
		}
		return once("name", entityID, text.NameKey(n.Name))
	}
	for id := range plan.Heads {
		once("entity", id)
	}
	for _, e := range plan.Creates {
		subjects, ok := 0, once("entity", e.ID)
		for _, n := range e.Names {
			if n.Kind == reverie.NameSubject && n.Name == e.Subject {
				subjects++
			}
			ok = ok && (n.EntityID == "" || n.EntityID == e.ID) && newName(e.ID, n)
		}
		if !ok || subjects != 1 {
			return fmt.Errorf("create of entity %q (%s): it is not new, or its names are not its own, each once, with one "+
				"subject: %w", e.Subject, e.ID, reverie.ErrInvalid)
		}
	}
	for _, n := range plan.Names {
		if n.Kind == reverie.NameSubject || !newName(n.EntityID, n) {
			return fmt.Errorf("name %q of entity %s: a known entity gets aliases and accounts, each once: %w", n.Name,
				n.EntityID, reverie.ErrInvalid)
		}
	}
	for i, st := range plan.Claims {
		c, ok := st.Claim, len(st.Evidence) > 0
		switch st.Action {
		case reverie.ActionCreate:
			ok = ok && st.HeadID == ""
		case reverie.ActionUpdate, reverie.ActionKeep:
			ok = ok && reverie.IsID(st.HeadID) && once("head", st.HeadID)
		default:
			ok = false
		}
		if st.Action != reverie.ActionKeep {
			ok = ok && c.ContentHash != "" && once("claim", c.EntityID, c.Aspect, text.NameKey(c.Name), c.Self, c.ContentHash)
		}
		if !ok {
			return fmt.Errorf("claim %d (%s, %s of entity %s): it has no evidence, is there twice, or does not fit the claim "+
				"that it rests on: %w", i+1, st.Action, c.Aspect, c.EntityID, reverie.ErrInvalid)
		}
	}
	return checkObservations(plan, once)
}

// checkObservations refuses observations that are settled twice, or never expire.
func checkObservations(plan reverie.EntityPlan, once func(...any) bool) error {
	ended := slices.Concat(plan.Joined, plan.Expired)
	for _, o := range plan.Postponed {
		ended = append(ended, o.Continues...)
		if o.ExpiresAt.IsZero() || o.LastAt.IsZero() {
			return fmt.Errorf("the observation of %q has no last evidence or no end: %w", o.Subject, reverie.ErrInvalid)
		}
	}
	for _, id := range ended {
		if !once("end", id) {
			return fmt.Errorf("observation %s ends twice: %w", id, reverie.ErrInvalid)
		}
	}
	return nil
}
