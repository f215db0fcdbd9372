package export

import (
	_ "embed"
	"math/bits"
	"slices"
	"strings"
	"sync"
)

//go:embed months.txt
var monthFile string

// meaning is a month, and the languages in which a name means it.
type meaning struct {
	month     int
	languages uint64
}

// monthNames maps names of months, and their abbreviations, to their meanings.
var monthNames = sync.OnceValue(func() map[string][]meaning {
	all := map[string][]meaning{"mrz": {{3, 1<<63 - 1}}} // abbreviation of März
	_, table, _ := strings.Cut(monthFile, "\n\n")
	for n, line := range strings.Split(strings.TrimSpace(table), "\n") {
		lists := strings.Split(line, "|")
		wide, short := strings.Split(lists[1], ","), strings.Split(lists[2], ",")
		begins := map[string]int{} // -1 if two months of the language begin with it
		for i, name := range wide {
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
		for i, name := range slices.Concat(wide, short) {
			begins[monthName(name)] = i%12 + 1
		}
		for s, month := range begins {
			if i := slices.IndexFunc(all[s], func(m meaning) bool { return m.month == month }); i >= 0 {
				all[s][i].languages |= 1 << n
			} else if month > 0 {
				all[s] = append(all[s], meaning{month, 1 << n})
			}
		}
	}
	return all
})

func monthName(s string) string { return strings.ToLower(strings.Trim(s, ". ")) }

// Months parses names of months: in any language, or in those that fit the names seen so far. The zero value has
// seen none.
type Months struct{ languages uint64 }

// See keeps only the languages that have a name.
func (m *Months) See(name string) {
	var know uint64
	for _, means := range monthNames()[monthName(name)] {
		know |= means.languages
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

// Of returns the month that has this name in most of the languages; 0 is none.
func (m Months) Of(name string) (month int) {
	most := 0
	for _, means := range monthNames()[monthName(name)] {
		if n := bits.OnesCount64(means.languages & m.fitting()); n > most || n == most && n > 0 && means.month > month {
			month, most = means.month, n
		}
	}
	return month
}
