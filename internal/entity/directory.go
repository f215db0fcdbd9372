package entity

import (
	"maps"
	"slices"
	"strings"

	"reverie/internal/reverie"
)

// directory is the identity index with all that an entity is called, which
// batches are made with.
type directory struct {
	*index
	entries map[string]*entry // by entity id
}

// entry is an entity of the directory.
type entry struct {
	kind     reverie.EntityKind
	names    []string // the subject first, then the oldest
	accounts []string // sorted
}

// newDirectory reads the identity index.
func newDirectory(names []reverie.EntityName) *directory {
	d := &directory{index: newIndex(names), entries: map[string]*entry{}}
	ordered := slices.Clone(names)
	slices.SortFunc(ordered, func(a, b reverie.EntityName) int { return strings.Compare(a.ID, b.ID) })
	for _, n := range ordered {
		e := d.entries[n.EntityID]
		if e == nil {
			e = &entry{kind: n.Entity}
			d.entries[n.EntityID] = e
		}
		switch n.Kind {
		case reverie.NameID:
			e.accounts = append(e.accounts, n.Key)
		case reverie.NameSubject:
			e.names = slices.Insert(e.names, 0, n.Name)
		default:
			e.names = append(e.names, n.Name)
		}
	}
	for _, e := range d.entries {
		slices.Sort(e.accounts)
	}
	return d
}

// keys are those of all names, sorted.
func (d *directory) keys() []string { return slices.Sorted(maps.Keys(d.byKey)) }

// othersBear tells whether an entity other than the given one bears a name.
func (d *directory) othersBear(key, entityID string) bool {
	return slices.ContainsFunc(d.byKey[key], func(id string) bool { return id != entityID })
}
