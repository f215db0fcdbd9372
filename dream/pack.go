package dream

import (
	"slices"

	"reverie/prompts"
)

// pack divides the material into questions of at most budget tokens, of which
// overhead go to what every question holds besides. The order stays, and each unit is
// in exactly one question; one that is too long for any has a question of its own. A
// session is divided only where it does not fit a question alone.
func pack(b batch, overhead, budget int) []batch {
	p := packer{room: budget - overhead}
	for _, whole := range b.sessions {
		for _, s := range divide(whole, p.room) {
			p.next(prompts.Tokens(s))
			p.open.sessions = append(p.open.sessions, s)
		}
	}
	for _, m := range b.memories {
		p.next(prompts.Tokens(m))
		p.open.memories = append(p.open.memories, m)
	}
	return p.close()
}

// packer fills one question after another.
type packer struct {
	room, used int // tokens of a question, and of the open one
	open       batch
	full       []batch
}

// next makes room for so many tokens, in a new question where the open one has none.
func (p *packer) next(tokens int) {
	if p.used+tokens > p.room {
		p.close()
	}
	p.used += tokens
}

func (p *packer) close() []batch {
	if len(p.open.sessions)+len(p.open.memories) > 0 {
		p.full = append(p.full, p.open)
	}
	p.open, p.used = batch{}, 0
	return p.full
}

// divide cuts a session into pieces of so many tokens, between its units.
func divide(s prompts.DreamSessionView, room int) (pieces []prompts.DreamSessionView) {
	if prompts.Tokens(s) <= room {
		return []prompts.DreamSessionView{s}
	}
	from, used := 0, 0
	for i := range units(s) {
		cost := prompts.Tokens(piece(s, i, i+1))
		if i > from {
			if cost = prompts.Tokens(s.Facts[i-heads(s)]); used+cost > room {
				pieces = append(pieces, piece(s, from, i))
				from, used, cost = i, 0, prompts.Tokens(piece(s, i, i+1))
			}
		}
		used += cost
	}
	return append(pieces, piece(s, from, units(s)))
}

// heads counts what of a session comes before its facts: its summary, or, where it has
// nothing at all, the session itself.
func heads(s prompts.DreamSessionView) int {
	if s.Summary != "" || len(s.Facts) == 0 {
		return 1
	}
	return 0
}

// units counts what of a session can stand in a question by itself: its summary and
// each of its facts.
func units(s prompts.DreamSessionView) int { return heads(s) + len(s.Facts) }

// piece is a session with its units from one up to another alone, and its dates. Only
// with its summary can it be cited.
func piece(s prompts.DreamSessionView, from, to int) prompts.DreamSessionView {
	h := heads(s)
	s.Facts = append([]prompts.DreamFactView{}, s.Facts[max(from-h, 0):max(to-h, 0)]...)
	if from > 0 {
		s.ID, s.Summary = "", ""
	}
	return s
}

// halve divides a question whose answer, or whose text, is too long between its units.
// One with a single unit cannot be divided.
func halve(b batch) (first, second batch, ok bool) {
	total := len(b.memories)
	for _, s := range b.sessions {
		total += units(s)
	}
	if total < 2 {
		return b, batch{}, false
	}
	left := total / 2
	for _, s := range b.sessions {
		n := units(s)
		if k := min(left, n); k > 0 {
			first.sessions = append(first.sessions, piece(s, 0, k))
			left -= k
			if k < n {
				second.sessions = append(second.sessions, piece(s, k, n))
			}
			continue
		}
		second.sessions = append(second.sessions, s)
	}
	first.memories, second.memories = slices.Clip(b.memories[:left]), b.memories[left:]
	return first, second, true
}
