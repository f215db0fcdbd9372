package export

import (
	_ "embed"
	"slices"
	"strings"
	"sync"
)

//go:embed months.txt
var monthFile string

// monthNames say of names of months, and of their beginnings, how many languages mean which month by it.
var monthNames = sync.OnceValue(func() map[string]*[13]int {
	all := map[string]*[13]int{"mrz": {3: 1}} // as systems shorten März
	_, table, _ := strings.Cut(monthFile, "\n\n")
	for line := range strings.SplitSeq(strings.TrimSpace(table), "\n") {
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
			if all[s] == nil {
				all[s] = &[13]int{}
			}
			all[s][max(month, 0)]++
		}
	}
	return all
})

func monthName(s string) string { return strings.ToLower(strings.Trim(s, ". ")) }

// Month is the month that most of the languages call so; 0 is none.
func Month(name string) (month int) {
	if languages := monthNames()[monthName(name)]; languages != nil {
		for i, n := range languages[1:] {
			if n > 0 && n >= languages[max(month, 1)] {
				month = i + 1
			}
		}
	}
	return month
}
