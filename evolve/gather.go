package evolve

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"time"

	"reverie/internal/decide"
	"reverie/internal/llm"
	"reverie/internal/pipeline"
	"reverie/internal/reverie"
	"reverie/internal/text"
	"reverie/prompts"
)

// chunkInput is one chunk as the model sees it, and what the parser of the answer needs. Memories are m1..mN in the
// order of shown. Messages are numbered from 1, the fresh ones first, then the earlier ones.
type chunkInput struct {
	no      int  // number of the chunk in its run
	resumed bool // resumed from an interrupted run; more messages may have arrived since
	state   reverie.State
	shown   []reverie.HeadState
	judging int               // how many of the first shown memories are judged again
	fresh   []reverie.Message // pending; this chunk consumes them
	earlier []reverie.Message // consumed before; shown as context

	loc      *time.Location
	language string
	asOf     time.Time // the time that staleness is measured at
	forget   reverie.ForgetRule
	nights   []string // active nights of the group, with those of the chunk
	runID    string   // decide.ThisPlan for a dry run
	prompt   prompts.Rendered
	compared int // comparisons of facts that the run has asked for, with those of this chunk
	answer   string
}

// gather reads the group and its oldest pending messages, and chooses what to show. It returns nil when nothing is
// pending.
func (r *run) gather(ctx context.Context) (*chunkInput, error) {
	s, err := r.read(ctx)
	if err != nil || s == nil {
		return nil, err
	}
	if err := r.setBounds(s); err != nil {
		return nil, err
	}
	s.no, s.resumed = r.recorder.Stats.Chunks+1, r.resume != nil
	return s, r.arrange(ctx, s, r.resume != nil)
}

// setBounds sets the group's time zone, the rule for silence and the run id of an input.
func (r *run) setBounds(s *chunkInput) (err error) {
	if s.loc, err = s.state.Group.Location(); err != nil {
		return fmt.Errorf("%w: %w", reverie.ErrConfiguration, err)
	}
	s.forget, s.runID = r.Limits.Forget, cmp.Or(r.recorder.Row.ID, decide.ThisPlan)
	return nil
}

// arrange chooses the language, the memories and the messages to show, and renders the prompt. Where the messages do
// not fit, it cuts the chunk and arranges the rest anew. So the question depends only on the messages of the chunk.
// When an interrupted chunk is resumed, the question is the same, and its stored answer is still valid. The messages of
// a settled chunk are not cut.
func (r *run) arrange(ctx context.Context, s *chunkInput, settled bool) error {
	for {
		s.setLanguage()
		r.open(s.state, s.language)
		if err := r.show(ctx, s); err != nil {
			return err
		}
		cut, err := r.fit(s, settled)
		if err != nil || !cut {
			return err
		}
	}
}

// setLanguage chooses the prompt's language: the group's, or that of the pending messages.
func (s *chunkInput) setLanguage() {
	s.language = prompts.Language(s.state.Group.Language, pipeline.Texts(s.state.Pending))
}

// read fetches the state of the chunk: the messages of a stored answer, else the oldest pending ones.
func (r *run) read(ctx context.Context) (*chunkInput, error) {
	q := reverie.GatherQuery{GroupID: r.req.GroupID, Kind: reverie.KindGroup, Since: r.since, Until: r.until, Limit: r.chunkLimit(), RunID: r.recorder.Row.ID}
	if r.resume != nil {
		q.MessageIDs = r.resume.MessageIDs
	}
	if r.simulated != nil {
		q.Skip = r.simulated.skip
	}
	state, err := r.Store.Gather(ctx, q)
	if err == nil && r.resume != nil && len(state.Pending) != len(r.resume.MessageIDs) {
		r.resume, q.MessageIDs = nil, nil // some are outside the window, or deleted
		state, err = r.Store.Gather(ctx, q)
	}
	if err != nil {
		return nil, fmt.Errorf("gather group %q: %w", r.req.GroupID, err)
	}
	if len(state.Pending) == 0 {
		return nil, nil
	}
	if r.req.Days > 0 {
		q.ContextSince = state.Pending[0].SentAt.AddDate(0, 0, -r.req.Days)
		q.ContextLimit = r.Limits.ContextMessages
		if state, err = r.Store.Gather(ctx, q); err != nil {
			return nil, fmt.Errorf("gather group %q: %w", r.req.GroupID, err)
		}
	}
	if r.simulated != nil {
		r.simulated.read(&state)
	}
	leaveWaiting(&state)
	state.Pending, state.Context = r.Privacy.Messages(state.Pending), r.Privacy.Messages(state.Context)
	return &chunkInput{state: state}, nil
}

func (r *run) chunkLimit() int {
	if r.limit == 0 {
		r.limit = r.Limits.MaxMessages
	}
	return r.limit
}

// show chooses the memories to show. Those to be judged again come first, then all others, or the others nearest to the
// chunk's messages.
func (r *run) show(ctx context.Context, s *chunkInput) error {
	again, others := s.toJudge(r.Limits.MaxShown)
	room := max(r.Limits.MaxShown-len(again), 0)
	s.judging, s.shown = len(again), append(again, others...)
	if room == 0 {
		s.shown = again
	}
	if len(others) <= room || room == 0 {
		return nil
	}
	if err := r.recorder.Start(ctx, r.recorder.Row); err != nil { // the run pays for the embeddings
		return err
	}
	nearest, err := r.nearest(ctx, s)
	if err != nil {
		if ctx.Err() != nil || llm.EndsRun(err) {
			return err
		}
		r.recorder.EmbeddingsOff = r.EmbeddingsOptional
		r.recorder.Warn(fmt.Sprintf("memories are shown by how lately they were supported, not by relevance: %v", err))
	}
	s.shown = append(again, rank(others, nearest, room)...)
	return nil
}

// nearest returns the ids of the memories nearest to any part of the chunk.
func (r *run) nearest(ctx context.Context, s *chunkInput) ([]string, error) {
	switch {
	case r.Embeddings == nil:
		return nil, errors.New("no embedding model is configured")
	case r.recorder.EmbeddingsOff:
		return nil, errors.New("the embedding model failed before in this run")
	}
	probes, err := r.Embeddings.Embed(ctx, r.recorder.Meta("embed"), pipeline.Probes(s.state.Pending))
	if err != nil {
		return nil, err
	}
	return r.Store.NearestHeads(ctx, r.req.GroupID, reverie.KindGroup, r.Embeddings.Key(), probes, r.Limits.MaxShown)
}

// fit adds messages up to the budget of input tokens, and renders the prompt. It reports whether it cut the chunk to
// stay within the budget. The first message is always included.
func (r *run) fit(s *chunkInput, settled bool) (cut bool, err error) {
	s.fresh, s.earlier = nil, nil
	s.asOf, s.nights = r.asOf(s), s.withOwnNights()
	empty, err := r.render(s)
	if err != nil {
		return false, err
	}
	budget := r.Limits.MaxInputTokens - text.EstimateTokens(empty.System) - text.EstimateTokens(empty.User)
	numbers := map[string]int{}
	cost := func(n int, m reverie.Message) int {
		return prompts.Tokens(r.Prompts.Message(n, numbers[m.ReplyTo], m, s.loc))
	}
	s.earlier = newestWithin(r.Prompts, s.state.Context, budget/4, s.loc)
	for _, m := range s.earlier {
		budget -= cost(len(s.state.Pending), m)
	}
	for i, m := range s.state.Pending {
		if !m.Speaks() {
			continue // consumed without being shown
		}
		n := len(s.fresh) + 1
		numbers[m.ID] = n
		if budget -= cost(n, m); budget < 0 && n > 1 && !settled {
			s.state.Pending, s.state.More = s.state.Pending[:i], true
			return true, nil
		}
		s.fresh = append(s.fresh, m)
	}
	s.prompt, err = r.render(s)
	return false, err
}

// asOf is the time that staleness is measured at. It is the end of the window for the last chunk, else the time of the
// chunk's last message. Where the caller gave no end, or one in the future, it is also the time of the last message. So
// a backlog is judged by its own time and not by today's.
func (r *run) asOf(s *chunkInput) time.Time {
	if r.untilGiven && !s.state.More && !r.until.After(r.now) {
		return r.until
	}
	return s.state.Pending[len(s.state.Pending)-1].SentAt
}

// silence reports whether a memory is stale, and why.
func (s *chunkInput) silence(h reverie.HeadState) reverie.Silence {
	return s.forget.Silence(h, s.nights, s.loc, s.asOf)
}

// withOwnNights returns the active nights of the group and of the chunk.
func (s *chunkInput) withOwnNights() []string {
	nights := slices.Clone(s.state.Nights)
	for _, m := range s.state.Pending {
		if m.Speaks() && m.Role == reverie.RoleUser {
			nights = append(nights, text.LocalDate(m.SentAt, s.loc))
		}
	}
	slices.Sort(nights)
	return slices.Compact(nights)
}

// memoryView shows a memory as m1..mN. A backfill may write a version long after its evidence. The dates shown are then
// those of the evidence, or the memory would seem to come from the future.
func memoryView(i int, h reverie.HeadState, stale string, loc *time.Location) prompts.MemoryView {
	due := ""
	if h.DueOn != nil {
		due = h.DueOn.Format(time.DateOnly)
	}
	supported := h.LastSupportedAt
	date := func(t time.Time) string {
		if supported.Before(t) {
			t = supported
		}
		return text.LocalDate(t, loc)
	}
	return prompts.MemoryView{
		ID: "m" + strconv.Itoa(i+1), Statement: h.Statement, Type: h.Type, Due: due, Stale: stale,
		MemoryDetails: &prompts.MemoryDetails{Version: h.Version, CreatedAt: date(h.CreatedAt), UpdatedAt: date(h.UpdatedAt),
			LastSupportedAt: date(supported), Strength: float64(int(h.Strength*100+0.5)) / 100},
	}
}

// newestWithin returns the newest messages that fit the budget, oldest first.
func newestWithin(set *prompts.Set, messages []reverie.Message, budget int, loc *time.Location) []reverie.Message {
	chosen := pipeline.Shown(messages)
	start := len(chosen)
	for start > 0 {
		if budget -= prompts.Tokens(set.Message(0, 0, chosen[start-1], loc)); budget < 0 {
			break
		}
		start--
	}
	return chosen[start:]
}

// rank returns at most limit memories: the named ones in their order, then those supported last.
func rank(heads []reverie.HeadState, first []string, limit int) []reverie.HeadState {
	place := make(map[string]int, len(first))
	for i, id := range first {
		place[id] = len(first) - i
	}
	return pipeline.First(heads, limit, func(a, b reverie.HeadState) int { return cmp.Compare(place[b.ID], place[a.ID]) })
}

// render fills the prompt with the input.
func (r *run) render(s *chunkInput) (prompts.Rendered, error) {
	messages := r.Prompts.Messages(s.messages(), s.loc)
	user := prompts.EvolveUser{WindowUntil: s.asOf.In(s.loc).Format(time.RFC3339), ExistingMemories: []prompts.MemoryView{},
		NewDiscussions: messages[:len(s.fresh)], EarlierDiscussions: messages[len(s.fresh):]}
	shown := len(s.shown)
	for i, h := range s.shown {
		view := r.Prompts.Memory(memoryView(i, h, prompts.Stale(s.language, s.silence(h)), s.loc))
		if i < s.judging {
			if view.JudgeAgain, view.Held = h.JudgeAgain, h.Held(); s.language == prompts.Chinese {
				view.JudgeAgain = reverie.JudgeReasonChinese(h.JudgeAgain)
			}
		}
		if h.Held() {
			shown--
		}
		user.ExistingMemories = append(user.ExistingMemories, view)
	}
	return r.Prompts.Render(s.language, prompts.EvolveSystem{
		Active: len(s.state.Heads), Shown: shown, JudgeAgain: s.judging, Target: r.Limits.Target, MaxCreates: r.Limits.MaxCreates,
		MaxStatement: reverie.MaxStatement, StaleDays: s.forget.Habit,
	}, user)
}

// messages returns all numbered messages in order, from 1.
func (s *chunkInput) messages() []reverie.Message {
	return append(slices.Clip(s.fresh), s.earlier...)
}

// Expectation estimates what a window will cost before any of it is read. Commands use it to ask for confirmation.
type Expectation struct {
	limits  Limits
	base    int // tokens of a question without messages
	message int // tokens of a message without its text
}

// Expect prepares estimates for groups of a language. It renders the prompt for a group that has as many memories as
// Limits.Target.
func (p *Pipeline) Expect(language string) (Expectation, error) {
	at := time.Date(2026, 1, 15, 20, 0, 0, 0, time.UTC)
	user := prompts.EvolveUser{WindowUntil: at.Format(time.RFC3339)}
	for i := range p.Limits.Target {
		user.ExistingMemories = append(user.ExistingMemories, memoryView(i, reverie.HeadState{Memory: reverie.Memory{
			Statement: "The group meets every Friday at eight in the reading room", Version: 1, Strength: 0.5,
			Type: reverie.TypeHabit, CreatedAt: at, UpdatedAt: at, LastSupportedAt: at}}, "", time.UTC))
	}
	system := prompts.EvolveSystem{Active: p.Limits.Target, Shown: p.Limits.Target, Target: p.Limits.Target,
		MaxCreates: p.Limits.MaxCreates, MaxStatement: reverie.MaxStatement, StaleDays: p.Limits.Forget.Habit}
	question, err := p.Prompts.Render(prompts.Language(language, nil), system, user)
	if err != nil {
		return Expectation{}, fmt.Errorf("estimate the prompt: %w", err)
	}
	return Expectation{limits: p.Limits, base: text.EstimateTokens(question.System) + text.EstimateTokens(question.User),
		message: prompts.Tokens(prompts.Message(100, 0, reverie.Message{Author: "Somebody", Role: reverie.RoleUser, SentAt: at},
			time.UTC))}, nil
}

// Window estimates the calls and the input tokens of a window with these messages. The ratio of bytes to characters
// tells Chinese from English: a Chinese character is most of a token, an English one a fifth.
func (e Expectation) Window(load reverie.WindowLoad) (calls, input int) {
	if load.Messages == 0 {
		return 0, 0
	}
	wide := min((load.Bytes-load.Characters)/2, load.Characters)
	texts := (wide*84+(load.Characters-wide)*22)/100 + load.Messages*e.message
	room := max(e.limits.MaxInputTokens-e.base, e.message)
	calls = max(ceil(texts, room), ceil(load.Messages, e.limits.MaxMessages))
	return calls, calls*e.base + texts
}

func ceil(n, by int) int { return (n + by - 1) / by }
