package store_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"reverie/internal/reverie"
	"reverie/store"
	"reverie/store/pgtest"
)

// decided is a decision of a plan on a fact.
func decided(no int, action reverie.DecisionAction, basis reverie.Basis, statement, targetID, memoryID string) reverie.Decision {
	return reverie.Decision{No: no, Kind: reverie.KindGroup, Statement: statement, ContentHash: hash(statement), Action: action,
		Basis: basis, TargetID: targetID, MemoryID: memoryID, Reason: "because"}
}

// decisionRows are the stored decisions: number, action, target and memory.
func decisionRows(t *testing.T) []string {
	t.Helper()
	return strings1(t, raw(t), `select concat_ws(' ', d.chunk_no || '.' || d.decision_no, d.action, '[' || coalesce(o.statement, '') || ']',
			'[' || coalesce(m.statement, '') || ']') from decisions d
		left join memories o on o.group_id = d.group_id and o.memory_id = d.target_id
		left join memories m on m.group_id = d.group_id and m.memory_id = d.memory_id
		order by d.chunk_no, d.decision_no`)
}

// Each action's row names what it acts on and what says the fact now; all of what
// led there is kept as it was given, save for bytes that no text holds.
func TestApplyWritesDecisions(t *testing.T) {
	w := newWorld(t)
	ctx := t.Context()
	w.apply(create("likes tea"), create("meets on Friday"), create("has two cats"))
	heads := w.active()
	tea, friday, cats := heads["likes tea"], heads["meets on Friday"], heads["has two cats"]
	w.now = noon.Add(time.Hour)
	added, green, saturday := create("plays go"), update(tea, "likes green and black tea"), create("meets on Saturday")
	plan := w.plan(added, green, remove(friday, "conflict"), saturday, support(cats, "2026-01-16", 0.51))
	plan.Decisions = []reverie.Decision{
		decided(1, reverie.DecisionAdd, reverie.BasisNone, "plays go", "", added.MemoryID),
		decided(2, reverie.DecisionUpdate, reverie.BasisCompared, "likes black tea", tea.ID, green.MemoryID),
		decided(3, reverie.DecisionReplace, reverie.BasisCompared, "meets on Saturday", friday.ID, saturday.MemoryID),
		decided(4, reverie.DecisionNone, reverie.BasisHash, "has 2 cats", cats.ID, cats.ID),
		decided(5, reverie.DecisionSkip, reverie.BasisFallback, "\x00perhaps\xff", "", ""),
		decided(6, reverie.DecisionHold, reverie.BasisFallback, "owns a dog", "", ""),
	}
	full := &plan.Decisions[1]
	full.Model, full.PromptVersion, full.PromptSHA256, full.Calls = "offline/offline", "3", "abc", 2
	full.Candidates = []reverie.Candidate{
		{MemoryID: tea.ID, Version: 1, Statement: "likes tea", Score: 0.91, Relation: reverie.RelationUpdate, Reason: "both\x00", Merged: "likes green and black tea"},
		{MemoryID: cats.ID, Version: 1, Statement: "has two cats", Score: 0.71, Relation: reverie.RelationUnrelated}}
	must(w.Apply(ctx, w.lease, plan))(t)
	want := []string{"1.1 ADD [] [plays go]", "1.2 UPDATE [likes tea] [likes green and black tea]",
		"1.3 DELETE+ADD [meets on Friday] [meets on Saturday]", "1.4 NONE [has two cats] [has two cats]", "1.5 SKIP [] []", "1.6 HOLD [] []"}
	if diff := cmp.Diff(want, decisionRows(t)); diff != "" {
		t.Errorf("rows (-want +got):\n%s", diff)
	}
	stored := *full
	stored.GroupID, stored.RunID, stored.ChunkNo, stored.CreatedAt = group, plan.RunID, 1, w.now
	stored.Candidates = append([]reverie.Candidate{}, full.Candidates...)
	stored.Candidates[0].Reason = "both\uFFFD"
	got := must(w.Why(ctx, group, green.MemoryID))(t).Versions[1].Decisions
	if diff := cmp.Diff([]reverie.Decision{stored}, got); diff != "" {
		t.Errorf("stored (-want +got):\n%s", diff)
	}
	if n := count(t, raw(t), `select count(*) from decisions where statement = E'\uFFFDperhaps\uFFFD'`); n != 1 {
		t.Errorf("the statement that no text holds is not there as U+FFFD")
	}

	again := must(w.Apply(ctx, w.lease, plan))(t)
	if n := count(t, raw(t), `select count(*) from decisions`); n != 6 || len(again) != 4 {
		t.Errorf("applied again: %d decisions, %d changes", n, len(again))
	}
}

// Decisions go with their plan, and one that names what is not there stops it.
func TestDecisionsAreAtomic(t *testing.T) {
	for name, tt := range map[string]struct {
		spoil func(plan *reverie.Plan, d *reverie.Decision)
		want  error
	}{
		"memory that nobody makes":  {func(_ *reverie.Plan, d *reverie.Decision) { d.MemoryID = reverie.NewID() }, reverie.ErrNotFound},
		"target that nobody made":   {func(_ *reverie.Plan, d *reverie.Decision) { d.TargetID = reverie.NewID() }, reverie.ErrNotFound},
		"number twice":              {func(plan *reverie.Plan, d *reverie.Decision) { plan.Decisions = append(plan.Decisions, *d) }, reverie.ErrInvalid},
		"no number":                 {func(_ *reverie.Plan, d *reverie.Decision) { d.No = 0 }, reverie.ErrInvalid},
		"action that there is not":  {func(_ *reverie.Plan, d *reverie.Decision) { d.Action = "MAYBE" }, reverie.ErrInvalid},
		"basis that there is not":   {func(_ *reverie.Plan, d *reverie.Decision) { d.Basis = "hunch" }, reverie.ErrInvalid},
		"plan whose text is taken":  {func(plan *reverie.Plan, _ *reverie.Decision) { plan.Steps[0].ContentHash = hash("likes tea") }, reverie.ErrConflict},
		"message consumed already":  {func(plan *reverie.Plan, _ *reverie.Decision) { plan.Outcomes["gone"] = reverie.OutcomeCited }, reverie.ErrConflict},
		"memory id that is no UUID": {func(_ *reverie.Plan, d *reverie.Decision) { d.MemoryID = "m1" }, reverie.ErrInvalid},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			w.apply(create("likes tea"))
			st := create("plays go")
			plan := w.plan(st)
			plan.Impressions = true
			plan.Decisions = []reverie.Decision{decided(1, reverie.DecisionAdd, reverie.BasisNone, "plays go", "", st.MemoryID)}
			tt.spoil(&plan, &plan.Decisions[0])
			before := snapshot(t, w)
			wantErr(t, second(w.Apply(t.Context(), w.lease, plan)), tt.want)
			if diff := cmp.Diff(before, snapshot(t, w)); diff != "" {
				t.Errorf("something was written (-before +after):\n%s", diff)
			}
			if n := count(t, raw(t), `select (select count(*) from decisions) + (select count(*) from message_uses where job = 'impression')`); n != 0 {
				t.Errorf("%d rows of decisions and of what waits", n)
			}
		})
	}
}

// What a held plan would make is not there yet: its decisions name it once a
// person has approved it, and only what was applied.
func TestApprovalNamesWhatItMade(t *testing.T) {
	w := newWorld(t)
	ctx := t.Context()
	w.apply(create("likes tea"), create("meets on Friday"), create("has two cats"), create("plays chess"))
	heads := w.active()
	tea, friday, cats, chess := heads["likes tea"], heads["meets on Friday"], heads["has two cats"], heads["plays chess"]
	saturday, green, dog, dull := create("meets on Saturday"), update(tea, "likes green and black tea"), create("owns a dog"), update(chess, "plays blitz")
	plan := w.plan()
	plan.HeldAll, plan.HeldReason = true, "too much at once"
	plan.Held = []reverie.Step{remove(friday, "conflict"), saturday, green, support(cats, "2026-01-16", 0.51), dog, dull}
	plan.Decisions = []reverie.Decision{
		decided(1, reverie.DecisionReplace, reverie.BasisCompared, "meets on Saturday", friday.ID, saturday.MemoryID),
		decided(2, reverie.DecisionUpdate, reverie.BasisCompared, "likes black tea", tea.ID, green.MemoryID),
		decided(3, reverie.DecisionNone, reverie.BasisCompared, "has cats, two", cats.ID, cats.ID),
		decided(4, reverie.DecisionHold, reverie.BasisFallback, "owns a dog", "", dog.MemoryID),
		decided(5, reverie.DecisionSkip, reverie.BasisFallback, "owns a dog", "", ""),
		decided(6, reverie.DecisionUpdate, reverie.BasisCompared, "plays fast chess", chess.ID, dull.MemoryID),
		decided(7, reverie.DecisionNone, reverie.BasisHash, "meets on Saturday", saturday.MemoryID, saturday.MemoryID),
		decided(8, reverie.DecisionNone, reverie.BasisCompared, "is fond of black tea", tea.ID, green.MemoryID),
		decided(9, reverie.DecisionHold, reverie.BasisCompared, "hates tea", tea.ID, reverie.NewID()),
		decided(10, reverie.DecisionUpdate, reverie.BasisCompared, "meets on Saturdays at 8", saturday.MemoryID, saturday.MemoryID),
	}
	must(w.Apply(ctx, w.lease, plan))(t)
	want := []string{"1.1 DELETE+ADD [meets on Friday] []", "1.2 UPDATE [likes tea] []", "1.3 NONE [has two cats] []",
		"1.4 HOLD [] []", "1.5 SKIP [] []", "1.6 UPDATE [plays chess] []", "1.7 NONE [] []", "1.8 NONE [likes tea] []", "1.9 HOLD [likes tea] []",
		"1.10 UPDATE [] []"}
	if diff := cmp.Diff(want, decisionRows(t)); diff != "" {
		t.Fatalf("held (-want +got):\n%s", diff)
	}
	if why := must(w.Why(ctx, group, tea.ID))(t); len(why.Versions) != 1 || len(why.Versions[0].Decisions) != 0 {
		t.Errorf("while it is held: %+v", why)
	}

	held := must(w.Run(ctx, group, plan.RunID))(t).Held[0]
	refusal := reverie.Refusal{Line: 6, Action: "update", Rule: "stale", Detail: "it has moved"}
	must(w.ApplyHeld(ctx, w.lease, held, held.Steps[:5], []reverie.Refusal{refusal}))(t)
	want[0], want[1] = "1.1 DELETE+ADD [meets on Friday] [meets on Saturday]", "1.2 UPDATE [likes tea] [likes green and black tea]"
	want[2], want[7] = "1.3 NONE [has two cats] [has two cats]", "1.8 NONE [likes tea] [likes green and black tea]"
	want[9] = "1.10 UPDATE [] [meets on Saturday]"
	want[3], want[6] = "1.4 HOLD [] [owns a dog]", "1.7 NONE [] [meets on Saturday]"
	if diff := cmp.Diff(want, decisionRows(t)); diff != "" {
		t.Errorf("approved (-want +got):\n%s", diff)
	}
	v := must(w.Why(ctx, group, tea.ID))(t).Versions[1]
	if len(v.Decisions) != 2 || v.Decisions[0].Statement != "likes black tea" || v.Run.ID != plan.RunID {
		t.Errorf("the approved version %+v", v)
	}
	if got := must(w.Run(ctx, group, plan.RunID))(t).Chunks[0].Refusals; cmp.Diff([]reverie.Refusal{refusal}, got) != "" {
		t.Errorf("refusals %+v", got)
	}
}

// A line that is held by itself, and approved later, is named; another chunk's
// decision on the same words is left alone.
func TestApprovalOfOneLine(t *testing.T) {
	w := newWorld(t)
	ctx := t.Context()
	ids := w.messages(2)
	run := w.chunk("", 1, ids[:1])
	first := consumeAll(run, ids[:1])
	first.Decisions = []reverie.Decision{decided(1, reverie.DecisionSkip, reverie.BasisFallback, "owns a dog", "", "")}
	must(w.Apply(ctx, w.lease, first))(t)
	w.chunk(run, 2, ids[1:])
	plan, dog := consumeAll(run, ids[1:]), create("owns a dog")
	plan.ChunkNo, plan.Held = 2, []reverie.Step{dog}
	plan.Decisions = []reverie.Decision{decided(1, reverie.DecisionHold, reverie.BasisFallback, "owns a dog", "", dog.MemoryID)}
	must(w.Apply(ctx, w.lease, plan))(t)
	held := must(w.Run(ctx, group, run))(t).Held[0]
	must(w.ApplyHeld(ctx, w.lease, held, held.Steps, nil))(t)
	if diff := cmp.Diff([]string{"1.1 SKIP [] []", "2.1 HOLD [] [owns a dog]"}, decisionRows(t)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// What is taken back was decided all the same.
func TestRewindKeepsDecisions(t *testing.T) {
	w := newWorld(t)
	ctx := t.Context()
	st := create("plays go")
	plan := w.plan(st)
	plan.Impressions = true
	plan.Decisions = []reverie.Decision{decided(1, reverie.DecisionAdd, reverie.BasisNone, "plays go", "", st.MemoryID)}
	must(w.Apply(ctx, w.lease, plan))(t)
	w.rewind(time.Time{})
	why := must(w.Why(ctx, "", st.MemoryID))(t)
	v := why.Versions[0]
	if len(why.Versions) != 1 || len(v.Decisions) != 1 || v.Run.UndoneAt == nil || len(v.Evidence) != 0 {
		t.Errorf("taken back: %+v", v)
	}
	if len(v.Later) != 1 || v.Later[0].Action != reverie.ActionUndo || v.Later[0].Reason != "wrong model" || v.Later[0].RunID != "" {
		t.Errorf("later: %+v", v.Later)
	}
}

// Messages that were shown wait for the impression job where the group, or the
// configuration where the group says nothing, wants them to: each once.
func TestApplyQueuesForImpressions(t *testing.T) {
	for _, tt := range []struct {
		group      string
		configured bool
		want       int
	}{{"", true, 2}, {"", false, 0}, {"on", false, 2}, {"on", true, 2}, {"off", true, 0}} {
		t.Run(fmt.Sprintf("%s/%t", tt.group, tt.configured), func(t *testing.T) {
			w := newWorld(t)
			ctx := t.Context()
			must(w.ChangeGroup(ctx, group, reverie.GroupChange{Impressions: pointer(tt.group)}, time.Time{}))(t)
			list := []reverie.Message{
				{ID: "said", AuthorID: "u1", Role: reverie.RoleUser, Text: "hello", SentAt: noon},
				{ID: "answered", AuthorID: "b1", Role: reverie.RoleAssistant, Text: "hello", SentAt: noon},
				{ID: "worked", Role: reverie.RoleTool, Text: "42", SentAt: noon},
				{ID: "empty", AuthorID: "u1", Role: reverie.RoleUser, Text: ".", SentAt: noon},
				{ID: "later", AuthorID: "u1", Role: reverie.RoleUser, Text: "hm", SentAt: noon}}
			must(w.ImportMessages(ctx, group, list))(t)
			plan := reverie.Plan{GroupID: group, RunID: w.chunk("", 1, nil), ChunkNo: 1, Impressions: tt.configured,
				Outcomes: map[string]reverie.Outcome{"said": reverie.OutcomeCited, "answered": reverie.OutcomeConsidered,
					"worked": reverie.OutcomeConsidered, "empty": reverie.OutcomeFiltered}}
			must(w.Apply(ctx, w.lease, plan))(t)
			queued := `select count(*) from message_uses where job = 'impression' and run_id is null and sent_at = $1
				and message_id in ('said', 'answered')`
			if n := count(t, raw(t), queued, noon); n != tt.want || count(t, raw(t), `select count(*) from message_uses where job = 'impression'`) != tt.want {
				t.Errorf("%d wait, want %d", n, tt.want)
			}
			// Once more, after one of them was used: it does not wait again.
			_, err := raw(t).Exec(`update message_uses set run_id = $1 where message_id = 'said' and job = 'impression'`, plan.RunID)
			check(t, err)
			w.rewind(time.Time{})
			plan.RunID = w.chunk("", 1, nil)
			must(w.Apply(ctx, w.lease, plan))(t)
			if n := count(t, raw(t), queued, noon); n != max(tt.want-1, 0) {
				t.Errorf("%d wait after the second time, want %d", n, max(tt.want-1, 0))
			}
		})
	}
}

// Several processes that learn the same fact at once, by turns of the lease or
// without minding it, leave one memory.
func TestOneFactOneMemory(t *testing.T) {
	w := newWorld(t)
	ctx := t.Context()
	check(t, w.ReleaseLease(ctx, w.lease))
	const writers = 4
	stores := make([]*store.Store, writers)
	for i := range stores {
		stores[i] = pgtest.New(t)
	}
	var wg sync.WaitGroup
	outcomes := make([]error, writers)
	for i, s := range stores {
		wg.Go(func() { outcomes[i] = learn(ctx, s, fmt.Sprint("host:", i), fmt.Sprint("said by ", i)) })
	}
	wg.Wait()
	learnt := 0
	for _, err := range outcomes {
		switch {
		case err == nil:
			learnt++
		case !errors.Is(err, reverie.ErrConflict):
			t.Error(err)
		case !strings.Contains(err.Error(), "already says this"):
			t.Errorf("does not say what is the matter: %v", err)
		}
	}
	if n := count(t, raw(t), `select count(*) from memories where content_hash = $1`, hash("likes tea")); n != 1 || learnt != 1 {
		t.Errorf("%d memories, %d writers who think that they made it", n, learnt)
	}
	if n := count(t, raw(t), `select count(*) from decisions`); n != 1 {
		t.Errorf("%d decisions, want that of the one who made it", n)
	}
}

// learn creates one fact with a plan of its own, when it is its turn.
func learn(ctx context.Context, s *store.Store, holder, message string) error {
	if _, err := s.ImportMessages(ctx, group, []reverie.Message{{ID: message, AuthorID: "u1", Role: reverie.RoleUser, Text: "tea!", SentAt: noon}}); err != nil {
		return err
	}
	lease, err := s.AcquireLease(ctx, group, reverie.LeaseGroup, holder, time.Minute)
	for errors.Is(err, reverie.ErrBusy) {
		lease, err = s.AcquireLease(ctx, group, reverie.LeaseGroup, holder, time.Minute)
	}
	if err != nil {
		return err
	}
	defer func() { _ = s.ReleaseLease(ctx, lease) }()
	run, err := s.StartRun(ctx, lease, reverie.Run{Job: reverie.JobEvolve, WindowSince: noon.Add(-time.Hour), WindowUntil: noon.Add(time.Hour)})
	if err != nil {
		return err
	}
	if err := s.SaveChunk(ctx, lease, reverie.Chunk{RunID: run.ID, No: 1, MessageIDs: []string{message}, Status: reverie.ChunkAnswered}); err != nil {
		return err
	}
	st := create("likes tea")
	_, err = s.Apply(ctx, lease, reverie.Plan{GroupID: group, RunID: run.ID, ChunkNo: 1, Kind: reverie.KindGroup, Steps: []reverie.Step{st},
		Outcomes:  map[string]reverie.Outcome{message: reverie.OutcomeCited},
		Decisions: []reverie.Decision{decided(1, reverie.DecisionAdd, reverie.BasisNone, "likes tea", "", st.MemoryID)}})
	return err
}
