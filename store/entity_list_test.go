package store_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"reverie/internal/reverie"
)

func subjects(list []reverie.Entity) (names []string) {
	for _, e := range list {
		names = append(names, e.Subject)
	}
	return names
}

func TestListAndFindEntities(t *testing.T) {
	w := newWorld(t)
	ctx := t.Context()
	ids := w.people("lin", "Bo", "Lin Wei", "ana")
	cat := entity("Miso", "")
	cat.Kind = reverie.EntityThing
	twin := entity("Bo", "another") // a name may belong to several
	twin.Names = append(twin.Names, reverie.EntityName{Kind: reverie.NameAlias, Name: "「阿博」"})
	w.applyEntities(func(p *reverie.EntityPlan) { p.Creates = []reverie.Entity{cat, twin} })
	_, _, err := w.MergeEntities(ctx, group, ids[3], ids[2], "")
	check(t, err)

	for name, tt := range map[string]struct {
		filter        reverie.EntityFilter
		limit, offset int
		want          []string
		total         int
	}{
		"all":              {reverie.EntityFilter{}, 0, 0, []string{"ana", "Bo", "Bo", "lin", "Miso"}, 5},
		"a page":           {reverie.EntityFilter{}, 2, 2, []string{"Bo", "lin"}, 5},
		"beyond the end":   {reverie.EntityFilter{}, 2, 9, nil, 5},
		"merged ones too":  {reverie.EntityFilter{All: true}, 0, 0, []string{"ana", "Bo", "Bo", "lin", "Lin Wei", "Miso"}, 6},
		"things":           {reverie.EntityFilter{Kind: reverie.EntityThing}, 0, 0, []string{"Miso"}, 1},
		"part of a name":   {reverie.EntityFilter{Name: "LIN"}, 0, 0, []string{"ana", "lin"}, 2},
		"as itself":        {reverie.EntityFilter{Name: "wei", All: true}, 0, 0, []string{"ana", "Lin Wei"}, 2},
		"an alias":         {reverie.EntityFilter{Name: "阿博"}, 0, 0, []string{"Bo"}, 1},
		"a sign":           {reverie.EntityFilter{Name: "%"}, 0, 0, nil, 0},
		"quotation marks":  {reverie.EntityFilter{Name: `""`}, 0, 0, nil, 0},
		"no part of an id": {reverie.EntityFilter{Name: "account"}, 0, 0, nil, 0},
	} {
		list, total, err := w.ListEntities(ctx, group, tt.filter, tt.limit, tt.offset)
		check(t, err)
		if diff := cmp.Diff(tt.want, subjects(list)); diff != "" || total != tt.total {
			t.Errorf("%s: %d in all, want %d (-want +got):\n%s", name, total, tt.total, diff)
		}
	}
	list, _, err := w.ListEntities(ctx, group, reverie.EntityFilter{All: true}, 0, 0)
	check(t, err)
	wantSaid(t, list[0], "subject ana", "id account of ana", "city where ana lives v1", "subject Lin Wei", "id account of Lin Wei", "city where Lin Wei lives v1")
	wantSaid(t, list[4], "subject Lin Wei", "id account of Lin Wei", "city where Lin Wei lives v1")

	for name, want := range map[string][]string{
		"@BO": {"Bo", "Bo"}, "阿博": {"Bo"}, "lin": {"lin"}, "lin wei": {"ana"}, "account of Bo": {"Bo"}, "Account of Bo": nil, "": nil, "nobody": nil,
	} {
		found := must(w.FindEntities(ctx, group, name))(t)
		if diff := cmp.Diff(want, subjects(found)); diff != "" {
			t.Errorf("%q is (-want +got):\n%s", name, diff)
		}
	}
	w.ensure("other")
	if found := must(w.FindEntities(ctx, "other", "lin"))(t); len(found) != 0 {
		t.Errorf("in another group: %+v", found)
	}
	wantErr(t, second(w.FindEntities(ctx, "nowhere", "lin")), reverie.ErrNotFound)
	wantErr(t, second3(w.ListEntities(ctx, "nowhere", reverie.EntityFilter{}, 0, 0)), reverie.ErrNotFound)
	wantErr(t, second(w.WaitingObservations(ctx, "nowhere", 9)), reverie.ErrNotFound)
	wantErr(t, second(w.Entity(ctx, "other", ids[0])), reverie.ErrNotFound)
	wantErr(t, second(w.Entity(ctx, "", "Lin")), reverie.ErrNotFound)
	wantErr(t, second3(w.EntityHistory(ctx, "other", ids[0])), reverie.ErrNotFound)
}
