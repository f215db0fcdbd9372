package web

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
)

// wording is a text of the page in both languages, with the verbs of fmt. An English one
// that counts has two forms, "%d run|%d runs": the first argument chooses.
type wording struct{ en, zh string }

// texts are all texts of the page, by key. Keys begin with the part of the page that
// they belong to; each part has its table in a file of its own.
var texts = sync.OnceValue(func() map[string]wording {
	all := map[string]wording{}
	for _, part := range []map[string]wording{frameTexts, wordTexts, groupTexts, runTexts, costTexts, memoryTexts, peopleTexts, setTexts, heldTexts, differenceTexts, undoTexts, leftTexts} {
		maps.Copy(all, part)
	}
	return all
})

// text is a text in a language. What it is told of strangers is shown without hidden
// characters. A key that is not there shows as itself, in brackets
// that tests look for.
func (l lang) text(key string, args ...any) string {
	w, known := texts()[key]
	if !known {
		return "⟦" + key + "⟧"
	}
	s := w.en
	if l == chinese {
		s = w.zh
	}
	if one, many, counts := strings.Cut(s, "|"); counts {
		if s = many; len(args) > 0 && fmt.Sprint(args[0]) == "1" {
			s = one
		}
	}
	if len(args) == 0 {
		return s
	}
	shown := slices.Clone(args)
	for i, arg := range shown {
		if of, strange := arg.(string); strange {
			shown[i] = plain(of)
		}
	}
	return fmt.Sprintf(s, shown...)
}

// word is one of a set of words, such as a run's status: the text with the key
// "<set>.<value>", or the value itself where there is none.
func (l lang) word(set string, value any) string {
	name := fmt.Sprint(value)
	if _, known := texts()[set+"."+name]; known {
		return l.text(set + "." + name)
	}
	return name
}
