package api_test

import (
	"errors"
	"testing"

	"reverie/internal/reverie"
	"reverie/internal/text"
)

// TestWhoSetsScopes: what could show a fact to other groups is an administrator's to say.
func TestWhoSetsScopes(t *testing.T) {
	d := newDesk(t)
	m, err := d.Edit(d.ctx, reverie.Edit{GroupID: petitioned, Action: reverie.ActionCreate, Reason: "so",
		Words: reverie.Words{Statement: "Lin likes figs", ContentHash: text.ContentHash("Lin likes figs")}})
	d.check(err)
	e := reverie.Edit{MemoryID: m.Memory.ID, Action: reverie.ActionScope, Reach: reverie.ReachPerson, Reason: "she agreed"}
	if _, err := d.Edit(d.ctx, e); !errors.Is(err, reverie.ErrForbidden) {
		t.Errorf("a token that writes sets a scope: %v", err)
	}
	_, err = d.Edit(d.person, e)
	d.check(err)
}
