package recall

import (
	"math"
	"strconv"
	"strings"
	"unicode/utf8"
)

// scales are words that stand behind a number and multiply it.
var scales = map[string]float64{"hundred": 100, "thousand": 1e3, "k": 1e3, "grand": 1e3, "million": 1e6, "mn": 1e6, "billion": 1e9, "bn": 1e9}

// maxFigures is how many figures a number has that is reckoned with, rather than
// compared as it is written.
const maxFigures = 12

// scaled takes what multiplies a number: 40k, 1.5 million, 1.2万.
func (r *reader) scaled(value string) string {
	by := 1.0
	if rest, ok := strings.CutPrefix(r.rest, "万"); ok {
		r.rest, by = rest, 1e4
	} else if rest, ok := strings.CutPrefix(r.rest, "亿"); ok {
		r.rest, by = rest, 1e8
	} else {
		spaced := strings.TrimLeft(r.rest, " ")
		word := wordAhead(spaced)
		if n := scales[strings.ToLower(word)]; n > 0 && (len(word) > 1 || spaced == r.rest) {
			r.rest, by = spaced[len(word):], n
		}
	}
	if n, err := strconv.ParseFloat(value, 64); err == nil && len(value) <= maxFigures && n*by < 1e15 {
		if whole := math.Round(n * by); math.Abs(whole-n*by) < 1e-6 {
			return strconv.FormatFloat(whole, 'f', 0, 64)
		}
	}
	return value
}

// grouped takes the groups of three figures behind a space that belong to a number:
// 40 000.
func (r *reader) grouped(value string) string {
	if len(value) > 3 || strings.HasPrefix(value, "0") || strings.Contains(value, ".") {
		return value
	}
	for len(value) < maxFigures && len(r.rest) >= 4 && r.rest[0] == ' ' && figuresAhead(r.rest[1:]) == 3 {
		value, r.rest = value+r.rest[1:4], r.rest[4:]
	}
	return value
}

// figuresAhead is how many figures a text begins with, four at most.
func figuresAhead(s string) int {
	n := 0
	for n < min(len(s), 4) && s[n] >= '0' && s[n] <= '9' {
		n++
	}
	return n
}

// wordAhead is the word that a text begins with, without its inner marks.
func wordAhead(s string) string {
	for i := 0; i < len(s); {
		c, size := utf8.DecodeRuneInString(s[i:])
		if !inWord(c) {
			return s[:i]
		}
		i += size
	}
	return s
}

// ordinal takes the ending of an ordinal number (12th), and tells whether it may be
// a day of a month.
func (r *reader) ordinal(value string) bool {
	word := wordAhead(r.rest)
	switch word {
	case "st", "nd", "rd", "th":
		r.rest = r.rest[len(word):]
		return len(value) == 1 || len(value) == 2 && value <= "31"
	}
	return false
}

// shortened takes a month or weekday of three letters or so, which has just been
// read with a capital. Short ones are names and words, too: a month needs a number
// beside it, and one that begins a sentence a mark behind it.
func (r *reader) shortened(word, before string, begins bool) bool {
	rest, dot := strings.CutPrefix(r.rest, ".")
	ahead := strings.TrimLeft(rest, " ")
	figure := figuresAhead(ahead) > 0
	if dot && ahead != "" && (figure || ahead[0] == ',' || ahead[0] >= 'a' && ahead[0] <= 'z') {
		r.rest = rest // the mark ends no sentence
	}
	if month := shortMonths[word]; month != "" {
		dated := len(r.clues) > r.clause && r.clues[len(r.clues)-1].unit == unitDate
		if !figure && !dated {
			return false
		}
		r.add(clue{key: keyOf(kindMonth, month), unit: unitMonth, value: month, weight: weightWord})
		r.month = true
		return true
	}
	day, parted := shortDays[word], figure || !strings.HasPrefix(r.rest, " ") || dot
	if day == "" || before == "the" || !parted && (begins || word == "sat" || word == "sun") {
		return false
	}
	r.add(clue{key: keyOf(kindWeekday, day), unit: unitWeekday, value: day, weight: weightWord})
	return true
}

// compound takes the unit behind a ten that is written out: twenty-five.
func (r *reader) compound(ten string) string {
	if len(ten) != 2 || ten < "20" || ten[1] != '0' || r.rest == "" || r.rest[0] != '-' && r.rest[0] != ' ' {
		return ten
	}
	word := wordAhead(r.rest[1:])
	unit := numberWords[strings.ToLower(word)]
	if len(unit) != 1 {
		return ten
	}
	r.rest = r.rest[1+len(word):]
	return ten[:1] + unit
}

// halfPast takes the rest of "half past six".
func (r *reader) halfPast() bool {
	rest, ok := strings.CutPrefix(r.rest, " past ")
	word := wordAhead(rest)
	hour := numberWords[strings.ToLower(word)]
	if n := figuresAhead(word); n > 0 && n == len(word) {
		hour = word
	}
	if !ok || hour == "" {
		return false
	}
	r.rest = rest[len(word):]
	r.clock(hour, "30")
	return true
}

// minutesHan takes the minutes behind an hour in Chinese: 七点一刻, 7点15分.
func (r *reader) minutesHan(measure string) string {
	if measure != "点" {
		return ""
	}
	for text, minutes := range map[string]string{"一刻": "15", "三刻": "45"} {
		if rest, ok := strings.CutPrefix(r.rest, text); ok {
			r.rest = rest
			return minutes
		}
	}
	n := figuresAhead(r.rest)
	minutes, size := r.rest[:n], n
	if n == 0 {
		value, length := numeralAt(r.rest)
		minutes, size = strconv.Itoa(value), length
	}
	if size == 0 || len(minutes) > 2 {
		return ""
	}
	r.rest = strings.TrimPrefix(r.rest[size:], "分")
	return minutes
}
