package eval

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"reverie/evolve"
	"reverie/internal/pipeline"
	"reverie/internal/recall"
	"reverie/internal/reverie"
	"reverie/jobs"
)

// Store is where scenarios are played. It is empty at first, and nobody else's.
type Store interface {
	pipeline.Ledger
	pipeline.Applier
	AddGroup(ctx context.Context, g reverie.Group) error
	ImportMessages(ctx context.Context, groupID string, messages []reverie.Message) (reverie.ImportResult, error)
	ListMemories(ctx context.Context, q reverie.MemoryQuery) ([]reverie.Memory, int, error)
	Costs(ctx context.Context, q reverie.CostQuery) (reverie.CostsReply, error)
	SoFar(ctx context.Context, groupID, runID string) ([]reverie.Change, []reverie.Refusal, []reverie.HeldPlan, error)
}

// Script hears what is played, so that it can give or keep answers.
type Script interface {
	At(s *Scenario, night string, standing Standing)
	Err() error
}

// Clock is the time that a scenario believes it is.
type Clock struct{ at time.Time }

// Now is the time.
func (c *Clock) Now() time.Time { return c.at }

// Player plays scenarios, one after the other. All of its parts work on one store and
// go by one clock.
type Player struct {
	Store    Store
	Clock    *Clock
	Leases   *jobs.Leases
	Pipeline *evolve.Pipeline
	Searcher *recall.Searcher
	Recaller *recall.Recaller
	Script   Script // nil: nobody listens
	K        int    // how many results of a search count
	Watch    func() time.Time
	Log      *slog.Logger
}

// Played is what came of a scenario.
type Played struct {
	Lineages  map[string]string          // of the memories that were there, by name
	Nights    []Night                    // in order
	Versions  []reverie.Memory           // all that were ever written
	Cited     map[string]map[string]bool // lineage -> messages that the runs cited for it
	Refused   int                        // lines of answers
	Held      int                        // lines that wait for a person
	Asked     map[string]reverie.Action  // lineage -> what a held line would have done to it; a delete goes first
	Unusable  int                        // nights whose answer was of no use
	Questions []Answered
	Spend     reverie.Spend // on the model
	Embedding reverie.Spend // on vectors
	Took      time.Duration
}

// Night is what a group remembers after one.
type Night struct {
	Date   string
	Active []reverie.Memory
}

// Answered says at which place, from 1 on, an answer was found; 0: it was not.
type Answered struct {
	Search, Context, BM25 int
}

// Play plays a scenario in a group of its name. Answers of a model that are of no use
// are counted; whatever else keeps it from being played to the end is an error.
func (p *Player) Play(ctx context.Context, s *Scenario) (played Played, err error) {
	began := p.Watch()
	defer func() { played.Took = p.Watch().Sub(began) }()
	t := &turn{Player: p, s: s, played: &played}
	played.Lineages, played.Cited, played.Asked = map[string]string{}, map[string]map[string]bool{}, map[string]reverie.Action{}
	p.Clock.at = s.Nights[0].Since
	if err := t.setUp(ctx); err != nil {
		return played, fmt.Errorf("set up scenario %s: %w", s.Name, err)
	}
	for _, w := range s.Nights {
		if err := t.night(ctx, w); err != nil {
			return played, fmt.Errorf("play the night of %s of scenario %s: %w", w.Date, s.Name, err)
		}
	}
	if err := t.settle(ctx); err != nil {
		return played, fmt.Errorf("look at the end of scenario %s: %w", s.Name, err)
	}
	return played, nil
}

// turn is one scenario being played.
type turn struct {
	*Player
	s      *Scenario
	played *Played
	cited  map[string][]string // version -> messages that a run cited for it
}

// setUp makes the group, its messages and what it remembers before them.
func (t *turn) setUp(ctx context.Context) error {
	group := reverie.Group{ID: t.s.Name, Name: t.s.Title, TimeZone: t.s.TimeZone, Language: t.s.Language}
	if err := t.Store.AddGroup(ctx, group); err != nil {
		return err
	}
	for list := t.s.Messages; len(list) > 0; {
		n := min(len(list), importBatch)
		if _, err := t.Store.ImportMessages(ctx, t.s.Name, list[:n]); err != nil {
			return err
		}
		list = list[n:]
	}
	if len(t.s.Memories) == 0 {
		return nil
	}
	return t.Leases.With(ctx, t.s.Name, func(ctx context.Context, held *jobs.Held) error { return t.remember(ctx, held) })
}

// importBatch is how many messages are imported at once.
const importBatch = 500

// night evolves one date, at its end.
func (t *turn) night(ctx context.Context, w reverie.Window) error {
	t.Clock.at = w.Until
	if t.Script != nil {
		t.Script.At(t.s, w.Date, t.standing)
	}
	err := t.Leases.With(ctx, t.s.Name, func(ctx context.Context, held *jobs.Held) error {
		res, err := t.Pipeline.Run(ctx, held, evolve.Request{GroupID: t.s.Name, Since: w.Since, Until: w.Until})
		t.record(res)
		return errors.Join(err, t.recordHeld(ctx, res))
	})
	if t.Script != nil && t.Script.Err() != nil {
		return t.Script.Err()
	}
	if errors.Is(err, reverie.ErrUnusable) {
		t.Log.Warn("a night came to nothing", "scenario", t.s.Name, "night", w.Date, "error", err)
		t.played.Unusable++
		err = nil
	}
	if err != nil {
		return err
	}
	active, err := t.active(ctx)
	t.played.Nights = append(t.played.Nights, Night{w.Date, active})
	return err
}

func (t *turn) active(ctx context.Context) ([]reverie.Memory, error) {
	list, _, err := t.Store.ListMemories(ctx, reverie.MemoryQuery{GroupID: t.s.Name, Status: reverie.StatusActive})
	return list, err
}

// standing says what the scenario's own memories say by now.
func (t *turn) standing(ctx context.Context) (map[string]string, error) {
	if len(t.s.Memories) == 0 {
		return nil, nil
	}
	active, err := t.active(ctx)
	if err != nil {
		return nil, err
	}
	says := map[string]string{}
	for _, m := range active {
		for name, lineage := range t.played.Lineages {
			if m.LineageID == lineage {
				says[name] = m.Statement
			}
		}
	}
	return says, nil
}

// record counts what a run did. Support names a lineage, a change a version.
func (t *turn) record(res evolve.Result) {
	t.played.Refused += res.Stats.Refused
	t.played.Held += res.Stats.Held
	if t.cited == nil {
		t.cited = map[string][]string{}
	}
	for _, c := range res.Changes {
		if c.Action != reverie.ActionDelete {
			t.cited[c.MemoryID] = append(t.cited[c.MemoryID], messageIDs(c.Evidence)...)
		}
	}
	for _, step := range res.Supported {
		t.cite(step.LineageID, messageIDs(step.Evidence))
	}
}

// recordHeld looks at what a run would have done, had it not been held for a person.
func (t *turn) recordHeld(ctx context.Context, res evolve.Result) error {
	if len(res.Held) == 0 {
		return nil
	}
	_, _, plans, err := t.Store.SoFar(ctx, t.s.Name, res.RunID)
	for _, p := range plans {
		for _, step := range p.Steps {
			if step.Action == reverie.ActionDelete || step.Action == reverie.ActionUpdate && t.played.Asked[step.LineageID] == "" {
				t.played.Asked[step.LineageID] = step.Action
			}
		}
	}
	return err
}

func (t *turn) cite(lineage string, ids []string) {
	if t.played.Cited[lineage] == nil {
		t.played.Cited[lineage] = map[string]bool{}
	}
	for _, id := range ids {
		t.played.Cited[lineage][id] = true
	}
}

func messageIDs(list []reverie.Evidence) (ids []string) {
	for _, e := range list {
		ids = append(ids, e.MessageID)
	}
	return ids
}

// settle looks at the end: all versions, what they rest on, the questions, the bill.
func (t *turn) settle(ctx context.Context) (err error) {
	if t.played.Versions, _, err = t.Store.ListMemories(ctx, reverie.MemoryQuery{GroupID: t.s.Name}); err != nil {
		return err
	}
	for _, v := range t.played.Versions {
		t.cite(v.LineageID, t.cited[v.ID])
	}
	if err := t.ask(ctx); err != nil {
		return err
	}
	return t.bill(ctx)
}

// bill sums up what the scenario's calls have cost.
func (t *turn) bill(ctx context.Context) error {
	costs, err := t.Store.Costs(ctx, reverie.CostQuery{GroupID: t.s.Name, Until: time.Date(9999, 1, 1, 0, 0, 0, 0, time.UTC), Limit: 100})
	if err != nil {
		return err
	}
	for _, c := range costs.Models {
		sum := &t.played.Spend
		if c.Purpose != purposeEvolve && c.Purpose != purposeCompare {
			sum = &t.played.Embedding
		}
		sum.Calls += c.Calls
		sum.InputTokens += c.InputTokens
		sum.OutputTokens += c.OutputTokens
		sum.CostUSD += c.CostUSD
	}
	return nil
}
