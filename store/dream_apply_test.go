package store_test

import (
	"fmt"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"reverie/internal/reverie"
	"reverie/store/pgtest"
)

// begins starts a dream that reaches up to a session, and saves what it has chosen.
func (d *dreamer) begins(through string, of ...reverie.Memory) (run string) {
	d.t.Helper()
	run = d.starts(through)
	check(d.t, d.SaveChunk(d.t.Context(), d.lease, reverie.Chunk{RunID: run, No: 1, MemoryIDs: versions(of), Status: reverie.ChunkOpen}))
	return run
}

func (d *dreamer) starts(through string) (run string) {
	d.t.Helper()
	return must(d.StartRun(d.t.Context(), d.lease, reverie.Run{Job: reverie.JobDream, SessionID: through, WindowSince: noon, WindowUntil: noon,
		StartedAt: d.now}))(d.t).ID
}

func (d *dreamer) ends(run, through string, status reverie.RunStatus) {
	d.t.Helper()
	left := must(d.FinishRun(d.t.Context(), d.lease, reverie.Run{ID: run, Job: reverie.JobDream, SessionID: through, Status: status}))(d.t)
	if left != 0 {
		d.t.Errorf("%d wait for dreams at the end of one", left)
	}
}

func versions(of []reverie.Memory) (ids []string) {
	for _, m := range of {
		ids = append(ids, m.ID)
	}
	return ids
}

// takesIn is the plan of a dream of these versions.
func takesIn(run string, of []reverie.Memory, steps ...reverie.Step) reverie.Plan {
	return reverie.Plan{GroupID: group, RunID: run, ChunkNo: 1, Kind: reverie.KindDream, Steps: steps,
		Dream: &reverie.DreamUse{MemoryIDs: versions(of)}, Stats: reverie.Stats{Material: len(of), Chunks: 1}}
}

// resting makes a step one of an item that rests on versions.
func resting(st reverie.Step, on ...reverie.Memory) reverie.Step {
	st.Tags = []string{reverie.TagDream, reverie.TagLongTerm, string(reverie.DreamTodo)}
	for _, m := range on {
		st.Sources = append(st.Sources, reverie.Source{MemoryID: m.ID, LineageID: m.LineageID})
	}
	return st
}

// everything is what applying a dream may write.
func (d *dreamer) everything() []string {
	d.t.Helper()
	return pgtest.Rows(d.t, d.db, `select 'use', memory_id::text, run_id::text from memory_uses
		union all select 'source', memory_id::text, concat(position, ' ', source_id, ' ', source_lineage_id, ' ', run_id) from memory_sources
		union all select 'memory', statement, concat(version, ' ', status) from memories
		union all select 'session', session_id, dreamt_until::text from sessions
		union all select 'chunk', run_id::text, status from run_chunks
		union all select 'run', run_id::text, concat(status, ' ', stats) from runs order by 1, 2, 3`)
}

func (d *dreamer) until(session string) string {
	d.t.Helper()
	return pgtest.Rows(d.t, d.db, `select coalesce(to_char(dreamt_until at time zone 'UTC', 'HH24:MI'), 'fresh') from sessions
		where group_id = $1 and session_id = $2`, group, session)[0]
}

// What a dream takes in is taken in once, by one dream, and never what dreams have
// left; else nothing at all is written.
func TestApplyDream(t *testing.T) {
	d := newDreamer(t)
	ctx := t.Context()
	d.ensure("g2")
	d.quiet(group, "s", 0)
	fact, mine := d.knows(group, reverie.KindSession, "s", "likes tea"), d.knows(group, reverie.KindGroup, "", "meets on Fridays")
	foreign, item := d.knows("g2", reverie.KindGroup, "", "another group's"), d.knows(group, reverie.KindDream, "", "an item")
	gone := d.knows(group, reverie.KindGroup, "", "deleted by a person")
	d.write(`update memories set status = 'deprecated', ended_at = now() where memory_id = $1`, gone.ID)
	restored := d.knows(group, reverie.KindGroup, "", "restored by a person")
	d.write(`update memories set status = 'archived', ended_at = now() where memory_id = $1`, restored.ID)
	head := must(d.Edit(ctx, reverie.Edit{GroupID: group, MemoryID: restored.ID, Action: reverie.ActionRestore}))(t)
	must(d.Edit(ctx, reverie.Edit{GroupID: group, MemoryID: head.ID, Action: reverie.ActionDelete}))(t)
	nobody := reverie.Memory{ID: reverie.NewID(), LineageID: reverie.NewID()}
	both := []reverie.Memory{fact, mine}
	night, extraction := d.chunk("", 1, nil), d.extraction("s", []string{"s-1"})
	run := d.begins("s", both...)

	plan := func(change func(*reverie.Plan)) reverie.Plan {
		p := takesIn(run, both, resting(create("drinks tea on Fridays"), fact, mine))
		p.Dream.Sessions = []reverie.Session{gathered("s", 1, noon), gathered("merged", 1, noon)}
		change(&p)
		return p
	}
	taking := func(of ...reverie.Memory) reverie.Plan {
		return plan(func(p *reverie.Plan) { p.Dream.MemoryIDs = versions(of) })
	}
	on := func(of ...reverie.Memory) reverie.Plan {
		return plan(func(p *reverie.Plan) { p.Steps = []reverie.Step{resting(create("x"), of...)} })
	}
	before := d.everything()
	for name, tt := range map[string]struct {
		plan reverie.Plan
		want error
	}{
		"nothing":                    {taking(), reverie.ErrInvalid},
		"no id":                      {taking(fact, reverie.Memory{ID: "m1"}), reverie.ErrInvalid},
		"a version twice":            {taking(fact, fact), reverie.ErrConflict},
		"an unknown version":         {taking(fact, nobody), reverie.ErrConflict},
		"another group's":            {taking(fact, foreign), reverie.ErrConflict},
		"what a dream has left":      {taking(fact, item), reverie.ErrConflict},
		"an outcome, too":            {plan(func(p *reverie.Plan) { p.Outcomes = map[string]reverie.Outcome{"s-1": reverie.OutcomeCited} }), reverie.ErrInvalid},
		"an extraction, too":         {plan(func(p *reverie.Plan) { p.SessionID, p.Used = "s", []string{"s-1"} }), reverie.ErrInvalid},
		"a night's run":              {plan(func(p *reverie.Plan) { p.RunID = night }), reverie.ErrConflict},
		"an extraction's run":        {plan(func(p *reverie.Plan) { p.RunID = extraction }), reverie.ErrConflict},
		"a chunk that is not there":  {plan(func(p *reverie.Plan) { p.ChunkNo = 2 }), reverie.ErrNotFound},
		"a head that has moved":      {plan(func(p *reverie.Plan) { p.Steps = append(p.Steps, update(nobody, "x")) }), reverie.ErrConflict},
		"rests on nobody's":          {on(fact, nobody), reverie.ErrNotFound},
		"rests on another group's":   {on(foreign), reverie.ErrNotFound},
		"rests on another lineage's": {on(reverie.Memory{ID: fact.ID, LineageID: mine.LineageID}), reverie.ErrNotFound},
		"rests on what is deleted":   {on(fact, gone), reverie.ErrConflict},
		"restored, and then deleted": {on(fact, restored), reverie.ErrConflict},
		"rests on one twice":         {on(fact, fact), reverie.ErrInvalid},
		"rests on no id":             {on(reverie.Memory{ID: "s1", LineageID: fact.LineageID}), reverie.ErrInvalid},
	} {
		wantErr(t, second(d.Apply(ctx, d.lease, tt.plan)), tt.want)
		if diff := cmp.Diff(before, d.everything()); diff != "" {
			t.Fatalf("%s: something was written (-before +after):\n%s", name, diff)
		}
	}

	// Meanwhile somebody speaks on, and changes a memory.
	d.bring(group, line("s-2", "s", "user", 30))
	next := d.becomes(mine, "meets on Saturdays")
	good := plan(func(*reverie.Plan) {})
	first := must(d.Apply(ctx, d.lease, good))(t)
	done := d.everything()
	if again := must(d.Apply(ctx, d.lease, good))(t); len(first) != 1 || cmp.Diff(first, again) != "" || cmp.Diff(done, d.everything()) != "" {
		t.Errorf("applied again: %+v, first %+v", again, first)
	}
	made := first[0].MemoryID
	want := []string{"1|" + fact.ID + "|" + fact.LineageID, "2|" + mine.ID + "|" + mine.LineageID}
	if got := pgtest.Rows(t, d.db, `select position, source_id, source_lineage_id from memory_sources where memory_id = $1 and run_id = $2
			order by position`, made, run); !slices.Equal(got, want) {
		t.Errorf("it rests on %q, want %q", got, want)
	}
	if m := d.headOf("drinks tea on Fridays"); m.Kind != reverie.KindDream || reverie.DreamTypeOf(m) != reverie.DreamTodo {
		t.Errorf("the item is %+v", m)
	}
	state := must(d.GatherDream(ctx, reverie.DreamQuery{GroupID: group}))(t)
	if got := versionsOf(state.Material); !slices.Equal(got, []string{next.ID}) || state.Signs.Fresh != 1 || d.until("s") != "fresh" {
		t.Errorf("new are %v, %d sessions fresh, s dreamt of until %s: want what came meanwhile", got, state.Signs.Fresh, d.until("s"))
	}
	// Another dream of the same takes in nothing of it.
	other := d.begins("s", fact, next)
	now := d.everything()
	wantErr(t, second(d.Apply(ctx, d.lease, takesIn(other, []reverie.Memory{fact, next}, create("y")))), reverie.ErrConflict)
	if diff := cmp.Diff(now, d.everything()); diff != "" {
		t.Errorf("taken in twice (-before +after):\n%s", diff)
	}
	// A new version of an item rests on more; the one before, on what it did. What
	// is known of a session is not forgotten.
	later := takesIn(other, []reverie.Memory{next}, resting(update(d.headOf("drinks tea on Fridays"), "drinks tea on Saturdays"), next))
	later.Dream.Sessions = []reverie.Session{gathered("s", 2, noon)}
	d.covers(group, "s", 0)
	must(d.Apply(ctx, d.lease, later))(t)
	if got := pgtest.Rows(t, d.db, `select source_id from memory_sources where run_id = $1`, other); !slices.Equal(got, []string{next.ID}) || d.until("s") != "12:30" {
		t.Errorf("the new version rests on %v, s dreamt of until %s", got, d.until("s"))
	}
	check(t, d.ReleaseLease(ctx, d.lease))
	wantErr(t, second(d.Apply(ctx, d.lease, takesIn(run, both))), reverie.ErrLeaseLost)
}

func versionsOf(list []reverie.HeadState) (ids []string) {
	for _, m := range list {
		ids = append(ids, m.ID)
	}
	return ids
}

// What makes a session one to dream of again, and what a dream leaves alone of it.
func TestSessionsAfterADream(t *testing.T) {
	d := newDreamer(t)
	ctx := t.Context()
	d.quiet(group, "s", 0)
	fresh := func(what, want string) {
		t.Helper()
		if got := d.until("s"); got != want {
			t.Errorf("after %s: dreamt of until %s, want %s", what, got, want)
		}
	}
	dreamOf := func(s reverie.Session) {
		t.Helper()
		m := d.knows(group, reverie.KindSession, "s", reverie.NewID())
		run := d.begins("s", m)
		p := takesIn(run, []reverie.Memory{m})
		p.Dream.Sessions = []reverie.Session{s}
		must(d.Apply(ctx, d.lease, p))(t)
		for _, unfinished := range []bool{true, false} {
			d.write(`update sessions set unfinished = $1`, unfinished)
			for _, status := range []reverie.RunStatus{reverie.RunDeferred, reverie.RunFailed, reverie.RunSucceeded} {
				if d.ends(run, "s", status); d.session("s").Unfinished != unfinished {
					t.Fatalf("a dream that ended as %s said how far its session is extracted", status)
				}
			}
		}
	}
	dream := func(last int) {
		t.Helper()
		dreamOf(gathered("s", d.session("s").Total.Messages, minutes(last)))
	}
	dream(0)
	fresh("a dream", "12:00")
	d.bring(group, line("later", "s", "user", 10))
	fresh("a message", "12:00") // which is before its last
	dream(10)
	fresh("another", "12:10")
	d.bring(group, line("late", "s", "user", 5))
	fresh("a late message", "fresh")
	dream(10)
	extraction := d.extraction("s", []string{"s-1", "late"})
	fresh("beginning an extraction", "12:10")
	must(d.Apply(ctx, d.lease, takes(extraction, 1, "s", []string{"s-1", "late"})))(t)
	fresh("an extraction", "fresh")
	before := d.session("s")
	d.bring(group, line("meanwhile", "s", "user", 7))
	dreamOf(before)
	fresh("a dream that has not seen a late message", "fresh")
	dream(10)
	learns := func(st reverie.Step) reverie.Plan {
		st.Evidence = []reverie.Evidence{evidence("s-1", "2026-01-15")}
		return d.plan(st)
	}
	learnt := create("likes tea")
	d.apply(learnt)
	fresh("a night that learns elsewhere", "12:10")
	kept := learns(support(d.active()["likes tea"], "2026-01-15", 0.5))
	must(d.Apply(ctx, d.lease, kept))(t)
	fresh("a night that learns nothing new", "12:10")
	must(d.Apply(ctx, d.lease, learns(create("likes chess"))))(t)
	fresh("a night that learns from it", "fresh")
	d.counted(group)
}

// The link breaks at every request of applying a dream: it is applied once, and told
// as applied, or can be applied again.
func TestDreamSurvivesBrokenLinks(t *testing.T) {
	var n network
	d := &dreamer{world: openWorld(t, n.options()), db: raw(t)}
	d.quiet(group, "s", 0)
	for at := range int64(15) {
		m := d.knows(group, reverie.KindSession, "s", fmt.Sprint("fact ", at))
		plan := takesIn(d.begins("s", m), []reverie.Memory{m}, resting(create(fmt.Sprint("item ", at)), m))
		plan.Dream.Sessions = []reverie.Session{gathered("s", 1, noon)}
		n.nth(at+1, []fault{lostReply, lostSend}[at%2])
		_, err := d.Apply(t.Context(), d.lease, plan)
		n.heal()
		if err != nil {
			check(t, second(d.Apply(t.Context(), d.lease, plan)))
		}
	}
	if got := pgtest.Rows(t, d.db, `select (select count(*) from memory_uses), (select count(*) from memory_sources),
			(select count(*) from memories where kind = 'dream'), (select count(*) from memory_change_log),
			(select count(*) from run_chunks where status = 'applied')`); got[0] != "15|15|15|15|15" {
		t.Errorf("uses, sources, items, changes, chunks: %v", got)
	}
}
