package recall

import (
	"math"
	"slices"
)

// References says for each statement that was offered how likely it is, from 0 to 1,
// that the response to the query was made with it. From 0.5 on it is more likely than
// not.
//
// It measures the overlap of words and of pairs of neighbouring terms: words of scripts
// with spaces by their stems, Han characters by pairs. What the query says already
// counts little, and so does what most of the statements share or any answer says.
// Names and numbers count most. Only the best two neighbouring sentences of the response
// count, so that a long answer does not repeat everything by chance.
//
// It knows spelling, not meaning. A paraphrase is not recognised, and a statement that
// the answer denies is.
func References(query, response string, statements []string) []float64 {
	o := newOverlap(query, response, statements)
	scores := make([]float64, len(statements))
	for i, terms := range o.statements {
		scores[i] = o.best(terms)
	}
	return scores
}

// The constants are fitted on testdata/references.jsonl so that 0.5 is the best
// threshold. Weights are in words.
const (
	minCommon    = 0.3  // less in common than this is nothing
	halfAt       = 1.5  // words in common, as adjusted below, that score 0.5
	coverageGain = 1.4  // where all of the statement is found
	densityGain  = 1.5  // where the sentences say nothing else
	lengthCost   = 0.5  // for each doubling of the answer, nearly
	queryShare   = 0.12 // of a term's weight, where the query has it
	pairGain     = 0.5  // in addition, where two terms are neighbours in both
	figureShare  = 0.45 // of the score, where the sentences have other figures only
)

// overlap is a response and the statements that were offered for it, as terms.
type overlap struct {
	asked      map[string]bool
	sentences  []map[string]bool // of the response: its terms and pairs of terms
	said       []float64         // by sentence: the weight of what was not asked
	figures    [][]term          // by sentence
	statements [][]term
	holders    map[string]int // how many statements have a term
}

func newOverlap(query, response string, statements []string) *overlap {
	o := &overlap{asked: map[string]bool{}, holders: map[string]int{}}
	for _, sentence := range sentencesOfTerms(query) {
		for _, t := range sentence {
			o.asked[t.key] = true
		}
	}
	for _, s := range statements {
		terms := distinct(sentencesOfTerms(s))
		for _, t := range terms {
			o.holders[t.key]++
		}
		o.statements = append(o.statements, terms)
	}
	for _, sentence := range sentencesOfTerms(response) {
		o.addSentence(sentence)
	}
	return o
}

// addSentence notes what a sentence of the response says.
func (o *overlap) addSentence(sentence []term) {
	found, said := map[string]bool{}, 0.0
	var figures []term
	for i, t := range sentence {
		found[t.key] = true
		if i > 0 {
			found[pairKey(sentence[i-1], t)] = true
		}
		if !o.asked[t.key] {
			said += t.share(t.weight, true)
		}
		if t.figure != "" && !o.asked[t.key] {
			figures = append(figures, t)
		}
	}
	o.sentences = append(o.sentences, found)
	o.said = append(o.said, said)
	o.figures = append(o.figures, figures)
}

// pairKey is the key of two terms that are neighbours.
func pairKey(a, b term) string { return a.key + " " + b.key }

// value is what a term of a statement counts: the less, the more of the other
// statements have it.
func (o *overlap) value(t term) float64 {
	v := t.weight * (1 - math.Log(float64(o.holders[t.key]))/math.Log(float64(len(o.statements)+1)))
	if o.asked[t.key] {
		v *= queryShare
	}
	return v
}

// best is the score of a statement in the two sentences where it is highest.
func (o *overlap) best(statement []term) (best float64) {
	var whole float64
	for _, t := range statement {
		whole += t.share(o.value(t), true)
	}
	for i := range o.sentences {
		best = max(best, o.score(statement, whole, i, min(i+2, len(o.sentences))))
	}
	return best
}

// score compares a statement, of so much weight, with the sentences from..to of the
// response.
func (o *overlap) score(statement []term, whole float64, from, to int) float64 {
	common := o.common(statement, o.sentences[from:to])
	var said float64
	for _, weight := range o.said[from:to] {
		said += weight
	}
	if common <= minCommon || whole <= 0 || said <= 0 {
		return 0
	}
	common *= 1 + coverageGain*min(common/whole, 1) + densityGain*min(common/said, 1)
	common /= 1 + lengthCost*math.Log(max(1, float64(len(o.sentences))/2))
	score := 1 - math.Exp2(-common/halfAt)
	if otherFigures(statement, slices.Concat(o.figures[from:to]...)) {
		score *= figureShare
	}
	return score
}

// common weighs the terms of a statement that stand in one of the sentences.
func (o *overlap) common(statement []term, sentences []map[string]bool) (sum float64) {
	in := func(key string) bool {
		return slices.ContainsFunc(sentences, func(s map[string]bool) bool { return s[key] })
	}
	before := false
	for i, t := range statement {
		found := in(t.key)
		if found {
			v := t.share(o.value(t), before)
			if sum += v; i > 0 && !t.joined && in(pairKey(statement[i-1], t)) {
				sum += pairGain * v / t.weight
			}
		}
		before = found
	}
	return sum
}

// otherFigures tells whether a response counts what a statement counts, and comes to
// other figures only.
func otherFigures(statement, response []term) bool {
	for _, t := range statement {
		same := func(other term) bool { return t.figure != "" && other.figure == t.figure }
		if !slices.ContainsFunc(response, same) {
			continue
		}
		known := func(other term) bool {
			return same(other) && slices.ContainsFunc(statement, func(t term) bool { return t.key == other.key })
		}
		if !slices.ContainsFunc(response, known) {
			return true
		}
	}
	return false
}
