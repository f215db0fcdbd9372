package decide

import (
	"fmt"
	"slices"
	"strings"

	"reverie"
)

// What a statement turns on, and similar wordings hide: numbers, times, months,
// weekdays, and whether it denies something. They are read in Chinese and
// English alike, so that "每周五" and "on Fridays" are one. What is read wrongly
// costs a question, never a memory.

// mark is one such detail.
type mark struct {
	kind  markKind
	value float64 // a number, a month, a weekday from 1, or the minutes of a time of day
	text  string  // as it stands, for people and models
}

type markKind uint8

const (
	markNumber markKind = iota
	markMonth
	markClock      // on 24 hours
	markVagueClock // 8:00, of the morning or the evening
	markWeekday
	markNegation
)

func (m mark) String() string {
	if m.kind == markNegation {
		return "a negation (" + m.text + ")"
	}
	return fmt.Sprintf("%q", m.text)
}

// marks reads the details of a statement.
func marks(statement string) []mark {
	text := reverie.Simplify(reverie.Fold(statement))
	found := figuresOf(text)
	if no := negation(text); no != "" {
		found = append(found, mark{kind: markNegation, text: no})
	}
	return found
}

// difference returns the marks that stand in one of two statements only.
func difference(a, b string) []mark {
	in, of := marks(a), marks(b)
	return append(missing(in, of), missing(of, in)...)
}

// missing returns those of the wanted marks that have no like among the others.
func missing(wanted, others []mark) (list []mark) {
	for _, m := range wanted {
		if !slices.ContainsFunc(others, m.like) {
			list = append(list, m)
		}
	}
	return list
}

// shared returns those of the marks that have a like among the others.
func shared(list, others []mark) []mark {
	return slices.DeleteFunc(slices.Clone(list), func(m mark) bool { return !slices.ContainsFunc(others, m.like) })
}

// like tells whether two marks may mean the same: 8:00 is eight in the morning or
// in the evening, and eight; 3月 is March, and 3.
func (m mark) like(o mark) bool {
	if m.kind > o.kind {
		m, o = o, m
	}
	switch {
	case m.kind == markNegation || o.kind == markNegation, m.kind == markWeekday || o.kind == markWeekday:
		return m.kind == o.kind && m.value == o.value
	case m.kind == o.kind:
		return m.value == o.value
	case m.kind == markClock: // and a vague one
		return int(m.value)%halfDay == int(o.value)%halfDay
	case o.kind == markClock || o.kind == markVagueClock: // and a number
		return m.kind == markNumber && m.value*60 == o.value
	}
	return m.value == o.value
}

const halfDay = 12 * 60

// describe says where two statements differ, "" if they do not.
func describe(differs []mark) string {
	if len(differs) == 0 {
		return ""
	}
	names := make([]string, len(differs))
	for i, m := range differs {
		names[i] = m.String()
	}
	slices.Sort(names)
	return "only one of the two has " + strings.Join(slices.Compact(names), " and ")
}
