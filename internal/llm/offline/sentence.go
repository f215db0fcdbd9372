package offline

import (
	"strings"
	"unicode"
	"unicode/utf8"

	"reverie/internal/lazyregexp"
)

// Bounds that keep a paste from costing more than a conversation.
const (
	maxMessageBytes = 4000 // read of one message
	maxSentences    = 12   // of one message
	maxQuote        = 160  // characters of a quote
)

// sentence is one sentence of a person's message.
type sentence struct {
	message int    // index in task.messages
	text    string // as it stands in the message, trimmed
	digest
	turns   []digest // of the clauses that end or change something
	asks    bool     // a question
	hedges  bool     // wished or guessed
	jokes   bool
	passing bool // true for a day only
	self    bool // the author speaks of himself or herself
	noise   bool // a command, a paste, a link, a bare reaction: not even support
}

// readSentences cuts the messages of people into sentences, in order.
func readSentences(messages []message, d digester) []sentence {
	authors := make(map[string]bool)
	for _, m := range messages {
		authors[strings.ToLower(m.Author)] = true
	}
	most := min(max(readAtMost/max(len(messages), 1), 1), maxSentences)
	var all []sentence
	for i, m := range messages {
		if !m.fromPerson() || m.ID <= 0 {
			continue
		}
		pieces := splitSentences(withoutAddress(m.Text, authors))
		for _, text := range pieces[:min(len(pieces), most)] {
			all = append(all, readSentence(i, text, d))
		}
	}
	return all
}

func readSentence(message int, text string, d digester) sentence {
	s := sentence{message: message, text: text}
	if s.noise = isNoise(text); s.noise {
		return s
	}
	s.digest = d.digest(text)
	if s.ends || s.changes {
		s.turns = d.turns(text, s.digest)
	}
	s.asks = isQuestion(s.spoken)
	s.hedges = marksHedge.in(s.spoken)
	s.jokes = marksJoke.in(s.spoken)
	s.passing = marksPassing.in(s.spoken)
	s.self = marksSelf.in(s.spoken)
	return s
}

// turns digests the clauses in which something ends or changes: "the lock is
// broken, the key moved to the desk" is about the key. The whole sentence comes
// last, for a clause that does not name its subject.
func (d digester) turns(text string, whole digest) []digest {
	var out []digest
	for _, clause := range clauseBreak.Split(text, -1) {
		if g := d.digest(clause); (g.ends || g.changes) && g.weight >= 1 {
			out = append(out, g)
		}
	}
	return append(out, whole)
}

// addressPattern is a name before a colon or comma, as people on IRC call each
// other, or mentions with an @.
var addressPattern = lazyregexp.New("^(?:@[^\\s:：,，]{1,32}[:：,，]?\\s+)+|^([A-Za-z0-9_\\-\\[\\]\\\\^{}|`]{2,24})([:,]) +")

// notNames are words before a colon that introduce what follows.
var notNames = wordSet(`note notes todo fyi update reminder rule rules tldr ps edit warning tip summary decision agreed plan`)

// withoutAddress cuts off whom a message is addressed to: mentions, a known
// author's name before a colon or comma, or any nickname before a colon.
func withoutAddress(text string, authors map[string]bool) string {
	at := addressPattern.FindStringSubmatchIndex(text)
	if at == nil {
		return text
	}
	if at[2] < 0 {
		return text[at[1]:]
	}
	name, mark := strings.ToLower(text[at[2]:at[3]]), text[at[4]:at[5]]
	if authors[name] || mark == ":" && !notNames[name] {
		return text[at[1]:]
	}
	return text
}

// splitSentences cuts at line ends and at marks that end a sentence. The pieces
// are contiguous excerpts of the text.
func splitSentences(text string) []string {
	text = cutBytes(text, maxMessageBytes)
	var out []string
	start := 0
	take := func(end int) {
		if s := strings.TrimSpace(text[start:end]); s != "" && len(out) < maxSentences {
			out = append(out, s)
		}
		start = end
	}
	for i, r := range text {
		size := utf8.RuneLen(r)
		if size < 0 {
			size = 1
		}
		next, _ := utf8.DecodeRuneInString(text[min(i+size, len(text)):])
		switch r {
		case '\n', '\r':
			take(i)
		case '。', '！', '？', '；', '!', '?', ';':
			if !isClosing(next) {
				take(i + size)
			}
		case '.':
			if unicode.IsSpace(next) && !endsAbbreviated(text[start:i]) {
				take(i + 1)
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

func isClosing(r rune) bool { return strings.ContainsRune("。！？!?；;”』」\"')）", r) }

func endsAbbreviated(s string) bool {
	s = strings.ToLower(s)
	return hasAnySuffix(s, " e.g", " i.e", " etc", " vs", " mr", " dr", " approx", "..")
}

var questionWords = wordSet(`who what whats what's where why how hows which whose do does did is are can could would should has have anyone
	anybody am was were isn't aren't don't doesn't any will`)

// isQuestion goes by the mark at the end, a Chinese particle of asking, or the
// English word order of a question.
func isQuestion(t spoken) bool {
	trimmed := strings.TrimRightFunc(t.folded, func(r rune) bool {
		return unicode.IsSpace(r) || strings.ContainsRune("~～.。…!！)）", r) || unicode.Is(unicode.So, r)
	})
	if strings.ContainsAny(t.folded, "?？") || hasAnySuffix(trimmed, "吗", "么", "呢", "没", "咋办") {
		return true
	}
	for _, p := range []string{"为啥", "什么时候", "怎么办", "哪里", "哪儿", "哪个", "谁有", "谁知道", "谁会", "多少钱"} {
		if strings.Contains(t.folded, p) {
			return true
		}
	}
	first, _, _ := strings.Cut(strings.TrimLeft(t.words, " "), " ")
	return questionWords[first]
}
