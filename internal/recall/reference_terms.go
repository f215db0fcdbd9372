package recall

import (
	_ "embed"
	"fmt"
	"slices"
	"strings"
	"sync"
	"unicode"
	"unicode/utf8"

	"github.com/pelletier/go-toml/v2"
	"golang.org/x/text/unicode/norm"

	"reverie/internal/text"
)

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
	empty, common, commonPairs map[string]bool
	emptyHan                   string
	phrases                    *strings.Replacer // takes out the phrases that say nothing
}

var lists = sync.OnceValue(func() (w wordLists) {
	var file struct {
		Empty        string `toml:"empty"`
		Common       string `toml:"common"`
		EmptyHan     string `toml:"empty_han"`
		EmptyPhrases string `toml:"empty_phrases"`
		CommonPairs  string `toml:"common_pairs"`
	}
	if err := toml.Unmarshal([]byte(wordsFile), &file); err != nil {
		panic(fmt.Sprintf("reference_words.toml: %v", err)) // it is part of the binary
	}
	set := func(list string, form func(string) string) map[string]bool {
		words := map[string]bool{}
		for w := range strings.FieldsSeq(list) {
			words[form(w)] = true
		}
		return words
	}
	same := func(s string) string { return s }
	w = wordLists{empty: set(file.Empty, same), common: set(file.Common, stem),
		commonPairs: set(file.CommonPairs, same), emptyHan: file.EmptyHan}
	var pairs []string
	for p := range strings.FieldsSeq(file.EmptyPhrases) {
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
	if w == "" || read[w] || lists().empty[w] || strings.Trim(w, "0123456789.,:") == "" {
		return term{}
	}
	t := term{key: stem(w), weight: weightWord}
	first, _ := utf8.DecodeRuneInString(written)
	switch {
	case lists().common[t.key], utf8.RuneCountInString(w) < 2:
		t.weight = weightCommon
	case !begins && unicode.IsUpper(first), strings.ContainsAny(w, "0123456789+#"):
		t.weight = weightName
	}
	return t
}

// pairs are the pairs of neighbouring characters of a run of Han characters. Those that
// say nothing divide it.
func pairs(run string) (terms []term) {
	empty := func(r rune) bool { return strings.ContainsRune(lists().emptyHan, r) }
	for part := range strings.FieldsFuncSeq(run, empty) {
		chars := []rune(part)
		if len(chars) == 1 {
			terms = append(terms, term{key: part, weight: weightSingle})
		}
		for i := range len(chars) - 1 {
			t := term{key: string(chars[i : i+2]), weight: weightPair, joined: i > 0}
			if lists().commonPairs[t.key] {
				t.weight = weightCommon
			}
			terms = append(terms, t)
		}
	}
	return terms
}

// endings are cut off English words, the first that fits, where three letters or more
// are left.
var endings = []struct{ from, to string }{
	{"'s", ""}, {"ies", "y"}, {"ied", "y"}, {"sses", "ss"}, {"shes", "sh"}, {"ches", "ch"}, {"xes", "x"},
	{"ings", ""}, {"ing", ""}, {"ed", ""}, {"ss", "ss"}, {"us", "us"}, {"is", "is"}, {"es", ""}, {"s", ""}, {"e", ""},
}

// stem cuts the endings that English words change most. The form is only compared.
func stem(word string) string {
	for _, e := range endings {
		if root, ok := strings.CutSuffix(word, e.from); ok && len(root) >= 3 {
			return root + e.to
		}
	}
	return word
}
