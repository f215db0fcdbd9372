package entity

import (
	"fmt"
	"slices"

	"reverie/internal/reverie"
)

// validate refuses a plan if a person has merged or split one of its entities since the index was read. By the old
// names, claims about one would go to the other. All else was checked by parse and build.
func validate(state reverie.EntityState, ids []string, entities map[string]reverie.Entity) error {
	then := map[string][]string{} // entity -> ids of its names when the index was read
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
