package safety

import (
	"slices"
	"strings"
	"sync"
	"unicode"
)

// instructions are the ways of addressing the model that reads a memory.
var instructions = sync.OnceValue(func() *patterns {
	return newPatterns(slices.Concat(englishInstructions(), englishCommands(), chineseInstructions(), chineseCommands(), otherLanguages(), leaks(), holds(), seizures()))
})

// findInstruction returns the first piece of text that tells the reading model
// what to do, "" without one; text has been through plain. What people do, want and agree on among
// themselves passes ("members ignore the old schedule"): most rules need the
// imperative, that is a verb at the beginning of a clause or after "you".
//
// It knows phrases, not intentions: it is one fence among several, beside the
// marking of memories as data wherever they are shown to a model.
func findInstruction(text string) string {
	for _, reading := range readings(text) {
		if at := instructions().find(reading); at != "" {
			return at
		}
	}
	return findBroken(text)
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
	"ᴀ", "a", "ʙ", "b", "ᴄ", "c", "ᴅ", "d", "ᴇ", "e", "ꜰ", "f", "ᴊ", "j", "ᴋ", "k", "ʟ", "l", "ᴍ", "m", "ᴏ", "o", "ᴘ", "p", "ꜱ", "s", "ᴛ", "t", "ᴜ", "u", "ᴠ", "v", "ᴡ", "w", "ᴢ", "z", "ł", "l",
)
