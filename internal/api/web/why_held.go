package web

import (
	"html/template"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
)

// phrase finds a text of the page at the beginning of one of the rest of the product.
type phrase struct {
	key     string
	pattern *regexp.Regexp
}

// Why plans are held, and why something is not put back.
var (
	heldPhrases = sync.OnceValue(func() []phrase { return phrasesOf("why_held.") })
	leftPhrases = sync.OnceValue(func() []phrase { return phrasesOf("why_left.") })
)

// phrasesOf finds the texts whose keys begin so. One that another begins with comes
// after it.
func phrasesOf(part string) (list []phrase) {
	for _, key := range slices.Backward(slices.Sorted(maps.Keys(locales()[english]))) {
		if !strings.HasPrefix(key, part) {
			continue
		}
		text := regexp.QuoteMeta(locales()[english][key])
		pattern := strings.NewReplacer("%d", `(\d{1,9})`, "%s", `(.+?)`).Replace(text)
		list = append(list, phrase{key, regexp.MustCompile(`^` + pattern + `(?:; |$)`)})
	}
	return list
}

// WhyHeld says why a plan is held: {{$.WhyHeld .Reason}}.
func (v view) WhyHeld(why string) template.HTML { return v.lang.phrased(heldPhrases(), why) }

// WhyLeft says why something is not put back: {{$.WhyLeft .Reason}}.
func (v view) WhyLeft(why string) template.HTML { return v.lang.phrased(leftPhrases(), why) }

// phrased is a reason in the language where it is put in phrases that are known, else as
// it stands.
func (l lang) phrased(known []phrase, why string) template.HTML {
	if l == english {
		return say(why)
	}
	var parts []string
	for why != "" {
		text, rest := l.firstPhrase(known, why)
		parts, why = append(parts, text), rest
	}
	return template.HTML(strings.Join(parts, "；")) //nolint:gosec // escaped by say
}

// firstPhrase translates the first of several phrases, and returns what follows it.
func (l lang) firstPhrase(known []phrase, why string) (shown, rest string) {
	for _, p := range known {
		m := p.pattern.FindStringSubmatch(why)
		if m == nil {
			continue
		}
		var args []any
		for _, arg := range m[1:] {
			if n, err := strconv.Atoi(arg); err == nil && strings.Contains(locales()[english][p.key], "%d") {
				args = append(args, n)
			} else {
				args = append(args, arg)
			}
		}
		return string(say(l.text(p.key, args...))), why[len(m[0]):]
	}
	phrase, rest, _ := strings.Cut(why, "; ")
	return `<span lang="en">` + string(say(phrase)) + "</span>", rest
}
