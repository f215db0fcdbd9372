package text

import (
	_ "embed"
	"strings"
	"sync"
)

//go:generate python3 ../../scripts/simplified.py

// simplifiedText is ICU's one-to-one mapping of traditional Chinese characters;
// its own head says where it comes from and under which licence.
//
//go:embed simplified.txt
var simplifiedText string

// The block of code points that the table covers: every character that ICU maps
// lies in it.
const (
	FirstHan = 0x3400
	LastHan  = 0x9FFF
)

// simplifiedTable maps each code point of the block to its simplified form, 0
// where it is its own.
var simplifiedTable = sync.OnceValue(func() *[LastHan - FirstHan + 1]uint16 {
	table := new([LastHan - FirstHan + 1]uint16)
	for line := range strings.Lines(simplifiedText) {
		line = strings.TrimSuffix(line, "\n")
		if strings.HasPrefix(line, "#") {
			continue
		}
		var to rune
		for i, r := range line {
			if i == 0 {
				to = r
				continue
			}
			table[r-FirstHan] = uint16(to)
		}
	}
	return table
})

// Simplify turns traditional Chinese characters into simplified ones, one by
// one, without a look at the word (乾 always becomes 干). It is meant for
// comparing texts, not for reading: both sides go through it. It is idempotent,
// and leaves all that is UTF-8 otherwise as it is.
func Simplify(s string) string {
	table := simplifiedTable()
	for _, r := range s {
		if simplifyRune(table, r) != r {
			return strings.Map(func(r rune) rune { return simplifyRune(table, r) }, s)
		}
	}
	return s
}

func simplifyRune(table *[LastHan - FirstHan + 1]uint16, r rune) rune {
	if r >= FirstHan && r <= LastHan {
		if to := table[r-FirstHan]; to != 0 {
			return rune(to)
		}
	}
	return r
}
