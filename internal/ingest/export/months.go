package export

import (
	"math/bits"
	"strings"
	"sync"

	"github.com/goodsign/monday"
)

// monthNames are the months that a name, or the beginning of one, means in which languages.
var monthNames = sync.OnceValue(func() map[string]*[13]uint64 {
	all := map[string]*[13]uint64{"mrz": {3: 1<<63 - 1}} // as systems shorten März
	for n, locale := range monday.ListLocales() {
		begins := map[string]int{} // -1 where two of its months begin so
		for i, name := range monday.GetLongMonths(locale) {
			letters := []rune(monthName(name))
			for end := 3; end <= len(letters); end++ {
				s := string(letters[:end])
				if begins[s] == 0 {
					begins[s] = i + 1
				} else if begins[s] != i+1 {
					begins[s] = -1
				}
			}
		}
		for _, list := range [][]string{monday.GetLongMonths(locale), monday.GetShortMonths(locale)} {
			for i, name := range list {
				begins[monthName(name)] = i + 1
			}
		}
		for s, month := range begins {
			if all[s] == nil {
				all[s] = &[13]uint64{}
			}
			if month > 0 {
				all[s][month] |= 1 << n
			}
		}
	}
	return all
})

func monthName(s string) string { return strings.ToLower(strings.Trim(s, ". ")) }

// Months reads names of months: in any language, or in those that fit the names it has seen. The zero
// value has seen none.
type Months struct{ languages uint64 }

// See narrows the languages down to those that know a name.
func (m *Months) See(name string) {
	var know uint64
	if months := monthNames()[monthName(name)]; months != nil {
		for _, languages := range months {
			know |= languages
		}
	}
	if both := m.fitting() & know; both != 0 {
		m.languages = both
	}
}

func (m Months) fitting() uint64 {
	if m.languages == 0 {
		return 1<<64 - 1
	}
	return m.languages
}

// Of is the month that most of the languages call so; 0 is none.
func (m Months) Of(name string) (month int) {
	months, most := monthNames()[monthName(name)], 0
	if months == nil {
		return 0
	}
	for i, languages := range months {
		if n := bits.OnesCount64(languages & m.fitting()); n > 0 && n >= most {
			month, most = i, n
		}
	}
	return month
}
