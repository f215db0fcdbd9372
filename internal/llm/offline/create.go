package offline

import (
	"cmp"
	"slices"

	"reverie/internal/reverie"
)

// candidate is a sentence that may become a memory, with those that restate it.
type candidate struct {
	sentence int
	wording
	rank     float64
	restated []int // the other sentences, one a message
}

// create proposes what people repeat and no memory covers.
func (p *proposer) create() []line {
	budget := p.createsAllowed()
	var all []candidate
	for i := range p.sentences {
		if p.taken[i] || budget == 0 {
			continue
		}
		if c, ok := p.candidate(i); ok {
			all = append(all, c)
		}
	}
	slices.SortStableFunc(all, func(a, b candidate) int { return cmp.Compare(b.rank, a.rank) })
	var lines []line
	var chosen []candidate
	for _, c := range all {
		if len(lines) == budget {
			break
		}
		if p.covered(c, chosen) {
			continue
		}
		evidence := p.cite(append([]int{c.sentence}, c.restated...))
		if len(evidence) < 2 {
			continue
		}
		chosen = append(chosen, c)
		lines = append(lines, line{Action: reverie.ActionCreate, Statement: c.text, Evidence: evidence,
			Tags: c.tags, Reason: reason(reasonCreate, c.text, len(evidence))})
	}
	return lines
}

func (p *proposer) createsAllowed() int {
	switch n := len(p.memories); {
	case n >= reverie.MaxActive:
		return 0
	case n >= manyMemories:
		return 1
	case n >= someMemories:
		return 2
	}
	return maxCreates
}

// candidate looks for restatements of a sentence: by another person, or by the
// same one some hours later in other words.
func (p *proposer) candidate(i int) (candidate, bool) {
	s := &p.sentences[i]
	if s.noise || s.asks || s.hedges || s.passing || s.jokes {
		return candidate{}, false
	}
	c := candidate{sentence: i}
	authors, again := map[string]bool{p.author(i): true}, false
	seen := map[int]bool{s.message: true}
	for j := range p.sentences {
		o := &p.sentences[j]
		if seen[o.message] || o.noise || o.asks || o.hedges || o.weight == 0 {
			continue
		}
		same := p.author(j) == p.author(i)
		if s.self && o.self && !same {
			continue // two people's "I"
		}
		if !sameClaim(s.digest, o.digest, tieOf(s.digest, o.digest)) {
			continue
		}
		gap := p.messages[s.message].at.Sub(p.messages[o.message].at).Abs()
		if same && (gap < repeatAfter || o.spoken.folded == s.spoken.folded) {
			continue
		}
		again = again || same
		authors[p.author(j)] = true
		seen[o.message] = true
		c.restated = append(c.restated, j)
	}
	if len(authors) == 1 && !again {
		return candidate{}, false
	}
	var others []digest
	for _, j := range c.restated {
		others = append(others, p.sentences[j].digest)
	}
	w, ok := p.statement(s, p.author(i), others)
	c.wording, c.rank = w, w.clarity+1.5*float64(len(authors))+0.5*float64(len(c.restated))
	return c, ok
}

// covered tells whether a chosen candidate is about the same already.
func (p *proposer) covered(c candidate, chosen []candidate) bool {
	a := p.sentences[c.sentence].digest
	return slices.ContainsFunc(chosen, func(o candidate) bool {
		return tieOf(a, p.sentences[o.sentence].digest).about() || slices.Contains(o.restated, c.sentence)
	})
}
