package web

import (
	"html/template"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// heldPhrase finds one of heldTexts at the beginning of why a plan is held.
type heldPhrase struct {
	name    string // after "why_held."
	pattern *regexp.Regexp
}

// heldPhrases are all of them. One that another begins with comes after it.
var heldPhrases = func() (list []heldPhrase) {
	for _, key := range slices.Backward(slices.Sorted(maps.Keys(heldTexts))) {
		name := strings.TrimPrefix(key, "why_held.")
		pattern := strings.NewReplacer("%d", `(\d{1,9})`, "%s", `(.+?)`).Replace(regexp.QuoteMeta(heldTexts[key].en))
		list = append(list, heldPhrase{name, regexp.MustCompile(`^` + pattern + `(?:; |$)`)})
	}
	return list
}()

// WhyHeld says why a plan is held: {{$.WhyHeld .Reason}}.
func (v view) WhyHeld(why string) template.HTML { return v.lang.whyHeld(why) }

// whyHeld is why a plan is held, in the language where it is put in a phrase that is
// known, else as it stands.
func (l lang) whyHeld(why string) template.HTML {
	if l == english {
		return say(why)
	}
	var parts []string
	for why != "" {
		text, rest := l.firstPhrase(why)
		parts, why = append(parts, text), rest
	}
	return template.HTML(strings.Join(parts, "；")) //nolint:gosec // escaped by say
}

// firstPhrase translates the first of several phrases, and returns what follows it.
func (l lang) firstPhrase(why string) (shown, rest string) {
	for _, p := range heldPhrases {
		m := p.pattern.FindStringSubmatch(why)
		if m == nil {
			continue
		}
		key, args := "why_held."+p.name, []any{}
		for _, arg := range m[1:] {
			if n, err := strconv.Atoi(arg); err == nil && strings.Contains(heldTexts[key].en, "%d") {
				args = append(args, n)
			} else {
				args = append(args, arg)
			}
		}
		return string(say(l.text(key, args...))), why[len(m[0]):]
	}
	phrase, rest, _ := strings.Cut(why, "; ")
	return `<span lang="en">` + string(say(phrase)) + "</span>", rest
}
