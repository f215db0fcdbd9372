package store_test

import (
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"reverie/internal/reverie"
)

// A merge moves nothing: whoever reads the one reads both, and taking it back
// leaves every row of names, claims and evidence as it was.
func TestMergeAndUnmergeEntities(t *testing.T) {
	w := newWorld(t)
	ctx, db := t.Context(), raw(t)
	ids := w.people("Lin", "小林", "Bo")
	a, b, c := ids[0], ids[1], ids[2]
	before := w.whole(a, b, c)
	rows := entityDump(t, db)

	w.now = noon.Add(time.Hour)
	into, part, err := w.MergeEntities(ctx, "", a, b, "one person")
	check(t, err)
	wantSaid(t, into, "subject Lin", "id account of Lin", "city where Lin lives v1", "subject 小林", "id account of 小林", "city where 小林 lives v1")
	wantSaid(t, part, "subject 小林", "id account of 小林", "city where 小林 lives v1")
	if part.Status != reverie.EntityMerged || *part.MergedInto != a || into.Version != 2 || part.Version != 2 || !into.UpdatedAt.Equal(w.now) {
		t.Errorf("merged %+v into %+v", part, into)
	}
	if into.Claims[1].EntityID != b || len(into.Claims[1].Evidence) != 1 || into.Claims[1].Evidence[0].Quote != "message m0001" {
		t.Errorf("what was 小林's is %+v", into.Claims[1])
	}
	// As a chain: whoever reads Bo reads all three.
	_, _, err = w.MergeEntities(ctx, group, c, a, "")
	check(t, err)
	if got := w.whole(a, b, c); len(got) != 1 || got[0].ID != c || len(got[0].Claims) != 3 || len(got[0].Names) != 6 {
		t.Errorf("read as one: %+v", got)
	}
	if state := must(w.GatherEntities(ctx, reverie.EntityQuery{GroupID: group}))(t); len(state.Index) != 6 ||
		slices.ContainsFunc(state.Index, func(n reverie.EntityName) bool { return n.EntityID != c || n.Entity != reverie.EntityPerson }) {
		t.Errorf("index %+v", state.Index)
	}
	if got := must(w.Entity(ctx, group, a))(t); len(got.Claims) != 2 { // shown as it is
		t.Errorf("in the middle of the chain: %v", said(got))
	}

	// Taken back from the middle, those above are told.
	w.now = noon.Add(2 * time.Hour)
	from, part, err := w.UnmergeEntity(ctx, "", b, "two people")
	check(t, err)
	if from.ID != a || part.Status != reverie.EntityActive || part.MergedInto != nil || part.Version != 3 || from.Version != 4 || w.whole(c)[0].Version != 3 {
		t.Errorf("unmerged %+v from %+v", part, from)
	}
	_, _, err = w.UnmergeEntity(ctx, group, a, "")
	check(t, err)
	if diff := cmp.Diff(rows, entityDump(t, db)); diff != "" {
		t.Errorf("rows before and after (-before +after):\n%s", diff)
	}
	after := w.whole(a, b, c)
	for i := range after {
		if after[i].Version <= before[i].Version {
			t.Errorf("version %d, was %d", after[i].Version, before[i].Version)
		}
		after[i].Version, after[i].UpdatedAt = before[i].Version, before[i].UpdatedAt
	}
	if diff := cmp.Diff(before, after); diff != "" {
		t.Errorf("entities before and after (-before +after):\n%s", diff)
	}
	changes, _, err := w.EntityHistory(ctx, group, b)
	check(t, err)
	var last []string
	for _, ch := range changes[2:] {
		last = append(last, string(ch.Action)+" "+ch.NewText+" "+ch.Reason)
		if ch.RunID != nil || *ch.OtherID != a {
			t.Errorf("change %+v", ch)
		}
	}
	if diff := cmp.Diff([]string{"merge Lin one person", "unmerge Lin two people"}, last); diff != "" {
		t.Errorf("history (-want +got):\n%s", diff)
	}
}

// What is written of a merged entity goes to its own rows: after the merge is
// taken back, each has what was said of it.
func TestClaimsOfMergedEntities(t *testing.T) {
	w := newWorld(t)
	ctx := t.Context()
	ids := w.people("Lin", "小林")
	_, _, err := w.MergeEntities(ctx, group, ids[0], ids[1], "")
	check(t, err)
	one := w.whole(ids[0])[0]
	theirs := one.Claims[slices.IndexFunc(one.Claims, func(c reverie.Claim) bool { return c.EntityID == ids[1] })]
	moved := replace(theirs, "Chengdu")
	moved.Claim.EntityID = ids[0] // as the job reads it
	w.applyEntities(func(p *reverie.EntityPlan) {
		p.Heads[one.ID] = one.Version
		p.Claims = []reverie.ClaimStep{moved, feature(one.ID, "job", "nurse")}
	})
	if got := w.whole(ids[0])[0]; got.Version != 3 || len(got.Claims) != 3 {
		t.Errorf("version %d, want 3: %v", got.Version, said(got))
	}
	_, part, err := w.UnmergeEntity(ctx, group, ids[1], "")
	check(t, err)
	wantSaid(t, part, "subject 小林", "id account of 小林", "city Chengdu v2")
	if part.Version != 4 { // made, merged, written, unmerged
		t.Errorf("version %d, want 4", part.Version)
	}
	wantSaid(t, w.whole(ids[0])[0], "subject Lin", "id account of Lin", "city where Lin lives v1", "job nurse v1")
}

// New names and claims of a merged entity rest on the version of the one that it is
// read as, and stay its own.
func TestNewClaimsOfMergedEntities(t *testing.T) {
	w := newWorld(t)
	ctx := t.Context()
	ids := w.people("Lin", "小林")
	_, _, err := w.MergeEntities(ctx, group, ids[0], ids[1], "")
	check(t, err)
	one := w.whole(ids[0])[0]
	write := func(p *reverie.EntityPlan) {
		p.Names = []reverie.EntityName{{EntityID: ids[1], Kind: reverie.NameAlias, Name: "Lynn"}}
		p.Claims = []reverie.ClaimStep{feature(ids[1], "job", "nurse")}
	}
	wantErr(t, second(w.ApplyEntities(ctx, w.lease, w.entityPlan(write))), reverie.ErrInvalid)
	w.applyEntities(func(p *reverie.EntityPlan) { p.Heads[one.ID] = one.Version; write(p) })
	if got := w.whole(ids[0])[0]; got.Version != one.Version+1 || len(got.Claims) != 3 {
		t.Errorf("version %d, want %d: %v", got.Version, one.Version+1, said(got))
	}
	_, part, err := w.UnmergeEntity(ctx, group, ids[1], "")
	check(t, err)
	wantSaid(t, part, "subject 小林", "id account of 小林", "alias Lynn", "city where 小林 lives v1", "job nurse v1")
	wantSaid(t, w.whole(ids[0])[0], "subject Lin", "id account of Lin", "city where Lin lives v1")
}

func TestMergeRefuses(t *testing.T) {
	w := newWorld(t)
	ctx, db := t.Context(), raw(t)
	ids := w.people("Lin", "Ana", "Bo")
	merge := func(a, b string) error { _, _, err := w.MergeEntities(ctx, group, a, b, ""); return err }
	check(t, merge(ids[0], ids[1]))
	w.ensure("other")
	rows := entityDump(t, db)
	for name, tt := range map[string]struct {
		err  error
		kind error
		says string
	}{
		"with itself":       {merge(ids[0], ids[0]), reverie.ErrInvalid, "the same entity"},
		"again":             {merge(ids[0], ids[1]), reverie.ErrConflict, `"Ana" (` + ids[1] + `) is part of ` + ids[0]},
		"a circle":          {merge(ids[1], ids[0]), reverie.ErrConflict, "is part of"},
		"two wholes":        {merge(ids[2], ids[1]), reverie.ErrConflict, "unmerge it first"},
		"unknown":           {merge(ids[0], reverie.NewID()), reverie.ErrNotFound, "entity"},
		"into nobody":       {merge("nobody", ids[0]), reverie.ErrNotFound, `"nobody"`},
		"elsewhere":         {second3(w.MergeEntities(ctx, "other", ids[0], ids[2], "")), reverie.ErrNotFound, ids[0]},
		"unmerge a whole":   {second3(w.UnmergeEntity(ctx, group, ids[0], "")), reverie.ErrConflict, "not part of another"},
		"unmerge elsewhere": {second3(w.UnmergeEntity(ctx, "other", ids[1], "")), reverie.ErrNotFound, ids[1]},
	} {
		wantErr(t, tt.err, tt.kind)
		if !strings.Contains(tt.err.Error(), tt.says) {
			t.Errorf("%s: %q does not say %q", name, tt.err, tt.says)
		}
	}
	if diff := cmp.Diff(rows, entityDump(t, db)); diff != "" {
		t.Errorf("something was written:\n%s", diff)
	}
}

func second3[A, B any](_ A, _ B, err error) error { return err }

// Two people who join at once, in opposite directions: one does, the other is told.
func TestMergesAtOnce(t *testing.T) {
	w := newWorld(t)
	ids := w.people("Lin", "Ana")
	errs := make(chan error, 2)
	var wg sync.WaitGroup
	for i := range 2 {
		wg.Go(func() { errs <- second3(w.MergeEntities(t.Context(), group, ids[i], ids[1-i], "")) })
	}
	wg.Wait()
	first, other := <-errs, <-errs
	if first != nil {
		first, other = other, first
	}
	check(t, first)
	wantErr(t, other, reverie.ErrConflict)
	if n := count(t, raw(t), `select count(*) from entities where merged_into is not null`); n != 1 {
		t.Errorf("%d are merged, want 1", n)
	}
}

func TestMergeSurvivesALostReply(t *testing.T) {
	for name, f := range map[string]fault{"reply lost": lostReply, "request lost": lostSend} {
		t.Run(name, func(t *testing.T) {
			var n network
			w := openWorld(t, n.options())
			ids := w.people("Lin", "Ana")
			n.once("COMMIT", f)
			into, _, err := w.MergeEntities(t.Context(), group, ids[0], ids[1], "")
			check(t, err)
			if rows := count(t, raw(t), `select count(*) from entity_change_log where action = 'merge'`); rows != 2 || into.Version != 2 {
				t.Errorf("%d rows, version %d", rows, into.Version)
			}
		})
	}
}
