package decide

import (
	"cmp"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"
)

const (
	hanDigits   = `零〇一二两三四五六七八九十百千万亿`
	hanMeasures = `个|位|名|人|次|号|楼|层|小时|分钟|天|日|周|星期|年|米|公里|千米|里|块|元|斤|公斤|克|岁|条|只|张|本|台|辆|场|局|把|间|套|件|份|杯|瓶|遍|倍|成|折|届|季|集|页|章|步|种|句|支|队|组|班|排|座|栋|度|分|秒|刻`
)

// figurePattern finds what may be a figure in folded, simplified text; its
// groups are read by readFigure.
var figurePattern = regexp.MustCompile(
	`(周|星期|礼拜)([一二三四五六日天末])` + // 1, 2
		`|\b(mon|tues|wednes|thurs|fri|satur|sun)days?\b|\b(weekend)s?\b` + // 3, 4
		`|(\d{1,2}|[一二两三四五六七八九十]{1,3})月` + // 5
		`|\b(january|february|april|june|july|august|september|october|november|december)\b` + // 6
		`|\b(may|march) \d|\b(?:in|by|until|since|from|of|before|after|next|last|every) (may|march)\b` + // 7, 8
		`|\b(\d{1,2})(?:[:.](\d{2}))? ?([ap])\.?m\b` + // 9, 10, 11
		`|(凌晨|早上|上午|中午|下午|傍晚|晚上|晚)?(?:(\d{1,2}):(\d{2})|(\d{1,2}|[一二两三四五六七八九十]{1,3})点(半|一刻|三刻|[0-5]\d)?)` + // 12 to 16
		`|(\d+(?:[.,]\d+)*) ?([百千万亿]|k\b)?` + // 17, 18
		`|([` + hanDigits + `]+)(` + hanMeasures + `)?` + // 19, 20
		`|\b(?:(twenty|thirty|forty|fifty|sixty|seventy|eighty|ninety)(?:[- ](one|two|three|four|five|six|seven|eight|nine))?` + // 21, 22
		`|(two|three|four|five|six|seven|eight|nine|ten|eleven|twelve|thirteen|fourteen|fifteen|sixteen|seventeen|eighteen|nineteen|twice|once|hundred|thousand|dozen))\b`) // 23

// figuresOf reads numbers, times, months and weekdays, each once.
func figuresOf(text string) (list []mark) {
	for at := 0; at < len(text); {
		found := figurePattern.FindStringSubmatchIndex(text[at:])
		if found == nil {
			break
		}
		group := func(i int) string {
			if found[2*i] < 0 {
				return ""
			}
			return text[at+found[2*i] : at+found[2*i+1]]
		}
		before := text[:at+found[0]]
		end := at + found[1]
		if group(7) != "" { // the digit is a figure of its own
			end--
		}
		after, _ := utf8.DecodeRuneInString(text[end:])
		if m, ok := readFigure(group, before, after); ok && !slices.ContainsFunc(list, func(have mark) bool { return have.kind == m.kind && have.value == m.value }) {
			m.text = strings.TrimSpace(text[at+found[0] : end])
			list = append(list, m)
		}
		at = end
	}
	return list
}

// readFigure reads a match by its groups, the text before it and the character
// behind it.
func readFigure(group func(int) string, before string, after rune) (mark, bool) {
	switch {
	case group(1) != "":
		if strings.ContainsRune("次个条场遍回起", after) {
			return mark{}, false // 每周一次 is once a week
		}
		return mark{kind: markWeekday, value: hanWeekdays[group(2)]}, true
	case group(3) != "":
		return mark{kind: markWeekday, value: float64(slices.Index(weekdays, group(3)) + 1)}, true
	case group(4) != "":
		return mark{kind: markWeekday, value: weekend}, true
	case group(5) != "":
		return mark{kind: markMonth, value: numeral(group(5))}, true
	case group(6)+group(7)+group(8) != "":
		return mark{kind: markMonth, value: float64(slices.Index(months, group(6)+group(7)+group(8)) + 1)}, true
	case group(9) != "":
		hour := numeral(group(9))
		if int(hour) == 12 {
			hour = 0
		}
		return clock(hour, group(10), map[string]string{"a": "上午", "p": "下午"}[group(11)]), true
	case group(13) != "":
		return clock(numeral(group(13)), group(14), group(12)), true
	case group(15) == "一" && group(12)+group(16) == "":
		return mark{}, false // 一点 is a little
	case group(15) != "":
		return clock(numeral(group(15)), group(16), group(12)), true
	case group(17) != "":
		return mark{kind: markNumber, value: signed(number(group(17)), before) * scale(group(18))}, true
	case group(19) != "":
		return hanNumber(group(19), group(20), before)
	case group(21) != "":
		return mark{kind: markNumber, value: float64(10*(slices.Index(tens, group(21))+2) + max(slices.Index(words, group(22)), 0))}, true
	}
	return mark{kind: markNumber, value: wordNumbers(group(23))}, true
}

var (
	hanWeekdays = map[string]float64{"一": 1, "二": 2, "三": 3, "四": 4, "五": 5, "六": 6, "日": 7, "天": 7, "末": weekend}

	weekdays = strings.Fields("mon tues wednes thurs fri satur sun")
	months   = strings.Fields("january february march april may june july august september october november december")
	tens     = strings.Fields("twenty thirty forty fifty sixty seventy eighty ninety")
	words    = strings.Fields("zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen seventeen eighteen nineteen")
)

const weekend = 8

func wordNumbers(word string) float64 {
	if i := slices.Index(words, word); i >= 0 {
		return float64(i)
	}
	return map[string]float64{"once": 1, "twice": 2, "dozen": 12, "hundred": 100, "thousand": 1000}[word]
}

// clock is a time of day. What says which half of the day makes it precise.
func clock(hour float64, minute, half string) mark {
	m := mark{kind: markClock, value: hour * 60}
	switch minute {
	case "":
	case "半":
		m.value += 30
	case "一刻":
		m.value += 15
	case "三刻":
		m.value += 45
	default:
		m.value += numeral(minute)
	}
	switch {
	case half == "" && hour <= 12:
		m.kind = markVagueClock
	case (half == "下午" || half == "傍晚" || half == "晚上" || half == "晚") && hour < 12:
		m.value += halfDay
	}
	return m
}

// hanNumber reads a number in characters. A single one counts with a measure
// behind it, or 第 before it: 张三 is no three. One of something is an article,
// and 万一, 十分, 千万 are words.
func hanNumber(digits, measure, before string) (mark, bool) {
	ordinal := strings.HasSuffix(before, "第")
	single := utf8.RuneCountInString(digits) == 1
	switch {
	case digits == "一" && !ordinal && !strings.Contains("日号楼层", cmp.Or(measure, " ")), digits == "万一", digits == "千万", digits == "十" && measure == "分":
		return mark{}, false
	case single && measure == "" && !ordinal:
		return mark{}, false
	}
	return mark{kind: markNumber, value: numeral(digits)}, true
}

// signed gives a number the minus that stands before it, unless that is a hyphen
// or makes a range.
func signed(n float64, before string) float64 {
	for _, minus := range []string{"-", "−"} {
		if rest, ok := strings.CutSuffix(before, minus); ok {
			if r, _ := utf8.DecodeLastRuneInString(rest); !unicode.IsLetter(r) && !unicode.IsDigit(r) || r > unicode.MaxASCII {
				return -n
			}
		}
	}
	return n
}

func scale(unit string) float64 {
	switch unit {
	case "百":
		return 100
	case "千", "k":
		return 1000
	case "万":
		return 10_000
	case "亿":
		return 100_000_000
	}
	return 1
}

// number reads digits with points and commas: 1,200 is 1200, and 3,5 is 3.5.
func number(s string) float64 {
	if i := strings.LastIndexByte(s, ','); i >= 0 && len(s)-i-1 != 3 && strings.Count(s, ",") == 1 && !strings.Contains(s, ".") {
		s = strings.Replace(s, ",", ".", 1)
	}
	n, err := strconv.ParseFloat(strings.ReplaceAll(s, ",", ""), 64)
	if err != nil { // 192.168.0.1, 1.2.3: as good as any other number that stands for it alone
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

// numeral reads a number in digits or in Chinese: 二十五, 三百零二, 一二三.
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
			total = (total + section + digit) * scale(string(r))
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
