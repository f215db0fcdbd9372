package offline

import (
	"cmp"
	"slices"

	"reverie/internal/reverie"
	"reverie/internal/text"
)

// revise writes one line for each memory. The rewrites and deletes that rest on
// the most evidence come first, up to the share that may change at once; the
// others stay as they are until another night. What is held has no part in that.
func (p *proposer) revise(events [][]event) []line {
	lines := make([]line, len(p.memories))
	type wish struct{ memory, backing int }
	var wishes []wish
	held := 0
	changed := make([]line, len(p.memories))
	for i := range p.memories {
		lines[i] = p.keep(i, events[i])
		l, backing, ok := p.change(i, events[i])
		switch {
		case p.memories[i].Held:
			if held++; ok {
				lines[i] = l
			}
		case ok:
			changed[i] = l
			wishes = append(wishes, wish{i, backing})
		}
	}
	slices.SortStableFunc(wishes, func(a, b wish) int { return cmp.Compare(b.backing, a.backing) })
	for _, w := range wishes[:min(len(wishes), changesAllowed(len(p.memories)-held))] {
		lines[w.memory] = changed[w.memory]
	}
	return lines
}

// changesAllowed stays below what Reverie holds for a person.
func changesAllowed(memories int) int {
	if memories <= 2 {
		return max(memories-1, 0)
	}
	return max(2, memories/changeRatio)
}

// keep is the line of a memory that stays, with what supports it.
func (p *proposer) keep(memory int, events []event) line {
	l := line{Action: reverie.ActionKeep, OldID: p.memories[memory].ID}
	l.Evidence = p.cite(sentencesOf(events, verdictSupport, verdictDetail))
	return l
}

// change is the update or delete of a memory, if there is one, and how much
// stands behind it.
func (p *proposer) change(memory int, events []event) (line, int, bool) {
	m := p.memories[memory]
	l := line{Action: reverie.ActionUpdate, OldID: m.ID}
	backing := sentencesOf(events, verdictChange)
	if len(backing) == 0 {
		backing = p.disputed(memory, events)
	}
	if w, s, ok := p.latest(backing, m.digest); ok && !same(w.text, m.Statement) {
		l.Statement, l.Tags = w.text, w.tags
		l.Evidence = p.cite(append([]int{s}, backing...))
		l.Reason = reason(reasonChange, m.Statement, len(l.Evidence))
		return l, 100 + len(l.Evidence), len(l.Evidence) > 0
	}
	if ends := sentencesOf(events, verdictEnd); len(ends) > 0 {
		l.Action, l.Evidence = reverie.ActionDelete, p.cite(ends)
		l.Reason = reason(reasonEnd, m.Statement, len(l.Evidence))
		return l, 200 + len(l.Evidence), len(l.Evidence) > 0
	}
	details := sentencesOf(events, verdictDetail)
	if w, s, ok := p.latest(details, m.digest); ok && !same(w.text, m.Statement) {
		l.Statement, l.Tags = w.text, w.tags
		l.Evidence = p.cite(append([]int{s}, sentencesOf(events, verdictSupport, verdictDetail)...))
		l.Reason = reason(reasonDetail, m.Statement, len(l.Evidence))
		return l, len(l.Evidence), len(l.Evidence) > 0
	}
	if m.Stale && len(p.cite(sentencesOf(events, verdictSupport, verdictDetail))) == 0 {
		return line{Action: reverie.ActionDelete, OldID: m.ID, Reason: reason(reasonStale, m.Statement, 0)}, 50, true
	}
	return line{}, 0, false
}

// same tells whether a rewrite would change nothing.
func same(a, b string) bool { return text.ContentHash(a) == text.ContentHash(b) }

// disputed returns the sentences that give another value than the memory, once
// two people agree on it.
func (p *proposer) disputed(memory int, events []event) []int {
	all := sentencesOf(events, verdictDispute)
	for _, i := range all {
		same := []int{i}
		for _, j := range all {
			a, b := p.sentences[i], p.sentences[j]
			if p.author(j) != p.author(i) && agree(a.slots, b.slots) {
				same = append(same, j)
			}
		}
		if len(same) > 1 {
			return same
		}
	}
	return nil
}

// latest words the last of the sentences that can stand as a statement, in the
// clearest way that any of them says the same.
func (p *proposer) latest(sentences []int, old digest) (best wording, sentence int, ok bool) {
	for _, i := range slices.Backward(sentences) {
		s := &p.sentences[i]
		if ok && !sameClaim(s.digest, p.sentences[sentence].digest, tieOf(s.digest, p.sentences[sentence].digest)) {
			continue
		}
		others := []digest{old}
		for _, j := range sentences {
			if j != i {
				others = append(others, p.sentences[j].digest)
			}
		}
		if w, fits := p.statement(s, p.author(i), others); fits && (!ok || w.clarity > best.clarity) {
			best, sentence, ok = w, i, true
		}
	}
	return best, sentence, ok
}

func (p *proposer) author(sentence int) string {
	return p.messages[p.sentences[sentence].message].Author
}

func sentencesOf(events []event, verdicts ...verdict) []int {
	var out []int
	for _, e := range events {
		if slices.Contains(verdicts, e.verdict) {
			out = append(out, e.sentence)
		}
	}
	return out
}
