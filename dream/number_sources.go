package dream

import (
	"slices"
	"strconv"

	"reverie/internal/reverie"
	"reverie/internal/text"
	"reverie/prompts"
)

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

// numberSources names material: sessions with their summary and facts, then memories of the
// group.
func (s *chunkInput) numberSources(material []*reverie.HeadState) (b batch) {
	sessions := make(map[string]reverie.Session, len(s.state.Sessions))
	for _, session := range s.state.Sessions {
		sessions[session.ID] = session
	}
	var last *prompts.DreamSessionView
	for i, h := range material {
		if h.Kind != reverie.KindSession {
			b.memories = append(b.memories, s.memory(h, true))
			continue
		}
		if last == nil || material[i-1].SessionID != h.SessionID {
			b.sessions = append(b.sessions, prompts.DreamSessionView{Facts: []prompts.DreamFactView{}})
			last = &b.sessions[len(b.sessions)-1]
			if session, known := sessions[h.SessionID]; known {
				last.From, last.To = text.LocalDate(session.FirstAt, s.loc), text.LocalDate(session.LastAt, s.loc)
			}
		}
		if isSummary(h.Tags) && last.ID == "" {
			last.ID, last.Summary = s.name("s", source{head: h, fresh: true, summary: true}), h.Statement
			continue
		}
		last.Facts = append(last.Facts, prompts.DreamFactView{ID: s.name("f", source{head: h, fresh: true, fact: true}),
			Type: factType(h.Tags), Statement: h.Statement, Date: text.LocalDate(h.LastSupportedAt, s.loc)})
	}
	return b
}

// memory names a memory of the group. One that dreams know has no date: every question
// shows it, and would be another one, and be paid for again, whenever a night bears it
// out.
func (s *chunkInput) memory(h *reverie.HeadState, fresh bool) prompts.DreamMemoryView {
	v := prompts.DreamMemoryView{ID: s.name("m", source{head: h, fresh: fresh}), Statement: h.Statement, New: fresh}
	if fresh {
		v.Date = text.LocalDate(h.LastSupportedAt, s.loc)
	}
	return v
}

// name gives a source a handle of a sort.
func (s *chunkInput) name(sort string, src source) string {
	s.count[sort]++
	src.handle = sort + strconv.Itoa(s.count[sort])
	s.names.sources[src.handle] = []*source{&src}
	return src.handle
}

// about is the question about a batch. It numbers what it shows by itself, behind what
// is shown with every question: a new version that goes or comes changes the question
// that shows it, and no other.
func (s *chunkInput) about(b batch) question {
	q := question{names: names{sources: map[string][]*source{}, items: s.names.items}}
	count, fresh := map[byte]int{}, []*reverie.HeadState{}
	show := func(handle string) string {
		src := s.names.sources[handle][0]
		count[handle[0]]++
		src.handle = handle[:1] + strconv.Itoa(count[handle[0]])
		q.names.sources[src.handle] = []*source{src}
		if src.fresh {
			fresh = append(fresh, src.head)
		}
		return src.handle
	}
	for _, v := range s.known {
		show(v.ID)
	}
	q.user.Memories = slices.Clone(s.known)
	for _, v := range b.memories {
		v.ID = show(v.ID)
		q.user.Memories = append(q.user.Memories, v)
	}
	for _, v := range b.sessions {
		if v.ID != "" {
			v.ID = show(v.ID)
		}
		v.Facts = slices.Clone(v.Facts)
		for i := range v.Facts {
			v.Facts[i].ID = show(v.Facts[i].ID)
		}
		q.user.Sessions = append(q.user.Sessions, v)
	}
	q.asOf = s.dateOf(fresh)
	return q
}

// questions are the versions that the dream takes in, those of each question together
// and what is not shown last, and of how many each question is.
func (s *chunkInput) questions() (ids []string, of []int) {
	for _, b := range s.batches {
		handles := b.handles()
		for _, handle := range handles {
			ids = append(ids, s.names.sources[handle][0].head.ID)
		}
		of = append(of, len(handles))
	}
	return append(ids, s.hidden...), of
}
