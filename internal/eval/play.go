package eval

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"time"

	"reverie/evolve"
	"reverie/internal/eval/dataset"
	"reverie/internal/pipeline"
	"reverie/internal/recall"
	"reverie/internal/reverie"
	"reverie/internal/text"
	"reverie/jobs"
)

// Store is where scenarios are played. It is empty at first, and nobody else's.
type Store interface {
	pipeline.Ledger
	pipeline.Applier
	AddGroup(ctx context.Context, g reverie.Group) error
	Talk(ctx context.Context, groupID string, dates []string) error
	ImportMessages(ctx context.Context, groupID string, messages []reverie.Message) (reverie.ImportResult, error)
	ListMemories(ctx context.Context, q reverie.MemoryQuery) ([]reverie.Memory, int, error)
	Costs(ctx context.Context, q reverie.CostQuery) (reverie.CostsReply, error)
	SoFar(ctx context.Context, groupID, runID string) ([]reverie.Change, []reverie.Refusal, []reverie.HeldPlan, error)
}

// importedAtOnce is how many messages a store is given at a time.
const importedAtOnce = 1000

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
	Refusals  []reverie.Refusal          // why
	Held      int                        // lines that wait for a person
	Asked     map[string]reverie.Action  // lineage -> what a held line would have done to it; a delete goes first
	Unusable  int                        // nights whose answer was of no use
	Questions []Looked
	Spend     reverie.Spend // on the model
	Embedding reverie.Spend // on vectors
	Took      time.Duration
}

// Night is what a group remembers after one.
type Night struct {
	Date   string
	Active []reverie.Memory
}

// Looked is what a question was given: the memories of a search, and a context. Beside each stand
// the ids of the messages behind it, and what BM25 gives in as many tokens, best first.
type Looked struct {
	Recall        Recall // of this question
	Hits          []reverie.Hit
	Reply         reverie.ContextReply
	HitTokens     int
	BySearch      []string // messages that the hits rest on
	BM25AsSearch  []string
	ByContext     []string // messages that its memories rest on, and those that it quotes
	BM25AsContext []string
}

// Play plays a scenario in a group of its name. Answers of a model that are of no use
// are counted; whatever else keeps it from being played to the end is an error.
func (p *Player) Play(ctx context.Context, s *Scenario) (played Played, err error) {
	began := p.Watch()
	defer func() { played.Took = p.Watch().Sub(began) }()
	t := &turn{Player: p, s: s, played: &played, cited: map[string][]string{}}
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
	for part := range slices.Chunk(t.s.Messages, importedAtOnce) {
		if _, err := t.Store.ImportMessages(ctx, t.s.Name, part); err != nil {
			return err
		}
	}
	if len(t.s.Memories) == 0 {
		return nil
	}
	if err := t.Store.Talk(ctx, t.s.Name, t.s.talked()); err != nil {
		return err
	}
	return t.Leases.With(ctx, t.s.Name, func(ctx context.Context, held *jobs.Held) error { return t.remember(ctx, held) })
}

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
	t.played.Refusals = append(t.played.Refusals, res.Refusals...)
	t.played.Held += res.Stats.Held
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
	if t.s.AskedAt.After(t.Clock.at) {
		t.Clock.at = t.s.AskedAt
	}
	if err := t.ask(ctx); err != nil {
		return err
	}
	return t.bill(ctx)
}

// bill sums up what the scenario's calls have cost.
func (t *turn) bill(ctx context.Context) error {
	costs, err := t.costs(ctx, t.s.Name)
	if err != nil {
		return err
	}
	for _, c := range costs.Models {
		sum := &t.played.Spend
		if c.Purpose != purposeEvolve && c.Purpose != purposeCompare {
			sum = &t.played.Embedding
		}
		*sum = sum.Plus(c.Spend)
	}
	return nil
}

// costs are what the calls for a group have cost so far.
func (p *Player) costs(ctx context.Context, groupID string) (reverie.CostsReply, error) {
	return p.Store.Costs(ctx, reverie.CostQuery{GroupID: groupID, Until: time.Date(9999, 1, 1, 0, 0, 0, 0, time.UTC), Limit: 100})
}

// ask puts the scenario's questions to the search, to the context for a bot, and to BM25
// over the messages, and says what has an answer.
func (t *turn) ask(ctx context.Context) error {
	words := newBM25(t.s.Messages)
	for _, q := range t.s.Questions {
		a, err := t.look(ctx, q, words)
		if err != nil {
			return err
		}
		t.played.Questions = append(t.played.Questions, a)
	}
	return nil
}

// look puts one question.
func (t *turn) look(ctx context.Context, q Question, words *bm25) (a Looked, err error) {
	hits, err := t.Searcher.Search(ctx, recall.Query{GroupID: t.s.Name, Text: q.Text, Limit: t.K})
	if err != nil {
		return a, err
	}
	a.Hits, a.Recall.Questions = hits.Hits, 1
	for _, h := range hits.Hits {
		if t.answers(q, h.LineageID, h.Statement) {
			a.Recall.Search = 1
		}
		a.HitTokens += text.EstimateTokens(h.Statement + "\n")
		a.BySearch = t.behind(a.BySearch, h.LineageID)
	}
	active := t.played.Nights[len(t.played.Nights)-1].Active
	if a.Recall.Search > 0 || slices.ContainsFunc(active, func(m reverie.Memory) bool { return t.answers(q, m.LineageID, m.Statement) }) {
		a.Recall.Known = 1
	}
	recalled, err := t.Recaller.Explain(ctx, recall.ContextRequest{GroupID: t.s.Name, Query: q.Text})
	if err != nil {
		return a, err
	}
	reply := recalled.ContextReply
	a.Reply = reply
	for _, m := range reply.Memories {
		a.ByContext = t.behind(a.ByContext, m.LineageID)
	}
	for _, m := range reply.Quotes {
		a.ByContext = append(a.ByContext, m.MessageID)
	}
	a.Recall.Stages = t.stages(q.Evidence, active, recalled, a.ByContext)
	place := t.answeredBy(q, reply)
	a.Recall.WholeContext, a.Recall.Context = within(place, place), within(place, t.K)
	found := words.search(q.Text, len(t.s.Messages))
	a.BM25AsSearch, a.BM25AsContext = found[:t.haveRoom(found, a.HitTokens)], found[:t.haveRoom(found, reply.Tokens)]
	place = 1 + slices.IndexFunc(found, func(id string) bool { return slices.Contains(q.Evidence, id) })
	a.Recall.BM25, a.Recall.AsManyTokens = within(place, t.K), within(place, len(a.BM25AsContext))
	return a, nil
}

// stages tells how far each message of the evidence has come.
func (t *turn) stages(evidence []string, active []reverie.Memory, r reverie.Recalled, given []string) (s dataset.Stages) {
	reached := map[string]int{} // by lineage
	for _, m := range active {
		reached[m.LineageID] = 1
	}
	for _, m := range r.Candidates {
		reached[m.LineageID] = cmp.Or(map[string]int{recall.FateBelow: 1, recall.FateOffered: 3}[m.Fate], 2)
	}
	s.Questions = min(len(evidence), 1)
	sums := []*float64{&s.Remembered, &s.Active, &s.Ranked, &s.Offered, &s.Given}
	for _, id := range evidence {
		last := -1
		for lineage, cites := range t.played.Cited {
			if cites[id] {
				last = max(last, reached[lineage])
			}
		}
		for i, sum := range sums {
			if i <= last || sum == &s.Given && slices.Contains(given, id) {
				*sum += 1 / float64(len(evidence))
			}
		}
	}
	return s
}

// behind adds the messages that a memory rests on, in the order of their ids.
func (t *turn) behind(ids []string, lineage string) []string {
	return append(ids, slices.Sorted(maps.Keys(t.played.Cited[lineage]))...)
}

// within is 1 where a place, 0 for none, is among the first n.
func within(place, n int) int {
	if place > n {
		return 0
	}
	return min(place, 1)
}

// answeredBy is the place of the first answer in a context: its memories, then its quotes.
func (t *turn) answeredBy(q Question, reply reverie.ContextReply) int {
	for i, m := range reply.Memories {
		if t.answers(q, m.LineageID, m.Statement) {
			return i + 1
		}
	}
	for i, m := range reply.Quotes {
		if slices.Contains(q.Evidence, m.MessageID) {
			return len(reply.Memories) + i + 1
		}
	}
	return 0
}

// haveRoom is how many of the messages, author and text, have room in so many tokens.
func (t *turn) haveRoom(ids []string, tokens int) int {
	for n, id := range ids {
		i := slices.IndexFunc(t.s.Messages, func(m reverie.Message) bool { return m.ID == id })
		if tokens -= text.EstimateTokens(t.s.Messages[i].Author + ": " + t.s.Messages[i].Text + "\n"); tokens < 0 {
			return n
		}
	}
	return len(ids)
}

// answers tells whether a memory is an answer: it rests on a message that is one, or is
// the fact.
func (t *turn) answers(q Question, lineage, statement string) bool {
	for _, id := range q.Evidence {
		if t.played.Cited[lineage][id] {
			return true
		}
	}
	return q.Expect != "" && slices.ContainsFunc(t.s.Expects, func(e Expect) bool {
		return e.ID == q.Expect && e.pattern.matches(statement)
	})
}

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
	first := slices.MinFunc(plan.Steps, func(a, b reverie.Step) int { return a.LastSupportedAt.Compare(b.LastSupportedAt) })
	err = run.Start(ctx, reverie.Run{Job: reverie.JobEvolve, WindowSince: first.LastSupportedAt, WindowUntil: t.Clock.Now()})
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
		Tags: m.Tags, Type: cmp.Or(m.Type, reverie.TypeFact), DueOn: reverie.DueOf(m.Due), Reason: "was there before", ContentHash: text.ContentHash(m.Statement), Strength: m.Strength}
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
