package offline

import (
	"slices"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/rivo/uniseg"

	"reverie/internal/safety"
	texts "reverie/internal/text"
)

// Bounds that keep a paste from costing more than a conversation.
const (
	maxMessageBytes = 4000 // bytes read of one message
	maxSentences    = 12   // of one message
	readAtMost      = 600  // sentences of one question
	maxQuote        = 160  // characters
)

// message is one message of a question. The prompts leave out the role of people.
type message struct {
	ID     int    `json:"id"`
	Time   string `json:"time"`
	Author string `json:"author"`
	Role   string `json:"role"`
	Text   string `json:"text"`
}

func (m message) fromPerson() bool { return m.ID > 0 && (m.Role == "" || m.Role == "user") }

// sentAt returns the zero time if the time is invalid: only distances matter.
func (m message) sentAt() time.Time {
	at, _ := time.Parse(time.RFC3339, m.Time)
	return at
}

// citation is a message and a quote from it.
type citation struct {
	Message int    `json:"message"`
	Quote   string `json:"quote"`
}

// sentence is a text with what it is compared by.
type sentence struct {
	message *message
	text    string   // as in the message, trimmed
	terms   []string // stems of words and pairs of Han characters, sorted, without duplicates
	figures []texts.Detail
	denials int
}

// readSentence parses a text, such as a memory's statement.
func readSentence(said string) sentence {
	folded := texts.Simplify(texts.Fold(said))
	s := sentence{text: said, figures: texts.Figures(folded), denials: len(texts.Negations(folded))}
	tokens(folded, func(kind script, token string) {
		switch {
		case kind == scriptDense:
			s.terms = append(s.terms, pairs(token)...)
		case kind == scriptWord && !words().StopWords[token]:
			s.terms = append(s.terms, texts.Stem(token))
		}
	})
	slices.Sort(s.terms)
	s.terms = slices.Compact(s.terms)
	return s
}

// pairs splits a run of a script without spaces at its particles, and into pairs.
func pairs(token string) []string {
	var out []string
	for _, piece := range strings.FieldsFunc(token, func(r rune) bool { return strings.ContainsRune(words().Particles, r) }) {
		runes := []rune(piece)
		for i := range len(runes) - 1 {
			out = append(out, string(runes[i:i+2]))
		}
	}
	return out
}

// readMessages returns the sentences of people, in order, without questions, guesses, commands and quotations.
func readMessages(messages []message) []sentence {
	var all []sentence
	for i := range messages {
		m := &messages[i]
		rest, n := cutBytes(m.Text, maxMessageBytes), 0
		for state := -1; rest != "" && n < maxSentences && m.fromPerson(); n++ {
			var said string
			said, rest, state = uniseg.FirstSentenceInString(rest, state)
			said = strings.TrimSpace(said)
			first, _ := utf8.DecodeRuneInString(said)
			if (unicode.IsLetter(first) || unicode.IsDigit(first)) && !strings.ContainsAny(said, "?？") && !words().Unsure.in(said) {
				s := readSentence(said)
				s.message = m
				all = append(all, s)
			}
		}
	}
	return all[:min(len(all), readAtMost)]
}

// cutBytes shortens s to n bytes at a character boundary.
func cutBytes(s string, n int) string {
	if len(s) <= n {
		return s
	}
	for n > 0 && !utf8.RuneStart(s[n]) {
		n--
	}
	return s[:n]
}

// leastTerms is the number of terms that two sentences must have in common to say the same.
const leastTerms = 3

// alike reports whether two sentences say the same: one has three quarters of the terms of the other. Neither may deny
// it alone, nor have other figures.
func (s sentence) alike(o sentence) bool {
	common := s.common(o)
	return common >= leastTerms && 4*common >= 3*min(len(s.terms), len(o.terms)) && s.denials == o.denials &&
		(within(s.figures, o.figures) || within(o.figures, s.figures))
}

// about reports whether two sentences have half of the terms of the shorter one in common.
func (s sentence) about(o sentence) bool {
	common := s.common(o)
	return common >= 2 && 2*common >= min(len(s.terms), len(o.terms))
}

// common counts the terms that both sentences have.
func (s sentence) common(o sentence) int {
	return len(slices.DeleteFunc(slices.Clone(s.terms), func(t string) bool {
		_, found := slices.BinarySearch(o.terms, t)
		return !found
	}))
}

func within(some, all []texts.Detail) bool {
	return !slices.ContainsFunc(some, func(d texts.Detail) bool { return !slices.ContainsFunc(all, d.Like) })
}

// repeats reports whether another sentence says the same: by somebody else, or by the author hours later. An exact copy
// is a paste.
func (s sentence) repeats(o sentence) bool {
	apart := o.message.sentAt().Sub(s.message.sentAt()).Abs()
	return o.message != s.message && !strings.EqualFold(o.text, s.text) && s.alike(o) &&
		(o.message.Author != s.message.Author || apart >= repeatAfter)
}

// quote returns the sentence, or its beginning if it is long; "" if it cannot be verified.
func (s sentence) quote() string {
	runes := []rune(s.text)
	quote := strings.TrimSpace(string(runes[:min(len(runes), maxQuote)]))
	if !texts.VerifyQuote(quote, s.message.Text) {
		return ""
	}
	return quote
}

// statement returns a sentence as a memory, on one line and without its final mark. ok is false if it says too little,
// says something of its author ("I"), addresses somebody ("lin: it works"), or may not be remembered.
func (s sentence) statement() (text string, ok bool) {
	text = strings.TrimRight(strings.Join(strings.Fields(s.text), " "), "。.!！;；~～ ")
	first, _, _ := strings.Cut(text, " ")
	return text, len(s.terms) >= leastTerms && !words().Selves.in(text) && !strings.HasSuffix(first, ":") &&
		safety.CheckStatement(text) == nil
}
