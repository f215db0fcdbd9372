package store_test

import (
	"slices"
	"strings"
	"testing"

	"reverie/internal/reverie"
	"reverie/internal/text"
)

// TestEraseClaims: of a claim that others have made as well nothing is left of what the
// author alone had said, whichever version that was, and taking back the run that had
// replaced it does not bring it back.
func TestEraseClaims(t *testing.T) {
	w := newWorld(t)
	db := raw(t)
	w.bring(group, reverie.Message{ID: "x9", AuthorID: "u9", Author: "Zoe", Role: reverie.RoleUser, Text: "Lin lives abroad with Bo and goes to a choir", SentAt: noon})
	theirs := func(st reverie.ClaimStep) reverie.ClaimStep {
		st.Evidence = []reverie.Evidence{{MessageID: "x9", AuthorID: "u9", Author: "Zoe", Quote: "Lin lives abroad", SentAt: noon, LocalDate: "2026-01-15"}}
		st.Reason = "Lisbon, of course"
		return st
	}
	lin, bo := entity("Lin", "account of Lin"), entity("Bo", "account of Bo")
	lives := theirs(feature(lin.ID, "with", "Bo"))
	lives.Claim.Aspect, lives.Claim.TargetID = reverie.AspectRelation, &bo.ID
	w.applyEntities(func(p *reverie.EntityPlan) {
		p.Creates = []reverie.Entity{lin, bo}
		p.Claims = []reverie.ClaimStep{theirs(feature(lin.ID, "city", "Lisbon")), feature(lin.ID, "drinks", "tea"), feature(lin.ID, "sport", "chess"), lives}
	})
	claim := map[string]reverie.Claim{}
	for _, c := range w.whole(lin.ID)[0].Claims {
		claim[c.Name] = c
	}
	second := w.entityPlan(func(p *reverie.EntityPlan) {
		p.Heads[lin.ID], p.Heads[bo.ID] = 1, 1
		apart := replace(claim["with"], "Bo")
		apart.Claim.Name, apart.Claim.TargetID = "apart from", &bo.ID
		p.Claims = []reverie.ClaimStep{replace(claim["city"], "Porto"), keep(claim["drinks"], "2026-01-16", 0.51), theirs(replace(claim["sport"], "choir")), apart}
	})
	must(w.ApplyEntities(t.Context(), w.lease, second))(t)
	for _, query := range []string{`update run_chunks set answer = '{"city": "Lisbon"}' where run_id = '` + second.RunID + `'`, `create schema reverie_scratch_kept`} {
		if _, err := db.ExecContext(t.Context(), query); err != nil {
			t.Fatal(err)
		}
	}
	receipt := must(w.Erase(t.Context(), w.lease, reverie.EraseQuery{GroupID: group, AuthorID: "u9"}))(t)
	if !slices.ContainsFunc(receipt.Left, func(l reverie.ErasureLeft) bool { return l.What == "schemas" && l.Rows == 1 }) {
		t.Errorf("the receipt tells of %+v", receipt.Left)
	}
	wantSaid(t, w.whole(lin.ID)[0], "subject Lin", "id account of Lin", "drinks tea v1", "city Porto v2", "apart from Bo v2")
	if n := count(t, db, `select count(*) from entity_claims where name = $1 and value = $1 and target_id = entity_id`, text.Erased); n != 1 {
		t.Errorf("%d relations are emptied", n)
	}
	check := func(when string) {
		t.Helper()
		for table, text := range everything(t, db, group) {
			for _, trace := range []string{"Lisbon", "choir", "with"} {
				if strings.Contains(strings.ReplaceAll(text, "withdrawn", ""), trace) {
					t.Errorf("%s: %s still holds %q:\n%s", when, table, trace, text)
				}
			}
		}
	}
	check("erased")
	got := w.undo(second.RunID)
	wantSaid(t, w.whole(lin.ID)[0], "subject Lin", "id account of Lin", "drinks tea v1")
	if len(got.Left) != 2 || got.Left[0].Reason != "nobody speaks any more for what was said before" || got.Left[0].EntityID != lin.ID {
		t.Errorf("taken back: %+v", got.Left)
	}
	check("taken back")
}
