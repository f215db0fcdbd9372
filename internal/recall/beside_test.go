package recall_test

import (
	"context"
	"errors"
	"testing"

	"reverie/internal/recall"
	"reverie/internal/reverie"
)

// linked is a store in which every group has links, of which none can be read.
type linked struct{ recall.Store }

func (l linked) Search(ctx context.Context, q reverie.SearchQuery) (reverie.Ranking, error) {
	r, err := l.Store.Search(ctx, q)
	r.Linked = true
	return r, err
}

func (linked) Shared(ctx context.Context, _ string, _ bool) ([]reverie.SharedFacts, error) {
	if _, ends := ctx.Deadline(); !ends {
		return nil, nil // it would be waited for as long as it takes
	}
	return nil, errors.New("g2 is locked")
}

// TestLinksFail: a group finds its own where those it is linked with cannot be read, and is told so.
func TestLinksFail(t *testing.T) {
	r, d, _ := scene(t)
	r.Searcher.Store, r.Searcher.Links = linked{d}, linked{}
	found, err := r.Searcher.Search(t.Context(), recall.Query{GroupID: "g1", Text: "at 0", Limit: 3})
	if err != nil || len(found.Hits) != 3 || len(found.Warnings) != 1 ||
		found.Warnings[0] != "not all that linked groups remember could be read" {
		t.Errorf("found is %+v, %v", found, err)
	}
}
