package text

import (
	_ "embed"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"
)

//go:embed figures.toml
var figureFile string

// vocabulary is the content of figures.toml.
var vocabulary = ReadTOML[struct {
	Digits, Measures, Number, Names Pattern
	Word, Sign, Negated             Pattern
	Units                           []string
	Numerals                        map[string]string
	NotNegated                      Pattern `toml:"not_negated"`
}](figureFile)

var (
	hanDigits  = vocabulary.Digits.String()
	terms      = strings.NewReplacer("{digits}", hanDigits, "{measures}", vocabulary.Measures.String(), "{number}", vocabulary.Number.String())
	wordFigure = terms.Replace(vocabulary.Word.String())
	signFigure = terms.Replace(vocabulary.Sign.String())

	unusualNumerals = func() *strings.Replacer {
		var pairs []string
		for from, to := range vocabulary.Numerals {
			pairs = append(pairs, from, to)
		}
		return strings.NewReplacer(pairs...)
	}()
)

// Expressions at the beginning of a text, and after a letter or digit, where no word begins.
var (
	wordStart  = NewPattern(`^` + wordFigure)
	signStart  = NewPattern(`^` + signFigure)
	signInside = NewPattern(`^\w` + signFigure)
)

// figureSigns are characters, other than those of words, that can begin a figure.
var figureSigns = hanDigits + `半周星礼午凌早上中下傍晚-–/,`

// Figures returns the numbers, times, months and weekdays in folded, simplified text, without duplicates.
func Figures(text string) (list []Detail) {
	text = unusualNumerals.Replace(text)
	last, known := 0, map[Detail]bool{} // end of the previous figure; the figures found, without their text
	for at := 0; at < len(text); {
		r, size := utf8.DecodeRuneInString(text[at:])
		from, pattern := at, signStart
		inside := at > last && isWordByte(text[at-1])
		switch isWord := r < utf8.RuneSelf && IsWord(r); {
		case isWord && !unicode.IsDigit(r) && !inside:
			pattern = wordStart
		case isWord && !unicode.IsDigit(r), !isWord && !strings.ContainsRune(figureSigns, r):
			at += size
			continue
		case inside:
			from, pattern = at-1, signInside
		}
		match := pattern.FindStringSubmatchIndex(text[from:])
		if match == nil {
			at += size
			continue
		}
		group := func(names ...string) (found string) {
			for _, name := range names {
				if i := 2 * pattern.SubexpIndex(name); i >= 0 && match[i] >= 0 {
					found += text[from+match[i] : from+match[i+1]]
				}
			}
			return found
		}
		before, end := text[:at], from+match[1]
		if group("dated") != "" { // the digit is a figure of its own
			end--
		}
		m, ok := readFigure(group, before, text[end:])
		if ok && m.Kind == Number {
			m.Unit = unitOf(before, text[end-len(group("measure", "halved")):])
		}
		if ok && !known[m] {
			known[m] = true
			m.Text = strings.TrimSpace(text[at:end])
			list = append(list, m)
		}
		at, last = end, end
	}
	return list
}

func isWordByte(c byte) bool {
	return c == '_' || c >= '0' && c <= '9' || c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z'
}

// readFigure converts a match, given its groups and the text around it.
func readFigure(group func(...string) string, before, after string) (Detail, bool) {
	number := Detail{Kind: Number}
	switch {
	case group("hanweekday") != "":
		if next, _ := utf8.DecodeRuneInString(after); strings.ContainsRune("次个条场遍回起", next) {
			return Detail{}, false // 每周一次 means once a week
		}
		return Detail{Kind: Weekday, Value: hanWeekdays[group("hanweekday")]}, true
	case group("weekday", "sunday", "sun") != "":
		return Detail{Kind: Weekday, Value: ordinal(weekdays, group("weekday", "sunday", "sun")[:3])}, true
	case group("weekend") != "":
		return Detail{Kind: Weekday, Value: weekend}, true
	case group("hanmonth") != "":
		return Detail{Kind: Month, Value: numeral(group("hanmonth"))}, true
	case group("month", "dated", "undated") != "":
		return Detail{Kind: Month, Value: ordinal(months, group("month", "dated", "undated")[:3])}, true
	case group("hour") != "":
		hour := numeral(group("hour"))
		if int(hour) == 12 {
			hour = 0
		}
		return clock(hour, group("minute"), map[string]string{"a": "上午", "p": "下午"}[group("half")]), true
	case group("noon") != "":
		return Detail{Kind: Clock, Value: HalfDay}, true
	case group("midnight") != "":
		return Detail{Kind: Clock}, true
	case group("hour24") != "":
		return clock(numeral(group("hour24")), group("minute24"), group("daypart")), true
	case group("hanhour") == "一" && group("daypart", "hanminute") == "":
		return Detail{}, false // 一点 means a little
	case group("hanhour") != "":
		return clock(numeral(group("hanhour")), group("hanminute"), group("daypart")), true
	case group("whole") != "":
		whole := numeral(group("whole"))
		number.Value = numeral(group("part")) / max(whole, 1)
	case group("digits") != "":
		number.Value = signed(digits(group("digits")), before) * scales[group("scale")]
		switch group("scale") {
		case "%", "percent":
			number.Value /= 100
		case "‰":
			number.Value /= 1000
		case "":
			if strings.Contains(group("digits"), ".") {
				number.Exact = group("digits")
			}
		}
	case group("hanhalf") != "":
		number.Value = 0.5
		return number, group("halved") != "" || group("hanhalf") == "一半"
	case group("han") != "":
		number.Value = numeral(group("han"))
		return number, countsAsNumber(group("han"), group("measure"), before)
	case group("fraction", "aPart") != "":
		parts := map[string]float64{"two": 2, "three": 3}[group("parts")]
		number.Value = max(parts, 1) / map[string]float64{"ha": 2, "th": 3, "qu": 4,
			"fi": 5}[group("fraction", "aPart")[:2]]
	default:
		number.Value = wordNumber(group("words"))
	}
	return number, true
}

var (
	hanWeekdays = map[string]float64{"一": 1, "二": 2, "三": 3, "四": 4, "五": 5, "六": 6, "日": 7, "天": 7,
		"末": weekend}

	weekdays = strings.Fields("mon tue wed thu fri sat sun")
	months   = strings.Fields("jan feb mar apr may jun jul aug sep oct nov dec")
	tens     = strings.Fields("ten twenty thirty forty fifty sixty seventy eighty ninety")
	words    = strings.Fields("one two three four five six seven eight nine ten eleven twelve " +
		"thirteen fourteen fifteen sixteen seventeen eighteen nineteen")
	ordinals = strings.Fields("first second third fourth fifth sixth seventh eighth ninth tenth eleventh twelfth")
	scales   = map[string]float64{"": 1, "%": 1, "percent": 1, "‰": 1, "百": 100, "hundred": 100, "千": 1000, "k": 1000,
		"thousand": 1000,
		"万":        10_000, "million": 1_000_000, "亿": 100_000_000, "billion": 1_000_000_000}
)

const weekend = 8

// ordinal returns the position of a word in a list, from 1; 0 if it is not there.
func ordinal(list []string, word string) float64 { return float64(slices.Index(list, word) + 1) }

// wordNumber parses a number in English words: two hundred and five.
func wordNumber(text string) float64 {
	var total, section float64
	for word := range strings.FieldsFuncSeq(text, func(r rune) bool { return r == ' ' || r == '-' }) {
		switch word {
		case "hundred":
			section = max(section, 1) * 100
		case "dozen":
			section = max(section, 1) * 12
		case "thousand", "million", "billion":
			total += max(section, 1) * scales[word]
			section = 0
		case "twice":
			section += 2
		case "once":
			section++
		default:
			section += max(ordinal(words, word), 10*ordinal(tens, word), ordinal(ordinals, word))
		}
	}
	return total + section
}

// clock returns a time of day. It is precise if half says which half of the day is meant.
func clock(hour float64, minute, half string) Detail {
	m := Detail{Kind: Clock, Value: hour * 60}
	switch minute {
	case "":
	case "半":
		m.Value += 30
	case "一刻":
		m.Value += 15
	case "三刻":
		m.Value += 45
	default:
		m.Value += numeral(minute)
	}
	switch {
	case half == "" && hour <= 12:
		m.Kind = ClockVague
	case half == "":
		m.Kind = Clock24
	case (half == "下午" || half == "傍晚" || half == "晚上" || half == "晚") && hour < 12:
		m.Value += HalfDay
	}
	return m
}

// countsAsNumber reports whether numerals are meant as a number. A single numeral counts unless it is part of a
// name: 张三 is not 3. "One of something" is an article, and 万一, 十分, 千万 are words.
func countsAsNumber(numerals, measure, before string) bool {
	name, _ := utf8.DecodeLastRuneInString(before)
	switch {
	case name == '第':
		return true
	case numerals == "一":
		return measure == "日" || measure == "号" || measure == "楼" || measure == "层"
	case numerals == "万一", numerals == "千万", numerals == "十" && measure == "分":
		return false
	case measure != "" || utf8.RuneCountInString(numerals) > 1:
		return true
	}
	return !strings.Contains("百千万亿", numerals) && !strings.ContainsRune(vocabulary.Names.String(), name)
}

// signed negates a number after a minus sign, unless the sign is a hyphen or makes a range.
func signed(n float64, before string) float64 {
	for _, minus := range []string{"-", "−", "–"} {
		if rest, ok := strings.CutSuffix(strings.TrimSuffix(before, " "), minus); ok {
			r, _ := utf8.DecodeLastRuneInString(strings.TrimSuffix(rest, " "))
			spaced := strings.HasSuffix(rest, " ")
			if !unicode.IsDigit(r) && (spaced || !unicode.IsLetter(r)) || r > unicode.MaxASCII {
				return -n
			}
		}
	}
	return n
}

// digits parses digits with dots and commas: 1,200 is 1200, and 3,5 is 3.5.
func digits(s string) float64 {
	if i := strings.LastIndexByte(s, ','); i >= 0 && len(s)-i-1 != 3 && strings.Count(s, ",") == 1 &&
		!strings.Contains(s, ".") {
		s = strings.Replace(s, ",", ".", 1)
	}
	n, err := strconv.ParseFloat(strings.ReplaceAll(s, ",", ""), 64)
	if err != nil { // 192.168.0.1, 1.2.3: any other unique number will do
		for _, r := range s {
			if unicode.IsDigit(r) {
				n = n*10 + float64(r-'0')
			} else {
				n = n*1000 + 1
			}
		}
	}
	return n
}

// numeral parses a number in digits or in Chinese: 二十五, 三百零二, 一二三.
func numeral(s string) float64 {
	if n, err := strconv.ParseFloat(s, 64); err == nil {
		return n
	}
	var total, section, digit float64
	for _, r := range s {
		switch r {
		case '十', '百', '千':
			section += max(digit, 1) * map[rune]float64{'十': 10, '百': 100, '千': 1000}[r]
			digit = 0
		case '万', '亿':
			total = (total + section + digit) * scales[string(r)]
			section, digit = 0, 0
		case '两':
			digit = digit*10 + 2
		case '〇', '零':
			digit *= 10
		default:
			digit = digit*10 + float64(strings.Index("一二三四五六七八九", string(r))/3+1)
		}
	}
	return total + section + digit
}

// Detail is a part of a statement that decides its meaning, although wordings with other details look similar: a
// number, a time, a month, a weekday, or a negation.
type Detail struct {
	Kind  Kind
	Value float64 // a number, a month, a weekday from 1, or a time in minutes
	Exact string  // for a number with a decimal point: 1.20 is not 1.2
	Unit  string  // for a number, "" if unknown
	Text  string  // as written, for people and models
}

// Kind is the kind of a detail.
type Kind uint8

// The kinds of details.
const (
	Number Kind = iota
	Month
	Weekday
	Negation
	Clock      // 8:00 in the morning
	Clock24    // 20:00
	ClockVague // 8:00, in the morning or evening
)

// HalfDay is twelve hours, in minutes.
const HalfDay = 12 * 60

func (d Detail) String() string {
	if d.Kind == Negation {
		return "a negation (" + d.Text + ")"
	}
	if d.Unit != "" {
		return fmt.Sprintf("%q (%s)", d.Text, d.Unit)
	}
	return fmt.Sprintf("%q", d.Text)
}

// Like reports whether two details may mean the same. 8:00 may be 8 in the morning or evening, or the number 8; 3月
// may be March or 3; 5 may be 5 km, but 5 km is not 5 miles.
func (d Detail) Like(o Detail) bool {
	if d.Kind > o.Kind {
		d, o = o, d
	}
	switch {
	case d.Kind == Negation || o.Kind == Negation, d.Kind == Weekday || o.Kind == Weekday:
		return d.Kind == o.Kind && d.Value == o.Value
	case d.Kind == Number && o.Kind >= Clock:
		return d.Value*60 == o.Value
	case d.Kind == Number && o.Kind == Number:
		return d.Value == o.Value && d.Exact == o.Exact && (d.Unit == o.Unit || d.Unit == "" || o.Unit == "")
	case d.Kind == Clock && o.Kind == ClockVague:
		return int(d.Value)%HalfDay == int(o.Value)%HalfDay
	case d.Kind == Month && o.Kind >= Clock:
		return false
	}
	return d.Value == o.Value
}

// Negations returns the negations in folded, simplified text.
func Negations(text string) (list []Detail) {
	for _, word := range vocabulary.Negated.FindAllString(vocabulary.NotNegated.ReplaceAllString(text, " "), -1) {
		list = append(list, Detail{Kind: Negation, Text: word})
	}
	return list
}

// units maps the words for units to one name each.
var units = unitNames(vocabulary.Units)

func unitNames(lines []string) map[string]string {
	names := map[string]string{}
	for _, line := range lines {
		like := strings.Fields(line)
		for _, name := range like {
			names[name] = like[0]
		}
	}
	return names
}

// unitOf returns the unit of a number from the text around it, "" if unknown.
func unitOf(before, after string) string {
	if sign, _ := utf8.DecodeLastRuneInString(before); strings.ContainsRune("$€£¥", sign) {
		return units[string(sign)]
	}
	after = strings.TrimPrefix(strings.TrimLeft(after, " -"), "个")
	word := after[:len(after)-len(strings.TrimLeft(after, "abcdefghijklmnopqrstuvwxyz"))]
	if word != "" {
		return units[word]
	}
	runes := []rune(after[:min(len(after), 3*utf8.UTFMax)])
	for n := min(2, len(runes)); n > 0; n-- {
		if unit := units[string(runes[:n])]; unit != "" {
			return unit
		}
	}
	return ""
}
