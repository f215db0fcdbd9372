package store_test

import (
	"slices"
	"testing"

	"reverie/internal/reverie"
)

// TestGatherToJudge reads beside the heads what is to be judged again, of any kind, with
// the pending messages that it waits for; applying what came of it notes who judged it,
// and a person's word ends the matter.
func TestGatherToJudge(t *testing.T) {
	w, db := newWorld(t), raw(t)
	exec := func(query string, args ...any) {
		t.Helper()
		check(t, second(db.ExecContext(t.Context(), query, args...)))
	}
	w.apply(create("is plain"))
	pending := w.messages(2)
	said := func(st *reverie.Step, ids ...string) {
		for _, id := range ids {
			st.Evidence = append(st.Evidence, evidence(id, "2026-01-14"))
		}
	}
	held, active := create("is held"), create("is active")
	session, told, left, gone := create("of a session"), create("told of a session"), create("held and left"), create("deleted since")
	said(&held, pending[0])
	said(&told, pending[0])
	said(&active, pending[1], pending[0], "m0001")
	w.apply(held, active, session, told, left, gone)
	exec(`update memories set kind = 'session' where statement like '%of a session'`)
	exec(`update memories set status = 'held', ended_at = now() where statement like '%held%'`)
	exec(`update memories set status = 'deprecated', ended_at = now() where statement = 'deleted since'`)
	exec(`update memory_evidence set withdrawn_at = now() where lineage_id = $1 and message_id = $2`, active.LineageID, pending[1]) // counts all the same
	exec(`insert into rejudgements (group_id, lineage_id, memory_id, reason, created_at)
		select group_id, lineage_id, memory_id, 'why', now() from memories where statement not in ('is plain', 'told of a session')`)
	gather := func() (reverie.State, []string) {
		t.Helper()
		state := must(w.Gather(t.Context(), reverie.GatherQuery{GroupID: group, Kind: reverie.KindGroup, Limit: 5}))(t)
		var got []string
		for _, h := range slices.Concat(state.Heads, state.Again) {
			got = append(got, h.Statement+": "+h.JudgeAgain)
		}
		slices.Sort(got)
		return state, got
	}
	state, got := gather()
	if want := []string{"held and left: why", "is active: why", "is held: why", "is plain: ", "of a session: why"}; !slices.Equal(got, want) {
		t.Errorf("gathered %q, want %q", got, want)
	}
	if len(state.Heads) != 2 || len(state.Taken) != 2 || !state.Taken["session\x00"+hash("told of a session")] {
		t.Errorf("%d heads; taken %v", len(state.Heads), state.Taken)
	}
	heads := map[string]reverie.HeadState{}
	for _, h := range slices.Concat(state.Heads, state.Again) {
		heads[h.Statement] = h
		want := map[string][]string{"is held": pending[:1], "is active": pending}[h.Statement]
		if !slices.Equal(h.Awaits, want) || h.Waits != "" {
			t.Errorf("%s awaits %q", h.Statement, h.Awaits)
		}
	}

	back := update(heads["is held"].Memory, "is back")
	plan := w.plan(back)
	_, err := w.Apply(t.Context(), w.lease, plan) // as if it were active
	wantErr(t, err, reverie.ErrConflict)
	plan.Steps[0].Judged, plan.Steps[0].Action = reverie.StatusHeld, reverie.ActionKeep
	_, err = w.Apply(t.Context(), w.lease, plan)
	wantErr(t, err, reverie.ErrInvalid)
	plan.Steps[0].Action = reverie.ActionUpdate
	end := remove(heads["of a session"].Memory, "nothing says it")
	end.Judged = reverie.StatusActive
	plan.Steps, plan.Judged = append(plan.Steps, end), []string{active.LineageID}
	must(w.Apply(t.Context(), w.lease, plan))(t)
	if _, got := gather(); !slices.Equal(got, []string{"held and left: why", "is active: ", "is back: ", "is plain: "}) {
		t.Errorf("judged: %q", got)
	}
	if n := count(t, db, `select count(*) from rejudgements where run_id = $1 and (held or lineage_id <> $2)`, plan.RunID, held.LineageID); n != 3 {
		t.Errorf("%d are noted as judged by the run", n)
	}

	list, _, err := w.ListMemories(t.Context(), reverie.MemoryQuery{GroupID: group, Status: reverie.StatusHeld})
	check(t, err)
	if len(list) != 1 || list[0].JudgeAgain != "why" {
		t.Errorf("held are %+v", list)
	}
	if why := must(w.Why(t.Context(), group, left.MemoryID))(t); why.Memory.JudgeAgain != "why" {
		t.Errorf("why: %+v", why.Memory)
	}
	restored := must(w.Edit(t.Context(), reverie.Edit{GroupID: group, MemoryID: left.MemoryID, Action: reverie.ActionRestore}))(t)
	if restored.Status != reverie.StatusActive || restored.Version != 2 {
		t.Errorf("restored: %+v", restored)
	}
	if _, got := gather(); !slices.Contains(got, "held and left: ") {
		t.Errorf("restored: %q", got)
	}
	if n := count(t, db, `select count(*) from memories where status = 'held'`); n != 0 {
		t.Errorf("%d versions are held", n)
	}
}

// TestDeleteHeld lets a person end what is held, without asking a model.
func TestDeleteHeld(t *testing.T) {
	w, db := newWorld(t), raw(t)
	tea := create("likes tea")
	w.apply(tea)
	check(t, second(db.ExecContext(t.Context(), `update memories set status = 'held', ended_at = '2026-01-16'`)))
	check(t, second(db.ExecContext(t.Context(), `insert into rejudgements (group_id, lineage_id, memory_id, reason, created_at)
		select group_id, lineage_id, memory_id, 'why', now() from memories`)))
	deleted := must(w.Edit(t.Context(), reverie.Edit{GroupID: group, MemoryID: tea.MemoryID, Action: reverie.ActionDelete}))(t)
	if deleted.Status != reverie.StatusDeprecated || count(t, db, `select count(*) from rejudgements`) != 0 ||
		count(t, db, `select count(*) from memories where ended_at = '2026-01-16'`) != 1 {
		t.Errorf("deleted: %+v", deleted)
	}
}
