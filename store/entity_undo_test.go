package store_test

import (
	"database/sql"
	"fmt"
	"math/rand/v2"
	"os"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"reverie/internal/reverie"
)

// learner is a group whose people and things change at random.
type learner struct {
	*world
	*rand.Rand
	db   *sql.DB
	made int
}

func (l *learner) name(what string) string {
	l.made++
	return fmt.Sprintf("%s %d", what, l.made)
}

// known is what the group knows of people and things, in words.
func (w *world) known() []string {
	w.t.Helper()
	list, _, err := w.ListEntities(w.t.Context(), group, reverie.EntityFilter{All: true}, 0, 0)
	check(w.t, err)
	found := []string{}
	for _, e := range list {
		line := fmt.Sprintf("%s %s %s:", e.Subject, e.Status, orDash(e.MergedInto))
		for _, n := range e.Names {
			line += fmt.Sprintf(" %s=%s", n.Kind, n.Name)
		}
		for _, c := range e.Claims {
			line += fmt.Sprintf(" %s=%s(%.3f by %q on %q)", c.Name, c.Value, c.Strength, c.SaidBy, c.SupportDates)
		}
		found = append(found, line)
	}
	waiting := must(w.WaitingObservations(w.t.Context(), group, 100))(w.t)
	for _, o := range waiting {
		found = append(found, "waiting "+o.Subject)
	}
	return found
}

func orDash(id *string) string {
	if id == nil {
		return "-"
	}
	return *id
}

// run has a run learn something of whoever is known, or of somebody new.
func (l *learner) run() (run string) {
	l.t.Helper()
	list, _, err := l.ListEntities(l.t.Context(), group, reverie.EntityFilter{}, 0, 0)
	check(l.t, err)
	waiting := must(l.WaitingObservations(l.t.Context(), group, 100))(l.t)
	p := l.entityPlan(func(p *reverie.EntityPlan) {
		if len(list) == 0 || l.IntN(3) == 0 {
			subject := l.name("somebody")
			e := entity(subject, "account of "+subject)
			p.Creates = append(p.Creates, e)
			p.Claims = append(p.Claims, feature(e.ID, l.name("trait"), l.name("value")))
		}
		for _, e := range list {
			if l.IntN(2) == 0 {
				continue
			}
			p.Heads[e.ID] = e.Version
			if l.IntN(3) == 0 {
				p.Names = append(p.Names, reverie.EntityName{EntityID: e.ID, Kind: reverie.NameAlias, Name: l.name("alias")})
			}
			if l.IntN(3) == 0 {
				p.Claims = append(p.Claims, feature(e.ID, l.name("trait"), l.name("value")))
			}
			for _, c := range e.Claims {
				switch l.IntN(4) {
				case 0:
					p.Claims = append(p.Claims, replace(c, l.name("value")))
				case 1:
					date := fmt.Sprintf("2026-01-%02d", 10+l.IntN(9))
					strength := c.Strength
					if !slices.Contains(c.SupportDates, date) {
						strength = reverie.Reinforce(strength, 1)
					}
					p.Claims = append(p.Claims, keep(c, date, strength))
				}
			}
		}
		for i, o := range waiting {
			switch l.IntN(4) {
			case 0:
				p.Joined = append(p.Joined, o.ID)
			case 1:
				p.Expired = append(p.Expired, o.ID)
			case 2:
				next := l.observation()
				next.Continues = []string{waiting[i].ID}
				p.Postponed = append(p.Postponed, next)
			}
		}
		p.Postponed = append(p.Postponed, l.observation())
	})
	must(l.ApplyEntities(l.t.Context(), l.lease, p))(l.t)
	return p.RunID
}

func (l *learner) observation() reverie.Observation {
	return reverie.Observation{ID: reverie.NewID(), Subject: l.name("unclear"), Kind: reverie.EntityPerson, Postponed: reverie.PostponedInsufficient,
		LastAt: noon, ExpiresAt: noon.Add(time.Hour), Claims: []reverie.ObservedClaim{}}
}

func (l *learner) undo(run string, force bool) reverie.Undone {
	l.t.Helper()
	l.now = l.now.Add(time.Minute)
	return must(l.Undo(l.t.Context(), l.lease, reverie.UndoQuery{GroupID: group, RunID: run, Force: force}))(l.t)
}

// history is every row of what was ever said, with what never changes of it.
func (l *learner) history() map[string]string {
	rows := map[string]string{}
	for _, query := range []string{
		`select claim_id::text, row(lineage_id, parent_id, version, entity_id, name, value, run_id, created_at, updated_at)::text from entity_claims`,
		`select name_id::text, row(entity_id, kind, name, run_id, created_at)::text from entity_names`,
		`select 'entity ' || entity_id, row(kind, subject, run_id, created_at)::text from entities`,
		`select change_id::text, c::text from entity_change_log c`,
		`select 'evidence ' || evidence_no, row(claim_id, message_id, quote, run_id)::text from entity_evidence`,
		`select observation_id::text, row(subject, body, run_id)::text from entity_observations`,
	} {
		found := must(l.db.QueryContext(l.t.Context(), query))(l.t)
		for found.Next() {
			var key, row string
			check(l.t, found.Scan(&key, &row))
			rows[key] = row
		}
		check(l.t, found.Err())
		check(l.t, found.Close())
	}
	return rows
}

// grown fails where a row of an earlier history is gone, or is another.
func (l *learner) grown(before map[string]string) map[string]string {
	l.t.Helper()
	after := l.history()
	for key, row := range before {
		if after[key] != row {
			l.t.Fatalf("history: %q became %q", row, after[key])
		}
	}
	return after
}

// TestUndoEntities has runs learn at random, and takes them back: the last one leaves
// what was known before it, one in the midst breaks nothing, and all of them, newest
// first, leave nobody.
func TestUndoEntities(t *testing.T) {
	seeds := uint64(1)
	if os.Getenv("REVERIE_TEST_THOROUGH") != "" {
		seeds = 20
	}
	for seed := range seeds {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			l := &learner{world: newWorld(t), Rand: rand.New(rand.NewPCG(seed, 9)), db: raw(t)}
			var runs []string
			history, entities := l.history(), 0
			for range 6 {
				runs = append(runs, l.run())
				before := l.known()
				l.now = l.now.Add(time.Hour)
				last := l.run()
				got := l.undo(last, false)
				if diff := cmp.Diff(before, l.known()); diff != "" || len(got.Left) > 0 {
					t.Fatalf("taken back %+v (-before +after):\n%s", got, diff)
				}
				history, entities = l.grown(history), entities+got.Entities
			}
			if entities == 0 {
				t.Error("nothing was taken back")
			}
			midst := l.undo(runs[1], l.IntN(2) == 0)
			history = l.grown(history)
			if n := count(t, l.db, `select count(*) from entity_change_log where undone_run_id = $1`, runs[1]); n == 0 && midst.Entities > 0 {
				t.Errorf("%+v leaves no trace", midst)
			}
			for _, run := range slices.Backward(append(runs[:1:1], runs[2:]...)) {
				l.undo(run, true)
				history = l.grown(history)
			}
			if left := l.known(); len(left) > 0 {
				t.Errorf("left are %q", left)
			}
			if n := count(t, l.db, `select (select count(*) from entity_names where ended_at is null)
				+ (select count(*) from entity_claims where status = 'active') + (select count(*) from entities where status <> 'withdrawn')
				+ (select count(*) from entity_evidence where withdrawn_at is null)`); n != 0 {
				t.Errorf("%d rows are in force", n)
			}
		})
	}
}

// TestUndoEntitiesChangedSince leaves what others have changed, and lists it: joins by
// a person, claims of later runs, and what was said of others with respect to them.
func TestUndoEntitiesChangedSince(t *testing.T) {
	w := newWorld(t)
	known := w.people("Ana")[0]
	lin, zhou, bo := entity("小林", "u1"), entity("老周", "u3"), entity("Bo", "")
	city, drink := feature(lin.ID, "City", "Lisbon"), feature(known, "drinks", "tea")
	first := w.entityPlan(func(p *reverie.EntityPlan) {
		p.Heads[known] = 1
		p.Creates = []reverie.Entity{lin, zhou, bo}
		p.Names = []reverie.EntityName{{EntityID: known, Kind: reverie.NameAlias, Name: "Anita"}}
		p.Claims = []reverie.ClaimStep{city, drink}
	})
	must(w.ApplyEntities(t.Context(), w.lease, first))(t)
	friend := feature(known, "friend of", "Bo")
	friend.Claim.Aspect, friend.Claim.TargetID = reverie.AspectRelation, &bo.ID
	w.applyEntities(func(p *reverie.EntityPlan) {
		p.Heads[lin.ID], p.Heads[known] = 1, 2
		p.Claims = []reverie.ClaimStep{replace(city.Claim, "Porto"), friend}
	})
	_, _, err := w.MergeEntities(t.Context(), group, known, zhou.ID, "the same")
	check(t, err)
	query := reverie.UndoQuery{GroupID: group, RunID: first.RunID, Reason: "wrong night", Requeue: true}
	w.now = w.now.Add(time.Hour)

	before := w.known()
	query.DryRun = true
	dry := must(w.UndoAll(t.Context(), reverie.Lease{}, query, []string{first.RunID}))(t)[0]
	query.DryRun = false
	if diff := cmp.Diff(before, w.known()); diff != "" {
		t.Errorf("trying it changed (-before +after):\n%s", diff)
	}
	got := must(w.Undo(t.Context(), w.lease, query))(t)
	if dry.Entities != got.Entities || got.Entities != 1 || got.Requeued != 2 || dry.Requeued != 2 {
		t.Errorf("tried %+v, done %+v", dry, got)
	}
	left := map[string]string{}
	for _, l := range got.Left {
		left[l.Statement] = l.Reason
	}
	if diff := cmp.Diff(map[string]string{"小林": "another run has added to it since", "City: Porto": "another run has replaced what was said since",
		"老周": "a person has made it part of another since", "Bo": "another run has added to it since"}, left); diff != "" {
		t.Errorf("left (-want +got):\n%s", diff)
	}
	wantSaid(t, w.whole(known)[0], "subject Ana", "id account of Ana", "city where Ana lives v1", "friend of Bo v1", "subject 老周", "id u3")
	wantSaid(t, w.whole(lin.ID)[0], "subject 小林", "id u1", "City Porto v2")
	changes, _, err := w.EntityHistory(t.Context(), group, known)
	check(t, err)
	undone := []string{}
	for _, c := range changes {
		if c.Action == reverie.EntityUndo && c.RunID == nil && *c.UndoneRun == first.RunID && c.Reason == "wrong night" {
			undone = append(undone, c.OldText+" -> "+c.NewText)
		}
	}
	slices.Sort(undone)
	if !slices.Equal(undone, []string{"Anita -> ", "drinks: tea -> "}) {
		t.Errorf("history says %q", undone)
	}
}

// TestUndoEntitiesSupportedSince keeps what another run has supported, as far as that
// speaks for it, and until that one is taken back, too.
func TestUndoEntitiesSupportedSince(t *testing.T) {
	w := newWorld(t)
	known := w.people("Ana")[0]
	lin := entity("Lin", "account of Lin")
	city := feature(lin.ID, "city", "Lisbon")
	first := w.entityPlan(func(p *reverie.EntityPlan) {
		p.Heads[known] = 1
		p.Creates = []reverie.Entity{lin}
		p.Claims = []reverie.ClaimStep{city, feature(lin.ID, "drinks", "tea"), replace(w.whole(known)[0].Claims[0], "Faro")}
	})
	must(w.ApplyEntities(t.Context(), w.lease, first))(t)
	second := w.entityPlan(func(p *reverie.EntityPlan) {
		p.Heads[lin.ID], p.Heads[known] = 1, 2
		p.Claims = []reverie.ClaimStep{keep(city.Claim, "2026-01-16", 0.51), keep(w.whole(known)[0].Claims[0], "2026-01-16", 0.51)}
	})
	must(w.ApplyEntities(t.Context(), w.lease, second))(t)
	before := w.known()
	got := w.undo(first.RunID)
	since := "run " + second.RunID + " has supported it since"
	left := map[string]string{}
	for _, l := range got.Left {
		left[l.Statement] = l.Reason
	}
	if diff := cmp.Diff(map[string]string{"Lin": "another run has supported what is said of it since", "city: Lisbon": since, "city: Faro": since}, left); diff != "" || got.Exact {
		t.Errorf("left, exact %v (-want +got):\n%s", got.Exact, diff)
	}
	if diff := cmp.Diff([]string{`Ana active -: subject=Ana id=account of Ana city=Faro(0.300 by ["u2"] on ["2026-01-16"])`,
		`Lin active -: subject=Lin id=account of Lin city=Lisbon(0.300 by ["u2"] on ["2026-01-16"])`}, w.known()); diff != "" {
		t.Errorf("of\n%q\nis known (-want +got):\n%s", before, diff)
	}
	w.undo(second.RunID)
	if diff := cmp.Diff([]string{`Ana active -: subject=Ana id=account of Ana city=where Ana lives(0.300 by ["u1"] on ["2026-01-15"])`}, w.known()); diff != "" {
		t.Errorf("once that is taken back, too (-want +got):\n%s", diff)
	}
}

// TestUndoEntitiesByForce takes the same night back whatever came since.
func TestUndoEntitiesByForce(t *testing.T) {
	w := newWorld(t)
	known := w.people("Ana")[0]
	lin, zhou, bo := entity("小林", "u1"), entity("老周", "u3"), entity("Bo", "")
	city := feature(lin.ID, "City", "Lisbon")
	first := w.entityPlan(func(p *reverie.EntityPlan) {
		p.Heads[known] = 1
		p.Creates = []reverie.Entity{lin, zhou, bo}
		p.Claims = []reverie.ClaimStep{city}
	})
	must(w.ApplyEntities(t.Context(), w.lease, first))(t)
	friend := feature(known, "friend of", "Bo")
	friend.Claim.Aspect, friend.Claim.TargetID = reverie.AspectRelation, &bo.ID
	w.applyEntities(func(p *reverie.EntityPlan) {
		p.Heads[lin.ID], p.Heads[known] = 1, 1
		p.Claims = []reverie.ClaimStep{replace(city.Claim, "Porto"), friend}
	})
	_, _, err := w.MergeEntities(t.Context(), group, known, zhou.ID, "the same")
	check(t, err)
	_, _, err = w.MergeEntities(t.Context(), group, lin.ID, known, "and that")
	check(t, err)
	w.now = w.now.Add(time.Hour)
	query := reverie.UndoQuery{GroupID: group, RunID: first.RunID, Force: true}
	if got := must(w.Undo(t.Context(), w.lease, query))(t); len(got.Left) > 0 || got.Entities != 3 {
		t.Errorf("forced: %+v", got)
	}
	for _, name := range []string{"小林", "老周", "Bo", "u1"} {
		if found := must(w.FindEntities(t.Context(), group, name))(t); len(found) > 0 {
			t.Errorf("%s is found: %+v", name, found)
		}
	}
	ana := w.whole(known, lin.ID, zhou.ID)
	if len(ana) != 1 || ana[0].Status != reverie.EntityActive {
		t.Fatalf("left are %+v", ana)
	}
	wantSaid(t, ana[0], "subject Ana", "id account of Ana", "city where Ana lives v1")
	if e := must(w.Entity(t.Context(), group, lin.ID))(t); e.Status != reverie.EntityGone || len(e.Names)+len(e.Claims) > 0 {
		t.Errorf("withdrawn is %+v", e)
	}
	_, _, err = w.MergeEntities(t.Context(), group, known, lin.ID, "")
	wantErr(t, err, reverie.ErrConflict)

	// Whoever writes to the group again is a new one, by the same account.
	w.applyEntities(func(p *reverie.EntityPlan) { p.Creates = []reverie.Entity{entity("小林", "u1")} })
	if found := must(w.FindEntities(t.Context(), group, "u1"))(t); len(found) != 1 || found[0].ID == lin.ID {
		t.Errorf("found again: %+v", found)
	}
}
