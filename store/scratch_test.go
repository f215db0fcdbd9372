package store_test

import (
	"testing"

	"reverie"
	"reverie/store/storetest"
)

// TestScratch writes to a scratch store, and finds the live one as it was.
func TestScratch(t *testing.T) {
	live := storetest.New(t)
	ctx := t.Context()
	x, err := live.Scratch(ctx)
	if err != nil {
		t.Fatal(err)
	}
	if err := x.CheckSchema(ctx); err != nil {
		t.Error(err)
	}
	if err := x.AddGroup(ctx, reverie.Group{ID: "g1"}); err != nil {
		t.Error(err)
	}
	if _, err := x.Group(ctx, "g1"); err != nil {
		t.Error(err)
	}
	if g, err := live.Group(ctx, "g1"); err == nil {
		t.Errorf("the live store has it: %+v", g)
	}
	if err := x.Drop(ctx); err != nil {
		t.Error(err)
	}
}
