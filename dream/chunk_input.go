package dream

import (
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

// chunkInput is a dream's material as the model sees it, and what is needed to read the
// answers.
type chunkInput struct {
	state   reverie.DreamState
	through string // the session that the dream reaches up to
	names   names  // of everything that is shown in any question, numbered throughout
	count   map[string]int

	now      time.Time
	loc      *time.Location
	language string
	asOf     string                    // local date of the newest material
	batches  []batch                   // what the questions are about; in them, each question has handles of its own
	known    []prompts.DreamMemoryView // shown with every question, as are
	items    []prompts.DreamItemView   // those of earlier dreams
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
	s := &chunkInput{state: state, now: r.now, loc: loc, count: map[string]int{},
		names: names{sources: map[string][]*source{}, items: map[string]*reverie.HeadState{}}}
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
	if empty, err = r.render(s, question{user: prompts.DreamUser{Memories: s.known}}, nil); err != nil {
		return nil, err
	}
	overhead := text.EstimateTokens(empty.System) + text.EstimateTokens(empty.User)
	for _, heads := range asAsked(material, answered) {
		s.batches = append(s.batches, pack(s.numberSources(heads), overhead, r.Limits.MaxInputTokens)...)
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
		v := s.memory(h, false)
		s.known = append(s.known, v)
	}
	open := make([]reverie.HeadState, 0, len(s.state.Items))
	for _, h := range s.state.Items {
		if !isDone(h) && reverie.DreamTypeOf(h.Memory) != "" {
			open = append(open, h)
		}
	}
	for _, h := range lately(open, limits.MaxActive, room) {
		id := "d" + strconv.Itoa(len(s.items)+1)
		s.names.items[id] = h
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
	for handle, h := range s.names.items {
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

// lineages are those of everything that may be cited.
func (s *chunkInput) lineages() (list []string) {
	for _, sources := range s.names.sources {
		list = append(list, sources[0].head.LineageID)
	}
	slices.Sort(list)
	return list
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
