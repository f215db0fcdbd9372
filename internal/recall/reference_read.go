package recall

import (
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"
)

// What the keys of clues are of, so that the number 3 and the third weekday stay
// apart.
const (
	kindWord    = 'w'
	kindHan     = 'h'
	kindNumber  = 'n'
	kindSpan    = 'u' // a number of units of time
	kindWeekday = 'd'
	kindDate    = 'D'
	kindMonth   = 'm'
	kindClock   = 't'
)

// deniedWords is how many words a negation reaches, its own included.
const deniedWords = 3

// word takes a word of a script that writes spaces.
func (r *reader) word() {
	written := r.cutWord()
	w := strings.ToLower(written)
	first, _ := utf8.DecodeRuneInString(written)
	begins, month, capital, before := r.begins, r.month, unicode.IsUpper(first), r.before
	r.begins, r.lines, r.month, r.money, r.before = false, false, false, "", w
	day, named := weekdays[w], months[w]
	switch {
	case negators[w] && r.suggests(w, before, begins):
		return
	case negators[w], w == "but" && exceptions[before]:
		r.deny = deniedWords
		r.here().denies = true
	case resumers[w]:
		r.deny = 0
		return
	case day != "":
		r.add(clue{key: keyOf(kindWeekday, day), unit: unitWeekday, value: day, weight: weightWord})
		return
	case capital && len(w) <= 5 && r.shortened(w, before, begins):
		return
	case named != "" && capital && (!begins || w != "may" && w != "march"):
		r.add(clue{key: keyOf(kindMonth, named), unit: unitMonth, value: named, weight: weightWord})
		r.month = true
		return
	case clockWords[w] != "":
		r.clock(clockWords[w], "0")
		return
	case w == "half" && r.halfPast():
		return
	case numberWords[w] != "":
		r.number(r.scaled(r.compound(numberWords[w])), month, false, weightCommon)
		return
	}
	if emptyWords[w] {
		return
	}
	root := stem(w)
	c := clue{key: keyOf(kindWord, root), weight: weightWord}
	switch {
	case commonWords[root], utf8.RuneCountInString(w) < 2:
		c.weight = weightCommon
	case !begins && capital, strings.ContainsAny(w, "0123456789+#"):
		c.weight = weightName
	}
	r.add(c)
	r.deny = max(r.deny-1, 0)
}

// inWord is isSpaced, quick for the usual letters.
func inWord(c rune) bool {
	if c < utf8.RuneSelf {
		return c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9'
	}
	return isSpaced(c)
}

// cutWord takes letters and figures, inner apostrophes, and + or # at the end.
func (r *reader) cutWord() string {
	end := 0
	for end < len(r.rest) {
		c, size := utf8.DecodeRuneInString(r.rest[end:])
		next, _ := utf8.DecodeRuneInString(r.rest[end+size:])
		if !inWord(c) && (c != '\'' || !inWord(next)) && (c != '+' && c != '#' || inWord(next)) {
			break
		}
		end += size
	}
	word := r.rest[:end]
	r.rest = r.rest[end:]
	return word
}

// figures takes a number that is written in figures.
func (r *reader) figures() {
	end := 0
	for end < len(r.rest) {
		c := r.rest[end]
		inner := strings.IndexByte(".,:", c) >= 0 && end+1 < len(r.rest) && r.rest[end+1] >= '0' && r.rest[end+1] <= '9'
		if (c < '0' || c > '9') && !inner {
			break
		}
		end++
	}
	written, listed, month := r.rest[:end], r.lines, r.month
	r.rest = r.rest[end:]
	r.begins, r.lines, r.month = false, false, false
	if _, ok := cutAny(r.rest, ".", ")", "、"); ok && listed {
		r.begins = true
		return // the number of a list
	}
	if hour, minute, ok := strings.Cut(written, ":"); ok {
		r.clock(hour, minute)
		return
	}
	ordinal := r.ordinal(written)
	value := r.scaled(r.grouped(strings.ReplaceAll(written, ",", "")))
	r.number(value, month, ordinal, numberWeight(value))
}

func numberWeight(value string) float64 {
	if len(value) == 1 {
		return weightDigit
	}
	return weightNumber
}

// clock takes a time of day.
func (r *reader) clock(hour, minute string) {
	t := clockTime(hour, minute)
	r.add(clue{key: keyOf(kindClock, t), unit: unitClock, value: t, weight: weightNumber})
}

// number takes a number with the unit that stands behind it. One that is an ordinal
// and has none is a date.
func (r *reader) number(value string, afterMonth, ordinal bool, weight float64) {
	rest := strings.TrimLeft(r.rest, " -")
	measure, unit := measureAt(rest)
	if measure != "" {
		r.rest = rest[len(measure):]
	} else {
		unit = unitOf(strings.ToLower(wordAhead(rest)), afterMonth)
	}
	if ordinal && unit == "" {
		unit = unitDate
	}
	if r.money != "" {
		unit, r.money = r.money, ""
	}
	switch {
	case unit == unitClock:
		hour, minute, _ := strings.Cut(value, ".")
		r.clock(hour, minute+r.minutesHan(measure))
	case unit == unitHalf:
		r.clock(value, "30")
	case unit == unitMonth:
		r.add(clue{key: keyOf(kindMonth, value), unit: unit, value: value, weight: weightWord})
		r.month = true
	case unit == unitDate:
		r.add(clue{key: keyOf(kindDate, value), unit: unit, value: value, weight: weightWord})
	case unit == unitWeek:
		days := value
		if n, err := strconv.Atoi(value); err == nil && n < 1000 {
			days = strconv.Itoa(7 * n)
		}
		r.add(clue{key: keyOf(kindSpan, days+unitDay), unit: unitDay, value: days, weight: weightWord})
	case timeUnits[unit]:
		r.add(clue{key: keyOf(kindSpan, value+unit), unit: unit, value: value, weight: weightWord})
	default:
		r.add(clue{key: keyOf(kindNumber, value), unit: unit, value: value, weight: weight})
	}
}

// dense takes characters of a script without spaces: a weekday, a number, or a run.
func (r *reader) dense(c rune, size int) {
	month := r.month
	r.begins, r.lines, r.month, r.money = false, false, false, ""
	class := classesHan[c]
	if class == figureHan && r.figureHan(month) {
		return
	}
	r.rest = r.rest[size:]
	switch class {
	case deniesHan:
		r.deniesHan(size)
	case saysNothing:
	default:
		r.run(c)
	}
}

// figureHan takes a weekday or a number in Chinese, if one begins here.
func (r *reader) figureHan(month bool) bool {
	if day, length := weekdayAt(r.rest); length > 0 {
		r.rest = r.rest[length:]
		r.add(clue{key: keyOf(kindWeekday, day), unit: unitWeekday, value: day, weight: weightWord})
		return true
	}
	n, length := numeralAt(r.rest)
	if length == 0 {
		return false
	}
	r.rest = r.rest[length:]
	value := strconv.Itoa(n)
	r.number(value, month, false, numberWeight(value))
	return true
}

// run takes the pairs of characters from c on, as long as they say something.
func (r *reader) run(c rune) {
	for first := true; ; first = false {
		next, size := utf8.DecodeRuneInString(r.rest)
		class := classesHan[next]
		if !isDense(next) || class == saysNothing || class == deniesHan || class == figureHan && r.atFigure() {
			if first {
				r.add(clue{key: keyOf(kindHan, string(c)), weight: weightSingle})
			}
			return
		}
		at := len(r.text) - len(r.rest)
		pair := r.text[at-utf8.RuneLen(c) : at+size]
		weight := weightHan
		if commonHan[pair] {
			weight = weightCommon
		}
		r.add(clue{key: keyOf(kindHan, pair), weight: weight, joined: !first})
		if aversionsHan[pair] {
			r.avoid()
		}
		r.rest = r.rest[size:]
		c = next
	}
}

// avoid denies all of the clause.
func (r *reader) avoid() {
	if r.avoids {
		return
	}
	r.here().denies, r.denies, r.avoids = true, true, true
	for i := r.clause; i < len(r.clues); i++ {
		r.clues[i].denied = true
	}
}

// atFigure tells whether a weekday or a number in Chinese begins here.
func (r *reader) atFigure() bool {
	if _, length := weekdayAt(r.rest); length > 0 {
		return true
	}
	_, length := numeralAt(r.rest)
	return length > 0
}
