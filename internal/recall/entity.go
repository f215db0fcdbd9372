package recall

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"reverie/internal/reverie"
	"reverie/internal/text"
)

const (
	maxNamed = 50 // entities that one query is read for
	maxLines = 10 // lines of one entity

	leastName = 2 // characters of a name by which somebody is looked for
)

// nameForm is the text of a query in which names are looked for: its beginning, no
// longer than what is embedded, so that a long text costs no more than a short one.
func nameForm(query string) string { return foldNames(firstCharacters(query, maxQueryForm)) }

// entities reads the people and things that a query names, in the order in which
// it names them. Those of whom nothing is said are left out.
func (r *Recaller) entities(ctx context.Context, req ContextRequest, query string,
	names []reverie.EntityName) ([]reverie.ContextEntity, error) {
	ids := named(nameForm(query), names, leastName)
	if len(ids) == 0 || r.Options.MaxEntities == 0 {
		return nil, nil
	}
	ids = ids[:min(len(ids), maxNamed)]
	var found []reverie.Entity
	var err error
	if req.At.IsZero() {
		found, err = r.Store.EntitiesByID(ctx, req.GroupID, ids)
	} else {
		found, err = r.Store.EntitiesAt(ctx, req.GroupID, ids, req.At)
	}
	if err != nil {
		return nil, fmt.Errorf("read whom a query in group %q names: %w", req.GroupID, err)
	}
	slices.SortStableFunc(found, func(a, b reverie.Entity) int { return cmp.Compare(place(a, ids), place(b, ids)) })
	var list []reverie.ContextEntity
	for _, e := range found {
		if lines := linesOf(e); len(lines) > 0 && len(list) < r.Options.MaxEntities {
			list = append(list, reverie.ContextEntity{EntityID: e.ID, Kind: e.Kind, Subject: e.Subject, Lines: lines})
		}
	}
	return list, nil
}

// named returns the ids of those whose names stand in a folded query as words of
// their own, in order. A name inside a longer one that stands there does not count,
// nor does one of fewer than so many characters.
func named(query string, names []reverie.EntityName, least int) []string {
	type mention struct {
		start, end int
		entityID   string
	}
	var all []mention
	for _, n := range names {
		if utf8.RuneCountInString(n.Key) < least {
			continue
		}
		for _, s := range text.Places(query, n.Key) {
			all = append(all, mention{s[0], s[1], n.EntityID})
		}
	}
	slices.SortFunc(all, func(a, b mention) int {
		return cmp.Or(cmp.Compare(a.start, b.start), cmp.Compare(b.end, a.end), strings.Compare(a.entityID, b.entityID))
	})
	var ids []string
	var furthest mention // of those so far, the first of those that end last
	for _, m := range all {
		if m.end > furthest.end {
			furthest = m
		}
		if m.start == furthest.start && m.end == furthest.end && !slices.Contains(ids, m.entityID) {
			ids = append(ids, m.entityID)
		}
	}
	return ids
}

// place is where an entity, or one that is merged into it, stands among ids.
func place(e reverie.Entity, ids []string) int {
	at := len(ids)
	if i := slices.Index(ids, e.ID); i >= 0 {
		at = i
	}
	for _, n := range e.Names {
		if i := slices.Index(ids, n.EntityID); i >= 0 {
			at = min(at, i)
		}
	}
	return at
}

// linesOf is what is said of an entity, strongest first, each thing once.
func linesOf(e reverie.Entity) []string {
	own := func(c reverie.Claim) int {
		if c.Self {
			return 0
		}
		return 1
	}
	claims := slices.SortedStableFunc(slices.Values(e.Claims), func(a, b reverie.Claim) int {
		return cmp.Or(cmp.Compare(b.Strength, a.Strength), cmp.Compare(own(a), own(b)),
			cmp.Compare(b.Confidence, a.Confidence),
			strings.Compare(a.Name, b.Name), strings.Compare(a.Value, b.Value))
	})
	var lines []string
	for _, c := range claims {
		line := c.Value
		if c.Name != "" {
			line = c.Name + ": " + c.Value
		}
		if !slices.Contains(lines, line) && len(lines) < maxLines {
			lines = append(lines, line)
		}
	}
	return lines
}
