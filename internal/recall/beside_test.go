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

func (linked) GroupTeam(context.Context, string) (string, bool, error) { return "", true, nil }

func (linked) Shared(context.Context, string, bool) ([]reverie.SharedFacts, error) {
	return nil, errors.New("g2 is locked")
}

// TestLinksFail: a group finds its own where those it is linked with cannot be read, and is told so.
func TestLinksFail(t *testing.T) {
	r, d, _ := scene(t)
	r.Searcher.Store, r.Searcher.Links = linked{d}, linked{}
	found, err := r.Searcher.Search(t.Context(), recall.Query{GroupID: "g1", Text: "at 0", Limit: 3})
	if err != nil || len(found.Hits) != 3 || len(found.Warnings) != 1 ||
		found.Warnings[0] != "what linked groups remember could not be read and is left out" {
		t.Errorf("found is %+v, %v", found, err)
	}
}
