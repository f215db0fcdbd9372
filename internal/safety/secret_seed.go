package safety

import (
	_ "embed"
	"slices"
	"strings"
	"sync"
)

// seedText is the list of words that wallets make their seed phrases of; its first line
// says where it comes from.
//
//go:embed seedwords.txt
var seedText string

var seedWords = sync.OnceValue(func() map[string]bool {
	words := map[string]bool{}
	for line := range strings.Lines(seedText) {
		if line = strings.TrimSpace(line); !strings.HasPrefix(line, "#") {
			words[line] = true
		}
	}
	return words
})

// seedPhrase is how many words of the list in a row are a phrase. Sentences do not come
// near it: the list has no "the", "and", "of" or "to".
const (
	seedPhrase   = 12
	seedDistinct = 8 // of which so many are different: a word that is said on and on is none
)

// findSeedPhrases appends the rows of words that are a wallet's seed phrase, with spaces,
// commas, numbers or line breaks between them.
func findSeedPhrases(found []located, text string) []located {
	if len(text) < seedPhrase*4 {
		return found
	}
	row, start, end := 0, 0, 0
	different := make([]string, 0, seedDistinct) // the first of the row
	flush := func() {
		if row >= seedPhrase && len(different) == seedDistinct {
			found = append(found, located{Finding{"seed-phrase", start, end}, 0})
		}
		row, different = 0, different[:0]
	}
	for i := 0; i < len(text); {
		switch c := text[i]; {
		case c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z':
			from := i
			for i < len(text) && (text[i] >= 'a' && text[i] <= 'z' || text[i] >= 'A' && text[i] <= 'Z') {
				i++
			}
			if i-from < 3 || i-from > 8 || !seedWords()[strings.ToLower(text[from:i])] {
				flush()
				continue
			}
			if row == 0 {
				start = from
			}
			if row, end = row+1, i; len(different) < seedDistinct && !slices.Contains(different, text[from:i]) {
				different = append(different, text[from:i])
			}
		case c == ' ' || c == ',' || c == '\n' || c == '\r' || c == '\t' || c == '.' || c == ')' || c >= '0' && c <= '9':
			i++
		default:
			flush()
			i++
		}
	}
	flush()
	return found
}
