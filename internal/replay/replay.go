// Package replay asks the questions of past runs of evolve again, with another model or another prompt, or reads their
// stored answers. It compares the resulting plans with what the runs did. It writes nothing but the rows of the calls.
//
// Each question shows the memories and messages of its time, whatever the replayed answers before it were.
package replay

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"reverie/evolve"
	"reverie/internal/decide"
	"reverie/internal/llm"
	"reverie/internal/pipeline"
	"reverie/internal/reverie"
)

// Store reads what runs did, and the state of a group at that time.
type Store interface {
	Run(ctx context.Context, groupID, runID string) (reverie.RunDetail, error)
	RunEffects(ctx context.Context, groupID, runID string) ([]reverie.RunEffect, error)
	PastState(ctx context.Context, q reverie.PastQuery) (reverie.State, error)
}

// Engine replays runs. Its fields are set once.
type Engine struct {
	Store    Store
	Recorded bool             // use the stored answers and ask no model
	Pipeline *evolve.Pipeline // its model and prompts are used; its decider and embeddings are not
	// Stored is the configured pipeline, which recognizes a stored question.
	Stored *evolve.Pipeline
	Cost   func(llm.Usage) float64 // price of a call, in US dollars
}

// Run replays runs, oldest first. The report covers the replay as far as it came, also beside an error. A run with an
// unusable answer is reported and skipped. An error that concerns all runs ends the replay: a spent budget, or a
// missing model.
func (e *Engine) Run(ctx context.Context, groupID string, runs []reverie.Run) (Report, error) {
	report := Report{GroupID: groupID, Recorded: e.Recorded, Nights: []Night{}, Skipped: []Skipped{}}
	for _, run := range runs {
		past, err := e.read(ctx, run)
		if err != nil {
			return report, fmt.Errorf("read run %s of group %q: %w", run.ID, groupID, err)
		}
		if why := past.unfit(e.Recorded); why != "" {
			report.Skipped = append(report.Skipped, Skipped{RunID: run.ID, WindowSince: run.WindowSince, Reason: why})
			continue
		}
		night, err := e.night(ctx, past)
		if err != nil {
			return report, fmt.Errorf("replay run %s of group %q: %w", run.ID, groupID, err)
		}
		report.Nights = append(report.Nights, night)
		report.Total.add(night)
	}
	return report, nil
}

// pastRun is a run from the ledger, with the group's state before each of its chunks.
type pastRun struct {
	reverie.RunDetail
	effects []reverie.RunEffect
	chunks  []evolve.PastChunk
	same    int      // chunks whose question is the stored one
	unknown string   // why a question cannot be asked again, "" if all can
	missing []string // messages whose text was deleted
	erased  int      // shown memories that were deleted
}

func (e *Engine) read(ctx context.Context, run reverie.Run) (past pastRun, err error) {
	if past.RunDetail, err = e.Store.Run(ctx, run.GroupID, run.ID); err != nil {
		return past, err
	}
	if past.effects, err = e.Store.RunEffects(ctx, run.GroupID, run.ID); err != nil {
		return past, err
	}
	before := reverie.Stats{}
	// A failed chunk has returned its messages to the queue.
	consumed := slices.DeleteFunc(slices.Clone(past.Chunks), func(c reverie.Chunk) bool {
		return c.Status != reverie.ChunkApplied && c.Status != reverie.ChunkHeld
	})
	for i, chunk := range consumed {
		q := reverie.PastQuery{GroupID: run.GroupID, RunID: run.ID, At: past.askedAt(chunk), MessageIDs: chunk.MessageIDs,
			MemoryIDs: chunk.MemoryIDs, Days: run.Stats.Days, Until: run.WindowUntil, ContextLimit: e.Stored.Limits.ContextMessages}
		state, err := e.Store.PastState(ctx, q)
		if err != nil {
			return past, err
		}
		state.More = i < len(consumed)-1
		if i == 0 {
			before.Base = len(state.Heads)
		}
		past.count(chunk, state)
		again := evolve.PastChunk{Run: run, Chunk: chunk, State: state, Before: before}
		past.chunks = append(past.chunks, again)
		same, err := e.Stored.SameQuestion(again)
		switch {
		case errors.Is(err, reverie.ErrUnusable): // the question cannot be rebuilt
			past.unknown = err.Error()
		case err != nil:
			return past, err
		}
		if same {
			past.same++
		}
		done := reverie.Plan{RunID: run.ID}
		for _, effect := range past.effects {
			if effect.ChunkNo == chunk.No {
				done.Steps = append(done.Steps, reverie.Step{Action: effect.Action, LineageID: effect.LineageID})
			}
		}
		done.Count(&before, state.Heads)
	}
	return past, nil
}

// askedAt returns when the state of a chunk was read. The chunks of a plan file are written together.
func (p *pastRun) askedAt(chunk reverie.Chunk) time.Time {
	at := chunk.CreatedAt
	for _, effect := range p.effects {
		if effect.ChunkNo > 0 && effect.ChunkNo < chunk.No && effect.At.After(at) {
			at = effect.At
		}
	}
	return at
}

// count counts the deleted parts of a chunk's question.
func (p *pastRun) count(chunk reverie.Chunk, state reverie.State) {
	there := map[string]bool{}
	for _, m := range state.Pending {
		there[m.ID] = true
	}
	for _, h := range slices.Concat(state.Heads, state.Again) {
		there[h.ID] = true
	}
	for _, id := range chunk.MessageIDs {
		if !there[id] {
			p.missing = append(p.missing, id)
		}
	}
	for _, id := range chunk.MemoryIDs {
		if !there[id] {
			p.erased++
		}
	}
}

// unfit returns why a run cannot be replayed, "" if it can.
func (p *pastRun) unfit(recorded bool) string {
	switch {
	case p.Run.UndoneAt != nil:
		return "it was undone"
	case len(p.chunks) == 0:
		return "it took no messages: it ended as " + string(p.Run.Status)
	case p.unknown != "":
		return p.unknown
	case !recorded:
		return ""
	case p.Run.Stats.Edited:
		return "a person had edited its plan"
	case p.Run.Stats.Approved > 0:
		return "it applied a plan of which a person let pass what would have been held"
	case len(p.missing) > 0:
		return fmt.Sprintf("messages that it was shown have no text any more (retention or erasure): %d", len(p.missing))
	case p.erased > 0:
		return fmt.Sprintf("memories that it was shown were erased: %d", p.erased)
	case p.Run.Stats.Days > 0 && p.same < len(p.chunks):
		return "its question has changed, and which earlier messages it was shown cannot be told"
	}
	for _, c := range p.chunks {
		if c.Chunk.InputSHA256 != "" && c.Chunk.Answer == "" {
			return "its answers were removed (retention or erasure)"
		}
	}
	return ""
}

// night replays one run and compares the result.
func (e *Engine) night(ctx context.Context, past pastRun) (Night, error) {
	p, meter := *e.Pipeline, &meter{Model: e.Pipeline.Model, cost: e.Cost}
	if e.Recorded {
		meter.Model = nobody{name: past.Run.Model}
	}
	p.Model, p.Decider = meter, decide.Recorded{Decisions: past.Decisions}
	var plans []evolve.Replayed
	var failed error
	for _, chunk := range past.chunks {
		plan, err := p.Replay(ctx, chunk, !e.Recorded)
		if errors.Is(err, reverie.ErrUnusable) {
			failed = err
			break
		}
		if err != nil {
			return Night{}, err
		}
		plans = append(plans, plan)
	}
	night := compare(recordedSide(past), replayedSide(meter, plans))
	night.RunID, night.WindowSince, night.WindowUntil = past.Run.ID, past.Run.WindowSince, past.Run.WindowUntil
	night.Questions = Questions{Same: past.same, Changed: len(past.chunks) - past.same}
	night.Missing = append(night.Missing, past.missing...)
	if failed != nil {
		night.Error = failed.Error()
	}
	return night, nil
}

// nobody has the name of a model, and must not be asked.
type nobody struct {
	pipeline.Model
	name string
}

func (n nobody) Name() string { return n.name }

// meter adds up the calls to a model.
type meter struct {
	pipeline.Model
	cost  func(llm.Usage) float64
	spent reverie.Spend
}

func (m *meter) Generate(ctx context.Context, meta llm.Meta, req llm.Request) (llm.Response, error) {
	resp, err := m.Model.Generate(ctx, meta, req)
	u := resp.Usage
	m.spent = m.spent.Plus(reverie.Spend{Calls: 1, InputTokens: u.InputTokens, OutputTokens: u.OutputTokens, CostUSD: m.cost(u)})
	return resp, err
}
