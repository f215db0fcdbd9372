package api_test

import (
	"context"
	"database/sql"
	"errors"
	"testing"
	"time"

	"reverie/internal/api"
	"reverie/internal/reverie"
	"reverie/store/pgtest"
)

// TestReading: nobody reads anything, and a stranger is told of a group what is told of
// none.
func TestReading(t *testing.T) {
	t.Parallel()
	d := newDesk(t)
	callers := d.callers()
	reads := map[string]func(ctx context.Context, groupID string) error{
		"messages": func(ctx context.Context, id string) error {
			return second(d.Messages(ctx, reverie.MessageQuery{GroupID: id, Limit: 1}))
		},
		"dream": func(ctx context.Context, id string) error { return second(d.Dream(ctx, id)) },
		"entities": func(ctx context.Context, id string) error {
			return second(d.Entities(ctx, id, reverie.EntityFilter{}, 1, 0))
		},
		"entity": func(ctx context.Context, id string) error { return second(d.Entity(ctx, id, reverie.NewID())) },
		"costs": func(ctx context.Context, id string) error {
			return second(d.Costs(ctx, reverie.CostQuery{GroupID: id, Limit: 1}))
		},
		"runs": func(ctx context.Context, id string) error {
			return second(d.Runs(ctx, reverie.RunQuery{GroupID: id, Limit: 1}))
		},
		"nights": func(ctx context.Context, id string) error { return second(d.Nights(ctx, id, "", 1)) },
	}
	for name, read := range reads {
		if err := read(callers["nobody"], petitioned); !errors.Is(err, reverie.ErrUnauthorized) {
			t.Errorf("nobody reads %s: %v", name, err)
		}
		theirs, nowhere := read(callers["other admin"], petitioned), read(callers["other admin"], "nowhere")
		if !errors.Is(theirs, reverie.ErrNotFound) || !errors.Is(nowhere, reverie.ErrNotFound) {
			t.Errorf("a stranger reads %s: %v, and of no group: %v", name, theirs, nowhere)
		}
		if err := read(d.person, "nowhere"); !errors.Is(err, reverie.ErrNotFound) {
			t.Errorf("of no group %s are read: %v", name, err)
		}
		if err := read(callers["read"], petitioned); err != nil && name != "entity" {
			t.Errorf("who may, reads %s: %v", name, err)
		}
		if err := read(d.person, "\xff\x00"); !errors.Is(err, reverie.ErrInvalid) && !errors.Is(err, reverie.ErrNotFound) {
			t.Errorf("%s of a group that cannot be: %v", name, err)
		}
	}
}

// TestMessagesAsked: a page is of one kind, and so long.
func TestMessagesAsked(t *testing.T) {
	t.Parallel()
	d := newDesk(t)
	for _, q := range []reverie.MessageQuery{{}, {Limit: api.MaxPage + 1}, {Limit: 1, Before: "a", After: "b"}, {Limit: 1, Around: "a", After: "b"}} {
		q.GroupID = petitioned
		if _, err := d.Messages(d.person, q); !errors.Is(err, reverie.ErrInvalid) {
			t.Errorf("%+v: %v", q, err)
		}
	}
	reply, err := d.Messages(d.ctx, reverie.MessageQuery{GroupID: petitioned, Limit: 1})
	d.check(err)
	if len(reply.Messages) != 1 || reply.Messages[0].ID != petitioned+"2" || !reply.Older || reply.Newer {
		t.Errorf("the newest message: %+v", reply)
	}
}

// TestCostsOfACaller: a token of one group sees what that has cost, over the last thirty
// days in UTC unless it asks for others.
func TestCostsOfACaller(t *testing.T) {
	t.Parallel()
	d := newDesk(t)
	for i, id := range []string{petitioned, "other", petitioned} {
		at := d.now.Add(-time.Duration(i) * time.Hour)
		if i == 2 { // the day before those that are looked at
			at = time.Date(2026, 2, 8, 23, 59, 59, 0, time.UTC)
		}
		d.check(d.Store.RecordCall(d.ctx, reverie.Call{GroupID: id, Provider: "p", Model: "m", Purpose: "evolve", CostUSD: 1, Outcome: "ok", CreatedAt: at.Add(-time.Hour)}))
	}
	for who, want := range map[string]float64{"read": 1, "other read": 1} {
		reply, err := d.Costs(d.callers()[who], reverie.CostQuery{Limit: 5})
		d.check(err)
		if reply.Total.CostUSD != want || len(reply.Groups) != 1 || !reply.Since.Equal(time.Date(2026, 2, 9, 0, 0, 0, 0, time.UTC)) || !reply.Until.Equal(d.now) {
			t.Errorf("%s: %+v", who, reply)
		}
	}
	reply, err := d.Costs(d.person, reverie.CostQuery{Limit: 5, Since: d.now.AddDate(0, 0, -100)})
	d.check(err)
	if reply.Total.CostUSD != 3 || len(reply.Groups) != 2 || len(reply.Days) != 2 {
		t.Errorf("everybody's: %+v", reply)
	}
	for _, q := range []reverie.CostQuery{{}, {Limit: 1, Since: d.now.Add(time.Hour)}, {Limit: 1, Since: d.now, Until: d.now},
		{Limit: 1, Since: time.Date(1, 1, 2, 0, 0, 0, 0, time.UTC), Until: time.Date(9999, 12, 31, 0, 0, 0, 0, time.UTC)}} {
		if _, err := d.Costs(d.person, q); !errors.Is(err, reverie.ErrInvalid) {
			t.Errorf("%+v: %v", q, err)
		}
	}
	for _, until := range []time.Time{time.Date(1, 1, 2, 0, 0, 0, 0, time.FixedZone("", 14*3600)), time.Date(9999, 12, 31, 23, 0, 0, 0, time.FixedZone("", -12*3600))} {
		if reply, err := d.Costs(d.person, reverie.CostQuery{Limit: 1, Until: until}); err != nil || reply.Total.Calls != 0 {
			t.Errorf("until %v: %+v, %v", until, reply, err)
		}
	}
}

// TestPeople: an entity is read by its id, in its group or wherever the caller sees it.
func TestPeople(t *testing.T) {
	t.Parallel()
	d := newDesk(t)
	page, err := d.Dream(d.ctx, petitioned)
	d.check(err)
	if !page.Success || page.Message != "no dream yet" || page.Items == nil {
		t.Errorf("before the first dream: %+v", page)
	}
	if _, err := d.Entities(d.ctx, petitioned, reverie.EntityFilter{Kind: "ghost"}, 1, 0); !errors.Is(err, reverie.ErrInvalid) {
		t.Errorf("ghosts: %v", err)
	}
	list, err := d.Entities(d.ctx, petitioned, reverie.EntityFilter{Name: "\"'"}, 1, 0)
	d.check(err)
	if list.Total != 0 || list.Entities == nil {
		t.Errorf("of nobody: %+v", list)
	}
	db, err := sql.Open("postgres", pgtest.URL(t))
	d.check(err)
	t.Cleanup(func() { _ = db.Close() })
	lin := reverie.NewID()
	_, err = db.Exec(`insert into entities (group_id, entity_id, kind, subject, status, version, created_at, updated_at)
		values ($1, $2, 'person', 'Lin', 'active', 1, now(), now())`, petitioned, lin)
	d.check(err)
	list, err = d.Entities(d.ctx, petitioned, reverie.EntityFilter{Kind: reverie.EntityPerson}, 1, 0)
	d.check(err)
	for _, groupID := range []string{"", petitioned} {
		one, err := d.Entity(d.ctx, groupID, lin)
		d.check(err)
		if !one.Success || one.Subject != "Lin" || one.GroupID != petitioned || list.Total != 1 || list.Entities[0].EntityID != lin {
			t.Errorf("in group %q: %+v, in the list %+v", groupID, one, list)
		}
	}
	if _, err := d.Entity(d.callers()["other admin"], "", lin); !errors.Is(err, reverie.ErrNotFound) {
		t.Errorf("a stranger knows Lin: %v", err)
	}
	if _, err := d.Entity(d.person, "other", lin); !errors.Is(err, reverie.ErrNotFound) {
		t.Errorf("Lin is of another group: %v", err)
	}
	for _, id := range []string{"Lin", "\x00", reverie.NewID()} {
		if _, err := d.Entity(d.ctx, "", id); !errors.Is(err, reverie.ErrNotFound) {
			t.Errorf("entity %q: %v", id, err)
		}
	}
}
