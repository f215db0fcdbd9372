package store_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"reverie/internal/reverie"
	"reverie/store"
	"reverie/store/pg"
	"reverie/store/pgtest"
)

// plot is a group of a [pgtest.Town] that benchmarks work on: its lease, its
// memories in the order in which nights come to them, and how many messages it was sent.
type plot struct {
	w       *world
	id      string
	lease   reverie.Lease
	heads   []reverie.Memory
	sent    int
	vectors [][]float32
}

// openTown is a world with a town in it.
func openTown(b *testing.B, town pgtest.Town) *world {
	b.Helper()
	w := openWorld(b, pg.Options{StatementTimeout: 10 * time.Minute, ReadTimeout: 11 * time.Minute})
	town.Build(b, pgtest.Bare(b))
	return w
}

// plot takes a group of the town.
func (w *world) plot(town pgtest.Town, i int) *plot {
	w.t.Helper()
	ctx := w.t.Context()
	p := &plot{w: w, id: town.Group(i)}
	p.lease = must(w.AcquireLease(ctx, p.id, reverie.LeaseGroup, "host:1:a", time.Hour))(w.t)
	list, _, err := w.ListMemories(ctx, reverie.MemoryQuery{GroupID: p.id, Status: reverie.StatusActive})
	check(w.t, err)
	p.heads = list
	r := rand.New(rand.NewPCG(3, 3))
	for range 10 {
		p.vectors = append(p.vectors, direction(r, town.Dims))
	}
	return p
}

// lines are n messages that the group has not been sent yet: a minute apart, by users and
// an assistant.
func (p *plot) lines(n int, session string) []reverie.Message {
	list := make([]reverie.Message, n)
	for i := range list {
		p.sent++
		role := []reverie.Role{reverie.RoleUser, reverie.RoleAssistant}[p.sent%2]
		list[i] = reverie.Message{ID: fmt.Sprintf("n%07d", p.sent), AuthorID: "u1", Author: "小明", Role: role, SessionID: session,
			SentAt: noon.Add(time.Duration(p.sent-1_000_000) * time.Minute),
			Text:   "昨天我们说好周五一起去爬山，记得带上水和外套。 See you at the station at half past seven"}
	}
	return list
}

// night is a chunk of pending messages, whose answer is there, and a plan that consumes
// them: of ten steps three create a memory, three write a new version, three delete one,
// and one supports one, so that there are as many as before.
func (p *plot) night(steps, messages int) reverie.Plan {
	p.w.t.Helper()
	ctx := p.w.t.Context()
	list := p.lines(messages, fmt.Sprint("night ", p.sent))
	var ids []string
	outcomes := map[string]reverie.Outcome{}
	for part := range slices.Chunk(list, store.MaxImport) {
		must(p.w.ImportMessages(ctx, p.id, part))(p.w.t)
		for _, m := range part {
			ids = append(ids, m.ID)
			outcomes[m.ID] = reverie.OutcomeConsidered
		}
	}
	run := must(p.w.StartRun(ctx, p.lease, reverie.Run{Job: reverie.JobEvolve, WindowSince: list[0].SentAt, WindowUntil: list[len(list)-1].SentAt,
		Model: "offline/offline"}))(p.w.t)
	check(p.w.t, p.w.SaveChunk(ctx, p.lease, reverie.Chunk{RunID: run.ID, No: 1, InputSHA256: "in", MessageIDs: ids, Answer: "…", Status: reverie.ChunkAnswered}))
	plan := reverie.Plan{GroupID: p.id, RunID: run.ID, ChunkNo: 1, Kind: reverie.KindGroup, Outcomes: outcomes, Stats: reverie.Stats{Created: steps}}
	for i := range steps {
		st := p.step(i, run.ID, list[len(list)-1].SentAt)
		for _, m := range []reverie.Message{list[2*i%len(list)], list[(2*i+1)%len(list)]} {
			outcomes[m.ID] = reverie.OutcomeCited
			st.Evidence = append(st.Evidence, reverie.Evidence{MessageID: m.ID, AuthorID: m.AuthorID, Author: m.Author, Quote: "记得带上水和外套",
				SentAt: m.SentAt, LocalDate: m.SentAt.Format(time.DateOnly)})
		}
		plan.Steps = append(plan.Steps, st)
		if st.Action == reverie.ActionCreate {
			plan.Decisions = append(plan.Decisions, reverie.Decision{No: len(plan.Decisions) + 1, Kind: plan.Kind, Statement: st.Statement, ContentHash: st.ContentHash,
				Action: reverie.DecisionAdd, Basis: reverie.BasisShown, MemoryID: st.MemoryID, Reason: "nothing like it is remembered"})
		}
	}
	return plan
}

// step is the i-th of a plan, on the memory that no night has come to for longest.
func (p *plot) step(i int, run string, at time.Time) reverie.Step {
	action := []reverie.Action{reverie.ActionCreate, reverie.ActionUpdate, reverie.ActionDelete, reverie.ActionCreate, reverie.ActionUpdate, reverie.ActionDelete,
		reverie.ActionCreate, reverie.ActionUpdate, reverie.ActionDelete, reverie.ActionKeep}[i%10]
	st := reverie.Step{Action: action, LineageID: reverie.NewID(), Reason: "said in the group", Strength: 0.5, LastSupportedAt: at}
	var head reverie.Memory
	if action != reverie.ActionCreate {
		head, p.heads = p.heads[0], p.heads[1:]
		st.LineageID, st.Head, st.OldStatement = head.LineageID, reverie.Head{MemoryID: head.ID, Version: head.Version}, head.Statement
	}
	switch action {
	case reverie.ActionCreate, reverie.ActionUpdate:
		st.MemoryID, st.Tags = reverie.NewID(), []string{"plan", "weekend"}
		st.Statement = fmt.Sprintf("What step %d of run %s says about the plan for the weekend", i, run)
		st.ContentHash, st.Embedding = hash(st.Statement), p.vectors[i%len(p.vectors)]
		st.EmbeddingModel = fmt.Sprintf("bench@%d", len(st.Embedding))
		p.heads = append(p.heads, reverie.Memory{ID: st.MemoryID, LineageID: st.LineageID, Version: head.Version + 1, Statement: st.Statement})
	case reverie.ActionKeep:
		p.heads = append(p.heads, head)
	}
	return st
}
