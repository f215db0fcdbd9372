package store_test

import (
	"database/sql"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"reverie/internal/reverie"
)

// used lets n fresh messages wait for the impression job, as evolve leaves them.
func (w *world) used(n int) []string {
	w.t.Helper()
	ids := w.messages(n)
	must(w.Apply(w.t.Context(), w.lease, consumeAll(w.chunk("", 1, ids), ids)))(w.t)
	if got := must(w.QueueMessages(w.t.Context(), group, reverie.JobImpression, time.Time{}, time.Time{}))(w.t); got != n {
		w.t.Fatalf("%d messages wait anew, want %d", got, n)
	}
	return ids
}

// impression starts a run of the job and saves its first chunk, with these messages.
func (w *world) impression(ids []string) (run string) {
	w.t.Helper()
	started := must(w.StartRun(w.t.Context(), w.lease, reverie.Run{Job: reverie.JobImpression,
		WindowSince: noon.Add(-24 * time.Hour), WindowUntil: noon}))(w.t)
	check(w.t, w.SaveChunk(w.t.Context(), w.lease, reverie.Chunk{RunID: started.ID, No: 1, MessageIDs: ids, Status: reverie.ChunkOpen}))
	return started.ID
}

// entityPlan is one over fresh messages, whose run and chunk are there.
func (w *world) entityPlan(fill func(p *reverie.EntityPlan)) reverie.EntityPlan {
	w.t.Helper()
	ids := w.used(2)
	p := reverie.EntityPlan{GroupID: group, RunID: w.impression(ids), ChunkNo: 1, Heads: map[string]int{},
		Outcomes: map[string]reverie.Outcome{ids[0]: reverie.OutcomeCited, ids[1]: reverie.OutcomeConsidered}}
	if fill != nil {
		fill(&p)
	}
	return p
}

func (w *world) applyEntities(fill func(p *reverie.EntityPlan)) []reverie.EntityChange {
	w.t.Helper()
	return must(w.ApplyEntities(w.t.Context(), w.lease, w.entityPlan(fill)))(w.t)
}

// entity is a fresh one with a subject, and an account unless it is "".
func entity(subject, account string) reverie.Entity {
	e := reverie.Entity{ID: reverie.NewID(), Kind: reverie.EntityPerson, Subject: subject,
		Names: []reverie.EntityName{{Kind: reverie.NameSubject, Name: subject}}}
	if account != "" {
		e.Names = append(e.Names, reverie.EntityName{Kind: reverie.NameID, Name: account})
	}
	return e
}

// feature is a first claim about an entity.
func feature(entityID, name, value string) reverie.ClaimStep {
	return reverie.ClaimStep{Action: reverie.ActionCreate, Reason: "said so", Evidence: []reverie.Evidence{evidence("m0001", "2026-01-15")},
		Claim: reverie.Claim{ID: reverie.NewID(), LineageID: reverie.NewID(), EntityID: entityID, Aspect: reverie.AspectFeature, Name: name, Value: value,
			ContentHash: hash(value), Confidence: 0.8, Strength: 0.3, LastSupportedAt: noon.Add(-time.Hour)}}
}

// replace is a further version of a claim.
func replace(c reverie.Claim, value string) reverie.ClaimStep {
	st := feature(c.EntityID, c.Name, value)
	st.Action, st.HeadID, st.Claim.Aspect, st.Claim.Self = reverie.ActionUpdate, c.ID, c.Aspect, c.Self
	return st
}

// keep is support for a claim.
func keep(c reverie.Claim, date string, strength float64) reverie.ClaimStep {
	ev := evidence("m0002", date)
	ev.AuthorID = "u2"
	c.Strength, c.Confidence, c.LastSupportedAt = strength, 0.9, noon
	return reverie.ClaimStep{Action: reverie.ActionKeep, HeadID: c.ID, Claim: c, Evidence: []reverie.Evidence{ev}}
}

// whole reads entities as the job does.
func (w *world) whole(ids ...string) []reverie.Entity {
	w.t.Helper()
	return must(w.EntitiesByID(w.t.Context(), group, ids))(w.t)
}

// people makes entities with an account each, in one plan, and returns their ids.
func (w *world) people(subjects ...string) (ids []string) {
	w.t.Helper()
	w.applyEntities(func(p *reverie.EntityPlan) {
		for _, s := range subjects {
			e := entity(s, "account of "+s)
			ids = append(ids, e.ID)
			p.Creates = append(p.Creates, e)
			p.Claims = append(p.Claims, feature(e.ID, "city", "where "+s+" lives"))
		}
	})
	return ids
}

// said is what is known of an entity, in words.
func said(e reverie.Entity) (list []string) {
	for _, n := range e.Names {
		list = append(list, string(n.Kind)+" "+n.Name)
	}
	for _, c := range e.Claims {
		list = append(list, fmt.Sprintf("%s %s v%d", c.Name, c.Value, c.Version))
	}
	return list
}

// entityDump is every row of a group's entities, as text, but for what a join by a
// person touches: versions and times of entities, and the change log.
func entityDump(t testing.TB, db *sql.DB) []string {
	t.Helper()
	var list []string
	for _, query := range []string{
		`select row(entity_id, kind, subject, status, merged_into, run_id, created_at)::text from entities order by 1`,
		`select n::text from entity_names n order by 1`, `select c::text from entity_claims c order by 1`,
		`select e::text from entity_evidence e order by 1`, `select o::text from entity_observations o order by 1`,
	} {
		rows := must(db.QueryContext(t.Context(), query))(t)
		for rows.Next() {
			var s string
			check(t, rows.Scan(&s))
			list = append(list, s)
		}
		check(t, rows.Err())
		check(t, rows.Close())
	}
	return list
}

func wantSaid(t testing.TB, e reverie.Entity, want ...string) {
	t.Helper()
	got := said(e)
	slices.Sort(got)
	slices.Sort(want)
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("%s is known as (-want +got):\n%s", e.Subject, diff)
	}
}
