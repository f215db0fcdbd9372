package offline

import (
	"slices"
	"strconv"
	"strings"

	"reverie/internal/lazyregexp"
)

// slot is a detail that may change while the subject stays: a weekday, a time
// of day, or a number with its unit. Two sentences about one subject whose slots
// of a kind differ do not say the same.
type slot struct {
	kind  string // weekday, time, or the unit of a number ("" if bare)
	value string
}

var slotPattern = lazyregexp.New(`(?:周|星期|礼拜)([一二三四五六日天末])` + // 1
	`|\b(mon|tues|wednes|thurs|fri|satur|sun)days?\b` + // 2
	`|\b(\d{1,2})(?:[:.](\d{2}))? ?[ap]\.?m\b\.?` + // 3, 4
	`|(\d{1,2}|[一二两三四五六七八九十]{1,3})(?::(\d{2})|点(\d{2}|半|一刻)?)` + // 5, 6, 7
	`|(\d+(?:[.,]\d+)*|[一两二三四五六七八九十百]+|\b(?:one|two|three|four|five|six|seven|eight|nine|ten)\b)\s?个?(%|percent|yuan|rmb|块|元|人|次|号|楼|层|小时|分钟|天|周|年|米|公里|km|minutes?|hours?|days?|weeks?|people|euros?)?`) // 8, 9

var weekdayNames = map[string]string{"一": "mon", "二": "tues", "三": "wednes", "四": "thurs", "五": "fri",
	"六": "satur", "日": "sun", "天": "sun", "末": "weekend"}

// unitNames brings units to one name in both languages; others are their own.
var unitNames = map[string]string{"percent": "%", "块": "yuan", "元": "yuan", "rmb": "yuan", "人": "people", "小时": "hour",
	"hours": "hour", "分钟": "minute", "minutes": "minute", "天": "day", "days": "day", "周": "week", "weeks": "week",
	"公里": "km", "euros": "euro"}

// cutSlots takes the slots out of a folded text and returns the rest, where each
// has become a space.
func cutSlots(folded string) (slots []slot, rest string) {
	found := slotPattern.FindAllStringSubmatchIndex(folded, -1)
	if len(found) == 0 {
		return nil, folded
	}
	var b strings.Builder
	from := 0
	for _, at := range found {
		group := func(i int) string {
			if at[2*i] < 0 {
				return ""
			}
			return folded[at[2*i]:at[2*i+1]]
		}
		s, ok := readSlot(group)
		if !ok || insideWord(folded, at[0], at[1]) {
			continue
		}
		b.WriteString(folded[from:at[0]])
		b.WriteByte(' ')
		from = at[1]
		if !slices.Contains(slots, s) {
			slots = append(slots, s)
		}
	}
	b.WriteString(folded[from:])
	return slots, b.String()
}

// insideWord tells whether a match that begins with a digit is the tail of a
// word such as ipv6 or v2.
func insideWord(s string, start, end int) bool {
	return start > 0 && s[start] >= '0' && s[start] <= '9' && (s[start-1] >= 'a' && s[start-1] <= 'z' || s[start-1] == '.') ||
		end < len(s) && s[end-1] >= '0' && s[end-1] <= '9' && s[end] >= 'a' && s[end] <= 'z'
}

func readSlot(group func(int) string) (slot, bool) {
	switch {
	case group(1) != "":
		return slot{"weekday", weekdayNames[group(1)]}, true
	case group(2) != "":
		return slot{"weekday", group(2)}, true
	case group(3) != "":
		return slot{"time", clock(group(3), group(4))}, true
	case group(5) == "一" && group(7) == "":
		return slot{}, false // 一点 is "a little"
	case group(5) != "":
		return slot{"time", clock(group(5), group(6)+group(7))}, true
	}
	number, unit := group(8), group(9)
	if unit == "" && (number[0] < '0' || number[0] > '9') || number == "一" && unit != "人" {
		return slot{}, false // a numeral by itself, or as an article, is part of a word
	}
	if name, ok := unitNames[unit]; ok {
		unit = name
	}
	return slot{"number " + unit, strconv.Itoa(numeral(number)) + fraction(number)}, true
}

// clock writes a time of day on a face of twelve hours, since people leave out
// whether it is morning or evening.
func clock(hour, minute string) string {
	m := 0
	switch minute {
	case "":
	case "半":
		m = 30
	case "一刻":
		m = 15
	default:
		m, _ = strconv.Atoi(minute)
	}
	return strconv.Itoa(numeral(hour)%12) + ":" + strconv.Itoa(m)
}

func fraction(number string) string {
	if _, after, ok := strings.Cut(number, "."); ok {
		return "." + after
	}
	return ""
}

var numerals = map[rune]int{'一': 1, '二': 2, '两': 2, '三': 3, '四': 4, '五': 5, '六': 6, '七': 7, '八': 8, '九': 9}

var numberWords = strings.Fields("zero one two three four five six seven eight nine ten")

// numeral reads the whole part of a number in digits, in English up to ten, or
// in Chinese below 1000.
func numeral(s string) int {
	if i := slices.Index(numberWords, s); i >= 0 {
		return i
	}
	if n, err := strconv.Atoi(strings.ReplaceAll(strings.SplitN(s, ".", 2)[0], ",", "")); err == nil {
		return n
	}
	total, digit := 0, 0
	for _, r := range s {
		switch r {
		case '十', '百':
			unit := 10
			if r == '百' {
				unit = 100
			}
			total += max(digit, 1) * unit
			digit = 0
		default:
			digit = numerals[r]
		}
	}
	return total + digit
}

// agree tells whether two texts can both hold: of each kind of slot that both
// name, one names all that the other does.
func agree(a, b []slot) bool {
	for _, x := range a {
		if hasKind(b, x.kind) && !within(a, b, x.kind) && !within(b, a, x.kind) {
			return false
		}
	}
	return true
}

// within tells whether all slots of a kind in a are also in b.
func within(a, b []slot, kind string) bool {
	for _, x := range a {
		if x.kind == kind && !slices.Contains(b, x) {
			return false
		}
	}
	return true
}

func hasKind(slots []slot, kind string) bool {
	return slices.ContainsFunc(slots, func(s slot) bool { return s.kind == kind })
}
