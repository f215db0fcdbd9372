package entity

import (
	"slices"

	"reverie/internal/reverie"
	"reverie/internal/text"
)

// newIndex reads the identity index: names in force, those of a merged entity as
// its target's.
func newIndex(names []reverie.EntityName) *index {
	idx := &index{byKey: map[string][]string{}, byID: map[string]string{}, entities: map[string]reverie.EntityKind{}}
	for _, n := range names {
		idx.entities[n.EntityID] = n.Entity
		if n.Kind == reverie.NameID {
			idx.byID[n.Key] = n.EntityID
			continue
		}
		if key := text.NameKey(n.Name); key != "" && !slices.Contains(idx.byKey[key], n.EntityID) {
			idx.byKey[key] = append(idx.byKey[key], n.EntityID)
		}
	}
	for _, ids := range idx.byKey {
		slices.Sort(ids)
	}
	return idx
}

// bears tells whether an entity has a name already.
func (x *index) bears(entityID, name string) bool {
	return slices.Contains(x.byKey[text.NameKey(name)], entityID)
}
