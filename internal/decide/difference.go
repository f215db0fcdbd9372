package decide

import (
	"slices"
	"strings"

	"reverie/internal/text"
)

// marks reads the details of a statement, each kind in its order, in Chinese and
// English alike, so that "每周五" and "on Fridays" are one. What is read wrongly costs a
// question, never a memory.
func marks(statement string) []text.Detail {
	folded := text.Simplify(text.Fold(romanNumerals.Replace(statement)))
	return append(text.Figures(folded), text.Negations(folded)...)
}

// romanNumerals are the characters that folding makes words.
var romanNumerals = strings.NewReplacer("Ⅰ", "1", "Ⅱ", "2", "Ⅲ", "3", "Ⅳ", "4", "Ⅴ", "5", "Ⅵ", "6", "Ⅶ", "7", "Ⅷ", "8",
	"Ⅸ", "9", "Ⅹ", "10", "Ⅺ", "11", "Ⅻ", "12")

// difference returns the marks by which two statements differ: those that stand
// in one of them only, else those that stand otherwise.
func difference(a, b string) []text.Detail {
	in, of := marks(a), marks(b)
	if alone := append(missing(in, of), missing(of, in)...); len(alone) > 0 {
		return alone
	}
	return append(reordered(in, of), denied(a, b, slices.Concat(in, of))...)
}

// reordered returns the marks of those kinds that two statements have in another
// order (from Friday to Saturday), and negations of which one has more.
func reordered(in, of []text.Detail) (list []text.Detail) {
	for kind := range text.Clock + 1 {
		other := func(m text.Detail) bool { return min(m.Kind, text.Clock) != kind }
		x, y := slices.DeleteFunc(slices.Clone(in), other), slices.DeleteFunc(slices.Clone(of), other)
		if (len(x) == len(y) || kind == text.Negation) && !slices.EqualFunc(x, y, text.Detail.Like) {
			list = slices.Concat(list, x, y)
		}
	}
	return list
}

// denied returns the negations of two statements that are the same words in
// another order, and so may deny something else.
func denied(a, b string, marks []text.Detail) (list []text.Detail) {
	x, y := vocabulary(a), vocabulary(b)
	if slices.Equal(x, y) {
		return nil
	}
	slices.Sort(x)
	slices.Sort(y)
	for _, m := range marks {
		if m.Kind == text.Negation && slices.Equal(x, y) {
			list = append(list, m)
		}
	}
	return list
}

// missing returns those of the wanted marks that have no like among the others.
func missing(wanted, others []text.Detail) (list []text.Detail) {
	for _, m := range wanted {
		if !slices.ContainsFunc(others, m.Like) {
			list = append(list, m)
		}
	}
	return list
}

// shared returns those of the marks that have a like among the others.
func shared(list, others []text.Detail) []text.Detail {
	return slices.DeleteFunc(slices.Clone(list),
		func(m text.Detail) bool { return !slices.ContainsFunc(others, m.Like) })
}

// describe says where two statements differ, "" if they do not.
func describe(differs []text.Detail) string {
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
