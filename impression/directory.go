package impression

import (
	"slices"
	"strings"

	"reverie"
)

// directory is the identity index as the batches need it: who bears a name, and
// by which names and accounts an entity is known.
type directory struct {
	byKey     map[string][]string // NameKey of subject or alias -> entity ids, sorted
	byAccount map[string]string   // account -> entity id
	entries   map[string]*entry   // by entity id
	keys      []string            // of byKey, sorted
}

// entry is an entity of the directory.
type entry struct {
	kind     reverie.EntityKind
	subject  string
	aliases  []string
	accounts []string // sorted
}

// newDirectory reads the index.
func newDirectory(names []reverie.EntityName) *directory {
	d := &directory{byKey: map[string][]string{}, byAccount: map[string]string{}, entries: map[string]*entry{}}
	ordered := slices.Clone(names)
	slices.SortStableFunc(ordered, func(a, b reverie.EntityName) int { return strings.Compare(a.ID, b.ID) }) // oldest first
	for _, n := range ordered {
		e := d.entries[n.EntityID]
		if e == nil {
			e = &entry{kind: n.Entity}
			d.entries[n.EntityID] = e
		}
		switch {
		case n.Kind == reverie.NameID:
			d.byAccount[n.Key] = n.EntityID
			e.accounts = append(e.accounts, n.Key)
			continue
		case n.Kind == reverie.NameSubject && e.subject == "":
			e.subject = n.Name
		default:
			e.aliases = append(e.aliases, n.Name)
		}
		if key := reverie.NameKey(n.Name); key != "" && !slices.Contains(d.byKey[key], n.EntityID) {
			d.byKey[key] = append(d.byKey[key], n.EntityID)
		}
	}
	for key, ids := range d.byKey {
		slices.Sort(ids)
		d.keys = append(d.keys, key)
	}
	for _, e := range d.entries {
		slices.Sort(e.accounts)
	}
	slices.Sort(d.keys)
	return d
}

// othersBear tells whether an entity other than the given one bears a name.
func (d *directory) othersBear(key, entityID string) bool {
	return slices.ContainsFunc(d.byKey[key], func(id string) bool { return id != entityID })
}

// names are an entity's names, the subject first.
func (e *entry) names() []string {
	if e.subject == "" {
		return e.aliases
	}
	return append([]string{e.subject}, e.aliases...)
}
