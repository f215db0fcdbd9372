package store_test

import (
	"database/sql"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"reverie/internal/reverie"
	"reverie/store"
	"reverie/store/storetest"
)

// past is a group with a random history, and what was read of it after each step.
type past struct {
	*world
	rand  *rand.Rand
	at    []time.Time // just after each step
	state []reverie.State
	runs  []string
}

// query asks for all that evolve reads of memories.
var query = reverie.GatherQuery{GroupID: group, Kind: reverie.KindGroup, ContextSince: noon.AddDate(-1, 0, 0), ContextLimit: 200}

func gatherOf(t testing.TB, s *store.Store) reverie.State {
	t.Helper()
	state := must(s.Gather(t.Context(), query))(t)
	state.Pending, state.More = nil, false
	return state
}

// alike compares two states but for what messages do to it that are pending, which a
// shadow has only of the night that it plays.
func alike(want, got reverie.State) string {
	return cmp.Diff(want, got, cmpopts.EquateEmpty(), cmpopts.IgnoreFields(reverie.HeadState{}, "Awaits"),
		cmpopts.IgnoreFields(reverie.Message{}, "Outcome"))
}

// live makes so many random steps.
func live(t *testing.T, seed uint64, steps int) *past {
	p := &past{world: newWorld(t), rand: rand.New(rand.NewPCG(seed, 5))}
	p.nightOf(create("likes tea"), create("喜欢爬山"), create("plays chess"), create("搬到了里斯本"), create("works at night"))
	for range steps {
		p.now = p.now.Add(time.Duration(1+p.rand.IntN(600)) * time.Minute)
		p.step()
		at := p.now.Add(30 * time.Second)
		p.at, p.state = append(p.at, at), append(p.state, gatherOf(t, p.Store))
	}
	return p
}

// any is a random active memory that is not to be judged again, nil where there is none.
func (p *past) any() *reverie.Memory {
	var list []reverie.Memory
	for _, m := range p.active() {
		list = append(list, m)
	}
	if len(list) == 0 {
		return nil
	}
	slices.SortFunc(list, func(a, b reverie.Memory) int { return cmp0(a.LineageID, b.LineageID) })
	return &list[p.rand.IntN(len(list))]
}

func cmp0(a, b string) int {
	if a < b {
		return -1
	}
	return 1
}

func (p *past) date() string { return noon.AddDate(0, 0, p.rand.IntN(40)).Format(time.DateOnly) }

func (p *past) fresh() string { return fmt.Sprintf("说法 %d of %d", p.rand.IntN(1<<30), p.sent) }

// steps are what one plan does: to each memory one thing at most.
func (p *past) steps() (list []reverie.Step) {
	seen := map[string]bool{}
	for range 1 + p.rand.IntN(4) {
		m := p.any()
		if m == nil || seen[m.LineageID] || p.rand.IntN(4) == 0 {
			list = append(list, create(p.fresh()))
			continue
		}
		seen[m.LineageID] = true
		st := reverie.Step{}
		switch p.rand.IntN(4) {
		case 0:
			st = update(*m, p.fresh())
			st.Strength = min(m.Strength+p.rand.Float64()/5, 1)
		case 1:
			st = remove(*m, "no longer")
		default:
			st = support(*m, p.date(), min(m.Strength+p.rand.Float64()/5, 1))
			st.LastSupportedAt = p.now.Add(-time.Hour)
		}
		if m.JudgeAgain != "" {
			st.Judged = m.Status
		}
		list = append(list, st)
	}
	return list
}

// step does one thing that may befall a group.
func (p *past) step() {
	ctx, m := p.t.Context(), p.any()
	switch n := p.rand.IntN(14); {
	case n < 4 || m == nil:
		plan := p.plan(p.steps()...)
		must(p.Apply(ctx, p.lease, plan))(p.t)
		p.finish(plan)
		p.runs = append(p.runs, plan.RunID)
	case n == 4:
		must(p.edit(m.ID, reverie.ActionDelete, 0))(p.t)
		if p.rand.IntN(2) == 0 {
			p.now = p.now.Add(time.Minute)
			must(p.edit(m.ID, reverie.ActionRestore, 0))(p.t)
		}
	case n == 5:
		must(p.edit(m.ID, reverie.ActionStrength, p.rand.Float64()))(p.t)
	case n == 6:
		must(p.edit(m.ID, reverie.ActionWeight, 2*p.rand.Float64()))(p.t)
	case n == 7 || n == 8:
		p.lower(n == 8 && p.rand.IntN(2) == 0, m.Statement)
	case n == 9:
		list := []reverie.Memory{*m}
		must(p.Judge(ctx, group, p.offer("", list...), verdict(list, p.rand.IntN(2) == 0), byDefault))(p.t)
	case n == 10:
		p.dreamOf(*m)
	case n == 11:
		p.approve(p.steps())
	default:
		p.undo()
	}
}

// dreamOf is a dream that makes something of a memory.
func (p *past) dreamOf(m reverie.Memory) {
	run := must(p.StartRun(p.t.Context(), p.lease, reverie.Run{Job: reverie.JobDream, WindowSince: p.now.Add(-time.Hour), WindowUntil: p.now}))(p.t)
	check(p.t, p.SaveChunk(p.t.Context(), p.lease, reverie.Chunk{RunID: run.ID, No: 1, InputSHA256: "in", Answer: "{}", Status: reverie.ChunkAnswered}))
	plan := reverie.Plan{GroupID: group, RunID: run.ID, ChunkNo: 1, Kind: reverie.KindDream, Steps: []reverie.Step{on(create(p.fresh()), m)}}
	must(p.Apply(p.t.Context(), p.lease, plan))(p.t)
	p.finish(plan)
	p.runs = append(p.runs, run.ID)
}

// approve is a night that is held whole, and approved an hour later.
func (p *past) approve(steps []reverie.Step) {
	plan := p.plan()
	plan.HeldAll, plan.Held, plan.HeldReason = true, steps, "too much"
	must(p.Apply(p.t.Context(), p.lease, plan))(p.t)
	check(p.t, second(p.FinishRun(p.t.Context(), p.lease, reverie.Run{ID: plan.RunID, Status: reverie.RunHeld})))
	p.now = p.now.Add(time.Hour)
	must(p.ApplyHeld(p.t.Context(), p.lease, reverie.HeldPlan{GroupID: group, RunID: plan.RunID, ChunkNo: 1}, steps, nil))(p.t)
	p.runs = append(p.runs, plan.RunID)
}

// undo takes back one of the last runs.
func (p *past) undo() {
	if len(p.runs) == 0 {
		return
	}
	i := len(p.runs) - 1 - p.rand.IntN(min(3, len(p.runs)))
	must(p.Undo(p.t.Context(), p.lease, reverie.UndoQuery{GroupID: group, RunID: p.runs[i], Requeue: p.rand.IntN(2) == 0}))(p.t)
	p.runs = slices.Delete(p.runs, i, i+1)
}

// TestShadowOfRandomHistories copies a group as it was at instants of its history, and
// carries over what became of it up to others: each time it reads as it did then. The
// live tables keep every byte.
func TestShadowOfRandomHistories(t *testing.T) {
	for _, seed := range []uint64{7} {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			p, db := live(t, seed, 40), raw(t)
			sums := storetest.Checksums(t, db, "public")
			x := must(p.Scratch(t.Context()))(t)
			for i := 0; i < len(p.at)-1; i += 1 + p.rand.IntN(8) {
				p.copied(x, i)
				for j := i + 1 + p.rand.IntN(6); j < len(p.at); j += 1 + p.rand.IntN(6) {
					got := must(x.Carry(t.Context(), group, p.at[i], p.at[j], nil))(t)
					if diff := alike(p.state[j], gatherOf(t, x.Store)); diff != "" || len(got.Left) > 0 {
						t.Fatalf("carried from step %d to %d, left %+v (-live +shadow):\n%s", i, j, got.Left, diff)
					}
					i = j
				}
				p.forget(db, x)
			}
			check(t, x.Drop(t.Context()))
			if diff := cmp.Diff(sums, storetest.Checksums(t, db, "public")); diff != "" {
				t.Errorf("the live tables (-before +after):\n%s", diff)
			}
		})
	}
}

// copied copies the group as it was after a step.
func (p *past) copied(x *store.Scratch, step int) {
	p.t.Helper()
	check(p.t, x.CopyGroup(p.t.Context(), group, p.at[step]))
	if diff := alike(p.state[step], gatherOf(p.t, x.Store)); diff != "" {
		p.t.Fatalf("copied as it was after step %d (-live +shadow):\n%s", step, diff)
	}
}

// forget empties the scratch.
func (p *past) forget(db *sql.DB, x *store.Scratch) {
	p.t.Helper()
	_, err := db.Exec(`truncate "` + x.Schema + `".groups cascade`)
	check(p.t, err)
}
