package store_test

import (
	"testing"
	"time"

	"reverie/internal/reverie"
	"reverie/store/pg"
)

// nights evolves n times, so many messages each, so that memories are made,
// changed, supported and ended.
func (w *world) nights(n, messages int) {
	w.t.Helper()
	for i := range n {
		var steps []reverie.Step
		for range 4 {
			steps = append(steps, create(reverie.NewID()))
		}
		heads, _, err := w.ListMemories(w.t.Context(), reverie.MemoryQuery{GroupID: group, Status: reverie.StatusActive})
		check(w.t, err)
		for k, m := range heads {
			switch {
			case len(heads) > 56 && k < 4:
				steps = append(steps, remove(m, "gone"))
			case k < 6:
				steps = append(steps, update(m, reverie.NewID()))
			case k < 10:
				steps = append(steps, support(m, noon.AddDate(0, 0, i).Format(time.DateOnly), 0.5))
			}
		}
		w.now = w.now.Add(time.Hour)
		plan := w.plan(steps...)
		for _, id := range w.messages(messages - 2) {
			plan.Outcomes[id] = reverie.OutcomeConsidered
		}
		must(w.Apply(w.t.Context(), w.lease, plan))(w.t)
		w.finish(plan)
	}
}

func (w *world) finish(plan reverie.Plan) {
	w.t.Helper()
	check(w.t, second(w.FinishRun(w.t.Context(), w.lease, reverie.Run{ID: plan.RunID, Status: reverie.RunSucceeded})))
}

// rewind takes back what runs did since the first that consumed a message of since or later.
// It returns how many runs that were, and what it came to together.
func (w *world) rewind(since time.Time) (runs int, sum reverie.Undone) {
	w.t.Helper()
	back := must(w.Rewindable(w.t.Context(), group, since))(w.t)
	q := reverie.UndoQuery{GroupID: group, Reason: "wrong model", Requeue: true, Again: true}
	for _, u := range must(w.UndoAll(w.t.Context(), w.lease, q, back.Runs))(w.t) {
		sum.Requeued += u.Requeued
		sum.Restored, sum.Deprecated, sum.Weakened = sum.Restored+u.Restored, sum.Deprecated+u.Deprecated, sum.Weakened+u.Weakened
		sum.Left = append(sum.Left, u.Left...)
	}
	return len(back.Runs), sum
}

// Only the lease's holder takes runs back, and only of its own group; all of them or none.
func TestUndoAllIsFenced(t *testing.T) {
	w := newWorld(t)
	w.nights(2, 2)
	w.ensure("other")
	db, stale := raw(t), w.lease
	check(t, w.ReleaseLease(t.Context(), w.lease))
	w.lease = must(w.AcquireLease(t.Context(), group, reverie.LeaseGroup, "host:2:b", time.Minute))(t)
	rows := func() (n int) {
		return count(t, db, `select (select count(*) from memories where status = 'active') * 1000 + (select count(*) from messages where run_id is not null) * 100 +
			(select count(*) from memory_change_log) + (select count(*) from runs where undone_at is not null)`)
	}
	before := rows()
	back := must(w.Rewindable(t.Context(), group, time.Time{}))(t)
	all := reverie.UndoQuery{GroupID: group, Requeue: true}
	foreign, dry := all, all
	foreign.GroupID, dry.DryRun = "other", true
	wantErr(t, second(w.UndoAll(t.Context(), stale, all, back.Runs)), reverie.ErrLeaseLost)
	wantErr(t, second(w.UndoAll(t.Context(), w.lease, foreign, back.Runs)), reverie.ErrInvalid)
	wantErr(t, second(w.UndoAll(t.Context(), w.lease, all, append(back.Runs, reverie.NewID()))), reverie.ErrNotFound)
	if list := must(w.UndoAll(t.Context(), reverie.Lease{}, dry, back.Runs))(t); len(list) != 2 || list[0].Requeued+list[1].Requeued != 4 {
		t.Errorf("a dry run counts %+v", list)
	}
	if none := must(w.Rewindable(t.Context(), "other", time.Time{}))(t); len(none.Runs) != 0 || none.Earliest != nil {
		t.Errorf("a group without runs: %+v", none)
	}
	if after := rows(); after != before {
		t.Errorf("something was written: %d, then %d", before, after)
	}
	if runs, _ := w.rewind(time.Time{}); runs != 2 || len(w.active()) != 0 {
		t.Errorf("%d runs", runs)
	}
}

// Another job's runs stay, and so do runs before the first that consumed a
// message of the time asked for.
func TestRewindChoosesRuns(t *testing.T) {
	w := newWorld(t)
	w.nights(3, 10)
	other := must(w.StartRun(t.Context(), w.lease, reverie.Run{Job: "dream", WindowSince: noon, WindowUntil: noon}))(t)
	since := noon.Add((11 - 1000) * time.Minute) // of the second night's first message
	if back := must(w.Rewindable(t.Context(), group, since))(t); back.Earliest == nil || !back.Earliest.Equal(since) {
		t.Errorf("%+v", back)
	}
	if runs, res := w.rewind(since); runs != 2 || res.Requeued != 20 {
		t.Errorf("%d runs, %+v, want two from %v on", runs, res, since)
	}
	for _, r := range must(w.Runs(t.Context(), reverie.RunQuery{GroupID: group}))(t) {
		if undone := r.UndoneAt != nil; undone == (r.ID == other.ID || r.StartedAt.Equal(noon.Add(time.Hour))) {
			t.Errorf("that run %s of %s at %s is undone is %v", r.ID, r.Job, r.StartedAt, undone)
		}
	}
	if runs, _ := w.rewind(noon); runs != 0 {
		t.Errorf("nothing was sent since: %d runs", runs)
	}
}

func TestUndoAllSurvivesALostReply(t *testing.T) {
	for name, f := range map[string]fault{"reply lost": lostReply, "request lost": lostSend} {
		t.Run(name, func(t *testing.T) {
			var n network
			w := openWorld(t, n.options())
			w.nights(2, 2)
			back := must(w.Rewindable(t.Context(), group, time.Time{}))(t)
			q := reverie.UndoQuery{GroupID: group, Requeue: true, Again: true}
			n.once("COMMIT", f)
			list := must(w.UndoAll(t.Context(), w.lease, q, back.Runs))(t)
			if len(list) != 2 || list[0].Requeued+list[1].Requeued != 4 || len(w.active()) != 0 {
				t.Errorf("%+v", list)
			}
			logged := count(t, raw(t), `select count(*) from memory_change_log where action = 'undo'`)
			n.once("COMMIT", f)
			for _, again := range must(w.UndoAll(t.Context(), w.lease, q, back.Runs))(t) {
				if !again.Over {
					t.Errorf("again: %+v", again)
				}
			}
			if c := count(t, raw(t), `select count(*) from memory_change_log where action = 'undo'`); c != logged || c < 8 {
				t.Errorf("%d changes, before %d", c, logged)
			}
		})
	}
}

// BenchmarkRewind takes back all of 400 runs over 50,000 messages, under the
// time limits of production.
func BenchmarkRewind(b *testing.B) {
	w := openWorld(b, pg.Options{})
	for b.Loop() {
		b.StopTimer()
		w.nights(400, 125)
		b.StartTimer()
		if runs, res := w.rewind(time.Time{}); runs != 400 || res.Requeued != 50_000 {
			b.Fatalf("%d runs, %+v", runs, res)
		}
	}
}
