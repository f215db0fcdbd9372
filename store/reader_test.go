package store_test

import (
	"testing"

	"reverie"
	"reverie/store"
)

// Under the reader's role the database shows the rows of its groups, whatever a query asks for.
func TestReaderSeesItsGroupsAlone(t *testing.T) {
	w := newWorld(t)
	w.ensure("g2")
	w.apply(create("likes tea"))
	memory := w.active()["likes tea"]
	if r := must(w.Reader(t.Context()))(t); !r.On || r.Role != store.DefaultReaderRole {
		t.Fatalf("the reader: %+v", r)
	}
	ctx := store.AsReader(t.Context(), group)
	must(w.Memory(ctx, "", memory.ID))(t)
	_, err := w.Memory(store.AsReader(t.Context(), "g2"), group, memory.ID)
	wantErr(t, err, reverie.ErrNotFound)
}
