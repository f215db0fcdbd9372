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

// gather chooses what to dream of, lays it out as the model is to see it, and saves
// which it is. It returns nil where there is to be no dream; then a dream that was
// interrupted is over, if nothing is left of it, or waits for whoever asks for it.
func (r *run) gather(ctx context.Context) (*chunkInput, error) {
	state, err := r.read(ctx)
	if err != nil {
		return nil, err
	}
	if r.result.None != "" {
		if r.begun != nil && !r.remains() {
			err = r.abandon(ctx, errGone)
		}
		return nil, err
	}
	answered, err := r.answered(ctx)
	if err != nil {
		return nil, err
	}
	s, err := r.newChunkInput(state, answered)
	if err != nil {
		return nil, err
	}
	if s.through = state.Signs.Through; s.through == "" && len(state.Sessions) > 0 {
		s.through = state.Sessions[len(state.Sessions)-1].ID
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

// read fetches the group with what is new of what is asked for, whatever a dream that
// was not applied had chosen. It notes why there is to be no dream.
func (r *run) read(ctx context.Context) (reverie.DreamState, error) {
	q := reverie.DreamQuery{GroupID: r.req.GroupID, Through: r.req.SessionID}
	if r.req.Due {
		return r.readDue(ctx, q)
	}
	state, err := r.fetch(ctx, q)
	if err == nil && len(state.Material) == 0 {
		r.result.None = nothingNew(state.Signs)
	}
	return state, err
}

// readDue fetches what is new of sessions that have ended, where the rule says so. Where
// it does not, what was begun is finished: a dream that was interrupted goes on with
// what is left of its choice.
func (r *run) readDue(ctx context.Context, q reverie.DreamQuery) (reverie.DreamState, error) {
	rule, err := r.rule(ctx)
	if err != nil {
		return reverie.DreamState{}, err
	}
	q.EndedBy = Ended(rule, r.now)
	state, err := r.fetch(ctx, q)
	if err != nil {
		return state, err
	}
	if r.req.DryRun && state.Signs.UnderWay {
		r.result.None = UnderWay
		return state, nil
	}
	signs := state.Signs
	signs.Interrupted = false // what the rule says, and not what was begun
	due, why := Due(signs, rule, r.now)
	switch {
	case due:
		r.result.Reason = why
		return state, nil
	case r.begun != nil && r.remains():
		r.result.Reason = interrupted
		return r.chosen(ctx)
	}
	if r.result.None = why; r.begun == nil && state.Signs.Interrupted {
		r.result.None = interrupted + ", and goes on with what it had chosen, which a dry run does not: leave out " +
			"--dry-run"
	}
	return state, nil
}

// chosen fetches what is left of what the dream that was interrupted had chosen, in the
// order in which it was shown.
func (r *run) chosen(ctx context.Context) (reverie.DreamState, error) {
	ids := r.resume.MemoryIDs
	state, err := r.fetch(ctx, reverie.DreamQuery{GroupID: r.req.GroupID, Through: r.begun.SessionID, MemoryIDs: ids})
	place := make(map[string]int, len(ids))
	for i, id := range ids {
		place[id] = i
	}
	slices.SortStableFunc(state.Material, func(a, b reverie.HeadState) int {
		return cmp.Compare(place[a.ID],
			place[b.ID])
	})
	return state, err
}

// remains tells whether anything is new still of what the dream that was interrupted
// had chosen.
func (r *run) remains() bool { return r.resume != nil && r.resume.RunID == r.begun.ID }

// answered are the questions that a dream which was not applied has asked, each by the
// versions that it was about: those that its answers may be to. They are asked in order,
// and once a question is changed its answer is paid for again; what nobody was asked
// about is laid out anew with all that has come since.
func (r *run) answered(ctx context.Context) (list [][]string, err error) {
	if r.resume == nil || r.Journal == nil {
		return nil, nil
	}
	kept, err := r.Journal.Answers(ctx, r.req.GroupID, r.resume.RunID, purposeDream)
	if err != nil {
		return nil, fmt.Errorf("read the answers of run %s: %w", r.resume.RunID, err)
	}
	ids := r.resume.MemoryIDs
	for _, n := range r.resume.Questions[:min(len(kept), len(r.resume.Questions))] {
		n = min(n, len(ids))
		list, ids = append(list, ids[:n]), ids[n:]
	}
	return list, nil
}

// rule is that by which the group dreams.
func (r *run) rule(ctx context.Context) (reverie.DreamRule, error) {
	group, err := r.Store.Group(ctx, r.req.GroupID)
	if err != nil {
		return reverie.DreamRule{}, fmt.Errorf("read group %q: %w", r.req.GroupID, err)
	}
	rule, err := group.DreamRule(r.Rule)
	if err != nil {
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

// chunkInput is a dream's material as the model sees it, and what is needed to read the
// answers.
type chunkInput struct {
	state   reverie.DreamState
	through string         // the session that the dream reaches up to
	count   map[string]int // of sources, by the first letter of their handles

	now      time.Time
	loc      *time.Location
	language string
	asOf     string                        // local date of the newest material
	batches  []batch                       // what the questions are about
	known    batch                         // shown with every question, as are
	items    []prompts.DreamItemView       // those of earlier dreams,
	open     map[string]*reverie.HeadState // which are these, by handle
	evidence map[string][]reverie.Evidence
	hidden   []string          // ids of what breaks a rule of statements: it is not shown
	refused  []reverie.Refusal // that first
	several  bool              // the dream takes more than one question
	asked    int               // questions that were answered
}

// newChunkInput lays a state out: what is left of questions that were answered before, each
// by itself, and then the rest. What breaks a rule of statements came past our own
// checks, by an import or by hand, and is shown to no model.
func (r *run) newChunkInput(state reverie.DreamState, answered [][]string) (*chunkInput, error) {
	loc, err := state.Group.Location()
	if err != nil {
		return nil, fmt.Errorf("%w: %w", reverie.ErrConfiguration, err)
	}
	s := &chunkInput{state: state, now: r.now, loc: loc, count: map[string]int{}, open: map[string]*reverie.HeadState{}}
	var texts []string
	material := make([]*reverie.HeadState, 0, len(state.Material))
	for i := range state.Material {
		h := &state.Material[i]
		if broken := (*safety.StatementError)(nil); errors.As(safety.CheckSummary(h.Statement), &broken) {
			s.hidden = append(s.hidden, h.ID)
			s.refused = append(s.refused, reverie.Refusal{Action: refusedSource, Handle: h.ID,
				Rule: string(broken.Rule), Detail: broken.Detail})
			continue
		}
		material, texts = append(material, h), append(texts, h.Statement)
	}
	s.asOf, s.language = s.dateOf(material), prompts.Language(state.Group.Language, texts)
	empty, err := r.render(s, question{}, nil)
	if err != nil {
		return nil, err
	}
	room := r.Limits.MaxInputTokens - text.EstimateTokens(empty.System) - text.EstimateTokens(empty.User)
	if room <= 0 {
		return nil, fmt.Errorf("the prompt alone has %d tokens: raise [dream] max_input_tokens (%d) well above "+
			"that: %w",
			r.Limits.MaxInputTokens-room, r.Limits.MaxInputTokens, reverie.ErrConfiguration)
	}
	s.showBeside(r.Limits, room/4)
	_, known := s.views(s.known)
	if empty, err = r.render(s, question{user: prompts.DreamUser{Memories: known}}, nil); err != nil {
		return nil, err
	}
	room = r.Limits.MaxInputTokens - text.EstimateTokens(empty.System) - text.EstimateTokens(empty.User)
	for _, heads := range asAsked(material, answered) {
		s.batches = append(s.batches, pack(s.numberSources(heads), room, s.tokens)...)
	}
	return s, nil
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

// handle is what an item of an earlier dream is called, its id where it is not shown.
func (s *chunkInput) handle(item *reverie.HeadState) string {
	for handle, h := range s.open {
		if h.ID == item.ID {
			return handle
		}
	}
	return item.ID
}

// evidenced tells whether a source rests on messages.
func (s *chunkInput) evidenced(src *source) bool { return len(s.evidence[src.head.LineageID]) > 0 }

// ids are the versions that the dream takes in.
func (s *chunkInput) ids() []string {
	ids := make([]string, len(s.state.Material))
	for i, h := range s.state.Material {
		ids[i] = h.ID
	}
	return ids
}

// sources are everything that may be cited.
func (s *chunkInput) sources() []*source {
	return slices.Concat(append(slices.Clip(s.batches), s.known)...)
}

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

// asAsked divides material into what questions that were answered are about, in their
// order, and the rest in its own.
func asAsked(material []*reverie.HeadState, answered [][]string) (list [][]*reverie.HeadState) {
	heads := make(map[string]*reverie.HeadState, len(material))
	for _, h := range material {
		heads[h.ID] = h
	}
	for _, ids := range answered {
		var left []*reverie.HeadState
		for _, id := range ids {
			if h := heads[id]; h != nil {
				left = append(left, h)
				delete(heads, id)
			}
		}
		list = append(list, left)
	}
	rest := slices.DeleteFunc(slices.Clone(material), func(h *reverie.HeadState) bool { return heads[h.ID] == nil })
	return append(list, rest)
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

// about is the question about a batch. It numbers what it shows by itself, behind what
// is shown with every question: a new version that goes or comes changes the question
// that shows it, and no other.
func (s *chunkInput) about(b batch) question {
	q := question{names: names{sources: map[string][]*source{}, items: s.open}}
	shown, count, fresh := slices.Concat(s.known, b), map[string]int{}, []*reverie.HeadState{}
	for _, src := range shown {
		letter := src.handle[:1]
		count[letter]++
		src.handle = letter + strconv.Itoa(count[letter])
		q.names.sources[src.handle] = []*source{src}
		if src.fresh {
			fresh = append(fresh, src.head)
		}
	}
	q.user.Sessions, q.user.Memories = s.views(shown)
	q.asOf = s.dateOf(fresh)
	return q
}

// questions are the versions that the dream takes in, those of each question together
// and what is not shown last, and of how many each question is.
func (s *chunkInput) questions() (ids []string, of []int) {
	for _, b := range s.batches {
		for _, src := range b {
			ids = append(ids, src.head.ID)
		}
		of = append(of, len(b))
	}
	return append(ids, s.hidden...), of
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

// names are what the handles of one question stand for, and nothing else: d1..dN are
// items of earlier dreams; the others are sources, of c1..cN, the items of a part,
// several.
type names struct {
	sources map[string][]*source
	items   map[string]*reverie.HeadState
	parts   map[string]item // c1..cN; nil where the question is about material
}

// batch is the part of the material that one question is about: sources of sessions, each
// with its summary first, before memories of the group.
type batch []*source

// proposal is one line of an answer that has the form of an item; nothing in it has
// been checked yet.
type proposal struct {
	line       int
	sort       reverie.DreamType
	content    string
	sources    []string // handles, as they were written
	confidence float64
	tags       []string
	replace    string // handle of an item; "" for a new one
	done       bool   // it closes the todo that it replaces
	keep       bool   // it only bears out the item that it replaces: content is of no matter
}

// narrative is the summary line of an answer.
type narrative struct {
	line    int
	content string
	sources []string
}

// reply is what the model said, read.
type reply struct {
	narrative *narrative // nil: it gave none
	proposals []proposal
	refused   []reverie.Refusal
}

// item is a proposal that has stood the checks.
type item struct {
	proposal
	target *reverie.HeadState // that it replaces; nil for a new one
	rests  []*source          // each once, in the order given
	hash   string             // of the content
}

// part is what one question came to.
type part struct {
	narrative string    // checked; "" where the answer had none that can be kept
	rests     []*source // of the narrative
	items     []item
	asOf      string // local date of the newest material that it is about
}
