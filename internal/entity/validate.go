package entity

import (
	"fmt"
	"slices"

	"reverie/internal/reverie"
)

// validate refuses to plan on entities that a person merged, or took apart, since the
// index was read: by their names then, one's words would go to the other. What parse has
// checked and build has made holds otherwise, and the store refuses a plan that does not.
func validate(state reverie.EntityState, ids []string, entities map[string]reverie.Entity) error {
	then := map[string][]string{} // entity -> ids of its names
	for _, n := range state.Index {
		then[n.EntityID] = append(then[n.EntityID], n.ID)
	}
	for _, id := range ids {
		var now []string
		for _, n := range entities[id].Names {
			now = append(now, n.ID)
		}
		slices.Sort(now)
		slices.Sort(then[id])
		if !slices.Equal(now, then[id]) {
			return fmt.Errorf("entity %s of group %q goes by other names than when the model was asked; "+
				"read the group again: %w", id, state.Group.ID, reverie.ErrConflict)
		}
	}
	return nil
}
