// Package gitleaks finds keys, tokens and passwords with the rules of gitleaks, besides
// those that package safety has by itself. Importing it is enough:
//
//	import _ "reverie/internal/safety/gitleaks"
//
// as image codecs are: from then on [FindSecrets] knows them too. Package safety
// stays free of what gitleaks brings along, for the sake of those who only import the
// client.
//
// Its rules are used, not its Detector's scan: that tells lines and columns instead of
// bytes, searches the whole text for a rule as soon as its keyword stands anywhere in it
// (0.6 MB/s), may be switched off by a comment "gitleaks:allow" in the text, and knows no
// end of a token but space and quotes, where a chat goes on with a comma or in Chinese.
package gitleaks

import (
	"sync"

	"reverie/internal/safety"
)

func init() {
	safety.RegisterDetector("gitleaks", func(text string) []safety.Finding { return rules().find(text) })
}

// rules are made once, and when they are first needed: to read them is not safe for
// concurrent use, and takes some milliseconds.
var rules = sync.OnceValue(read)

// find tries each rule around its keywords, and nowhere else.
func (s *ruleSet) find(text string) []safety.Finding {
	var found []safety.Finding
	var done map[int]int // rule -> up to where it has looked
	s.words.Each(text, func(i, start, end int) {
		r := &s.rules[i]
		if done == nil {
			done = map[int]int{}
		}
		if end <= done[i] {
			return // looked at with an earlier keyword
		}
		found, done[i] = r.look(found, text, max(start-before, done[i]), end)
	})
	return found
}

const (
	before = 96   // bytes ahead of a keyword at which a match may begin; the longest rule needs 60
	after  = 8192 // bytes behind a keyword that are seen
)

// look searches text from a byte on, to some way behind the keyword's end, and returns up
// to where it has.
func (r *rule) look(found []safety.Finding, text string, from, end int) ([]safety.Finding, int) {
	to := min(len(text), end+after)
	for _, m := range r.re.FindAllStringSubmatchIndex(text[from:to], -1) {
		found = r.add(found, text, from, m)
	}
	return found, to - min(before, to-end)
}

// add appends the secret in match m of text[at:], if it is one.
func (r *rule) add(found []safety.Finding, text string, at int, m []int) []safety.Finding {
	start, end := m[0], m[1]
	if r.group > 0 {
		start, end = m[2*r.group], m[2*r.group+1]
	} else {
		for i := 2; i < len(m); i += 2 {
			if m[i] >= 0 && m[i] < m[i+1] {
				start, end = m[i], m[i+1]
				break
			}
		}
	}
	if start < 0 || !r.good(text[at+start:at+end]) {
		return found
	}
	return append(found, safety.Finding{Rule: r.name, Start: at + start, End: at + end})
}
