package recall

import (
	_ "embed"
	"fmt"
	"math"
	"slices"
	"strings"
	"sync"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"

	"reverie/internal/text"
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
	halfAt       = 1.53 // words in common, as adjusted below, that score 0.5
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

// The weights of terms: an ordinary word is 1.
const (
	weightWord   = 1.0
	weightName   = 1.4 // capitals inside a sentence, figures inside a word
	weightCommon = 0.35
	weightNumber = 1.3
	weightDigit  = 0.7 // a number of one figure
	weightPair   = 1.1 // two Han characters
	weightSingle = 0.3 // a Han character by itself
)

// term is a word by its stem, a figure, or two neighbouring Han characters.
type term struct {
	key    string
	figure string // what a figure counts: a unit, days of the week; "" for other terms
	weight float64
	joined bool // shares a character with the term before
}

// share is what is left of a value where the term before counts, too: a run of n
// Han characters weighs n/2.
func (t term) share(value float64, before bool) float64 {
	if t.joined && before {
		return value / 2
	}
	return value
}

//go:embed reference_words.toml
var wordsFile string

// wordLists are the lists of reference_words.toml.
type wordLists struct {
	Empty, Common text.WordSet
	EmptyHan      string       `toml:"empty_han"`
	EmptyPhrases  string       `toml:"empty_phrases"`
	CommonPairs   text.WordSet `toml:"common_pairs"`

	stems   map[string]bool   // of the common words
	phrases *strings.Replacer // takes out the phrases that say nothing
}

var lists = sync.OnceValue(func() wordLists {
	w := text.ReadTOML[wordLists](wordsFile)
	w.stems = map[string]bool{}
	for word := range w.Common {
		w.stems[text.Stem(word)] = true
	}
	var pairs []string
	for p := range strings.FieldsSeq(w.EmptyPhrases) {
		pairs = append(pairs, p, " ")
	}
	w.phrases = strings.NewReplacer(pairs...)
	return w
})

// maxSentences is how many sentences are told apart; the others count as the last.
const maxSentences = 64

// sentencesOfTerms divides a text into sentences, each as its terms in order. Sentences
// without any are left out.
func sentencesOfTerms(said string) (list [][]term) {
	said = text.Simplify(norm.NFKC.String(strings.ToValidUTF8(said, " ")))
	said = lists().phrases.Replace(strings.ReplaceAll(said, "’", "'"))
	for _, s := range strings.FieldsFunc(strings.ReplaceAll(said+" ", ". ", "\n"), endsSentence) {
		switch terms := termsOf(s); {
		case len(terms) == 0:
		case len(list) == maxSentences:
			list[maxSentences-1] = append(list[maxSentences-1], terms...)
		default:
			list = append(list, terms)
		}
	}
	return list
}

func endsSentence(r rune) bool { return strings.ContainsRune("。!?;\n", r) }

// distinct are the terms of all sentences, each once.
func distinct(sentences [][]term) []term {
	seen := map[string]bool{}
	return slices.DeleteFunc(slices.Concat(sentences...), func(t term) bool {
		again := seen[t.key]
		seen[t.key] = true
		return again
	})
}

// termsOf cuts a sentence into figures, words and runs of Han characters.
func termsOf(sentence string) (terms []term) {
	read := map[string]bool{} // the words of figures
	for _, d := range text.Figures(text.Fold(sentence)) {
		terms = append(terms, figureTerm(d))
		for word := range strings.FieldsSeq(d.Text) {
			read[word] = true
		}
		if strings.ContainsFunc(d.Text, text.IsDense) {
			sentence = strings.ReplaceAll(sentence, d.Text, " ")
		}
	}
	begins := true
	for part := range strings.FieldsFuncSeq(sentence, func(r rune) bool { return !inWord(r) }) {
		for part != "" {
			run := cut(part, text.IsDense)
			terms = append(terms, pairs(run)...)
			part = part[len(run):]
			word := cut(part, func(r rune) bool { return !text.IsDense(r) })
			if t := wordTerm(strings.Trim(word, "'.,:"), begins, read); t.key != "" {
				terms = append(terms, t)
			}
			part, begins = part[len(word):], false
		}
	}
	return terms
}

// cut is the beginning of a text whose characters are all of one kind.
func cut(s string, kind func(rune) bool) string { return s[:len(s)-len(strings.TrimLeftFunc(s, kind))] }

// inWord tells letters, digits, and the marks inside numbers and words: 3.5, 7:30,
// don't, C++.
func inWord(r rune) bool {
	return text.IsDense(r) || text.Joins(r) || strings.ContainsRune("'.,:+#", r)
}

// figureTerm is the term of a number, day, month or time of day. People leave out
// whether a time is in the morning or in the evening.
func figureTerm(d text.Detail) term {
	t := term{figure: fmt.Sprint(d.Kind, d.Unit), weight: weightWord}
	value := d.Value
	switch {
	case d.Kind >= text.Clock:
		t.figure, t.weight, value = "clock", weightNumber, float64(int(value)%text.HalfDay)
	case d.Kind == text.Number && value < 10:
		t.weight = weightDigit
	case d.Kind == text.Number:
		t.weight = weightNumber
	}
	t.key = fmt.Sprint(min(d.Kind, text.Clock), ":", value)
	return t
}

// wordTerm is the term of a word of a script that writes spaces; without a key where
// the word says nothing, or was read as a figure.
func wordTerm(written string, begins bool, read map[string]bool) term {
	w := strings.ToLower(written)
	if w == "" || read[w] || lists().Empty[w] || strings.Trim(w, "0123456789.,:") == "" {
		return term{}
	}
	t := term{key: text.Stem(w), weight: weightWord}
	first, _ := utf8.DecodeRuneInString(written)
	switch {
	case lists().stems[t.key], utf8.RuneCountInString(w) < 2:
		t.weight = weightCommon
	case !begins && unicode.IsUpper(first), strings.ContainsAny(w, "0123456789+#"):
		t.weight = weightName
	}
	return t
}

// pairs are the pairs of neighbouring characters of a run of Han characters. Those that
// say nothing divide it.
func pairs(run string) (terms []term) {
	empty := func(r rune) bool { return strings.ContainsRune(lists().EmptyHan, r) }
	for part := range strings.FieldsFuncSeq(run, empty) {
		chars := []rune(part)
		if len(chars) == 1 {
			terms = append(terms, term{key: part, weight: weightSingle})
		}
		for i := range len(chars) - 1 {
			t := term{key: string(chars[i : i+2]), weight: weightPair, joined: i > 0}
			if lists().CommonPairs[t.key] {
				t.weight = weightCommon
			}
			terms = append(terms, t)
		}
	}
	return terms
}
