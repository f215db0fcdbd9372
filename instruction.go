package reverie

import (
	"regexp"
	"strings"
	"sync"
	"unicode"
)

// instructions are the ways of addressing the model that reads a memory.
var instructions = sync.OnceValue(func() *patterns {
	return newPatterns(append(englishInstructions(), chineseInstructions()...))
})

// findInstruction returns the first piece of text that tells the reading model
// what to do, "" without one; text has been through plain. What people do, want and agree on among
// themselves passes ("members ignore the old schedule"): most rules need the
// imperative, that is a verb at the beginning of a clause or after "you".
//
// It knows phrases, not intentions: it is one fence among several, beside the
// marking of memories as data wherever they are shown to a model.
func findInstruction(text string) string {
	folded := closeHan(Simplify(foldCase(text)))
	if at := instructions().find(folded); at != "" {
		return at
	}
	if latin := latinLookalikes(folded); latin != folded {
		if at := instructions().find(latin); at != "" {
			return at
		}
	}
	if joined := joinLetters(folded); joined != "" && spelledOut.MatchString(joined) {
		return spelledOut.FindString(joined)
	}
	return ""
}

// closeHan takes out what stands between two Han characters to keep them from
// being matched: spaces, middle dots, strokes.
func closeHan(s string) string {
	if !strings.ContainsAny(s, " ·•*_|-~^`") {
		return s
	}
	in := []rune(s)
	out := make([]rune, 0, len(in))
	for i := 0; i < len(in); i++ {
		end := i
		for end < len(in) && strings.ContainsRune(" ·•*_|-~^`", in[end]) {
			end++
		}
		if end > i && end < len(in) && len(out) > 0 && unicode.Is(unicode.Han, in[end]) && unicode.Is(unicode.Han, out[len(out)-1]) {
			i = end
		}
		out = append(out, in[i])
	}
	return string(out)
}

// lookalikes maps the lower-case Cyrillic and Greek letters that pass for Latin
// ones, and some of the phonetic alphabet.
var lookalikes = strings.NewReplacer(
	"а", "a", "е", "e", "о", "o", "р", "p", "с", "c", "у", "y", "х", "x", "і", "i", "ј", "j", "ѕ", "s", "ԁ", "d", "ԛ", "q", "ԝ", "w",
	"һ", "h", "м", "m", "т", "t", "к", "k", "в", "b", "н", "h", "г", "r", "п", "n", "ь", "b", "ӏ", "l", "ү", "y", "ѵ", "v",
	"α", "a", "ο", "o", "ρ", "p", "ν", "v", "ι", "i", "κ", "k", "τ", "t", "υ", "u", "χ", "x", "γ", "y", "ε", "e", "η", "n", "σ", "o", "ω", "w",
	"ı", "i", "ɡ", "g", "ɑ", "a", "ʏ", "y", "ɪ", "i", "ⅼ", "l", "ʀ", "r", "ɴ", "n", "ʜ", "h", "օ", "o", "ո", "n", "ս", "u", "հ", "h",
)

func latinLookalikes(s string) string {
	for _, r := range s {
		if r >= 0x131 && r < 0x590 {
			return lookalikes.Replace(s)
		}
	}
	return s
}

// joinLetters puts together words that are spelled out (i g n o r e), "" when
// there are none.
func joinLetters(s string) string {
	if !spelled.MatchString(s) {
		return ""
	}
	return spelled.ReplaceAllStringFunc(s, func(word string) string {
		return strings.Map(func(r rune) rune {
			if unicode.IsLetter(r) {
				return r
			}
			return -1
		}, word)
	})
}

var (
	spelled    = regexp.MustCompile(`\b[a-z](?:[ ._*|-]{1,2}[a-z]){4,}\b`)
	spelledOut = regexp.MustCompile(`(?:ignore|disregard|forget)\s?(?:all|any|the|your)?\s?(?:previous|prior|above|earlier|instruction)|systemprompt|youarenow|fromnowonyou|donottelltheuser`)
)
