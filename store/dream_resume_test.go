package store_test

import (
	"slices"
	"testing"
	"time"

	"reverie/internal/reverie"
	"reverie/store/pgtest"
)

// A dream that was begun goes on with what it had chosen, while that is new; one that
// is over but for its end is ended, and so is one that never began.
func TestResumeDream(t *testing.T) {
	d := newDreamer(t)
	ctx := t.Context()
	d.quiet(group, "s", 0)
	a, b := d.knows(group, reverie.KindSession, "s", "likes tea"), d.knows(group, reverie.KindGroup, "", "meets on Fridays")
	resume := func(wantRun, ofRun string, want ...reverie.Memory) {
		t.Helper()
		run, chunk, err := d.ResumeDream(ctx, d.lease)
		check(t, err)
		if (wantRun == "") != (run == nil) || run != nil && run.ID != wantRun {
			t.Errorf("the run is %+v, want %q", run, wantRun)
		}
		if chunk == nil {
			chunk = &reverie.Chunk{}
		}
		if chunk.RunID != ofRun || !slices.Equal(chunk.MemoryIDs, versions(want)) {
			t.Errorf("the chunk is %+v, want of %q %v", chunk, ofRun, versions(want))
		}
	}
	status := func(run string, want reverie.RunStatus, end time.Time) {
		t.Helper()
		got := must(d.Run(ctx, group, run))(t).Run
		if got.Status != want || (got.FinishedAt == nil) != end.IsZero() || got.FinishedAt != nil && !got.FinishedAt.Equal(end) || (want == reverie.RunFailed) != (got.Error != "") {
			t.Errorf("the run is %s since %v, %q; want %s since %v", got.Status, got.FinishedAt, got.Error, want, end)
		}
	}
	resume("", "")

	// Killed after that.
	first := d.begins("s", a, b)
	check(t, d.Settle(ctx, d.lease, reverie.JobDream))
	resume(first, first, a, b)
	status(first, reverie.RunRunning, time.Time{})

	// Deferred: what it had chosen is for the next one, which may choose anew.
	d.ends(first, "s", reverie.RunDeferred)
	resume("", first, a, b)
	d.now = minutes(1)
	next := d.begins("s", b)
	resume(next, next, b)
	check(t, d.SaveChunk(ctx, d.lease, reverie.Chunk{RunID: next, No: 1, Status: reverie.ChunkFailed}))
	d.now = minutes(2)
	resume(next, first, a, b)
	d.ends(next, "s", reverie.RunFailed)
	resume("", first, a, b)
	d.write(`update runs set undone_at = now() where run_id = $1`, first)
	resume("", "")

	// Killed when it was applied, and only then something is changed of what it took in.
	run := d.begins("s", a, b)
	d.now = minutes(3)
	must(d.Apply(ctx, d.lease, takesIn(run, []reverie.Memory{a, b}, resting(create("an item"), a, b))))(t)
	d.now = minutes(90)
	resume(run, "")
	d.ends(run, "s", reverie.RunSucceeded)

	// Killed when it was held.
	c := d.becomes(b, "meets on Saturdays")
	run = d.begins("s", c)
	d.now = minutes(95)
	plan := takesIn(run, []reverie.Memory{c})
	plan.HeldAll, plan.Held = true, []reverie.Step{update(d.headOf("an item"), "another")}
	must(d.Apply(ctx, d.lease, plan))(t)
	d.now = minutes(180)
	resume(run, "")
	d.ends(run, "s", reverie.RunHeld)

	// What was chosen has changed since: the dream goes on, and chooses anew.
	e := d.becomes(c, "meets on Sundays")
	run = d.begins("s", e)
	f := d.becomes(e, "meets on Mondays")
	resume(run, "")
	check(t, d.SaveChunk(ctx, d.lease, reverie.Chunk{RunID: run, No: 1, MemoryIDs: []string{f.ID}, Status: reverie.ChunkOpen}))
	resume(run, run, f)

	// Of what was chosen some has changed, or was deleted: the rest is still what it was about.
	g := d.becomes(f, "meets on Tuesdays")
	check(t, d.SaveChunk(ctx, d.lease, reverie.Chunk{RunID: run, No: 1, MemoryIDs: versions([]reverie.Memory{f, g}), Status: reverie.ChunkOpen}))
	resume(run, run, f, g)

	// Of two, the newer one goes on.
	d.now = minutes(200)
	newer := d.begins("s", g)
	resume(newer, newer, g)
	status(run, reverie.RunFailed, minutes(200))

	// What was begun before the last dream is not gone on with.
	d.ends(newer, "s", reverie.RunDeferred)
	resume("", newer, g)
	d.now = minutes(210)
	h := d.knows(group, reverie.KindGroup, "", "a narrower dream's")
	last := d.begins("s", h)
	must(d.Apply(ctx, d.lease, takesIn(last, []reverie.Memory{h})))(t)
	d.ends(last, "s", reverie.RunSucceeded)
	resume("", "")

	check(t, d.ReleaseLease(ctx, d.lease))
	wantErr(t, third(d.ResumeDream(ctx, d.lease)), reverie.ErrLeaseLost)
}

// A person lets pass what a dream holds, with what it rests on; or refuses it, and
// then what it took in is gone, or new again.
func TestHeldDream(t *testing.T) {
	d := newDreamer(t)
	ctx := t.Context()
	d.quiet(group, "s", 0)
	d.quiet(group, "t", 1)
	hold := func(statement string, whole bool, besides ...reverie.Step) (run string, of []reverie.Memory) {
		t.Helper()
		of = []reverie.Memory{d.knows(group, reverie.KindSession, "s", "fact of "+statement), d.knows(group, reverie.KindGroup, "", "memory of "+statement)}
		run = d.begins("t", of...)
		plan := takesIn(run, of, besides...)
		plan.HeldAll, plan.Held, plan.HeldReason = whole, []reverie.Step{resting(create(statement), of...)}, "too much at once"
		plan.Dream.Sessions = []reverie.Session{gathered("s", 1, noon), gathered("t", 1, minutes(1))}
		plan.Stats = reverie.Stats{Held: 1, Material: 2, Sessions: 2}
		must(d.Apply(ctx, d.lease, plan))(t)
		must(d.FinishRun(ctx, d.lease, reverie.Run{ID: run, SessionID: "t", Status: reverie.RunHeld, Stats: plan.Stats}))(t)
		return run, of
	}
	narrative := func() reverie.Step {
		st := create(reverie.NewID())
		st.Tags, st.Evidence = []string{reverie.TagDream, reverie.TagSummary}, nil
		return st
	}
	isNew := func(run string, want int, untilS, untilT string) {
		t.Helper()
		signs := must(d.DreamSigns(ctx, reverie.DreamQuery{GroupID: group}))(t)
		st := must(d.Run(ctx, group, run))(t).Run.Stats
		sessions := 2
		for _, until := range []string{untilS, untilT} {
			if until == "fresh" {
				sessions--
			}
		}
		if signs.New != want || d.until("s") != untilS || d.until("t") != untilT || st.Material != 2-want || st.Sessions != sessions || st.Deferred != 0 {
			t.Errorf("%d are new, want %d; s is dreamt of until %s, want %s; t until %s, want %s; the run says %+v", signs.New, want, d.until("s"), untilS, d.until("t"), untilT, st)
		}
	}
	forget := func() {
		d.write(`update memories set status = 'deprecated', ended_at = now() where kind <> 'dream' and status = 'active'`)
	}
	run, of := hold("first", true)
	isNew(run, 0, "12:00", "12:01")
	held := must(d.Run(ctx, group, run))(t).Held[0]
	changes := must(d.ApplyHeld(ctx, d.lease, held, held.Steps, nil))(t)
	if got := pgtest.Rows(t, d.db, `select source_id from memory_sources where memory_id = $1 and run_id = $2 order by position`,
		changes[0].MemoryID, run); !slices.Equal(got, versions(of)) || d.headOf("first").Kind != reverie.KindDream {
		t.Errorf("approved, it rests on %v, want %v", got, versions(of))
	}
	isNew(run, 0, "12:00", "12:01")

	run, _ = hold("second", true)
	if n := must(d.RejectHeld(ctx, d.lease, group, run, false))(t); n != 0 {
		t.Errorf("%d are new again that nobody asked for", n)
	}
	isNew(run, 0, "12:00", "12:01")
	run, _ = hold("third", true)
	d.write(`update sessions set session_id = 'whole' where session_id = 't'`) // that it reaches up to has become part of another
	if n := must(d.RejectHeld(ctx, d.lease, group, run, true))(t); n != 2 {
		t.Errorf("%d are new again, want 2", n)
	}
	d.write(`update sessions set session_id = 't' where session_id = 'whole'`)
	isNew(run, 2, "fresh", "12:01")
	if got := pgtest.Rows(t, d.db, `select r.status, c.status from runs r join run_chunks c using (group_id, run_id) where run_id = $1`, run); got[0] != "rejected|failed" {
		t.Errorf("it is %v", got)
	}
	forget()

	run, _ = hold("fourth", false, narrative()) // nothing but the narrative is written
	if n := must(d.RejectHeld(ctx, d.lease, group, run, true))(t); n != 2 {
		t.Errorf("beside the narrative, %d are new again, want 2", n)
	}
	isNew(run, 2, "fresh", "fresh")
	forget()
	run, _ = hold("fifth", false, resting(create("an item that stands")))
	if n := must(d.RejectHeld(ctx, d.lease, group, run, true))(t); n != 0 {
		t.Errorf("%d are new again that an item came of", n)
	}
	isNew(run, 0, "12:00", "12:01")
}
