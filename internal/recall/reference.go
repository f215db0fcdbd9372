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

// References estimates for each offered statement the probability, 0 to 1, that the response to the query was made
// with it. From 0.5 on it is more likely than not.
//
// It measures the overlap of words and of pairs of neighbouring terms. Words of scripts with spaces are compared by
// their stems, Han characters by pairs. Words of the query count little, and so do words that most statements share
// or that any answer contains. Names and numbers count most. Only the best two neighbouring sentences of the
// response count, so that a long answer does not repeat everything by chance.
//
// It knows spelling, not meaning. It misses paraphrases, and accepts statements that the answer denies.
func References(query, response string, statements []string) []float64 {
	o := newOverlap(query, response, statements)
	scores := make([]float64, len(statements))
	for i, terms := range o.statements {
		scores[i] = o.best(terms)
	}
	return scores
}

// The constants are fitted to testdata/references.jsonl, so that 0.5 is the best threshold. Weights are in words.
const (
	minCommon    = 0.3  // less overlap than this counts as none
	halfAt       = 1.53 // overlap in words, adjusted as below, that scores 0.5
	coverageGain = 1.4  // if the whole statement is found
	densityGain  = 1.5  // if the sentences say nothing else
	lengthCost   = 0.5  // approximately for each doubling of the answer
	queryShare   = 0.12 // factor of a term's weight if the query has it
	pairGain     = 0.5  // added if two terms are neighbours in both
	figureShare  = 0.45 // factor of the score if the sentences have only other figures
)

// overlap holds a response and its offered statements as terms.
type overlap struct {
	asked      map[string]bool
	sentences  []map[string]bool // of the response: its terms and pairs of terms
	said       []float64         // by sentence: the weight of terms that the query does not have
	figures    [][]term          // by sentence
	statements [][]term
	holders    map[string]int // number of statements with a term
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

// addSentence adds a sentence of the response.
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

// pairKey returns the key of two neighbouring terms.
func pairKey(a, b term) string { return a.key + " " + b.key }

// value returns the weight of a statement's term: lower the more other statements have it.
func (o *overlap) value(t term) float64 {
	v := t.weight * (1 - math.Log(float64(o.holders[t.key]))/math.Log(float64(len(o.statements)+1)))
	if o.asked[t.key] {
		v *= queryShare
	}
	return v
}

// best returns the score of a statement in the two sentences where it is highest.
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

// score compares a statement of weight whole with the sentences from..to of the response.
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

// common returns the weight of a statement's terms that occur in one of the sentences.
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

// otherFigures reports whether a response has figures of the same kind as the statement, but only with other
// values.
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
	weightName   = 1.4 // capitals inside a sentence, or figures inside a word
	weightCommon = 0.35
	weightNumber = 1.3
	weightDigit  = 0.7 // a number of one digit
	weightPair   = 1.1 // two Han characters
	weightSingle = 0.3 // a single Han character
)

// term is a stemmed word, a figure, or two neighbouring Han characters.
type term struct {
	key    string
	figure string // the kind of a figure: a unit, days of the week; "" for other terms
	weight float64
	joined bool // shares a character with the previous term
}

// share reduces a value if the previous term counts too: a run of n Han characters weighs n/2.
func (t term) share(value float64, before bool) float64 {
	if t.joined && before {
		return value / 2
	}
	return value
}

//go:embed reference_words.toml
var wordsFile string

// wordLists is the content of reference_words.toml.
type wordLists struct {
	Empty, Common text.WordSet
	EmptyHan      string       `toml:"empty_han"`
	EmptyPhrases  string       `toml:"empty_phrases"`
	CommonPairs   text.WordSet `toml:"common_pairs"`

	stems   map[string]bool   // of the common words
	phrases *strings.Replacer // removes phrases without content
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

// maxSentences is the maximum number of sentences; the rest counts as the last one.
const maxSentences = 64

// sentencesOfTerms splits a text into sentences, each as its terms in order. Sentences without terms are left out.
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

// distinct returns the terms of all sentences without duplicates.
func distinct(sentences [][]term) []term {
	seen := map[string]bool{}
	return slices.DeleteFunc(slices.Concat(sentences...), func(t term) bool {
		again := seen[t.key]
		seen[t.key] = true
		return again
	})
}

// termsOf splits a sentence into figures, words and runs of Han characters.
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

// cut returns the beginning of a text whose characters all satisfy kind.
func cut(s string, kind func(rune) bool) string { return s[:len(s)-len(strings.TrimLeftFunc(s, kind))] }

// inWord reports whether r is a letter, a digit, or a mark inside numbers and words: 3.5, 7:30, don't, C++.
func inWord(r rune) bool {
	return text.IsDense(r) || text.Joins(r) || strings.ContainsRune("'.,:+#", r)
}

// figureTerm returns the term of a number, day, month or time of day. It ignores the half of the day, which people
// leave out.
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

// wordTerm returns the term of a word of a script with spaces. It has no key if the word has no content, or was
// read as a figure.
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

// pairs returns the pairs of neighbouring characters in a run of Han characters. Characters without content divide
// the run.
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
