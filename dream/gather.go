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

// gather chooses the material of the next chunk, prepares it as the model will see it, and saves the choice. So whoever
// resumes the dream asks the same question. It returns nil where there is no more material.
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

// read fetches the material of an interrupted chunk as far as it is still new, else everything that is new. Where there
// is to be no dream, it notes the reason.
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
		q.MemoryIDs, s.resumed = c.MemoryIDs, true
		if s.state, err = r.fetch(ctx, q); err != nil {
			return nil, err
		}
		slices.SortStableFunc(s.state.Material, func(a, b reverie.HeadState) int {
			return cmp.Compare(slices.Index(c.MemoryIDs, a.ID), slices.Index(c.MemoryIDs, b.ID))
		})
	}
	if len(s.state.Material) == 0 {
		s.resumed = false
		s.state, err = r.fetch(ctx, r.query)
		if errors.Is(err, reverie.ErrNotFound) && r.recorder.Row.ID != "" {
			return nil, nil // the last session of the dream has merged with another one
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

// rule returns the rule by which the group dreams.
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

// chunkInput is one question as the model sees it, and what the parser of the answer needs.
type chunkInput struct {
	no      int
	resumed bool // resumed from a run that did not apply it; there may be newer material
	state   reverie.DreamState
	through string         // the last session that the dream covers
	count   map[string]int // sources by the first letter of their handles

	now      time.Time
	loc      *time.Location
	language string
	asOf     string                        // local date of the newest material
	known    batch                         // taken in before, shown beside the material
	material batch                         // what the question is about
	left     batch                         // material for another chunk
	items    []prompts.DreamItemView       // open items of earlier dreams,
	open     map[string]*reverie.HeadState // and their heads, by handle
	evidence map[string][]reverie.Evidence
	hidden   []string          // ids of material that breaks a rule of statements: not shown
	refused  []reverie.Refusal // the refusals of hidden material come first
}

// arrange prepares as much of the material as fits one question. A statement that breaks a rule came by an import or by
// hand, past our own checks. No model sees it.
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

// keyTokens is the cost of the keys before sessions and memories.
const keyTokens = 16

// room returns how many tokens are left for material, beside what is shown with it.
func (r *run) room(s *chunkInput) (int, error) {
	beside := *s
	beside.material = nil
	empty, err := r.render(&beside, nil)
	return r.Limits.MaxInputTokens - text.EstimateTokens(empty.System) - text.EstimateTokens(empty.User) - keyTokens, err
}

// cut leaves the sources after the first n for another chunk.
func (s *chunkInput) cut(n int) {
	s.material, s.left = s.material[:n], slices.Concat(s.material[n:], s.left)
	heads := make([]*reverie.HeadState, n)
	for i, src := range s.material {
		heads[i] = src.head
	}
	s.asOf = s.dateOf(heads)
}

// covered returns the sessions that no later dream has to cover. While material is left, its sessions are not among
// them. Nor is the last session, because a group is due again only if some session is not covered.
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

// dateOf returns the local date of the newest head, and never a date later than today.
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

// refusedSource is the action of refusals of the material itself.
const refusedSource = "source"

// showBeside chooses what every question shows beside the material: memories that were taken in before, and open items
// of earlier dreams. Each of the two gets at most room tokens, since the material matters most.
func (s *chunkInput) showBeside(limits Limits, room int) {
	for _, h := range latest(s.state.Known, limits.MaxShown, room) {
		s.known = append(s.known, s.source(h, source{}))
	}
	open := make([]reverie.HeadState, 0, len(s.state.Items))
	for _, h := range s.state.Items {
		if !isDone(h) && reverie.DreamTypeOf(h.Memory) != "" {
			open = append(open, h)
		}
	}
	for _, h := range latest(open, limits.MaxActive, room) {
		id := "d" + strconv.Itoa(len(s.items)+1)
		s.open[id] = h
		s.items = append(s.items, prompts.DreamItemView{ID: id, Type: string(reverie.DreamTypeOf(h.Memory)),
			Content: h.Statement,
			Since:   text.LocalDate(h.CreatedAt, s.loc)})
	}
}

// latest returns the heads that were supported last and may be shown, in their given order. They are at most n, and
// have at most room tokens.
func latest(heads []reverie.HeadState, n, room int) (list []*reverie.HeadState) {
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

// evidenced reports whether a source has messages as evidence.
func (s *chunkInput) evidenced(src *source) bool { return len(s.evidence[src.head.LineageID]) > 0 }

// ids returns the versions that the chunk takes in.
func (s *chunkInput) ids() []string {
	var ids []string
	for _, src := range s.material {
		ids = append(ids, src.head.ID)
	}
	return append(ids, s.hidden...)
}

// sources returns all memories that the model may cite.
func (s *chunkInput) sources() batch { return slices.Concat(s.known, s.material) }

// window returns the times between which the material was said.
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
	if until.After(now) { // a message has a time in the future: a clock was wrong
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

// isDone reports whether an item is a closed todo.
func isDone(h reverie.HeadState) bool { return slices.Contains(h.Tags, reverie.TagDone) }

func isSummary(tags []string) bool { return slices.Contains(tags, reverie.TagSummary) }

// factType returns the type that the extract job has tagged a fact with, "" where there is none.
func factType(tags []string) string {
	for _, t := range []string{"fact", "preference", "project"} {
		if slices.Contains(tags, t) {
			return t
		}
	}
	return ""
}

// numberSources makes sources of the material: first the sessions with their summaries and facts, then the memories of
// the group.
func (s *chunkInput) numberSources(material []*reverie.HeadState) batch {
	var sessions, memories batch
	at := 0 // index of the session's first source
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

// source makes a source of a head and gives it a handle.
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

// views shows sources under their handles. A session has a handle where its summary is shown. A memory that was taken
// in before is shown without a date. With one, each night that supports the memory would change the question, and the
// answer would be paid for again.
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
		if i == 0 || !src.sameSession(b[i-1]) {
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

// tokens estimates the tokens of sources.
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

// fitting returns how many sources fit a question of room tokens, at least one. A session is divided only where it does
// not fit a question alone.
func fitting(b batch, room int, tokens func(batch) int) (n int) {
	for n < len(b) {
		end := n + 1
		for end < len(b) && b[end].sameSession(b[n]) {
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

// source is a memory that the model may cite for an item.
type source struct {
	handle  string // s1..sN: a session by its summary, f1..fN: its facts, m1..mN: memories of the group
	head    *reverie.HeadState
	fresh   bool // new since the last dream; else shown as context
	summary bool // the summary of a session
	fact    bool // a fact of a session
}

// sameSession reports whether two sources belong to one session.
func (src *source) sameSession(other *source) bool {
	return (src.summary || src.fact) && (other.summary || other.fact) && src.head.SessionID == other.head.SessionID
}

// batch is a list of sources: those of sessions, each with its summary first, then the memories of the group.
type batch []*source
