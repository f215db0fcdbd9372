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

// Player plays scenarios, one after the other. Its parts share one store and one clock.
type Player struct {
	Store    Store
	Clock    *Clock
	Leases   *jobs.Leases
	Pipeline *evolve.Pipeline
	Searcher *recall.Searcher
	Recaller *recall.Recaller
	Script   Script // nil: none
	K        int    // number of search results that count
	Watch    func() time.Time
	Log      *slog.Logger
}

// Played is the outcome of a scenario.
type Played struct {
	Lineages  map[string]string          // of the initial memories, by name
	Nights    []Night                    // in order
	Versions  []reverie.Memory           // all ever written
	Cited     map[string]map[string]bool // lineage -> messages cited by runs
	Refused   int                        // refused lines of answers
	Refusals  []reverie.Refusal          // the reasons
	Held      int                        // lines held for a person
	Asked     map[string]reverie.Action  // lineage -> action of a held line; a delete has priority
	Unusable  int                        // nights with an unusable answer
	Questions []Looked
	Spend     reverie.Spend // of the model
	Embedding reverie.Spend // of the embedding model
	Took      time.Duration
}

// Night is what a group remembers after a night.
type Night struct {
	Date   string
	Active []reverie.Memory
}

// Looked is the result for a question: the memories of a search, and a context. Each has the ids of the messages
// that it rests on, and the result of BM25 in as many tokens, best first.
type Looked struct {
	Recall        Recall // of this question
	Hits          []reverie.Hit
	Reply         reverie.ContextReply
	HitTokens     int
	BySearch      []string // evidence of the hits
	BM25AsSearch  []string
	ByContext     []string // evidence of its memories, and quoted messages
	BM25AsContext []string
}

// Play plays a scenario in a group of its name. Unusable answers of a model are counted; any other failure is an
// error.
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

// turn is one scenario while it is played.
type turn struct {
	*Player
	s      *Scenario
	played *Played
	cited  map[string][]string // version -> messages cited by a run
}

// setUp creates the group, its messages and its initial memories.
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

// night runs evolve for one date, at its end.
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

// standing returns the current statements of the scenario's initial memories.
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

// record counts the effects of a run. Support names a lineage, a change a version.
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

// recordHeld records what a run would have done without being held.
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

// settle reads the final state: all versions with their evidence, the answers to questions, and the cost.
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

// bill sums up the cost of the scenario's calls.
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

// costs returns the cost of a group's calls so far.
func (p *Player) costs(ctx context.Context, groupID string) (reverie.CostsReply, error) {
	return p.Store.Costs(ctx, reverie.CostQuery{GroupID: groupID, Until: time.Date(9999, 1, 1, 0, 0, 0, 0, time.UTC), Limit: 100})
}

// ask asks the scenario's questions of the search, of the context for a bot, and of BM25 over the messages. It also
// determines which questions a memory answers.
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

// look asks one question.
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

// stages returns how far each message of the evidence came.
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
				*sum++
			}
		}
	}
	for _, sum := range sums {
		*sum /= float64(max(len(evidence), 1))
	}
	return s
}

// behind adds the messages that a memory rests on, sorted by id.
func (t *turn) behind(ids []string, lineage string) []string {
	return append(ids, slices.Sorted(maps.Keys(t.played.Cited[lineage]))...)
}

// within returns 1 if place, counted from 1, is among the first n.
func within(place, n int) int {
	if place > n {
		return 0
	}
	return min(place, 1)
}

// answeredBy returns the place of the first answer in a context: its memories, then its quotes.
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

// haveRoom returns how many of the messages, with author and text, fit into that many tokens.
func (t *turn) haveRoom(ids []string, tokens int) int {
	for n, id := range ids {
		i := slices.IndexFunc(t.s.Messages, func(m reverie.Message) bool { return m.ID == id })
		if tokens -= text.EstimateTokens(t.s.Messages[i].Author + ": " + t.s.Messages[i].Text + "\n"); tokens < 0 {
			return n
		}
	}
	return len(ids)
}

// answers reports whether a memory is an answer: it rests on an answering message, or states the fact.
func (t *turn) answers(q Question, lineage, statement string) bool {
	for _, id := range q.Evidence {
		if t.played.Cited[lineage][id] {
			return true
		}
	}
	return slices.ContainsFunc(t.s.Expects, func(e Expect) bool { return e.ID == q.Expect && e.IsSaidBy(statement) })
}

// remember writes the scenario's initial memories in its order, as one run of evolve would.
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

// step returns the step that writes the memory, supported at noon of each of its dates by messages that no longer
// exist.
func (m Memory) step(loc *time.Location) reverie.Step {
	s := reverie.Step{Action: reverie.ActionCreate, LineageID: reverie.NewID(), MemoryID: reverie.NewID(), Statement: m.Statement,
		Tags: m.Tags, Type: cmp.Or(m.Type, reverie.TypeFact), DueOn: reverie.DueOf(m.Due), Reason: "was there before", ContentHash: text.ContentHash(m.Statement), Strength: m.Strength}
	for i, date := range m.Support {
		at, _ := time.ParseInLocation(time.DateOnly, date, loc) // Load has parsed it
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
