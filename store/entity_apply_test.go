package store_test

import (
	"errors"
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"reverie/internal/reverie"
)

// One chunk creates, a later one names, supports and replaces: versions and
// evidence stay, and each change says why.
func TestApplyEntities(t *testing.T) {
	w := newWorld(t)
	ctx := t.Context()
	lin, ana := entity("Lin", "u1"), entity("Ana", "u2")
	city, home := feature(lin.ID, "City", "Lisbon"), feature(ana.ID, "City", "Porto")
	home.Claim.Self = true
	sister := feature(lin.ID, "sister of", "Ana")
	sister.Claim.Aspect, sister.Claim.TargetID = reverie.AspectRelation, &ana.ID
	calm := feature(lin.ID, "", "keeps calm")
	calm.Claim.Aspect = reverie.AspectImpression
	changes := w.applyEntities(func(p *reverie.EntityPlan) {
		p.Creates = []reverie.Entity{lin, ana}
		p.Claims = []reverie.ClaimStep{city, home, sister, calm}
		p.Stats = reverie.Stats{Created: 2}
	})
	if len(changes) != 6 || changes[0].Action != reverie.EntityCreated || changes[0].NewText != "Lin" || changes[2].Action != reverie.EntityClaimed ||
		changes[2].NewText != "City: Lisbon" || *changes[2].ClaimID != city.Claim.ID || changes[2].Reason != "said so" || len(changes[2].Evidence) != 1 {
		t.Fatalf("changes %+v", changes)
	}
	got := w.whole(lin.ID, ana.ID, reverie.NewID(), "no id", lin.ID)
	if len(got) != 2 {
		t.Fatalf("%d entities, want 2", len(got))
	}
	wantSaid(t, got[0], "subject Lin", "id u1", "City Lisbon v1", "sister of Ana v1", " keeps calm v1")
	wantSaid(t, got[1], "subject Ana", "id u2", "City Porto v1")
	if got[0].Version != 1 || got[0].Claims[0].SaidBy[0] != "u1" || !got[1].Claims[0].Self || *got[0].RunID != *changes[0].RunID {
		t.Errorf("created %+v", got[0])
	}

	w.now = noon.Add(time.Hour)
	moved, kept := replace(city.Claim, "Porto"), keep(calm.Claim, "2026-01-16", 0.51)
	plan := w.entityPlan(func(p *reverie.EntityPlan) {
		p.Heads[lin.ID] = 1
		p.Names = []reverie.EntityName{{EntityID: lin.ID, Kind: reverie.NameAlias, Name: "小林"}}
		p.Claims = []reverie.ClaimStep{moved, kept}
		p.Stats = reverie.Stats{Updated: 1}
	})
	changes = must(w.ApplyEntities(ctx, w.lease, plan))(t)
	if len(changes) != 2 || changes[0].Action != reverie.EntityNamed || changes[1].Action != reverie.EntityReplaced ||
		changes[1].OldText != "City: Lisbon" || changes[1].NewText != "City: Porto" {
		t.Errorf("changes %+v", changes)
	}
	got = w.whole(lin.ID, ana.ID)
	wantSaid(t, got[0], "subject Lin", "id u1", "alias 小林", "City Porto v2", "sister of Ana v1", " keeps calm v1")
	if got[0].Version != 2 || got[1].Version != 1 || !got[0].UpdatedAt.Equal(w.now) || !got[0].CreatedAt.Equal(noon) {
		t.Errorf("versions %d and %d, want 2 and 1", got[0].Version, got[1].Version)
	}
	for _, c := range got[0].Claims {
		switch {
		case c.Aspect == reverie.AspectImpression && (c.Strength != 0.51 || c.Confidence != 0.9 || !c.LastSupportedAt.Equal(noon) ||
			!slices.Equal(c.SaidBy, []string{"u1", "u2"}) || !slices.Equal(c.SupportDates, []string{"2026-01-15", "2026-01-16"})):
			t.Errorf("supported %+v", c)
		case c.Name == "City" && (*c.ParentID != city.Claim.ID || c.LineageID != city.Claim.LineageID || !c.CreatedAt.Equal(noon) || len(c.SupportDates) != 1):
			t.Errorf("replaced %+v", c)
		}
	}

	// Twice is once; the run and the messages are settled.
	again := must(w.ApplyEntities(ctx, w.lease, plan))(t)
	if diff := cmp.Diff(changes, again); diff != "" {
		t.Errorf("applied twice (-once +twice):\n%s", diff)
	}
	d := must(w.Run(ctx, group, plan.RunID))(t)
	if diff := cmp.Diff(changes, d.Entities); diff != "" || d.Chunks[0].Status != reverie.ChunkApplied || d.Run.Stats.Updated != 1 {
		t.Errorf("the run's changes (-want +got):\n%s\n%+v", diff, d.Run)
	}
	if n := count(t, raw(t), `select count(*) from message_uses where run_id = $1`, plan.RunID); n != 2 {
		t.Errorf("%d messages are the run's, want 2", n)
	}

	history, versions, err := w.EntityHistory(ctx, "", lin.ID)
	check(t, err)
	if len(history) != 6 || len(versions) != 4 || versions[0].Value != "Lisbon" || versions[0].Status != reverie.StatusDeprecated || versions[0].EndedAt == nil ||
		len(versions[0].Evidence) != 1 || versions[1].Value != "Porto" {
		t.Errorf("history %+v\n%+v", history, versions)
	}
}

// Whatever a plan rests on, and has moved, stops it whole.
func TestApplyEntitiesConflicts(t *testing.T) {
	w := newWorld(t)
	ctx := t.Context()
	ids := w.people("Lin", "Ana", "Bo")
	lin, bo := w.whole(ids[0])[0], w.whole(ids[2])[0]
	w.applyEntities(func(p *reverie.EntityPlan) {
		p.Heads[bo.ID] = 1
		p.Claims = []reverie.ClaimStep{replace(bo.Claims[0], "Faro")}
	})
	_, _, err := w.MergeEntities(ctx, group, ids[0], ids[1], "")
	check(t, err)
	waits := reverie.NewID()
	tests := map[string]struct {
		fill func(p *reverie.EntityPlan)
		kind error
		says string
	}{
		"an old version": {func(p *reverie.EntityPlan) {
			p.Heads[lin.ID] = 1
			p.Claims = []reverie.ClaimStep{feature(lin.ID, "job", "nurse")}
		}, reverie.ErrConflict, "is at version 2"},
		"a merged entity": {func(p *reverie.EntityPlan) {
			p.Heads[ids[1]] = 2
			p.Claims = []reverie.ClaimStep{feature(ids[1], "job", "nurse")}
		}, reverie.ErrConflict, "is now part of " + ids[0]},
		"an unknown entity": {func(p *reverie.EntityPlan) { p.Heads[reverie.NewID()] = 1 }, reverie.ErrNotFound, "entity"},
		"an old claim": {func(p *reverie.EntityPlan) {
			p.Heads[bo.ID] = 2
			p.Claims = []reverie.ClaimStep{keep(bo.Claims[0], "2026-01-16", 0.5)}
		}, reverie.ErrConflict, "has changed"},
		"another's claim": {func(p *reverie.EntityPlan) {
			p.Heads[lin.ID] = 2
			p.Claims = []reverie.ClaimStep{keep(w.whole(bo.ID)[0].Claims[0], "2026-01-16", 0.5)}
		}, reverie.ErrInvalid, "rests on no version"},
		"an unknown claim": {func(p *reverie.EntityPlan) {
			p.Claims = []reverie.ClaimStep{keep(reverie.Claim{ID: reverie.NewID()}, "2026-01-16", 0.5)}
		}, reverie.ErrNotFound, "claim"},
		"a taken account": {func(p *reverie.EntityPlan) { p.Creates = []reverie.Entity{entity("Lin", "account of Lin")} },
			reverie.ErrConflict, "account is another entity's already"},
		"a known name": {func(p *reverie.EntityPlan) {
			p.Heads[lin.ID] = 2
			p.Names = []reverie.EntityName{{EntityID: lin.ID, Kind: reverie.NameAlias, Name: "@LIN"}}
		}, reverie.ErrConflict, "bears that name already"},
		"a known claim": {func(p *reverie.EntityPlan) {
			p.Heads[lin.ID] = 2
			p.Claims = []reverie.ClaimStep{feature(lin.ID, "CITY", "where Lin lives")}
		}, reverie.ErrConflict, "has that claim already"},
		"a settled observation": {func(p *reverie.EntityPlan) { p.Joined = []string{waits} }, reverie.ErrConflict, "are no longer pending"},
		"a used message": {func(p *reverie.EntityPlan) {
			_, err := raw(t).Exec(`update message_uses set run_id = $1 
				where message_id = (select message_ids[1] from run_chunks where run_id = $1)`, p.RunID)
			check(t, err)
		}, reverie.ErrConflict, "are no longer pending for impression"},
		"a target that is not there": {func(p *reverie.EntityPlan) {
			nobody := reverie.NewID()
			st := feature(lin.ID, "sister of", "nobody")
			st.Claim.Aspect, st.Claim.TargetID = reverie.AspectRelation, &nobody
			p.Heads[lin.ID], p.Claims = 2, []reverie.ClaimStep{st}
		}, reverie.ErrNotFound, "entity_claims"},
	}
	db := raw(t)
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			w.t = t
			plan := w.entityPlan(tt.fill)
			plan.Creates = append(plan.Creates, entity("must not stay", "")) // a write before the fault
			before := entityDump(t, db)
			_, err := w.ApplyEntities(ctx, w.lease, plan)
			wantErr(t, err, tt.kind)
			if !strings.Contains(err.Error(), tt.says) {
				t.Errorf("error %q does not say %q", err, tt.says)
			}
			if diff := cmp.Diff(before, entityDump(t, db)); diff != "" {
				t.Errorf("something was written:\n%s", diff)
			}
			check(t, second(w.FinishRun(ctx, w.lease, reverie.Run{ID: plan.RunID, Status: reverie.RunFailed})))
		})
	}
}

// A plan that contradicts itself is refused, and nothing of it is written.
func TestApplyEntitiesRefusesContradictions(t *testing.T) {
	w := newWorld(t)
	known := w.whole(w.people("Lin")...)[0]
	head, db := known.Claims[0], raw(t)
	step := func(change func(*reverie.ClaimStep)) func(*reverie.EntityPlan) {
		return func(p *reverie.EntityPlan) {
			st := feature(known.ID, "job", "nurse")
			change(&st)
			p.Claims = []reverie.ClaimStep{st}
		}
	}
	create := func(change func(*reverie.Entity)) func(*reverie.EntityPlan) {
		return func(p *reverie.EntityPlan) {
			e := entity("Bo", "u9")
			change(&e)
			p.Creates = []reverie.Entity{e}
		}
	}
	name := func(n reverie.EntityName) func(*reverie.EntityPlan) {
		return func(p *reverie.EntityPlan) { p.Names = []reverie.EntityName{n} }
	}
	for what, fill := range map[string]func(*reverie.EntityPlan){
		"no id":                create(func(e *reverie.Entity) { e.ID = "Bo" }),
		"a known id":           create(func(e *reverie.Entity) { e.ID = known.ID }),
		"two subjects":         create(func(e *reverie.Entity) { e.Names = append(e.Names, e.Names[0]) }),
		"a name of quotes":     create(func(e *reverie.Entity) { e.Names[1] = reverie.EntityName{Kind: reverie.NameAlias, Name: `"@"`} }),
		"a nameless kind":      create(func(e *reverie.Entity) { e.Names[1].Kind = "nick" }),
		"one account twice":    func(p *reverie.EntityPlan) { p.Creates = []reverie.Entity{entity("A", "u9"), entity("B", "u9")} },
		"one id twice":         func(p *reverie.EntityPlan) { e := entity("A", ""); p.Creates = []reverie.Entity{e, e} },
		"a stranger's name":    name(reverie.EntityName{EntityID: reverie.NewID(), Kind: reverie.NameAlias, Name: "Bo"}),
		"a stranger's claim":   step(func(st *reverie.ClaimStep) { st.Claim.EntityID = reverie.NewID() }),
		"no lineage":           step(func(st *reverie.ClaimStep) { st.Claim.LineageID = "" }),
		"a create with a head": step(func(st *reverie.ClaimStep) { st.HeadID = head.ID }),
		"a delete":             step(func(st *reverie.ClaimStep) { st.Action, st.HeadID = reverie.ActionDelete, head.ID }),
		"no version":           step(func(st *reverie.ClaimStep) { st.Claim.ID = "" }),
		"no value":             step(func(st *reverie.ClaimStep) { st.Claim.Value = "" }),
		"no evidence":          step(func(st *reverie.ClaimStep) { st.Evidence = nil }),
		"a date that is none":  step(func(st *reverie.ClaimStep) { st.Evidence[0].LocalDate = "15.1." }),
		"no aspect":            step(func(st *reverie.ClaimStep) { st.Claim.Aspect = "" }),
		"a nameless feature":   step(func(st *reverie.ClaimStep) { st.Claim.Name = "" }),
		"a named impression":   step(func(st *reverie.ClaimStep) { st.Claim.Aspect = reverie.AspectImpression }),
		"a relation to nobody": step(func(st *reverie.ClaimStep) { st.Claim.Aspect = reverie.AspectRelation }),
		"a target for nothing": step(func(st *reverie.ClaimStep) { st.Claim.TargetID = &known.ID }),
		"no number":            step(func(st *reverie.ClaimStep) { st.Claim.Confidence = math.NaN() }),
		"too strong":           step(func(st *reverie.ClaimStep) { st.Claim.Strength = math.Inf(1) }),
		"a changed aspect": step(func(st *reverie.ClaimStep) {
			*st = replace(head, "x")
			st.Claim.Aspect, st.Claim.Name = reverie.AspectImpression, ""
		}),
		"one head twice": func(p *reverie.EntityPlan) {
			p.Claims = []reverie.ClaimStep{keep(head, "2026-01-16", 0.5), replace(head, "Faro")}
		},
		"one claim twice": func(p *reverie.EntityPlan) {
			p.Claims = []reverie.ClaimStep{feature(known.ID, "job", "nurse"), feature(known.ID, "Job", "nurse")}
		},
		"joined and expired":         func(p *reverie.EntityPlan) { id := reverie.NewID(); p.Joined, p.Expired = []string{id}, []string{id} },
		"an observation without end": func(p *reverie.EntityPlan) { p.Postponed = []reverie.Observation{{ID: reverie.NewID(), LastAt: noon}} },
	} {
		t.Run(what, func(t *testing.T) {
			w.t = t
			plan := w.entityPlan(func(p *reverie.EntityPlan) {
				p.Heads[known.ID] = must(w.Entity(t.Context(), group, known.ID))(t).Version
				fill(p)
			})
			before := entityDump(t, db)
			_, err := w.ApplyEntities(t.Context(), w.lease, plan)
			if !errors.Is(err, reverie.ErrInvalid) && !errors.Is(err, reverie.ErrConflict) && !errors.Is(err, reverie.ErrNotFound) {
				t.Errorf("it is refused by %v", err)
			}
			if diff := cmp.Diff(before, entityDump(t, db)); diff != "" {
				t.Errorf("something was written:\n%s", diff)
			}
			check(t, second(w.FinishRun(t.Context(), w.lease, reverie.Run{ID: plan.RunID, Status: reverie.RunFailed})))
		})
	}
}

// Without the lease, outside of a running run, or for another group nothing is
// written; a lost reply is not written twice.
func TestApplyEntitiesIsFenced(t *testing.T) {
	var n network
	w := openWorld(t, n.options())
	ctx := t.Context()
	plan := w.entityPlan(func(p *reverie.EntityPlan) { p.Creates = []reverie.Entity{entity("Lin", "u1")} })
	stale, db := w.lease, raw(t)
	check(t, w.ReleaseLease(ctx, w.lease))
	w.lease = must(w.AcquireLease(ctx, group, reverie.LeaseGroup, "host:2:b", time.Minute))(t)
	wantErr(t, second(w.ApplyEntities(ctx, stale, plan)), reverie.ErrLeaseLost)
	foreign := plan
	foreign.GroupID = "other"
	wantErr(t, second(w.ApplyEntities(ctx, w.lease, foreign)), reverie.ErrInvalid)
	unsaved := plan
	unsaved.ChunkNo = 7
	wantErr(t, second(w.ApplyEntities(ctx, w.lease, unsaved)), reverie.ErrNotFound)
	if got := entityDump(t, db); len(got) != 0 {
		t.Fatalf("written: %v", got)
	}
	n.once("COMMIT", lostReply)
	if changes := must(w.ApplyEntities(ctx, w.lease, plan))(t); len(changes) != 1 {
		t.Errorf("changes %+v", changes)
	}
	if got := entityDump(t, db); len(got) != 3 { // itself and two names
		t.Errorf("written: %v", got)
	}
	check(t, second(w.FinishRun(ctx, w.lease, reverie.Run{ID: plan.RunID, Status: reverie.RunSucceeded})))
	late := w.entityPlan(nil)
	check(t, second(w.FinishRun(ctx, w.lease, reverie.Run{ID: late.RunID, Status: reverie.RunFailed})))
	wantErr(t, second(w.ApplyEntities(ctx, w.lease, late)), reverie.ErrConflict)
}

// A plan costs the same number of requests whatever its size.
func TestApplyEntitiesStatements(t *testing.T) {
	var n network
	w := openWorld(t, n.options())
	cost := func(size int) int64 {
		plan := w.entityPlan(func(p *reverie.EntityPlan) {
			for range size {
				e := entity(reverie.NewID(), reverie.NewID())
				p.Creates = append(p.Creates, e)
				for range 3 {
					p.Claims = append(p.Claims, feature(e.ID, reverie.NewID(), "x"))
				}
			}
		})
		start := n.trips.Load()
		must(w.ApplyEntities(t.Context(), w.lease, plan))(t)
		return n.trips.Load() - start
	}
	cost(1)
	cost(1) // prepares what is prepared
	if one, many := cost(1), cost(200); one != many {
		t.Errorf("%d requests for one entity, %d for 200", one, many)
	} else {
		t.Logf("%d requests", one)
	}
}
