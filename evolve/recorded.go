package evolve

import (
	"fmt"
	"slices"

	"reverie/internal/llm/lines"
	"reverie/internal/reverie"
)

// A run that is run again takes the chunks of the first one, and their answers. What
// becomes of an answer is found out anew: by the rules, limits and prompts of now.

// recorded tells whether the run is run again.
func (r *run) recorded() bool { return len(r.req.Recorded) > 0 }

// nextRecorded takes up the next chunk, or says that there is none.
func (r *run) nextRecorded() bool {
	n := r.life.Stats.Chunks
	if n >= len(r.req.Recorded) {
		return false
	}
	r.resume = &r.req.Recorded[n]
	return true
}

// NamesMemories tells whether an answer names a memory by its place among those that the
// model was shown.
func NamesMemories(text string) bool {
	proposals, _ := parse(answer{text: text, Result: lines.Read(text)})
	return slices.ContainsFunc(proposals, func(p proposal) bool { return p.oldID != "" })
}

// asShown has a recorded answer to a question that would be put in other words now name
// the memories that it was shown then. The chunks of earlier versions do not say which
// those were; all that there are stand in the same order.
func (r *run) asShown(s *sheet, stored reverie.Chunk) error {
	if len(stored.MemoryIDs) == 0 {
		if len(s.shown) < len(s.state.Heads) && NamesMemories(stored.Answer) {
			return fmt.Errorf("chunk %d of group %q does not say which memories it was shown, and they are too many now to be shown all: %w",
				s.no, r.req.GroupID, reverie.ErrUnusable)
		}
		return nil
	}
	s.then = make([]string, len(stored.MemoryIDs))
	for i, id := range stored.MemoryIDs {
		s.then[i] = r.req.Lineages[id]
	}
	return nil
}

// shownAs is what m1..mN named then that is there now: each is the memory itself, or nobody.
func (s *sheet) shownAs(i int) *reverie.HeadState {
	for _, list := range [][]reverie.HeadState{s.shown, s.state.Heads} {
		at := slices.IndexFunc(list, func(h reverie.HeadState) bool { return h.LineageID == s.then[i] })
		if at >= 0 {
			return &list[at]
		}
	}
	return nil
}
