package store_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	"reverie/internal/reverie"
	"reverie/store"
	"reverie/store/pgtest"
)

// hook adds a webhook of a group and types of events.
func (w *world) hook(groupID string, events ...string) reverie.Webhook {
	w.t.Helper()
	h := reverie.Webhook{ID: reverie.NewID(), GroupID: groupID, URL: "https://example.com/" + groupID, Secret: "whsec_c2VjcmV0",
		Events: events, Statements: true, CreatedAt: noon}
	check(w.t, w.AddWebhook(w.t.Context(), h))
	return h
}

// told takes what waits for a webhook of a group, as type, detail and statement.
func (w *world) told(groupID string, h reverie.Webhook) (list []string) {
	w.t.Helper()
	for {
		e, ok, err := w.TakeEvent(w.t.Context(), reverie.WebhookLane{GroupID: groupID, WebhookID: h.ID}, time.Minute)
		check(w.t, err)
		if !ok {
			return list
		}
		check(w.t, w.EventSent(w.t.Context(), e))
		if e.Gone {
			list = append(list, "gone")
			continue
		}
		if e.Data.GroupID != groupID || strings.HasPrefix(e.Type, "run.") != (e.Data.MemoryID == "") {
			w.t.Errorf("%+v", e)
		}
		list = append(list, strings.TrimSpace(strings.Join([]string{e.Type, e.Data.Action + e.Data.Verdict + e.Data.Job, e.Data.Statement}, " ")))
	}
}

func (w *world) wantTold(what, groupID string, h reverie.Webhook, want ...string) {
	w.t.Helper()
	if got := w.told(groupID, h); !slices.Equal(got, want) {
		w.t.Errorf("%s:\n%s\nwant\n%s", what, strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}

// Whatever changes a memory or ends a run is told, in order, to the webhooks that want it.
func TestEventsOfChangesAndRuns(t *testing.T) {
	w := newWorld(t)
	w.ensure("g2")
	w.did(create("before there was one"))
	all, other := w.hook(""), w.hook("g2")
	ends := w.hook(group, "run.succeeded", "memory.deleted")
	w.did(create("likes tea"))
	w.did(update(w.active()["likes tea"], "likes green tea"))
	must(w.edit(w.active()["likes green tea"].ID, reverie.ActionStrength, 0.9))(t)
	w.archive("likes green tea")
	must(w.Edit(t.Context(), reverie.Edit{GroupID: "g2", Action: reverie.ActionCreate, Reason: "so", Words: reverie.Words{Statement: "swims", ContentHash: hash("swims"), Author: "Ann"}}))(t)
	gone := w.did(create("plays chess"))
	must(w.edit(w.active()["plays chess"].ID, reverie.ActionDelete, 0))(t)
	w.undo(gone)
	w.undo(w.did(create("plays go")))
	w.wantTold("all", group, all, "memory.created create likes tea", "run.succeeded evolve", "memory.updated update likes green tea", "run.succeeded evolve",
		"memory.updated strength likes green tea", "memory.updated archive likes green tea", "run.succeeded maintain", "memory.created create plays chess",
		"run.succeeded evolve", "memory.deleted delete", "run.undone evolve", "memory.created create plays go", "run.succeeded evolve", "run.undone evolve", "memory.deleted undo")
	w.wantTold("all, of the other group", "g2", all, "memory.created create swims")
	w.wantTold("its own", "g2", other, "memory.created create swims")
	w.wantTold("some types", group, ends, "run.succeeded evolve", "run.succeeded evolve", "run.succeeded maintain", "run.succeeded evolve",
		"memory.deleted delete", "run.succeeded evolve", "memory.deleted undo")
	w.wantTold("not its own", group, other)
}

// What waits for review is told by its ids, and once a person has decided, as it stands.
func TestEventsOfReviews(t *testing.T) {
	t.Run("approved", func(t *testing.T) {
		w, run, _, _ := heldRun(t)
		h := w.hook(group)
		d := must(w.Run(t.Context(), group, run))(t)
		must(w.ApplyHeld(t.Context(), w.lease, d.Held[0], d.Held[0].Steps, nil))(t)
		check(t, second(w.ApplyHeld(t.Context(), w.lease, d.Held[1], nil, []reverie.Refusal{{Line: 1, Action: "delete", Rule: "stale"}})))
		w.wantTold("approved", group, h, "memory.updated update likes green tea", "memory.reviewed approved likes green tea", "memory.reviewed refused",
			"run.succeeded evolve")
	})
	t.Run("rejected", func(t *testing.T) {
		w, run, _, _ := heldRun(t)
		h := w.hook(group)
		must(w.RejectHeld(t.Context(), w.lease, group, run, false))(t)
		w.wantTold("rejected", group, h, "memory.reviewed rejected", "memory.reviewed rejected", "run.rejected evolve")
	})
	t.Run("undone", func(t *testing.T) {
		w, run, _, _ := heldRun(t)
		h := w.hook(group)
		w.undo(run)
		w.wantTold("undone", group, h, "run.undone evolve", "memory.reviewed rejected", "memory.reviewed rejected")
	})
	t.Run("held", func(t *testing.T) {
		w := newWorld(t)
		h := w.hook(group)
		plan := w.plan(create("likes tea"))
		plan.HeldAll, plan.Held, plan.Steps = true, plan.Steps, nil
		must(w.Apply(t.Context(), w.lease, plan))(t)
		must(w.FinishRun(t.Context(), w.lease, reverie.Run{ID: plan.RunID, Status: reverie.RunHeld}))(t)
		w.wantTold("held", group, h, "run.held evolve")
	})
}

// A run that a dead process has left is told of by whoever settles it.
func TestEventsOfInterruptedRuns(t *testing.T) {
	w := newWorld(t)
	h := w.hook(group)
	w.plan(create("likes tea"))
	check(t, w.Settle(t.Context(), w.lease, reverie.JobEvolve))
	w.wantTold("settled", group, h, "run.failed evolve")
}

// An event that could not be sent waits, and others of its group with it; one that is taken is nobody else's. What was
// sent can be sent again.
func TestEventsWaitAndReturn(t *testing.T) {
	w := newWorld(t)
	h := w.hook("")
	w.did(create("likes tea"))
	lane := reverie.WebhookLane{GroupID: group, WebhookID: h.ID}
	due := func(want int) {
		t.Helper()
		if got := must(w.DueLanes(t.Context(), 10))(t); len(got) != want || want == 1 && got[0] != lane {
			t.Errorf("due are %v, want %d", got, want)
		}
	}
	take := func(want bool) reverie.WebhookEvent {
		t.Helper()
		e, ok, err := w.TakeEvent(t.Context(), lane, time.Minute)
		check(t, err)
		if ok != want {
			t.Fatalf("taken: %v %+v", ok, e)
		}
		return e
	}
	due(1)
	first := take(true)
	due(0)
	take(false)
	w.now = w.now.Add(time.Minute) // who had it is dead
	due(1)
	again := take(true)
	if again.ID != first.ID || again.Attempts != 2 || again.Data.Statement != "likes tea" {
		t.Errorf("%+v", again)
	}
	check(t, w.EventFailed(t.Context(), first, reverie.WebhookFailure{Why: "too late", Disable: true, GiveUp: true})) // it is dead
	check(t, w.EventFailed(t.Context(), again, reverie.WebhookFailure{Why: "no", EventAgain: w.now.Add(time.Hour), HookAgain: w.now.Add(time.Minute)}))
	got := must(w.Webhook(t.Context(), "", h.ID))(t)
	if got.Failures != 1 || got.LastError != "no" || !got.FailingSince.Equal(w.now) || got.Waiting != 2 || got.DisabledAt != nil {
		t.Errorf("%+v", got)
	}
	w.ensure("g2")
	must(w.Edit(t.Context(), reverie.Edit{GroupID: "g2", Action: reverie.ActionCreate, Reason: "so", Words: reverie.Words{Statement: "swims", ContentHash: hash("swims"), Author: "Ann"}}))(t)
	due(0) // its webhook fails
	w.now = w.now.Add(time.Minute)
	if got := must(w.DueLanes(t.Context(), 10))(t); len(got) != 1 || got[0].GroupID != "g2" {
		t.Errorf("due are %v", got)
	}
	w.wantTold("the other group", "g2", h, "memory.created create swims")
	if age := must(w.OldestEvent(t.Context()))(t); age != 2*time.Minute {
		t.Errorf("the oldest has waited for %s", age)
	}
	w.now = w.now.Add(time.Hour)
	w.wantTold("later", group, h, "memory.created create likes tea", "run.succeeded evolve")

	if n := must(w.ReplayEvents(t.Context(), h.ID, time.Time{}, first.ID))(t); n != 3 { // g2's came later
		t.Errorf("%d are sent again", n)
	}
	w.wantTold("again", group, h, "memory.created create likes tea", "run.succeeded evolve")
	wantErr(t, second(w.ReplayEvents(t.Context(), h.ID, time.Time{}, reverie.NewID())), reverie.ErrNotFound)
	if n := must(w.ReplayEvents(t.Context(), h.ID, w.now.Add(time.Second), ""))(t); n != 0 {
		t.Errorf("%d are sent again", n)
	}
	must(w.ReplayEvents(t.Context(), h.ID, time.Time{}, ""))(t)
	check(t, w.EventFailed(t.Context(), take(true), reverie.WebhookFailure{Disable: true}))
	due(0)
	if lost := must(w.SweepEvents(t.Context(), w.now.Add(time.Second)))(t); lost != 3 || must(w.ReplayEvents(t.Context(), h.ID, time.Time{}, ""))(t) != 0 {
		t.Errorf("%d were lost", lost)
	}
	check(t, w.RemoveWebhook(t.Context(), h.ID))
	w.did(create("nobody hears"))
	if n := count(t, raw(t), `select count(*) from webhook_events`); n != 0 {
		t.Errorf("%d events without a webhook", n)
	}
}

// Of an erased memory nothing is told but that it is gone; of one that rests on others' words as well, that it changed.
func TestEventsOfErasedMemories(t *testing.T) {
	w := newWorld(t)
	h := w.hook(group)
	w.did(create("likes tea"))
	must(w.Erase(t.Context(), w.lease, reverie.EraseQuery{GroupID: group, AuthorID: "u1"}))(t)
	w.wantTold("erased", group, h, "gone", "run.succeeded evolve", "memory.deleted erase")
}

// A run ends where nothing that it held is left.
func TestEventsOfErasedPlans(t *testing.T) {
	w, run, _, _ := heldRun(t)
	h := w.hook(group, "run.rejected", "run.succeeded")
	must(w.Erase(t.Context(), w.lease, reverie.EraseQuery{GroupID: group, AuthorID: "u1"}))(t)
	w.wantTold("erased", group, h, "run.rejected evolve")
	if r := must(w.Run(t.Context(), group, run))(t); r.Run.Status != reverie.RunRejected {
		t.Errorf("%+v", r.Run)
	}
}

// Of memories that are held since a message was edited it is told that they changed, without their words.
func TestEventsOfEditedMessages(t *testing.T) {
	f := newForgotten(t)
	h := f.hook(group, "memory.updated", "memory.deleted")
	f.become(edit("x1", "I like nuts", 60))
	f.wantTold("edited", group, h, "memory.updated erase")
}

// The reader sees no webhook, whatever groups it names.
func TestReaderSeesNoWebhook(t *testing.T) {
	pgtest.OnOneServer(t, "the tables have no policies")
	w := newWorld(t)
	h := w.hook(group)
	if must(w.Webhook(t.Context(), group, h.ID))(t).Secret != h.Secret {
		t.Error("the owner does not see it")
	}
	for name, err := range map[string]error{"of its group": second(w.Webhook(store.AsReader(t.Context(), group), group, h.ID)),
		"of all": second(w.Webhook(store.AsReaderOfAll(t.Context()), "", h.ID))} {
		t.Run(name, func(t *testing.T) { wantErr(t, err, reverie.ErrNotFound) })
	}
}
