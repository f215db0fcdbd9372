package store_test

import (
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"reverie/internal/reverie"
	"reverie/store/pgtest"
)

func TestGatherSession(t *testing.T) {
	w := newWorld(t)
	ctx := t.Context()
	ids := w.turns("s", 0, 3)
	w.turns("other", 0, 1)
	run := w.extraction("s", ids[:2])
	sum := ofSession(create("they met"), "s", reverie.TagSession, reverie.TagSummary)
	others := ofSession(create("the others met"), "other", reverie.TagSession, reverie.TagSummary)
	must(w.Apply(ctx, w.lease, takes(run, 1, "s", ids[:2], sum, others, ofSession(create("likes tea"), "s", reverie.TagSession))))(t)
	w.apply(create("a group's memory"))

	for name, tt := range map[string]struct {
		q    reverie.SessionQuery
		want []string
		more bool
	}{
		"all":      {reverie.SessionQuery{Limit: 10}, ids[2:], false},
		"exactly":  {reverie.SessionQuery{Limit: 4}, ids[2:], false},
		"some":     {reverie.SessionQuery{Limit: 3}, ids[2:5], true},
		"named":    {reverie.SessionQuery{MessageIDs: []string{ids[4], ids[3], ids[0], "other-u000", "x"}}, ids[3:5], true},
		"all of 4": {reverie.SessionQuery{MessageIDs: ids}, ids[2:], false},
	} {
		tt.q.GroupID, tt.q.SessionID = group, "s"
		state := must(w.GatherSession(ctx, tt.q))(t)
		if diff := cmp.Diff(tt.want, messageIDs(state.Messages)); diff != "" || state.More != tt.more {
			t.Errorf("%s: more %v (-want +got):\n%s", name, state.More, diff)
		}
		if diff := cmp.Diff([]string{"likes tea"}, names(state.Heads)); diff != "" || state.Summary.Statement != "they met" || state.Summary.SessionID != "s" ||
			len(state.Heads[0].SupportDates) != 1 {
			t.Errorf("%s: heads, with the summary %+v (-want +got):\n%s", name, state.Summary, diff)
		}
		if state.Session.New.Messages != 4 || state.Session.Extractions != 1 || state.Group.TimeZone != "Asia/Shanghai" {
			t.Errorf("%s: %+v", name, state.Session)
		}
	}
	for _, q := range []reverie.SessionQuery{{GroupID: group, SessionID: "nowhere"}, {GroupID: "nowhere", SessionID: "s"}, {GroupID: group}} {
		wantErr(t, second(w.GatherSession(ctx, q)), reverie.ErrNotFound)
	}
	// Summaries are no candidates of facts.
	q := reverie.CandidateQuery{GroupID: group, Kind: reverie.KindSession, Model: model, Probes: probes(unit())}
	all := must(w.Candidates(ctx, q))(t)[0]
	q.Untagged = reverie.TagSummary
	if facts := must(w.Candidates(ctx, q))(t)[0]; len(all) != 3 || len(facts) != 1 || statements(t, w, [][]reverie.Near{facts})[0][0] != "likes tea" {
		t.Errorf("of %d candidates %+v are facts", len(all), facts)
	}
}

// What a plan of a session takes is taken once, and only from that session; else
// nothing at all is written.
func TestApplySession(t *testing.T) {
	w := newWorld(t)
	ctx := t.Context()
	db := raw(t)
	ids, foreign := w.turns("s", 0, 4), w.turns("other", 0, 1)
	run := w.extraction("s", ids[:4])
	everything := func() []string {
		return pgtest.Rows(t, db, `select 'use', message_id, run_id::text from message_uses union all select 'memory', statement, session_id from memories
			union all select 'chunk', chunk_no::text, status from run_chunks union all select 'session', session_id, concat(new_messages, ' ', extractions) from sessions
			union all select 'evolve', message_id, outcome from messages order by 1, 2, 3`)
	}
	before := everything()
	for name, tt := range map[string]struct {
		plan reverie.Plan
		want error
	}{
		"another session's message": {takes(run, 1, "s", append([]string{foreign[0]}, ids[:2]...)), reverie.ErrConflict},
		"a message twice":           {takes(run, 1, "s", []string{ids[0], ids[0]}), reverie.ErrConflict},
		"an unknown message":        {takes(run, 1, "s", []string{"x"}), reverie.ErrConflict},
		"an unknown session":        {takes(run, 1, "nowhere", ids[:1]), reverie.ErrNotFound},
		"another's run":             {takes(run, 1, "other", foreign), reverie.ErrConflict},
		"no message":                {takes(run, 1, "s", nil), reverie.ErrInvalid},
		"no session":                {takes(run, 1, "", ids[:1]), reverie.ErrInvalid},
		"a head that has moved": {takes(run, 1, "s", ids[:1], create("likes tea"), update(reverie.Memory{ID: reverie.NewID(), LineageID: reverie.NewID(), Version: 1}, "x")),
			reverie.ErrConflict},
	} {
		_, err := w.Apply(ctx, w.lease, tt.plan)
		wantErr(t, err, tt.want)
		if diff := cmp.Diff(before, everything()); diff != "" {
			t.Fatalf("%s: something was written (-before +after):\n%s", name, diff)
		}
	}
	plan := takes(run, 1, "s", ids[:4], ofSession(create("likes tea"), "s", reverie.TagSession))
	first := must(w.Apply(ctx, w.lease, plan))(t)
	done := everything()
	if again := must(w.Apply(ctx, w.lease, plan))(t); cmp.Diff(first, again) != "" || cmp.Diff(done, everything()) != "" {
		t.Errorf("applied again: %+v", again)
	}
	if m := w.headOf("likes tea"); m.SessionID != "s" || m.Kind != reverie.KindSession {
		t.Errorf("the memory is %+v", m)
	}
	s := w.counted(group)["s"]
	if s.Extractions != 1 || s.New.Turns != 2 || !s.ExtractedUntil.Equal(noon.Add(3*time.Minute)) {
		t.Errorf("the session is %+v", s)
	}
	if c := must(w.MessageCounts(ctx, group))(t); c.Pending != 10 {
		t.Errorf("evolve has %+v", c)
	}
	w.part(run, 2, ids[3:5])
	wantErr(t, second(w.Apply(ctx, w.lease, takes(run, 2, "s", ids[3:5]))), reverie.ErrConflict) // one is taken already
	if left := must(w.FinishRun(ctx, w.lease, reverie.Run{ID: run, Status: reverie.RunSucceeded}))(t); left != 4 {
		t.Errorf("%d wait at the run's end, want those of the session", left)
	}
	wantErr(t, second(w.Apply(ctx, w.lease, takes(run, 2, "s", ids[4:]))), reverie.ErrConflict) // the run is over
	if d := must(w.Run(ctx, group, run))(t); d.Run.SessionID != "s" || d.Run.Stats.Deferred != 4 {
		t.Errorf("the run is %+v", d.Run)
	}
	check(t, w.ReleaseLease(ctx, w.lease))
	wantErr(t, second(w.Apply(ctx, w.lease, takes(run, 2, "s", ids[4:]))), reverie.ErrLeaseLost)
}

// What a person lets pass of an extraction is of its session; what is refused and
// asked for again waits again.
func TestHeldSession(t *testing.T) {
	w := newWorld(t)
	ctx := t.Context()
	ids := w.turns("s", 0, 4)
	// All facts are held, and the summary is written.
	hold := func(ids []string, statement string, besides ...reverie.Step) (string, reverie.Step) {
		run, st := w.extraction("s", ids), ofSession(create(statement), "s", reverie.TagSession)
		plan := takes(run, 1, "s", ids, append(besides, ofSession(create("after "+statement), "s", reverie.TagSession, reverie.TagSummary))...)
		plan.Held, plan.Stats = []reverie.Step{st}, reverie.Stats{Held: 1, Cited: 1, Considered: len(ids) - 1}
		must(w.Apply(ctx, w.lease, plan))(t)
		must(w.FinishRun(ctx, w.lease, reverie.Run{ID: run, Status: reverie.RunHeld, Stats: plan.Stats}))(t)
		return run, st
	}
	run, _ := hold(ids[:2], "likes tea")
	held := must(w.Run(ctx, group, run))(t).Held[0]
	must(w.ApplyHeld(ctx, w.lease, held, held.Steps, nil))(t)
	if m := w.headOf("likes tea"); m.SessionID != "s" || m.Kind != reverie.KindSession {
		t.Errorf("approved: %+v", m)
	}
	run, _ = hold(ids[2:6], "likes coffee")
	if n := w.counted(group)["s"].New.Messages; n != 2 {
		t.Errorf("%d wait while a plan is held, want 2", n)
	}
	if n := must(w.RejectHeld(ctx, w.lease, group, run, true))(t); n != 4 {
		t.Errorf("%d wait again, want 4", n)
	}
	if s := w.counted(group)["s"]; s.New.Messages != 6 || s.New.Turns != 3 {
		t.Errorf("after it %+v", s)
	}
	if st := must(w.Run(ctx, group, run))(t).Run.Stats; st.Cited+st.Considered != 0 || st.Deferred != 6 {
		t.Errorf("the run says %+v", st)
	}
	if rows := pgtest.Rows(t, raw(t), `select status from run_chunks where run_id = $1`, run); rows[0] != "failed" {
		t.Errorf("its chunk is %v", rows)
	}
	if run, _ = hold(ids[2:4], "likes milk"); must(w.RejectHeld(ctx, w.lease, group, run, false))(t) != 0 || w.counted(group)["s"].New.Messages != 4 {
		t.Error("what was refused for good waits again")
	}
	run, _ = hold(ids[4:6], "likes juice", ofSession(create("has a cat"), "s", reverie.TagSession))
	if must(w.RejectHeld(ctx, w.lease, group, run, true))(t) != 0 || w.counted(group)["s"].New.Messages != 2 {
		t.Error("what another fact came of waits again")
	}
}

// Each run of a session is taken up by itself, with the chunk that it had begun.
func TestResumeSession(t *testing.T) {
	w := newWorld(t)
	ctx := t.Context()
	ids, others := w.turns("s", 0, 3), w.turns("other", 0, 2)
	w.messages(3) // in sessions that silence cuts
	run, other := w.extraction("s", ids[:4]), w.extraction("other", others[:2])
	resume := func(session, wantRun string, wantIDs ...string) {
		t.Helper()
		r, chunk, err := w.ResumeSession(ctx, w.lease, reverie.JobExtract, session)
		check(t, err)
		if wantRun == "" != (r == nil) || r != nil && (r.ID != wantRun || r.SessionID != session) {
			t.Errorf("the run of %s is %+v", session, r)
		}
		if chunk == nil {
			chunk = &reverie.Chunk{}
		}
		if !slices.Equal(chunk.MessageIDs, wantIDs) {
			t.Errorf("the chunk of %s is %+v", session, chunk)
		}
	}
	status := func(run string, want reverie.RunStatus, deferred int) {
		t.Helper()
		if got := must(w.Run(ctx, group, run))(t).Run; got.Status != want || got.Stats.Deferred != deferred {
			t.Errorf("run of %s: %s, %d wait, want %s, %d", got.SessionID, got.Status, got.Stats.Deferred, want, deferred)
		}
	}
	resume("nowhere", "")
	resume("s", run, ids[:4]...)
	must(w.Apply(ctx, w.lease, takes(run, 1, "s", ids[:4])))(t)
	resume("s", run) // there is nothing to take up, and the run goes on
	newer := w.extraction("s", ids[4:])
	resume("s", newer, ids[4:]...)
	status(run, reverie.RunFailed, 2)
	must(w.Apply(ctx, w.lease, takes(newer, 1, "s", ids[4:])))(t)
	resume("other", other, others[:2]...)
	status(newer, reverie.RunRunning, 0)
	check(t, second(w.FinishRun(ctx, w.lease, reverie.Run{ID: other, Status: reverie.RunDeferred})))
	resume("other", "", others[:2]...) // an answer of a deferred run is kept
	status(other, reverie.RunDeferred, 4)
	last := w.extraction("other", others[:2])
	_, err := raw(t).Exec(`update leases set expires_at = 'epoch'`)
	check(t, err)
	if got := must(w.Endless(ctx, reverie.JobExtract))(t); !slices.Equal(got, []string{group}) {
		t.Errorf("%v have a run without an end", got)
	}
	check(t, w.Settle(ctx, w.lease, reverie.JobExtract))
	status(newer, reverie.RunSucceeded, 0)
	status(last, reverie.RunFailed, 4)
	r, chunk, err := w.Resume(ctx, w.lease, reverie.JobEvolve, time.Time{}, time.Time{})
	if check(t, err); r != nil || chunk != nil {
		t.Errorf("evolve takes up %+v, %+v", r, chunk)
	}
	wantErr(t, third(w.ResumeSession(ctx, w.lease, reverie.JobExtract, "")), reverie.ErrInvalid)
	// Attempts are those of the session.
	if again := must(w.StartRun(ctx, w.lease, reverie.Run{Job: reverie.JobExtract, SessionID: "s", WindowSince: noon, WindowUntil: noon}))(t); again.Attempt != 3 {
		t.Errorf("attempt %d at s, want 3", again.Attempt)
	}
}

func third[T, U any](_ T, _ U, err error) error { return err }

// Whatever is done to a session, in whatever order, what it counts is what the rows
// say, and what a killed run had not committed is not there.
func TestSessionCountsAlwaysFit(t *testing.T) {
	w := newWorld(t)
	ctx := t.Context()
	r := rand.New(rand.NewPCG(10, 10))
	roles := []string{"user", "user", "assistant", "tool"}
	for step := range 18 {
		var list []reverie.Message
		for i := range 1 + r.IntN(4) {
			list = append(list, line(reverie.NewID(), "s", roles[r.IntN(4)], step*3+i-r.IntN(20)))
		}
		w.bring(group, list...)
		state := must(w.GatherSession(ctx, reverie.SessionQuery{GroupID: group, SessionID: "s", Limit: 5}))(t)
		open := must(w.GatherFold(ctx, group, "s"))(t)
		if step%3 == 0 {
			run := w.extraction("s", messageIDs(state.Messages))
			must(w.Apply(ctx, w.lease, takes(run, 1, "s", messageIDs(state.Messages))))(t)
			if step%2 == 0 && len(open.Messages) > 3 {
				fold := folds(run, "s", open.Messages[r.IntN(2):3]...)
				if old := open.Summary; old != nil {
					since, until := &fold.Summary.CoversSince, &fold.Summary.CoversUntil
					*since, *until = slices.MinFunc([]time.Time{*since, old.CoversSince}, time.Time.Compare), slices.MaxFunc([]time.Time{*until, old.CoversUntil}, time.Time.Compare)
				}
				check(t, w.ApplyFold(ctx, w.lease, fold))
			}
			must(w.FinishRun(ctx, w.lease, reverie.Run{ID: run, Status: reverie.RunSucceeded}))(t)
		}
		if s := w.counted(group)["s"]; s.Total.Messages-s.Folded.Messages < 0 || open.Session.Unfolded().Messages != len(open.Messages) {
			t.Fatalf("%+v, and %d messages that no summary covers", open.Session, len(open.Messages))
		}
	}
}
