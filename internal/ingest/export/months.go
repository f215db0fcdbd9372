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

// meaning is a month, and in which languages a name means it.
type meaning struct {
	month     int
	languages uint64
}

// monthNames are the meanings of names of months, and of their beginnings.
var monthNames = sync.OnceValue(func() map[string][]meaning {
	all := map[string][]meaning{"mrz": {{3, 1<<63 - 1}}} // as systems shorten März
	_, table, _ := strings.Cut(monthFile, "\n\n")
	for n, line := range strings.Split(strings.TrimSpace(table), "\n") {
		lists := strings.Split(line, "|")
		wide, short := strings.Split(lists[1], ","), strings.Split(lists[2], ",")
		begins := map[string]int{} // -1 where two of its months begin so
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

// Months reads names of months: in any language, or in those that fit the names it has seen. The zero
// value has seen none.
type Months struct{ languages uint64 }

// See narrows the languages down to those that know a name.
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

// Of is the month that most of the languages call so; 0 is none.
func (m Months) Of(name string) (month int) {
	most := 0
	for _, means := range monthNames()[monthName(name)] {
		if n := bits.OnesCount64(means.languages & m.fitting()); n > most || n == most && n > 0 && means.month > month {
			month, most = means.month, n
		}
	}
	return month
}
