package export

import (
	"strconv"
	"time"
)

// Day converts a date as phones write it, in UTC. The year determines the calendar: 2568 and 68 are 2025 of the
// Buddhist era, 1404 is 2025 of the solar Hijri calendar. There were no chats before 2000.
func Day(year string, month, day int) (at time.Time, ok bool) {
	y, err := strconv.Atoi(year)
	switch {
	case err != nil || len(year) != 2 && len(year) != 4:
		return time.Time{}, false
	case len(year) == 2 && y >= 52:
		y += 2500 - 543
	case len(year) == 2:
		y += 2000
	case y >= 2400:
		y -= 543
	case y >= solarFirst && y < solarFirst+60:
		return solarDay(y, month, day)
	}
	at = time.Date(y, time.Month(month), day, 0, 0, 0, 0, time.UTC)
	return at, y >= 2000 && y < 2100 && int(at.Month()) == month && at.Day() == day
}

// solarFirst is a year of the solar Hijri calendar; it begins on 21 March 2009.
const solarFirst = 1388

// solarLeaps are the leap years in its cycle of 33 years, as they are since long before there were chats.
var solarLeaps = map[int]bool{1: true, 5: true, 9: true, 13: true, 17: true, 22: true, 26: true, 30: true}

// solarDay converts a date of the solar Hijri calendar: six months have 31 days, five 30, the last 29 or 30.
func solarDay(year, month, day int) (time.Time, bool) {
	days := 0
	for y := solarFirst; y < year; y++ {
		if days += 365; solarLeaps[y%33] {
			days++
		}
	}
	long := 31
	switch {
	case month == 12 && !solarLeaps[year%33]:
		long = 29
	case month > 6:
		long = 30
	}
	days += (month-1)*30 + min(month-1, 6) + day - 1
	return time.Date(2009, 3, 21+days, 0, 0, 0, 0, time.UTC), month >= 1 && month <= 12 && day >= 1 && day <= long
}
