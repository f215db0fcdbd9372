package offline

import (
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"reverie/internal/lazyregexp"
	"reverie/internal/reverie"
)

// Lengths of a sentence that may stand as a statement, in characters, and how
// many words (a Han character is half of one) it has at least.
const (
	maxClaim   = 200
	minWords   = 5
	minContent = 2.0
	maxAuthor  = 32
)

// marksClaim are words that an English statement of a habit, a rule, a view or a
// fact can hardly do without. Chinese has no such small set.
var marksClaim = newMarker(`always, usually, every, each, never, prefer, prefers, like, likes, love, loves, hate, hates, rule, rules,
	agreed, decided, must, should, will, use, uses, run, runs, meet, meets, play, plays, live, lives, work, works, keep, keeps, own, owns,
	go, goes, stay, stays, means, takes, starts, ends, costs, cost, put, belongs, need, needs, moved, switched, is, are, was, has, have,
	had, do, don't, doesn't, isn't, aren't, can, can't, won't, there's`, ``, nil)

// leadIn is what people say before they say something; danglers begin a sentence
// whose subject stands somewhere else.
var (
	leadIn = lazyregexp.New(`(?i)^(?:(?:ok|okay|yeah|yes|yep|yup|right|sure|well|so|btw|fyi|also|and|but|oh|ah|hey|hi all|exactly|true|agreed|same|` +
		`definitely|great|nice|good|cool|ha|haha|hmm+|lol|remember|reminder|update|note|decision|rule)[,:!.…]+\s*|(?:and|but|so|also) |` +
		`(?:对|嗯+|好的?|是的?|是啊|对啊|哦|噢|欸|诶|哈+|行|收到|没错|确实|同意|那就?|ok|另外|而且|还有|提醒一下|说一下|记一下|总结一下|补充一下|再说一遍|最后)[，,！!：:～~\s]+)+`)
	dangler = lazyregexp.New(`(?i)^(?:he|she|it|its|it's|they|they're|that|that's|this|these|those|there|then|because|which|or|than|same|` +
		`him|her|them)\b|^(?:他|她|它|这|那|其|因为|所以|不过|但|然后|或者|而)`)
	endTrim = "。.！!~～…,，；;、 "
)

// wording is a sentence as a memory would state it.
type wording struct {
	text    string
	tags    []string
	clarity float64 // higher is better; only compared
}

// statement words a sentence as a memory, given what else says the same; ok is
// false where it would not be understood by itself, or is not a statement at
// all. The words are the author's own: only clauses at its beginning and end
// that nobody else repeats are cut, and a sentence in the first person is put
// in its author's mouth.
func (d digester) statement(s *sentence, author string, others []digest) (w wording, ok bool) {
	if s.noise || s.asks || s.jokes || s.passing || s.hedges {
		return wording{}, false
	}
	text := trimEnd(d.recurring(strings.Join(strings.Fields(s.text), " "), others))
	g := d.digest(text)
	n := utf8.RuneCountInString(text)
	if n > maxClaim || countWords(text) < minWords || g.weight < minContent || dangler.MatchString(text) || unbalanced(text) ||
		!isDense(text) && !marksClaim.in(g.spoken) || marksYou.in(g.spoken) {
		return wording{}, false
	}
	covered := coveredBy(g, others)
	w.clarity = covered - 0.4*(g.weight-covered) + float64(len(g.slots)) - float64(max(n-90, 0))/30
	if w.tags = tagsOf(g.spoken); w.tags != nil {
		w.clarity++
	}
	if marksSelf.in(g.spoken) {
		w.clarity -= 2
		if text, ok = attribute(author, text); !ok {
			return wording{}, false
		}
	}
	w.text = text
	return w, reverie.CheckStatement(text) == nil
}

func trimEnd(text string) string {
	return strings.TrimRightFunc(text, func(r rune) bool {
		return strings.ContainsRune(endTrim, r) || unicode.Is(unicode.So, r) || unicode.Is(unicode.Variation_Selector, r)
	})
}

// coveredBy is the weight of the terms of g that others hold too.
func coveredBy(g digest, others []digest) float64 {
	covered := make(map[uint64]float64)
	for _, o := range others {
		walk(g.terms, o.terms, func(x, _ term) { covered[x.hash] = x.weight })
	}
	var sum float64
	for _, t := range g.terms { // in order, so that the sum is the same every time
		sum += covered[t.hash]
	}
	return sum
}

// recurring cuts what leads in ("btw, ", "好的，"), then clauses at the beginning
// that share nothing with the others ("说正事，", "for the newcomers: "), then
// such clauses at the end that speak in the first or second person.
func (d digester) recurring(text string, others []digest) string {
	text = strings.TrimSpace(text[len(leadIn.FindString(text)):])
	alone := func(clause, rest string) bool {
		g := d.digest(clause)
		slots, _ := cutSlots(fold(rest))
		return !g.changes && coveredBy(g, others) == 0 && !slices.ContainsFunc(g.slots, func(s slot) bool { return !slices.Contains(slots, s) })
	}
	for range 3 {
		at := clauseBreak.FindStringIndex(text)
		if at == nil || countWords(text[at[1]:]) < minWords || !alone(text[:at[0]], text[at[1]:]) {
			break
		}
		text = text[at[1]:]
	}
	for range 3 {
		breaks := clauseBreak.FindAllStringIndex(text, -1)
		if len(breaks) == 0 {
			break
		}
		at := breaks[len(breaks)-1]
		tail := speak(fold(text[at[1]:]))
		if countWords(text[:at[0]]) < minWords || !(marksSelf.in(tail) || marksYou.in(tail)) || !alone(text[at[1]:], text[:at[0]]) {
			break
		}
		text = text[:at[0]]
	}
	return text[len(leadIn.FindString(text)):]
}

// clauseBreak is what stands between two clauses of a sentence.
var clauseBreak = lazyregexp.New(`[，：]\s*|[,:]\s+`)

// attribute puts a sentence in its author's mouth. Names that are more than a
// name are refused: they are text from outside like any other.
func attribute(author, text string) (string, bool) {
	author = strings.TrimSpace(author)
	if author == "" || utf8.RuneCountInString(author) > maxAuthor || strings.ContainsFunc(author, func(r rune) bool {
		return !unicode.IsLetter(r) && !unicode.IsDigit(r) && !strings.ContainsRune("_-. ", r)
	}) {
		return "", false
	}
	if isDense(text) {
		return author + "说：" + text, true
	}
	return author + " says: " + text, true
}

// speaker returns the name before "says:" of an attributed statement, "" for
// any other.
func speaker(statement string) string {
	for _, mark := range []string{" says: ", "说："} {
		if name, _, ok := strings.Cut(statement, mark); ok && utf8.RuneCountInString(name) <= maxAuthor {
			return name
		}
	}
	return ""
}

// withoutSpeaker returns what an attributed statement says, or the statement.
func withoutSpeaker(statement string) string {
	name := speaker(statement)
	return strings.TrimPrefix(strings.TrimPrefix(statement[len(name):], " says: "), "说：")
}

// countWords counts Latin words and half of the Han characters.
func countWords(s string) float64 {
	var n float64
	tokens(fold(s), func(kind script, token string) {
		if kind == scriptDense {
			n += float64(utf8.RuneCountInString(token)) / 2
		} else {
			n++
		}
	})
	return n
}

// isDense tells whether a text is mainly in a script without spaces.
func isDense(s string) bool {
	var dense, words float64
	tokens(fold(s), func(kind script, token string) {
		if kind == scriptDense {
			dense += float64(utf8.RuneCountInString(token)) / 2
		} else {
			words++
		}
	})
	return dense >= words
}

// unbalanced tells whether a bracket or quotation mark has lost its partner when
// the sentence was cut.
func unbalanced(s string) bool {
	for _, pair := range []string{"()", "（）", "“”", "「」", "『』", "《》"} {
		r := []rune(pair)
		if strings.Count(s, string(r[0])) != strings.Count(s, string(r[1])) {
			return true
		}
	}
	return strings.Count(s, `"`)%2 == 1
}
