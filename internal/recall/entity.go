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
	maxNamed = 50 // maximum number of entities read for one query
	maxLines = 10 // maximum number of lines of an entity

	leastName = 2 // minimum number of characters of a name that is searched
)

// nameForm returns the part of a query in which names are searched. It is as long as the part that is embedded, so
// that a long text costs no more than a short one.
func nameForm(query string) string { return foldNames(firstCharacters(query, maxQueryForm)) }

// entities returns the entities that a query names, in the order of mention. Entities without claims are left out.
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

// named returns the ids of entities whose names occur in a folded query as separate words, in order. It skips names
// inside longer names, and names with fewer than least characters.
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
	var furthest mention // of those so far, the first of those with the furthest end
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

// place returns the position in ids of an entity or of one merged into it.
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

// linesOf returns the claims about an entity, strongest first, without duplicates.
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
