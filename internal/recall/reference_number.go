package recall

import (
	"strconv"
	"strings"
	"unicode/utf8"
)

// Units of numbers that are the same in both languages. Other units are the word
// behind the number.
const (
	unitWeekday = "weekday"
	unitMonth   = "month"
	unitDate    = "date" // the day of a month
	unitClock   = "clock"
	unitHalf    = "half past"
	unitDay     = "day"
	unitWeek    = "week"
)

var (
	weekdays = map[string]string{"monday": "1", "tuesday": "2", "wednesday": "3", "thursday": "4", "friday": "5", "saturday": "6", "sunday": "7",
		"mondays": "1", "tuesdays": "2", "wednesdays": "3", "thursdays": "4", "fridays": "5", "saturdays": "6", "sundays": "7",
		"一": "1", "二": "2", "三": "3", "四": "4", "五": "5", "六": "6", "日": "7", "天": "7"}
	months = map[string]string{"january": "1", "february": "2", "march": "3", "april": "4", "may": "5", "june": "6", "july": "7", "august": "8",
		"september": "9", "october": "10", "november": "11", "december": "12"}
	shortDays   = map[string]string{"mon": "1", "tue": "2", "tues": "2", "wed": "3", "thu": "4", "thur": "4", "thurs": "4", "fri": "5", "sat": "6", "sun": "7"}
	shortMonths = map[string]string{"jan": "1", "feb": "2", "mar": "3", "apr": "4", "jun": "6", "jul": "7", "aug": "8", "sep": "9", "sept": "9", "oct": "10",
		"nov": "11", "dec": "12"}
	numberWords = map[string]string{"two": "2", "three": "3", "four": "4", "five": "5", "six": "6", "seven": "7", "eight": "8", "nine": "9", "ten": "10",
		"eleven": "11", "twelve": "12", "thirteen": "13", "fourteen": "14", "fifteen": "15", "sixteen": "16", "seventeen": "17", "eighteen": "18", "nineteen": "19", "twenty": "20",
		"thirty": "30", "forty": "40", "fifty": "50", "sixty": "60", "seventy": "70", "eighty": "80", "ninety": "90", "hundred": "100", "dozen": "12",
		"third": "3", "fourth": "4", "fifth": "5", "sixth": "6", "seventh": "7", "eighth": "8", "ninth": "9", "tenth": "10"}
)

// clockWords are hours that have a name.
var clockWords = map[string]string{"noon": "12", "midday": "12", "midnight": "12"}

// currencies are the signs that stand before a number, as the units behind one.
var currencies = map[rune]string{'$': stem("dollars"), '€': stem("euros"), '£': stem("pounds"), '¥': "元"}

// timeUnits are units of which small numbers are counted, so that the number alone
// says little: three months and three weeks have nothing in common.
var timeUnits = map[string]bool{"minut": true, "hour": true, unitDay: true, unitWeek: true, "month": true, "year": true, "岁": true, "年级": true, "degre": true}

// measures are what follows a number in Chinese, with the unit that it is.
var measures = []struct{ text, unit string }{
	{"个月", "month"}, {"小时", "hour"}, {"分钟", "minut"}, {"公里", "km"}, {"平方米", "m2"}, {"平米", "m2"}, {"公斤", "kg"}, {"千克", "kg"}, {"毫升", "ml"}, {"厘米", "cm"}, {"毫米", "mm"},
	{"点半", unitHalf}, {"点钟", unitClock}, {"点", unitClock}, {"月", unitMonth}, {"日", unitDate}, {"号", unitDate}, {"元", "元"}, {"块", "元"},
	{"年级", "年级"}, {"年", "year"}, {"岁", "岁"}, {"天", "day"}, {"周", "week"}, {"分", "分"}, {"度", "degre"}, {"米", "米"}, {"斤", "斤"}, {"克", "克"}, {"人", "人"}, {"位", "人"}, {"名", "人"},
	{"个", ""}, {"只", ""}, {"条", ""}, {"台", ""}, {"次", "次"}, {"本", ""}, {"层", "层"}, {"楼", "层"}, {"间", ""}, {"张", ""}, {"份", ""}, {"杯", ""}, {"页", "页"}, {"字", "字"}, {"核", "核"},
	{"章", "章"}, {"集", "集"}, {"卷", ""}, {"倍", "倍"}, {"件", ""}, {"套", ""}, {"颗", ""}, {"支", ""}, {"辆", ""}, {"场", ""}, {"节", ""}, {"寸", "寸"}, {"卡", "卡"}, {"万字", "字"},
}

// measureAt returns the measure that s begins with.
func measureAt(s string) (text, unit string) {
	for _, m := range measures {
		if strings.HasPrefix(s, m.text) {
			return m.text, m.unit
		}
	}
	return "", ""
}

// numeralsHan are digits and powers of ten.
var numeralsHan = map[rune]int{'零': 0, '〇': 0, '一': 1, '二': 2, '两': 2, '三': 3, '四': 4, '五': 5, '六': 6, '七': 7, '八': 8, '九': 9,
	'十': 10, '百': 100, '千': 1000, '万': 10000}

// maxNumeral is how many numerals are read as one number.
const maxNumeral = 12

// numeralAt reads a number in Chinese numerals at the beginning of s, and how many
// bytes it takes; 0 where there is none. A numeral by itself is part of a word
// unless a measure follows, and 一 is an article.
func numeralAt(s string) (value, size int) {
	total, section, digit, count := 0, 0, 0, 0
	for _, r := range s {
		n, ok := numeralsHan[r]
		if !ok || count == maxNumeral {
			break
		}
		switch {
		case n < 10:
			digit = n
		case n == 10000:
			total, section, digit = (total+section+digit)*n, 0, 0
		default:
			section, digit = section+max(digit, 1)*n, 0
		}
		size += utf8.RuneLen(r)
		count++
	}
	if size == 0 {
		return 0, 0
	}
	measure, _ := measureAt(s[size:])
	if measure == "" && (count < 2 || total+section == 0) || count == 1 && strings.HasPrefix(s, "一") && !strings.HasPrefix(measure, "月") && measure != "日" && measure != "号" && measure != "年级" {
		return 0, 0
	}
	return total + section + digit, size
}

// weekdayAt reads a weekday in Chinese at the beginning of s, and how many bytes
// it takes.
func weekdayAt(s string) (day string, size int) {
	rest, ok := cutAny(s, "星期", "礼拜", "周")
	if !ok {
		return "", 0
	}
	c, length := utf8.DecodeRuneInString(rest)
	if day = weekdays[string(c)]; day == "" {
		return "", 0
	}
	return day, len(s) - len(rest) + length
}

func cutAny(s string, prefixes ...string) (rest string, ok bool) {
	for _, p := range prefixes {
		if rest, ok = strings.CutPrefix(s, p); ok {
			return rest, true
		}
	}
	return s, false
}

// unitOf is what a number counts by the word behind it, or the month before it.
func unitOf(next string, afterMonth bool) string {
	switch {
	case next == "am" || next == "pm":
		return unitClock
	case afterMonth || months[next] != "" || shortMonths[next] != "":
		return unitDate
	}
	if emptyWords[next] {
		return ""
	}
	return stem(next)
}

// clockTime writes a time of day on a face of twelve hours, since people leave
// out whether it is morning or evening.
func clockTime(hour, minute string) string {
	h, _ := strconv.Atoi(hour)
	m, _ := strconv.Atoi(minute)
	return strconv.Itoa(h%12) + ":" + strconv.Itoa(m)
}
