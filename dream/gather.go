package dream

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"time"

	"reverie/internal/reverie"
	"reverie/internal/safety"
	"reverie/internal/text"
	"reverie/prompts"
)

// gather chooses what to dream of next, lays it out as the model is to see it, and saves
// which it is: whoever continues the dream asks the same. It returns nil where there is
// nothing more.
func (r *run) gather(ctx context.Context) (*chunkInput, error) {
	s, err := r.read(ctx)
	if err != nil || s == nil {
		return nil, err
	}
	if s.through = s.state.Signs.Through; s.through == "" && len(s.state.Sessions) > 0 {
		s.through = s.state.Sessions[len(s.state.Sessions)-1].ID
	}
	if err := r.arrange(s); err != nil {
		return nil, err
	}
	var lineages []string
	for _, src := range s.sources() {
		lineages = append(lineages, src.head.LineageID)
	}
	if slices.Sort(lineages); len(lineages) > 0 {
		if s.evidence, err = r.Store.EvidenceOf(ctx, r.req.GroupID, lineages); err != nil {
			return nil, fmt.Errorf("read what memories of group %q rest on: %w", r.req.GroupID, err)
		}
	}
	return s, r.open(ctx, s)
}

// read fetches what is left of what a chunk was about that was begun and not applied, else
// everything that is new. It notes why there is to be no dream.
func (r *run) read(ctx context.Context) (*chunkInput, error) {
	first := r.recorder.Stats.Chunks == 0
	rule, err := r.rule(ctx)
	if err != nil {
		return nil, err
	}
	if r.req.Due {
		r.query.EndedBy = Ended(rule, r.now)
	}
	s := &chunkInput{now: r.now, count: map[string]int{}, open: map[string]*reverie.HeadState{}}
	if c := r.resume; c != nil {
		r.resume = nil
		q := r.query
		q.MemoryIDs, s.taken = c.MemoryIDs, true
		if s.state, err = r.fetch(ctx, q); err != nil {
			return nil, err
		}
		slices.SortStableFunc(s.state.Material, func(a, b reverie.HeadState) int {
			return cmp.Compare(slices.Index(c.MemoryIDs, a.ID), slices.Index(c.MemoryIDs, b.ID))
		})
	}
	if len(s.state.Material) == 0 {
		s.taken = false
		s.state, err = r.fetch(ctx, r.query)
		if errors.Is(err, reverie.ErrNotFound) && r.recorder.Row.ID != "" {
			return nil, nil // the session that the dream reaches up to is part of another by now
		}
		if err != nil {
			return nil, err
		}
	}
	if first && r.req.Due && r.recorder.Row.ID == "" {
		due, why := Due(s.state.Signs, rule, r.now)
		if !due {
			r.result.None = why
			return nil, nil
		}
		r.result.Reason = why
	}
	if len(s.state.Material) == 0 {
		if first {
			r.result.None = nothingNew(s.state.Signs)
		}
		return nil, nil
	}
	return s, nil
}

// rule is that by which the group dreams.
func (r *run) rule(ctx context.Context) (rule reverie.DreamRule, err error) {
	if !r.req.Due {
		return rule, nil
	}
	group, err := r.Store.Group(ctx, r.req.GroupID)
	if err != nil {
		return rule, fmt.Errorf("read group %q: %w", r.req.GroupID, err)
	}
	if rule, err = group.DreamRule(r.Rule); err != nil {
		return rule, fmt.Errorf("%w: %w", reverie.ErrConfiguration, err)
	}
	return rule, nil
}

func (r *run) fetch(ctx context.Context, q reverie.DreamQuery) (reverie.DreamState, error) {
	state, err := r.Store.GatherDream(ctx, q)
	if err != nil {
		err = fmt.Errorf("gather what is new in group %q: %w", r.req.GroupID, err)
	}
	return state, err
}

// chunkInput is what one question is about, as the model sees it, and what is needed to
// read the answer.
type chunkInput struct {
	no      int
	taken   bool // up from a run that did not apply it: others may have come since
	state   reverie.DreamState
	through string         // the session that the dream reaches up to
	count   map[string]int // of sources, by the first letter of their handles

	now      time.Time
	loc      *time.Location
	language string
	asOf     string                        // local date of the newest material
	known    batch                         // shown beside the material: what was taken in before
	material batch                         // what the question is about
	left     batch                         // for another chunk
	items    []prompts.DreamItemView       // those of earlier dreams,
	open     map[string]*reverie.HeadState // which are these, by handle
	evidence map[string][]reverie.Evidence
	hidden   []string          // ids of what breaks a rule of statements: it is not shown
	refused  []reverie.Refusal // that first
}

// arrange lays out as much of the state as fits one question. What breaks a rule of
// statements came past our own checks, by an import or by hand, and is shown to no model.
func (r *run) arrange(s *chunkInput) (err error) {
	if s.loc, err = s.state.Group.Location(); err != nil {
		return fmt.Errorf("%w: %w", reverie.ErrConfiguration, err)
	}
	var texts []string
	material := make([]*reverie.HeadState, 0, len(s.state.Material))
	for i := range s.state.Material {
		h := &s.state.Material[i]
		if broken := (*safety.StatementError)(nil); errors.As(safety.CheckSummary(h.Statement), &broken) {
			s.hidden = append(s.hidden, h.ID)
			s.refused = append(s.refused, reverie.Refusal{Action: refusedSource, Handle: h.ID,
				Rule: string(broken.Rule), Detail: broken.Detail})
			continue
		}
		material, texts = append(material, h), append(texts, h.Statement)
	}
	s.asOf, s.language = s.dateOf(material), prompts.Language(s.state.Group.Language, texts)
	room, err := r.room(s)
	if err != nil {
		return err
	}
	if room <= 0 {
		return fmt.Errorf("the prompt alone has %d tokens: raise [dream] max_input_tokens (%d) well above that: %w",
			r.Limits.MaxInputTokens-room, r.Limits.MaxInputTokens, reverie.ErrConfiguration)
	}
	s.showBeside(r.Limits, room/4)
	if room, err = r.room(s); err != nil {
		return err
	}
	s.material = s.numberSources(material)
	n := fitting(s.material, room, s.tokens)
	if r.limit > 0 {
		n = min(n, r.limit)
	}
	s.cut(n)
	return nil
}

// keyTokens are for the keys that stand before sessions and memories.
const keyTokens = 16

// room is how many tokens material may have beside what is shown with it.
func (r *run) room(s *chunkInput) (int, error) {
	beside := *s
	beside.material = nil
	empty, err := r.render(&beside, nil)
	return r.Limits.MaxInputTokens - text.EstimateTokens(empty.System) - text.EstimateTokens(empty.User) - keyTokens, err
}

// cut leaves what comes behind the first n sources for another chunk.
func (s *chunkInput) cut(n int) {
	s.material, s.left = s.material[:n], slices.Concat(s.material[n:], s.left)
	heads := make([]*reverie.HeadState, n)
	for i, src := range s.material {
		heads[i] = src.head
	}
	s.asOf = s.dateOf(heads)
}

// covered are the sessions that no dream has to cover any more. While anything is left,
// those that it is of are not among them, nor is the last one: a group without a session
// that is not covered is due to nobody.
func (s *chunkInput) covered() []reverie.Session {
	if len(s.left) == 0 {
		return s.state.Sessions
	}
	of := func(list batch, id string) bool {
		return slices.ContainsFunc(list, func(src *source) bool { return src.head.SessionID == id })
	}
	return slices.DeleteFunc(slices.Clone(s.state.Sessions), func(session reverie.Session) bool {
		return session.ID == s.through || of(s.left, session.ID) || !of(s.material, session.ID)
	})
}

// dateOf is the local date of the newest of heads: never later than today.
func (s *chunkInput) dateOf(heads []*reverie.HeadState) string {
	var newest time.Time
	for _, h := range heads {
		if newest.Before(h.LastSupportedAt) {
			newest = h.LastSupportedAt
		}
	}
	if newest.After(s.now) {
		newest = s.now
	}
	return text.LocalDate(newest, s.loc)
}

// refusedSource is the action of refusals that are about the material itself.
const refusedSource = "source"

// showBeside names what is shown with every question: memories that were taken in
// before, and open items of earlier dreams. Each has room for so many tokens, since
// material is what a question is asked for.
func (s *chunkInput) showBeside(limits Limits, room int) {
	for _, h := range lately(s.state.Known, limits.MaxShown, room) {
		s.known = append(s.known, s.source(h, source{}))
	}
	open := make([]reverie.HeadState, 0, len(s.state.Items))
	for _, h := range s.state.Items {
		if !isDone(h) && reverie.DreamTypeOf(h.Memory) != "" {
			open = append(open, h)
		}
	}
	for _, h := range lately(open, limits.MaxActive, room) {
		id := "d" + strconv.Itoa(len(s.items)+1)
		s.open[id] = h
		s.items = append(s.items, prompts.DreamItemView{ID: id, Type: string(reverie.DreamTypeOf(h.Memory)),
			Content: h.Statement,
			Since:   text.LocalDate(h.CreatedAt, s.loc)})
	}
}

// lately are the heads that may be shown and were supported last, at most n and so
// many tokens, in their own order.
func lately(heads []reverie.HeadState, n, room int) (list []*reverie.HeadState) {
	for i := range heads {
		if safety.CheckStatement(heads[i].Statement) == nil {
			list = append(list, &heads[i])
		}
	}
	byAge := slices.Clone(list)
	slices.SortStableFunc(byAge, func(a, b *reverie.HeadState) int {
		return b.LastSupportedAt.Compare(a.LastSupportedAt)
	})
	fits := map[*reverie.HeadState]bool{}
	for _, h := range byAge[:min(n, len(byAge))] {
		if room -= prompts.Tokens(prompts.DreamItemView{ID: "d99", Content: h.Statement,
			Since: time.DateOnly}); room < 0 {
			break
		}
		fits[h] = true
	}
	return slices.DeleteFunc(list, func(h *reverie.HeadState) bool { return !fits[h] })
}

// evidenced tells whether a source rests on messages.
func (s *chunkInput) evidenced(src *source) bool { return len(s.evidence[src.head.LineageID]) > 0 }

// ids are the versions that the chunk takes in.
func (s *chunkInput) ids() []string {
	var ids []string
	for _, src := range s.material {
		ids = append(ids, src.head.ID)
	}
	return append(ids, s.hidden...)
}

// sources are everything that may be cited.
func (s *chunkInput) sources() batch { return slices.Concat(s.known, s.material) }

// window is from when to when what the dream takes in was said.
func (s *chunkInput) window(now time.Time) (since, until time.Time) {
	since, until = now, now
	for i, session := range s.state.Sessions {
		if session.FirstAt.Before(since) {
			since = session.FirstAt
		}
		if after := session.LastAt.Add(time.Microsecond); i == 0 || after.After(until) {
			until = after
		}
	}
	if until.After(now) { // a clock was wrong, and nobody has said anything yet that he will say
		until = now
	}
	if len(s.state.Sessions) > 0 {
		return since, until
	}
	for _, h := range s.state.Material {
		if h.LastSupportedAt.Before(since) {
			since = h.LastSupportedAt
		}
	}
	return since, until
}

// isDone tells whether an item is a todo that has been closed.
func isDone(h reverie.HeadState) bool { return slices.Contains(h.Tags, reverie.TagDone) }

func isSummary(tags []string) bool { return slices.Contains(tags, reverie.TagSummary) }

// factType is the type that extraction has tagged a fact with, "" where it is not
// known.
func factType(tags []string) string {
	for _, t := range []string{"fact", "preference", "project"} {
		if slices.Contains(tags, t) {
			return t
		}
	}
	return ""
}

// numberSources are material as sources: sessions with their summary and facts, then
// memories of the group.
func (s *chunkInput) numberSources(material []*reverie.HeadState) batch {
	var sessions, memories batch
	at := 0 // where the session begins
	for _, h := range material {
		if h.Kind != reverie.KindSession {
			memories = append(memories, s.source(h, source{fresh: true}))
			continue
		}
		if at == len(sessions) || sessions[at].head.SessionID != h.SessionID {
			at = len(sessions)
		}
		if isSummary(h.Tags) && (at == len(sessions) || !sessions[at].summary) {
			sessions = slices.Insert(sessions, at, s.source(h, source{fresh: true, summary: true}))
		} else {
			sessions = append(sessions, s.source(h, source{fresh: true, fact: true}))
		}
	}
	return append(sessions, memories...)
}

// source is a head as a source of a sort, with a handle.
func (s *chunkInput) source(h *reverie.HeadState, src source) *source {
	letter := "m"
	if src.summary {
		letter = "s"
	} else if src.fact {
		letter = "f"
	}
	s.count[letter]++
	src.head, src.handle = h, letter+strconv.Itoa(s.count[letter])
	return &src
}

// views show sources under their handles. A session can be cited where its summary is
// shown. A memory that dreams know has no date: every question shows it, and would be
// another one, and be paid for again, whenever a night bears it out.
func (s *chunkInput) views(b batch) (sessions []prompts.DreamSessionView, memories []prompts.DreamMemoryView) {
	for i, src := range b {
		h, date := src.head, text.LocalDate(src.head.LastSupportedAt, s.loc)
		if !src.summary && !src.fact {
			v := prompts.DreamMemoryView{ID: src.handle, Statement: h.Statement, New: src.fresh}
			if src.fresh {
				v.Date = date
			}
			memories = append(memories, v)
			continue
		}
		if i == 0 || !src.with(b[i-1]) {
			v := prompts.DreamSessionView{Facts: []prompts.DreamFactView{}}
			for _, session := range s.state.Sessions {
				if session.ID == h.SessionID {
					v.From, v.To = text.LocalDate(session.FirstAt, s.loc), text.LocalDate(session.LastAt, s.loc)
				}
			}
			sessions = append(sessions, v)
		}
		last := &sessions[len(sessions)-1]
		if src.summary {
			last.ID, last.Summary = src.handle, h.Statement
			continue
		}
		last.Facts = append(last.Facts, prompts.DreamFactView{ID: src.handle, Type: factType(h.Tags),
			Statement: h.Statement, Date: date})
	}
	return sessions, memories
}

// tokens estimates what sources cost.
func (s *chunkInput) tokens(b batch) (n int) {
	sessions, memories := s.views(b)
	for _, v := range sessions {
		n += prompts.Tokens(v)
	}
	for _, v := range memories {
		n += prompts.Tokens(v)
	}
	return n
}

// fitting is how many sources fit a question of so many tokens: one at least. A session is
// divided only where it does not fit a question alone.
func fitting(b batch, room int, tokens func(batch) int) (n int) {
	for n < len(b) {
		end := n + 1
		for end < len(b) && b[end].with(b[n]) {
			end++
		}
		switch fits := tokens(b[:end]) <= room; {
		case !fits && n > 0:
			return n
		case !fits:
			for n = 1; n < end && tokens(b[:n+1]) <= room; n++ {
			}
			return n
		}
		n = end
	}
	return n
}

// source is a memory that a model may name as what an item rests on.
type source struct {
	handle  string // s1..sN a session by its summary, f1..fN its facts, m1..mN memories of the group
	head    *reverie.HeadState
	fresh   bool // new to dreams, and not only shown beside
	summary bool // of a session
	fact    bool // of a session
}

// with tells whether two sources are of one session.
func (src *source) with(other *source) bool {
	return (src.summary || src.fact) && (other.summary || other.fact) && src.head.SessionID == other.head.SessionID
}

// batch is sources of sessions, each with its summary first, before memories of the group.
type batch []*source
