package pgtest

import (
	"slices"
	"testing"

	"reverie/store"
	"reverie/store/audit"
)

// Sound fails the test for each invariant that does not hold in a group, or in all where
// none is named, but for those that the test does not keep itself.
func Sound(t testing.TB, s *store.Store, group string, except ...string) {
	t.Helper()
	list, err := audit.Run(t.Context(), s.DB(), group)
	if err != nil {
		t.Fatal(err)
	}
	for _, i := range list {
		if i.Violated > 0 && !slices.Contains(except, i.Name) {
			t.Errorf("%s: %d violations: %v", i.Name, i.Violated, i.Violations)
		}
	}
}
