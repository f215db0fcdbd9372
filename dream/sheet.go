package dream

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"time"

	"reverie"
	"reverie/prompts"
)

// sheet is a dream's material as the model sees it, and what is needed to read the
// answers. Handles are given once, for all questions of the dream.
type sheet struct {
	state   reverie.DreamState
	through string // the session that the dream reaches up to
	names   names  // of everything that is shown in any question

	loc      *time.Location
	language string
	asOf     string // local date of the newest material
	whole    batch
	known    []prompts.DreamMemoryView // shown with every question, as are
	items    []prompts.DreamItemView   // those of earlier dreams
	evidence map[string][]reverie.Evidence
	refused  []reverie.Refusal // of the material, what breaks a rule of statements: it is not shown
	several  bool              // the dream takes more than one question
	asked    int               // questions that were answered
}

// newSheet lays a state out. What breaks a rule of statements came past our own
// checks, by an import or by hand, and is shown to no model.
func (r *run) newSheet(state reverie.DreamState) (*sheet, error) {
	loc, err := state.Group.Location()
	if err != nil {
		return nil, fmt.Errorf("%w: %w", reverie.ErrConfiguration, err)
	}
	s := &sheet{state: state, loc: loc, names: names{sources: map[string][]*source{}, items: map[string]*reverie.HeadState{}}}
	var newest time.Time
	var texts []string
	material := make([]*reverie.HeadState, 0, len(state.Material))
	for i := range state.Material {
		h := &state.Material[i]
		if newest.Before(h.LastSupportedAt) {
			newest = h.LastSupportedAt
		}
		if broken := (*reverie.StatementError)(nil); errors.As(reverie.CheckStatement(h.Statement), &broken) {
			s.refused = append(s.refused, reverie.Refusal{Action: refusedSource, Handle: h.ID, Rule: string(broken.Rule), Detail: broken.Detail})
			continue
		}
		material, texts = append(material, h), append(texts, h.Statement)
	}
	s.asOf, s.language = reverie.LocalDate(newest, loc), prompts.Language(state.Group.Language, texts)
	empty, err := r.render(s, question{}, nil)
	if err != nil {
		return nil, err
	}
	room := r.Limits.MaxInputTokens - reverie.EstimateTokens(empty.System) - reverie.EstimateTokens(empty.User)
	if room <= 0 {
		return nil, fmt.Errorf("the prompt alone has %d tokens: raise [dream] max_input_tokens (%d) well above that: %w",
			r.Limits.MaxInputTokens-room, r.Limits.MaxInputTokens, reverie.ErrConfiguration)
	}
	s.showBeside(r.Limits, room/4)
	s.lay(material)
	return s, nil
}

// refusedSource is the action of refusals that are about the material itself.
const refusedSource = "source"

// showBeside names what is shown with every question: memories that were taken in
// before, and open items of earlier dreams. Each has room for so many tokens, since
// material is what a question is asked for.
func (s *sheet) showBeside(limits Limits, room int) {
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
		s.items = append(s.items, prompts.DreamItemView{ID: id, Type: string(reverie.DreamTypeOf(h.Memory)), Content: h.Statement,
			Since: reverie.LocalDate(h.CreatedAt, s.loc)})
	}
}

// lately are the heads that may be shown and were supported last, at most n and so
// many tokens, in their own order.
func lately(heads []reverie.HeadState, n, room int) (list []*reverie.HeadState) {
	for i := range heads {
		if reverie.CheckStatement(heads[i].Statement) == nil {
			list = append(list, &heads[i])
		}
	}
	byAge := slices.Clone(list)
	slices.SortStableFunc(byAge, func(a, b *reverie.HeadState) int { return b.LastSupportedAt.Compare(a.LastSupportedAt) })
	fits := map[*reverie.HeadState]bool{}
	for _, h := range byAge[:min(n, len(byAge))] {
		if room -= prompts.Tokens(prompts.DreamItemView{ID: "d99", Content: h.Statement, Since: time.DateOnly}); room < 0 {
			break
		}
		fits[h] = true
	}
	return slices.DeleteFunc(list, func(h *reverie.HeadState) bool { return !fits[h] })
}

// lay names the material: sessions with their summary and facts, then memories of
// the group.
func (s *sheet) lay(material []*reverie.HeadState) {
	sessions := make(map[string]reverie.Session, len(s.state.Sessions))
	for _, session := range s.state.Sessions {
		sessions[session.ID] = session
	}
	var summaries, facts int
	var last *prompts.DreamSessionView
	for i, h := range material {
		if h.Kind != reverie.KindSession {
			s.whole.memories = append(s.whole.memories, s.memory(h, true))
			continue
		}
		if last == nil || material[i-1].SessionID != h.SessionID {
			s.whole.sessions = append(s.whole.sessions, prompts.DreamSessionView{Facts: []prompts.DreamFactView{}})
			last = &s.whole.sessions[len(s.whole.sessions)-1]
			if session, known := sessions[h.SessionID]; known {
				last.From, last.To = reverie.LocalDate(session.FirstAt, s.loc), reverie.LocalDate(session.LastAt, s.loc)
			}
		}
		if isSummary(h.Tags) && last.ID == "" {
			summaries++
			last.ID, last.Summary = "s"+strconv.Itoa(summaries), h.Statement
			s.name(&source{handle: last.ID, head: h, fresh: true, summary: true})
			continue
		}
		facts++
		id := "f" + strconv.Itoa(facts)
		last.Facts = append(last.Facts, prompts.DreamFactView{ID: id, Type: factType(h.Tags), Statement: h.Statement,
			Date: reverie.LocalDate(h.LastSupportedAt, s.loc)})
		s.name(&source{handle: id, head: h, fresh: true, fact: true})
	}
}

// memory names a memory of the group.
func (s *sheet) memory(h *reverie.HeadState, fresh bool) prompts.DreamMemoryView {
	id := "m" + strconv.Itoa(len(s.known)+len(s.whole.memories)+1)
	s.name(&source{handle: id, head: h, fresh: fresh})
	return prompts.DreamMemoryView{ID: id, Statement: h.Statement, Date: reverie.LocalDate(h.LastSupportedAt, s.loc), New: fresh}
}

// name lets a source be cited by its handle.
func (s *sheet) name(src *source) { s.names.sources[src.handle] = []*source{src} }

// handle is what an item of an earlier dream is called, its id where it is not shown.
func (s *sheet) handle(item *reverie.HeadState) string {
	for handle, h := range s.names.items {
		if h.ID == item.ID {
			return handle
		}
	}
	return item.ID
}

// namesOf are the names that a question about a batch may use.
func (s *sheet) namesOf(b batch) names {
	n := names{sources: map[string][]*source{}, items: s.names.items}
	show := func(handle string) {
		if list := s.names.sources[handle]; len(list) > 0 {
			n.sources[handle] = list
		}
	}
	for _, v := range b.sessions {
		show(v.ID)
		for _, f := range v.Facts {
			show(f.ID)
		}
	}
	for _, v := range slices.Concat(s.known, b.memories) {
		show(v.ID)
	}
	return n
}

// evidenced tells whether a source rests on messages.
func (s *sheet) evidenced(src *source) bool { return len(s.evidence[src.head.LineageID]) > 0 }

// ids are the versions that the dream takes in.
func (s *sheet) ids() []string {
	ids := make([]string, len(s.state.Material))
	for i, h := range s.state.Material {
		ids[i] = h.ID
	}
	return ids
}

// lineages are those of everything that may be cited.
func (s *sheet) lineages() (list []string) {
	for _, sources := range s.names.sources {
		list = append(list, sources[0].head.LineageID)
	}
	slices.Sort(list)
	return list
}

// window is from when to when what the dream takes in was said.
func (s *sheet) window(now time.Time) (since, until time.Time) {
	since, until = now, now
	for i, session := range s.state.Sessions {
		if session.FirstAt.Before(since) {
			since = session.FirstAt
		}
		if after := session.LastAt.Add(time.Microsecond); i == 0 || after.After(until) {
			until = after
		}
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
