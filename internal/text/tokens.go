package text

import "unicode"

// Costs in hundredths of a token, fitted to published byte-pair vocabularies of 100k and 200k entries. They lean to
// the larger one, which current models resemble. A common English word is one token, including the space before it;
// a long or rare word splits after some letters. A Han character costs 0.7 to 0.9 (200k) or 1.1 to 1.4 (100k).
// Digits go in threes, or one by one with some providers; an emoji takes one to three.
const (
	costWord     = 100 // a word of up to wordLetters letters
	costTail     = 25  // each letter beyond that, and each capital inside
	costPunct    = 95  // a punctuation mark between words
	costPunctRun = 30  // each further mark of a run
	costBreak    = 70  // a run of line breaks
	costIndent   = 60  // a run of two or more blanks
	wordLetters  = 8
)

// flatCosts are the costs of runes whose class has one cost wherever they stand.
var flatCosts = [...]int{
	classMark:        30, // a letter with an accent, on top of its word
	classOtherLetter: 32, // Greek, Cyrillic and similar
	classDigit:       50,
	classHan:         84,
	classRareHan:     230,
	classKana:        75,
	classHangul:      80,
	classWidePunct:   85, // ，。「」
	classEmoji:       140,
	classJoiner:      70, // joiners, variation selectors, combining marks
	classOther:       90, // scripts of three bytes and more
	classBad:         100,
}

// EstimateTokens estimates how many tokens a model counts for s. It is within 25% for ordinary chat in Chinese and
// English. For most other text it is rather too high than too low; rare Han characters alone may take twice as
// many. It takes one pass and does not allocate. Models differ, so the reported usage of a call replaces the
// estimate afterwards.
func EstimateTokens(s string) int {
	var cost, run int
	prev := classStart
	for _, r := range s {
		class := tokenClass(r)
		if class == classMark && prev == classLetter {
			cost += flatCosts[classMark] // inside a word
			run++
			continue
		}
		if class != prev {
			run = 0
		}
		run++
		cost += class.cost(run, r)
		prev = class
	}
	return (cost + 99) / 100
}

type runeClass uint8

const (
	classStart runeClass = iota
	classLetter
	classMark
	classOtherLetter
	classDigit
	classBlank
	classBreak
	classPunct
	classWidePunct
	classHan
	classRareHan
	classKana
	classHangul
	classEmoji
	classJoiner
	classOther
	classBad
)

// cost returns the cost of the run-th rune in a row of one class.
func (c runeClass) cost(run int, r rune) int {
	switch c {
	case classLetter:
		return letterCost(run, r)
	case classBlank:
		if run == 2 {
			return costIndent
		}
		return run / 16 // long indents are cheap, not free
	case classBreak:
		if run == 1 {
			return costBreak
		}
		return 10
	case classPunct:
		if run == 1 {
			return costPunct
		}
		return costPunctRun
	default:
		return flatCosts[c]
	}
}

// letterCost: upper case after the first letter splits words (HTTPServer), so it costs a little more.
func letterCost(run int, r rune) int {
	switch {
	case run == 1:
		return costWord
	case r >= 'A' && r <= 'Z', run > wordLetters:
		return costTail
	default:
		return 0
	}
}

func tokenClass(r rune) runeClass {
	switch {
	case r >= 'a' && r <= 'z', r >= 'A' && r <= 'Z':
		return classLetter
	case r >= '0' && r <= '9':
		return classDigit
	case r == ' ', r == '\t':
		return classBlank
	case r == '\n', r == '\r':
		return classBreak
	case r < 0x80:
		return classPunct
	case r >= 0x4E00 && r <= 0x9FFF:
		return classHan
	case r == unicode.ReplacementChar:
		return classBad
	case r >= 0xC0 && r < 0x0250:
		return classMark
	case r < 0x0530: // Greek, Cyrillic; a few Latin symbols
		return classOtherLetter
	case r >= 0x2000 && r <= 0x206F, r >= 0x3000 && r <= 0x303F, r >= 0xFF00 && r <= 0xFFEF:
		if r == 0x200D {
			return classJoiner
		}
		return classWidePunct
	case r >= 0x3040 && r <= 0x30FF:
		return classKana
	case r >= 0xAC00 && r <= 0xD7AF:
		return classHangul
	case r >= 0x3400 && r <= 0x4DBF, r >= 0x20000 && r <= 0x323AF, r >= 0xF900 && r <= 0xFAFF:
		return classRareHan
	case r >= 0xFE00 && r <= 0xFE0F, r >= 0x0300 && r <= 0x036F, r >= 0x1F3FB && r <= 0x1F3FF:
		return classJoiner
	case r >= 0x1F000 && r <= 0x1FAFF, r >= 0x2190 && r <= 0x2BFF:
		return classEmoji
	default:
		return classOther
	}
}
