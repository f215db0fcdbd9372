package dream

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
	"sync"
	"unicode"

	"reverie/internal/reverie"
)

// passing is one way of speaking of what is over before it is read.
type passing struct {
	is  *regexp.Regexp
	but *regexp.Regexp // in the same sentence, it makes it last after all
}

// The two reasons why a statement means nothing later.
const (
	toldFromToday = "it is told from the day of writing (%q): say on which date, or what lasts"
	passingState  = "it speaks of a passing moment (%q), which means nothing next month"
)

// transitory tells whether a statement speaks of a passing state, or tells its time
// from the day on which it is written, and why. A memory is read on another day. It
// knows phrases in Chinese and English, and lets pass what it does not know: habits,
// rules, dated plans and titles hold the same words.
func transitory(content string) (why string, is bool) {
	for _, sentence := range sentences(readable(content)) {
		if habit().MatchString(sentence) {
			continue
		}
		if at := relativeTime(sentence); at != "" {
			return fmt.Sprintf(toldFromToday, at), true
		}
		if at := passingMoment(sentence); at != "" {
			return fmt.Sprintf(passingState, at), true
		}
	}
	return "", false
}

// readable is a text in the form that the rules are written for: folded, simplified,
// without the names of works, and without spaces beside Han characters.
func readable(content string) string {
	text := named().ReplaceAllString(content, "$1 _ ")
	text = titles().ReplaceAllStringFunc(text, func(s string) string {
		if titles().FindStringSubmatch(s)[1] != "" {
			return s // somebody says it
		}
		return " _ "
	})
	text = reverie.Simplify(reverie.Fold(capital().ReplaceAllString(text, "$1 _")))
	return besideHan().ReplaceAllString(beforeHan().ReplaceAllString(text, "$1"), "$1")
}

// sentences divides a text where a sentence ends.
func sentences(text string) []string {
	return strings.FieldsFunc(strings.ReplaceAll(strings.TrimRight(text, ". "), ". ", "。"), func(r rune) bool { return strings.ContainsRune("。!?;\n", r) })
}

// relativeTime is a time that a sentence tells from the day of writing, "" where there
// is none, or a date says besides which day is meant.
func relativeTime(sentence string) string {
	if dated().MatchString(sentence) {
		return ""
	}
	return strings.TrimSpace(relative().FindString(change().ReplaceAllString(sentence, " _ ")))
}

// passingMoment is what a sentence says of a passing moment, "" where it does not.
func passingMoment(sentence string) string {
	for _, p := range moments(sentence) {
		if at := p.is.FindString(sentence); at != "" && (p.but == nil || !p.but.MatchString(sentence)) {
			return strings.Trim(at, " ,.")
		}
	}
	return ""
}

// moments are the rules for the languages of a sentence.
func moments(sentence string) (rules []passing) {
	if strings.ContainsFunc(sentence, func(r rune) bool { return r >= 'a' && r <= 'z' }) {
		rules = enMoments()
	}
	if strings.ContainsFunc(sentence, func(r rune) bool { return unicode.Is(unicode.Han, r) }) {
		rules = append(slices.Clip(rules), zhMoments()...)
	}
	return rules
}

// once compiles an expression when it is first needed.
func once(parts ...string) func() *regexp.Regexp {
	return sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(strings.Join(parts, "|")) })
}

// What the rules are written in: see englishMoments and chineseMoments.
var (
	habit     = once(englishHabits, chineseHabits)
	dated     = once(englishDates, chineseDates)
	change    = once(englishChange, chineseChange)
	relative  = once(englishRelative, chineseRelative)
	enMoments = sync.OnceValue(englishMoments)
	zhMoments = sync.OnceValue(chineseMoments)

	// titles are the names of works, but not what somebody says.
	titles = once(`(?i)[《〈][^》〉]{1,40}[》〉]|((?:said|says|wrote|writes|asked|asks|answered|texted|announced|told \w+|说|道|写|问|答|:|：|,|，)\s*)?[“"「『][^”"」』]{1,40}[”"」』]`)
	// named is what something is called, in capitals.
	named = once(`(\b(?:called|named|titled|entitled|nicknamed)) (?:\p{Lu}[\w'-]*(?:\s|\b))+`)
	// capital is a word of time that is written as a name, and not at the beginning.
	capital   = once(`([^.!?。！？:：\s]\s["“‘']?)(?:Today|Tonight|Tomorrow|Yesterday)\b`)
	beforeHan = once(`\s+(\p{Han})`)
	besideHan = once(`(\p{Han})\s+`)
)
