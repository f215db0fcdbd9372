package decide

import (
	"fmt"
	"slices"
	"strings"

	"reverie/internal/reverie"
)

// What a statement turns on, and similar wordings hide: numbers, times, months,
// weekdays, and whether it denies something. They are read in Chinese and
// English alike, so that "每周五" and "on Fridays" are one. What is read wrongly
// costs a question, never a memory.

// mark is one such detail.
type mark struct {
	kind  markKind
	value float64 // a number, a month, a weekday from 1, or the minutes of a time of day
	exact string  // of a number with a point: 1.20 is not 1.2
	unit  string  // of a number, "" where none is known
	text  string  // as it stands, for people and models
}

type markKind uint8

const (
	markNumber markKind = iota
	markMonth
	markWeekday
	markNegation
	markClock      // 8:00 of the morning
	markClock24    // 20:00
	markVagueClock // 8:00, of the morning or the evening
)

func (m mark) String() string {
	if m.kind == markNegation {
		return "a negation (" + m.text + ")"
	}
	if m.unit != "" {
		return fmt.Sprintf("%q (%s)", m.text, m.unit)
	}
	return fmt.Sprintf("%q", m.text)
}

// marks reads the details of a statement, each kind in its order.
func marks(statement string) []mark {
	text := reverie.Simplify(reverie.Fold(romanNumerals.Replace(statement)))
	found := figuresOf(text)
	for _, no := range negations(text) {
		found = append(found, mark{kind: markNegation, text: no})
	}
	return found
}

// romanNumerals are the characters that folding makes words.
var romanNumerals = strings.NewReplacer("Ⅰ", "1", "Ⅱ", "2", "Ⅲ", "3", "Ⅳ", "4", "Ⅴ", "5", "Ⅵ", "6", "Ⅶ", "7", "Ⅷ", "8", "Ⅸ", "9", "Ⅹ", "10", "Ⅺ", "11", "Ⅻ", "12")

// difference returns the marks by which two statements differ: those that stand
// in one of them only, else those that stand otherwise.
func difference(a, b string) []mark {
	in, of := marks(a), marks(b)
	if alone := append(missing(in, of), missing(of, in)...); len(alone) > 0 {
		return alone
	}
	return append(reordered(in, of), denied(a, b, slices.Concat(in, of))...)
}

// reordered returns the marks of those kinds that two statements have in another
// order (from Friday to Saturday), and negations of which one has more.
func reordered(in, of []mark) (list []mark) {
	for kind := range markClock + 1 {
		other := func(m mark) bool { return min(m.kind, markClock) != kind }
		x, y := slices.DeleteFunc(slices.Clone(in), other), slices.DeleteFunc(slices.Clone(of), other)
		if (len(x) == len(y) || kind == markNegation) && !slices.EqualFunc(x, y, mark.like) {
			list = slices.Concat(list, x, y)
		}
	}
	return list
}

// denied returns the negations of two statements that are the same words in
// another order, and so may deny something else.
func denied(a, b string, marks []mark) (list []mark) {
	x, y := vocabulary(a), vocabulary(b)
	if slices.Equal(x, y) {
		return nil
	}
	slices.Sort(x)
	slices.Sort(y)
	for _, m := range marks {
		if m.kind == markNegation && slices.Equal(x, y) {
			list = append(list, m)
		}
	}
	return list
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
// in the evening, and eight; 3月 is March, and 3; 5 is 5 km, and no 5 miles.
func (m mark) like(o mark) bool {
	if m.kind > o.kind {
		m, o = o, m
	}
	switch {
	case m.kind == markNegation || o.kind == markNegation, m.kind == markWeekday || o.kind == markWeekday:
		return m.kind == o.kind && m.value == o.value
	case m.kind == markNumber && o.kind >= markClock:
		return m.value*60 == o.value
	case m.kind == markNumber && o.kind == markNumber:
		return m.value == o.value && m.exact == o.exact && (m.unit == o.unit || m.unit == "" || o.unit == "")
	case m.kind == markClock && o.kind == markVagueClock:
		return int(m.value)%halfDay == int(o.value)%halfDay
	case m.kind == markMonth && o.kind >= markClock:
		return false
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
	return "the two differ in " + strings.Join(slices.Compact(names), " and ")
}
