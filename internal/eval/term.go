package eval

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"reverie/internal/text"
)

// pattern recognises a statement that contains all terms of one list and none of the other.
type pattern struct{ all, none []term }

// term is a list of alternatives, one of which must be found.
type term []alternative

// alternative is one or more words, in the form for comparing.
type alternative struct {
	text string
	open bool // any ending matches
}

// newPattern parses the terms of an expectation.
func newPattern(all, none []string) (p pattern, err error) {
	if len(all) == 0 {
		return p, errors.New("all: a term is needed that a statement must have")
	}
	if p.all, err = readTerms(all); err != nil {
		return p, fmt.Errorf("all: %w", err)
	}
	if p.none, err = readTerms(none); err != nil {
		return p, fmt.Errorf("none: %w", err)
	}
	return p, nil
}

func readTerms(list []string) (terms []term, err error) {
	for _, text := range list {
		var t term
		for alt := range strings.SplitSeq(text, "|") {
			word, open := strings.CutSuffix(strings.TrimSpace(alt), "*")
			word = form(word)
			if word == "" || strings.Contains(word, "*") {
				return nil, fmt.Errorf("%q: an alternative is a word or a few, with a star at its end at most", text)
			}
			t = append(t, alternative{word, open})
		}
		terms = append(terms, t)
	}
	return terms, nil
}

// form returns a text in the form for searching terms.
func form(s string) string { return text.Simplify(text.Fold(s)) }

// matches reports whether a statement is the fact.
func (p pattern) matches(statement string) bool {
	text := form(statement)
	in := func(t term) bool {
		return slices.ContainsFunc(t, func(a alternative) bool { return a.in(text) })
	}
	return !slices.ContainsFunc(p.all, func(t term) bool { return !in(t) }) && !slices.ContainsFunc(p.none, in)
}

func (a alternative) in(text string) bool {
	for from := 0; ; {
		i := strings.Index(text[from:], a.text)
		if i < 0 {
			return false
		}
		i += from
		end := i + len(a.text)
		if whole(text, i) && (a.open || whole(text, end)) {
			return true
		}
		_, size := utf8.DecodeRuneInString(text[i:])
		from = i + size
	}
}

// whole reports whether a word or number may begin or end at byte i of a text.
func whole(s string, i int) bool {
	before, size := utf8.DecodeLastRuneInString(s[:i])
	after, width := utf8.DecodeRuneInString(s[i:])
	if text.IsSpaced(before) && text.IsSpaced(after) {
		return false
	}
	if numeric(before) && strings.ContainsRune(".,:", after) { // 3|.5
		next, _ := utf8.DecodeRuneInString(s[i+width:])
		return !numeric(next)
	}
	if numeric(after) && strings.ContainsRune(".,:", before) { // 3.|5
		prev, _ := utf8.DecodeLastRuneInString(s[:i-size])
		return !numeric(prev)
	}
	return true
}

func numeric(r rune) bool { return r >= '0' && r <= '9' }
