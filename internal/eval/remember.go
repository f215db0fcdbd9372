package eval

import (
	"context"
	"fmt"
	"time"

	"reverie/internal/pipeline"
	"reverie/internal/reverie"
	"reverie/internal/text"
)

// remember writes what the scenario's group remembers before its first night, as one
// run of evolve did, in the scenario's order.
func (t *turn) remember(ctx context.Context, hold pipeline.LeaseHolder) error {
	plan := reverie.Plan{GroupID: t.s.Name, ChunkNo: 1, Kind: reverie.KindGroup}
	loc, err := (reverie.Group{ID: t.s.Name, TimeZone: t.s.TimeZone}).Location()
	if err != nil {
		return err
	}
	for _, m := range t.s.Memories {
		step := m.step(loc)
		t.played.Lineages[m.ID] = step.LineageID
		plan.Steps = append(plan.Steps, step)
	}
	run := &pipeline.RunRecorder{Ledger: t.Store, Hold: hold, Now: t.Clock.Now, Log: t.Log, Row: reverie.Run{GroupID: t.s.Name}}
	first := plan.Steps[0].LastSupportedAt
	for _, s := range plan.Steps {
		if s.LastSupportedAt.Before(first) {
			first = s.LastSupportedAt
		}
	}
	err = run.Start(ctx, reverie.Run{Job: reverie.JobEvolve, WindowSince: first, WindowUntil: t.Clock.Now()})
	if err == nil {
		err = run.Save(ctx, reverie.Chunk{No: 1, Status: reverie.ChunkAnswered})
	}
	if err == nil {
		plan.RunID = run.Row.ID
		_, err = run.Apply(ctx, t.Store, t.Searcher.Embeddings, false, plan, true)
	}
	return run.End(ctx, err)
}

// step writes the memory, borne out at noon of each of its dates by messages that are no
// longer there.
func (m Memory) step(loc *time.Location) reverie.Step {
	s := reverie.Step{Action: reverie.ActionCreate, LineageID: reverie.NewID(), MemoryID: reverie.NewID(), Statement: m.Statement,
		Tags: m.Tags, Reason: "was there before", ContentHash: text.ContentHash(m.Statement), Strength: m.Strength}
	for i, date := range m.Support {
		at, _ := time.ParseInLocation(time.DateOnly, date, loc) // Load has read it
		at = at.Add(12 * time.Hour).UTC()
		s.Evidence = append(s.Evidence, reverie.Evidence{MessageID: fmt.Sprintf("before:%s:%d", m.ID, i+1), Author: "somebody",
			Quote: text.Excerpt(m.Statement, 80), SentAt: at, LocalDate: date})
		s.LastSupportedAt = at
	}
	if s.Strength == 0 {
		s.Strength = reverie.Reinforce(reverie.TentativeStrength, len(m.Support)-1)
	}
	return s
}
