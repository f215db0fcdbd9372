package store_test

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"reverie/internal/reverie"
)

func TestGatherEntities(t *testing.T) {
	w := newWorld(t)
	ctx := t.Context()
	old := w.messages(3) // pending for evolve: what is replied to need not be consumed
	at := noon.Add(-time.Hour)
	var fresh []reverie.Message
	for i, reply := range []string{old[1], "", old[1], "c0", "gone"} {
		fresh = append(fresh, reverie.Message{ID: fmt.Sprintf("c%d", i), Author: "a", Text: "x", SentAt: at.Add(-time.Duration(i/2) * time.Second), ReplyTo: reply})
	}
	must(w.ImportMessages(ctx, group, fresh))(t)
	ids := messageIDs(fresh)
	must(w.Apply(ctx, w.lease, consumeAll(w.chunk("", 1, ids), ids)))(t)
	must(w.QueueMessages(ctx, group, reverie.JobImpression, time.Time{}, time.Time{}))(t)

	q := reverie.EntityQuery{GroupID: group, Limit: 10}
	for name, tt := range map[string]struct {
		change  func(q *reverie.EntityQuery)
		want    []string
		more    bool
		replied []string
	}{
		"all":            {func(*reverie.EntityQuery) {}, []string{"c4", "c2", "c3", "c0", "c1"}, false, []string{old[1]}},
		"some":           {func(q *reverie.EntityQuery) { q.Limit = 3 }, []string{"c4", "c2", "c3"}, true, []string{old[1], "c0"}},
		"exactly all":    {func(q *reverie.EntityQuery) { q.Limit = 5 }, []string{"c4", "c2", "c3", "c0", "c1"}, false, []string{old[1]}},
		"named":          {func(q *reverie.EntityQuery) { q.MessageIDs = []string{"c1", "c4", old[0]} }, []string{"c4", "c1"}, true, nil},
		"since":          {func(q *reverie.EntityQuery) { q.Since = at }, []string{"c0", "c1"}, false, []string{old[1]}},
		"until":          {func(q *reverie.EntityQuery) { q.Until = at }, []string{"c4", "c2", "c3"}, false, []string{old[1], "c0"}},
		"named, outside": {func(q *reverie.EntityQuery) { q.MessageIDs, q.Until = []string{"c1"}, at }, nil, true, nil},
	} {
		q := q
		tt.change(&q)
		state := must(w.GatherEntities(ctx, q))(t)
		if got := messageIDs(state.Messages); !slices.Equal(got, tt.want) || state.More != tt.more || !slices.Equal(messageIDs(state.Replied), tt.replied) {
			t.Errorf("%s: %v, more %v, replied %v; want %v, %v, %v", name, got, state.More, messageIDs(state.Replied), tt.want, tt.more, tt.replied)
		}
		if state.Group.TimeZone != "Asia/Shanghai" {
			t.Errorf("%s: group %+v", name, state.Group)
		}
	}
	wantErr(t, second(w.GatherEntities(ctx, reverie.EntityQuery{GroupID: "nowhere"})), reverie.ErrNotFound)

	run := w.impression(ids)
	plan := reverie.EntityPlan{GroupID: group, RunID: run, ChunkNo: 1, Outcomes: map[string]reverie.Outcome{"c2": reverie.OutcomeConsidered}}
	must(w.ApplyEntities(ctx, w.lease, plan))(t)
	if got := messageIDs(must(w.GatherEntities(ctx, q))(t).Messages); !slices.Equal(got, []string{"c4", "c3", "c0", "c1"}) {
		t.Errorf("after one was used: %v", got)
	}
}

// What is postponed waits with all it says, until it joins an entity or expires.
func TestObservationsWait(t *testing.T) {
	w := newWorld(t)
	ctx := t.Context()
	postponed := reverie.Observation{ID: reverie.NewID(), Subject: "阿飞", Kind: reverie.EntityPerson, Aliases: []string{"Fei"},
		Claims: []reverie.ObservedClaim{{Aspect: reverie.AspectFeature, Name: "city", Value: "Oslo", Confidence: 0.7, Reason: "Ana says so",
			Evidence: []reverie.Evidence{evidence("m0001", "2026-01-15")}}},
		Postponed: reverie.PostponedAmbiguous, LastAt: noon.Add(-time.Hour), ExpiresAt: noon.AddDate(0, 1, 0), MatchingIDs: []string{reverie.NewID()}}
	other := postponed
	other.ID, other.Postponed, other.MatchingIDs = reverie.NewID(), reverie.PostponedInsufficient, nil
	plan := w.entityPlan(func(p *reverie.EntityPlan) { p.Postponed = []reverie.Observation{postponed, other} })
	must(w.ApplyEntities(ctx, w.lease, plan))(t)
	for i, o := range []*reverie.Observation{&postponed, &other} {
		o.GroupID, o.RunID, o.CreatedAt, o.Status = group, plan.RunID, noon, reverie.ObservationWaiting
		if got := must(w.WaitingObservations(ctx, group, 10))(t); cmp.Diff(*o, got[i]) != "" {
			t.Errorf("waits (-want +got):\n%s", cmp.Diff(*o, got[i]))
		}
	}
	old := other
	old.ID = reverie.NewID()
	w.applyEntities(func(p *reverie.EntityPlan) { p.Postponed = []reverie.Observation{old} })
	third := other
	third.ID, third.Continues = reverie.NewID(), []string{old.ID}
	w.now = noon.Add(time.Hour)
	w.applyEntities(func(p *reverie.EntityPlan) {
		p.Joined, p.Expired, p.Postponed = []string{postponed.ID}, []string{other.ID}, []reverie.Observation{third}
	})
	state := must(w.GatherEntities(ctx, reverie.EntityQuery{GroupID: group}))(t)
	if len(state.Waiting) != 1 || state.Waiting[0].ID != third.ID {
		t.Errorf("waiting %+v, want the third alone", state.Waiting)
	}
	if n := count(t, raw(t), `select count(*) from entity_observations where status = case observation_id when $1 then 'joined' when $2 then 'expired' when $3 then 'continued' end
		and settled_by is not null`, postponed.ID, other.ID, old.ID); n != 3 {
		t.Errorf("%d are settled, want 3", n)
	}
}

// However many wait, a chunk is given the newest, which are joined next, and the
// oldest, which expire.
func TestGatherEntitiesOfManyThatWait(t *testing.T) {
	w := newWorld(t)
	const nights, each = 3, 600
	for night := range nights {
		w.now = noon.AddDate(0, 0, night)
		w.applyEntities(func(p *reverie.EntityPlan) {
			for i := range each {
				p.Postponed = append(p.Postponed, reverie.Observation{ID: reverie.NewID(), Subject: fmt.Sprintf("stranger %d of night %d", i, night), Kind: reverie.EntityPerson,
					Postponed: reverie.PostponedInsufficient, LastAt: w.now, ExpiresAt: w.now.AddDate(0, 1, 0)})
			}
		})
	}
	nightsOf := func() map[int]int {
		of := map[int]int{}
		list := must(w.GatherEntities(t.Context(), reverie.EntityQuery{GroupID: group}))(t).Waiting
		for i, o := range list {
			of[int(o.CreatedAt.Sub(noon).Hours()/24)]++
			if i > 0 && o.CreatedAt.Before(list[i-1].CreatedAt) {
				t.Fatalf("%s comes after %s", o.CreatedAt, list[i-1].CreatedAt)
			}
		}
		return of
	}
	if diff := cmp.Diff(map[int]int{0: 500, 2: 500}, nightsOf()); diff != "" {
		t.Errorf("of each night (-want +got):\n%s", diff)
	}
	var oldest []string
	for _, o := range must(w.WaitingObservations(t.Context(), group, 900))(t) {
		oldest = append(oldest, o.ID)
	}
	w.applyEntities(func(p *reverie.EntityPlan) { p.Expired = oldest })
	if diff := cmp.Diff(map[int]int{1: 300, 2: 600}, nightsOf()); diff != "" {
		t.Errorf("of each night, each once (-want +got):\n%s", diff)
	}
}

// 500 entities are read in as many requests as one.
func TestGatherEntitiesStatements(t *testing.T) {
	var n network
	w := openWorld(t, n.options())
	gather := func() (state reverie.EntityState, trips int64) {
		start := n.trips.Load()
		state = must(w.GatherEntities(t.Context(), reverie.EntityQuery{GroupID: group, Limit: 500}))(t)
		trips = n.trips.Load() - start
		var ids []string
		for _, name := range state.Index {
			ids = append(ids, name.EntityID)
		}
		start = n.trips.Load()
		w.whole(ids...)
		return state, trips*100 + n.trips.Load() - start
	}
	w.people("first")
	gather()
	gather() // prepares what is prepared
	_, one := gather()
	var names []string
	for i := range 499 {
		names = append(names, fmt.Sprintf("person %d", i))
	}
	w.people(names...)
	state, many := gather()
	if one != many || len(state.Index) != 1000 {
		t.Errorf("%d requests (gather, and x100 entities) for one, %d for 500 with %d names", one, many, len(state.Index))
	}
	t.Logf("%d requests to gather, %d for the entities", many/100, many%100)
}

// Who has gone by a name of the authors, or of what waits, is read too: a few of
// each name, however much they wrote.
func TestGatherEntitiesNamesakes(t *testing.T) {
	w := newWorld(t)
	ctx := t.Context()
	var list []reverie.Message
	say := func(id, author string, role reverie.Role) {
		list = append(list, reverie.Message{ID: fmt.Sprintf("n%03d", len(list)), AuthorID: id, Author: author, Role: role, Text: "x", SentAt: noon.Add(-time.Hour)})
	}
	for range 40 {
		say("u1", "Alex", reverie.RoleUser)
		say("u2", "Lex", reverie.RoleUser)
	}
	say("u3", "Alex", reverie.RoleAssistant)
	say("u4", "Marta", reverie.RoleUser)
	for i := range 20 {
		say(fmt.Sprintf("c%02d", i), "Kim", reverie.RoleUser)
	}
	must(w.ImportMessages(ctx, group, list))(t)
	ids := messageIDs(list)
	must(w.Apply(ctx, w.lease, consumeAll(w.chunk("", 1, ids), ids)))(t)
	must(w.QueueMessages(ctx, group, reverie.JobImpression, time.Time{}, time.Time{}))(t)
	namesakes := func(q reverie.EntityQuery) (got []string) {
		q.GroupID = group
		for _, m := range must(w.GatherEntities(ctx, q))(t).Namesakes {
			got = append(got, fmt.Sprintf("%s %s %s", m.Author, m.AuthorID, m.Role))
		}
		return got
	}
	if got, want := namesakes(reverie.EntityQuery{MessageIDs: ids[:1]}), []string{"Alex u1 user", "Alex u3 assistant"}; !slices.Equal(got, want) {
		t.Errorf("namesakes %q, want %q", got, want)
	}
	if got := namesakes(reverie.EntityQuery{MessageIDs: ids[len(ids)-1:]}); len(got) != 8 {
		t.Errorf("%d of 20 namesakes: %q", len(got), got)
	}
	w.applyEntities(func(p *reverie.EntityPlan) {
		p.Postponed = []reverie.Observation{{ID: reverie.NewID(), Subject: "Marta", Kind: reverie.EntityPerson, Postponed: reverie.PostponedInsufficient, LastAt: noon, ExpiresAt: noon.Add(time.Hour)}}
	})
	if got, want := namesakes(reverie.EntityQuery{MessageIDs: ids[1:2]}), []string{"Lex u2 user", "Marta u4 user"}; !slices.Equal(got, want) {
		t.Errorf("namesakes %q, want %q", got, want)
	}
}
