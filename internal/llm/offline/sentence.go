package offline

import (
	"slices"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"reverie/internal/safety"
	texts "reverie/internal/text"
)

// Bounds that keep a paste from costing more than a conversation.
const (
	maxMessageBytes = 4000 // bytes read of one message
	maxSentences    = 12   // of one message
	readAtMost      = 600  // sentences of one question
	maxQuote        = 160  // characters
	maxAuthor       = 40   // characters of a name at the beginning of a statement
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

// sentence is a text and its terms for comparing. Terms are stems of words and pairs of Han characters, sorted,
// without duplicates.
type sentence struct {
	message *message
	text    string // as in the message, trimmed
	folded  string
	spaced  string // words in scripts with spaces, separated by spaces
	terms   []string
	figures []string // numbers, days and the like
	denied  bool
	self    bool
	sure    bool // neither a question nor a guess
}

// readSentence parses a text, such as a memory's statement.
func readSentence(said string) sentence {
	s := sentence{text: said, folded: fold(said)}
	l := words()
	var b strings.Builder
	b.WriteByte(' ')
	tokens(s.folded, func(kind script, token string) {
		switch {
		case kind == scriptNumber, strings.ContainsFunc(token, unicode.IsDigit):
			s.figures = append(s.figures, token)
		case kind == scriptDense:
			s.terms = append(s.terms, pairs(token)...)
			return
		case !l.StopWords[token]:
			s.terms = append(s.terms, texts.Stem(token))
		}
		b.WriteString(strings.ReplaceAll(token, "’", "'") + " ")
	})
	s.spaced = b.String()
	slices.Sort(s.terms)
	s.terms = slices.Compact(s.terms)
	s.figures = append(s.figures, l.Figures.in(s)...)
	s.denied = len(l.Denials.in(s)) > 0
	s.self = len(l.Selves.in(s)) > 0
	s.sure = len(l.Unsure.in(s)) == 0 && !asks(s.folded)
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

// asks recognises a question by the mark at its end or a Chinese particle.
func asks(folded string) bool {
	trimmed := strings.TrimRight(folded, " ~～.。…!！)）\"”")
	return strings.ContainsAny(folded, "?？") || hasAnySuffix(trimmed, "吗", "么", "呢", "没")
}

// readMessages splits the messages of people into sentences, in order.
func readMessages(messages []message) []sentence {
	var all []sentence
	for i := range messages {
		m := &messages[i]
		if !m.fromPerson() {
			continue
		}
		for _, text := range splitSentences(m.Text, maxSentences) {
			text = withoutAddress(text)
			if r, _ := utf8.DecodeRuneInString(text); !unicode.IsLetter(r) && !unicode.IsDigit(r) {
				continue // a command, a quotation, or a mark
			}
			s := readSentence(bare(text))
			s.message, s.text = m, text
			s.sure = s.sure && !asks(text)
			all = append(all, s)
		}
	}
	return all[:min(len(all), readAtMost)]
}

// withoutAddress removes the name of the addressee: "lin: it works".
func withoutAddress(text string) string {
	name, rest, ok := strings.Cut(text, ": ")
	if !ok || !isASCII(name) || strings.ContainsFunc(name, unicode.IsSpace) ||
		slices.Contains(words().Remember, strings.ToLower(name)+":") {
		return text
	}
	return strings.TrimSpace(rest)
}

// splitSentences splits at line ends and at marks that end a sentence, into at most most sentences.
func splitSentences(text string, most int) []string {
	text = cutBytes(text, maxMessageBytes)
	var out []string
	start := 0
	take := func(end int) {
		if s := strings.TrimSpace(text[start:end]); s != "" && len(out) < most {
			out = append(out, s)
		}
		start = end
	}
	for i, r := range text {
		end := i + max(utf8.RuneLen(r), 1)
		next, _ := utf8.DecodeRuneInString(text[min(end, len(text)):])
		switch r {
		case '\n', '\r':
			take(i)
		case '。', '！', '？', '；', '!', '?', ';':
			if !strings.ContainsRune("。！？!?；;”』」\"')）", next) {
				take(min(end, len(text)))
			}
		case '.':
			abbreviated := hasAnySuffix(strings.ToLower(text[start:i]), " e.g", " i.e", " etc", " vs", " mr", " dr", "..")
			if unicode.IsSpace(next) && !abbreviated {
				take(end)
			}
		}
	}
	take(len(text))
	return out
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

// weight counts words; a pair of Han characters counts as half a word.
func weight(terms []string) float64 {
	n := 0.0
	for _, t := range terms {
		if isASCII(t) {
			n++
		} else {
			n += 0.5
		}
	}
	return n
}

// shared returns the weight of the common terms of two sentences, and of the terms that only one of them has.
func shared(a, b sentence) (common, onlyA, onlyB float64) {
	var both []string
	for _, t := range a.terms {
		if _, found := slices.BinarySearch(b.terms, t); found {
			both = append(both, t)
		}
	}
	common = weight(both)
	return common, weight(a.terms) - common, weight(b.terms) - common
}

// What two sentences must have in common to be about the same, and to say the same. A further word makes another
// statement; half a word of Han characters does not.
const (
	aboutCommon = 1.5
	sameCommon  = 2.0
	nothingElse = 0.5
)

// about reports whether two sentences are about the same: half of the words of the shorter one are common.
func about(a, b sentence) bool {
	common, onlyA, onlyB := shared(a, b)
	return common >= aboutCommon && common >= min(onlyA, onlyB)
}

// same reports whether two sentences say the same. One must say nothing beyond the other, and neither may deny it
// alone. If both have numbers or days, neither may have one that the other lacks.
func same(a, b sentence) bool { return supports(a, b) || supports(b, a) }

// supports reports whether a sentence says what another one says, and nothing else.
func supports(s, known sentence) bool {
	common, only, _ := shared(s, known)
	return common >= sameCommon && only <= nothingElse && s.denied == known.denied &&
		(within(s.figures, known.figures) || within(known.figures, s.figures))
}

func within(some, all []string) bool {
	return !slices.ContainsFunc(some, func(s string) bool { return !slices.Contains(all, s) })
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

// cite quotes sentences, one per message and at most four.
func cite(sentences []sentence) []citation {
	var out []citation
	for _, s := range sentences {
		quote := s.quote()
		seen := slices.ContainsFunc(out, func(c citation) bool { return c.Message == s.message.ID })
		if quote != "" && !seen && len(out) < 4 {
			out = append(out, citation{s.message.ID, quote})
		}
	}
	return out
}

// statement returns a sentence as a memory: without its lead-in, and attributed to its author if it is in the first
// person. ok is false if it says too little, or something that no memory may say.
func (s sentence) statement() (text string, ok bool) {
	text = bare(s.text)
	if s.self {
		says := " says: "
		if isDense(text) {
			says = "说："
		}
		name := strings.TrimSpace(s.message.Author)
		if !plainName(name) {
			return "", false
		}
		text = name + says + text
	}
	return text, weight(s.terms) >= aboutCommon && safety.CheckStatement(text) == nil
}

// bare returns a text as one line, without lead-ins and the final mark.
func bare(text string) string {
	text = strings.Join(strings.Fields(text), " ")
	for again := true; again; {
		again = false
		for _, lead := range words().LeadIns {
			if len(text) > len(lead) && strings.EqualFold(text[:len(lead)], lead) {
				rest := text[len(lead):]
				if trimmed := strings.TrimLeft(rest, ",，:： "); trimmed != "" && trimmed != rest {
					text, again = trimmed, true
					break
				}
			}
		}
	}
	return strings.TrimRight(text, "。.!！;；~～ ")
}

// plainName rejects names that are more than a name, since they are untrusted text.
func plainName(name string) bool {
	return name != "" && utf8.RuneCountInString(name) <= maxAuthor && !strings.ContainsFunc(name, func(r rune) bool {
		return !unicode.IsLetter(r) && !unicode.IsDigit(r) && !strings.ContainsRune("_-. ", r)
	})
}

// isDense reports whether a text is mainly in a script without spaces.
func isDense(s string) bool {
	var dense, spaced float64
	tokens(fold(s), func(kind script, token string) {
		if kind == scriptDense {
			dense += float64(utf8.RuneCountInString(token)) / 2
		} else {
			spaced++
		}
	})
	return dense >= spaced
}
