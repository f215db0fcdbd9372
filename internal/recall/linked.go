package recall

import (
	"context"
	"slices"
	"strings"
	"time"

	"reverie/internal/reverie"
)

// linkedTimeout is how long reading linked groups may take; what was read by then is used.
const linkedTimeout = 2 * time.Second

// addLinked adds the facts of linked groups to the ranking: what members of the group have said of themselves
// elsewhere. It writes nothing in those groups: a fact without a vector of the model is found by its words.
func (s *Searcher) addLinked(ctx context.Context, r *reverie.Ranking, q reverie.SearchQuery) error {
	ctx, cancel := context.WithTimeout(ctx, linkedTimeout)
	defer cancel()
	shared, err := s.Links.Shared(ctx, q.GroupID, !q.At.IsZero())
	for _, of := range shared {
		if q.GroupID, q.Only = of.GroupID, ofThemselves(of); len(q.Only) == 0 {
			continue
		}
		theirs, err := s.Store.Search(s.instead(ctx, of.GroupID), q)
		if err != nil {
			return err
		}
		for _, hits := range [][]reverie.Hit{theirs.Hits, theirs.Archived} {
			for i := range hits {
				hits[i].From = of.GroupID
			}
		}
		add(r, theirs, q.Limit)
	}
	return err
}

// ofThemselves returns the facts that name their speaker and no other person known in the group, even if the
// speaker's name has one character.
func ofThemselves(of reverie.SharedFacts) (ids []string) {
	texts := make([]string, len(of.Facts))
	for i, f := range of.Facts {
		texts[i] = foldNames(f.Statement)
	}
	all := strings.Join(texts, "\n")
	names := slices.DeleteFunc(slices.Clone(of.Names), func(n reverie.EntityName) bool { return !strings.Contains(all, n.Key) })
	for i, f := range of.Facts {
		alone := func(least int) bool {
			who := named(texts[i], names, least)
			return len(who) == 1 && who[0] == f.EntityID
		}
		if alone(1) && alone(leastName) {
			ids = append(ids, f.MemoryID)
		}
	}
	return ids
}
