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

var back = reverie.RewindQuery{GroupID: group, Job: reverie.JobEvolve, Reason: "wrong model"}

// Only the lease's holder takes runs back, and only of its own group.
func TestRewindIsFenced(t *testing.T) {
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
	wantErr(t, second(w.Rewind(t.Context(), stale, back)), reverie.ErrLeaseLost)
	foreign, unknown, dry := back, back, back
	foreign.GroupID, unknown.GroupID, unknown.DryRun, dry.DryRun = "other", "nobody", true, true
	wantErr(t, second(w.Rewind(t.Context(), w.lease, foreign)), reverie.ErrInvalid)
	wantErr(t, second(w.Rewind(t.Context(), w.lease, unknown)), reverie.ErrNotFound)
	if res := must(w.Rewind(t.Context(), stale, dry))(t); res.Runs != 2 || res.Messages != 4 || res.Deprecated != 8 {
		t.Errorf("a dry run counts %+v", res)
	}
	foreignLease := must(w.AcquireLease(t.Context(), "other", reverie.LeaseGroup, "host:1:c", time.Minute))(t)
	if res := must(w.Rewind(t.Context(), foreignLease, foreign))(t); res.Runs != 0 || res.Skipped == nil {
		t.Errorf("a group without runs: %+v", res)
	}
	if after := rows(); after != before {
		t.Errorf("something was written: %d, then %d", before, after)
	}
	if res := must(w.Rewind(t.Context(), w.lease, back))(t); res.Runs != 2 || len(w.active()) != 0 {
		t.Errorf("%+v", res)
	}
}

// Another job's runs stay, and so do runs before the first that consumed a
// message of the time asked for.
func TestRewindChoosesRuns(t *testing.T) {
	w := newWorld(t)
	w.nights(3, 10)
	other := must(w.StartRun(t.Context(), w.lease, reverie.Run{Job: "dream", WindowSince: noon, WindowUntil: noon}))(t)
	q := back
	q.Since = noon.Add((11 - 1000) * time.Minute) // of the second night's first message
	if res := must(w.Rewind(t.Context(), w.lease, q))(t); res.Runs != 2 || res.Messages != 20 || !res.Earliest.Equal(q.Since) {
		t.Errorf("%+v, want two runs from %v on", res, q.Since)
	}
	for _, r := range must(w.Runs(t.Context(), reverie.RunQuery{GroupID: group}))(t) {
		if undone := r.UndoneAt != nil; undone == (r.ID == other.ID || r.StartedAt.Equal(noon.Add(time.Hour))) {
			t.Errorf("that run %s of %s at %s is undone is %v", r.ID, r.Job, r.StartedAt, undone)
		}
	}
	q.Since = noon
	if res := must(w.Rewind(t.Context(), w.lease, q))(t); res.Runs != 0 {
		t.Errorf("nothing was sent since: %+v", res)
	}
}

func TestRewindSurvivesALostReply(t *testing.T) {
	for name, f := range map[string]fault{"reply lost": lostReply, "request lost": lostSend} {
		t.Run(name, func(t *testing.T) {
			var n network
			w := openWorld(t, n.options())
			w.nights(2, 2)
			n.once("COMMIT", f)
			res := must(w.Rewind(t.Context(), w.lease, back))(t)
			if res.Runs != 2 || res.Messages != 4 || res.Deprecated != 8 || len(w.active()) != 0 {
				t.Errorf("%+v", res)
			}
			if c := count(t, raw(t), `select count(*) from memory_change_log where action = 'undo'`); c != 8 {
				t.Errorf("%d changes, want 8", c)
			}
			n.once("COMMIT", f)
			if again := must(w.Rewind(t.Context(), w.lease, back))(t); again.Runs != 0 {
				t.Errorf("again: %+v", again)
			}
		})
	}
}

// A rewind sends as much for twenty runs as for two.
func TestRewindRoundTripsDoNotGrow(t *testing.T) {
	var n network
	w := openWorld(t, n.options())
	cost := func(runs, messages int) int64 {
		w.nights(1, 2) // stays
		w.nights(runs, messages)
		q := back
		q.Since = noon.Add(time.Duration(w.sent-runs*messages+1-1000) * time.Minute)
		start := n.trips.Load()
		res := must(w.Rewind(t.Context(), w.lease, q))(t)
		if res.Runs != runs || res.Messages != runs*messages || res.Restored == 0 || res.Deprecated == 0 {
			t.Errorf("%+v", res)
		}
		return n.trips.Load() - start
	}
	cost(2, 2)
	few, many := cost(2, 2), cost(20, 20)
	t.Logf("%d requests", few)
	if many < few || many > few+1 { // one more where what waited for a change waits no longer
		t.Errorf("%d requests for 2 runs, %d for 20", few, many)
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
		res := must(w.Rewind(b.Context(), w.lease, back))(b)
		if res.Runs != 400 || res.Messages != 50_000 {
			b.Fatalf("%+v", res)
		}
	}
}
