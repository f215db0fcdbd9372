package offline

import (
	"strings"
	"unicode"
	"unicode/utf8"

	"reverie/internal/lazyregexp"
	"reverie/internal/text"
)

var (
	linkPattern = lazyregexp.New(`(?i)[a-z][a-z0-9+.-]*://|\bwww\.|\b[a-z0-9-]+\.(?:com|org|net|io|cn|dev|me|app|ly|co|gov|edu|info|xyz|ai|uk|de)\b`)
	codePattern = lazyregexp.New(`(?i)::|\(\)|->|=>|==|&&|\|\||\$\(|</|/>|\\n|0x[0-9a-f]{4,}|^\s*at [\w.$]+\(|traceback|stack ?trace|segfault|exception:|` +
		`\b(?:sudo|apt-get|grep|chmod|mkdir|localhost|npm|pip install|git (?:push|pull|clone|commit|rebase))\b|(?:^|\s)/(?:etc|usr|var|home|dev|proc|bin|opt|tmp)/`)
	logPattern = lazyregexp.New(`(?i)^\s*(?:\*|---|===|>|<[^>]{1,24}>|\[?\d{1,2}:\d{2}(?::\d{2})?\]?\s*(?:<|\*|-!-)|\d{4}-\d\d-\d\d[t ]\d\d:)|has (?:joined|left|quit)\b|is now known as`)
)

// isNoise tells whether a sentence is nothing that somebody says: a command, a
// link, code, a log line, an emoji, a reaction of one or two words.
func isNoise(s string) bool {
	s = strings.ReplaceAll(s, text.Erased, "somebody") // whose name is gone, or words
	if strings.ContainsAny(s[:1], "/!.$>#~*|\\`<{[") && !strings.HasPrefix(s, "...") {
		return true
	}
	if linkPattern.MatchString(s) || codePattern.MatchString(s) || logPattern.MatchString(s) {
		return true
	}
	var letters, han, symbols, all, longest, run int
	for _, r := range s {
		all++
		if unicode.IsSpace(r) {
			all--
			run = 0
			continue
		}
		run++
		switch {
		case r >= 0x80 && scriptOf(r) == scriptDense:
			han++
			letters++
			run = 0
		case unicode.IsLetter(r) || unicode.IsDigit(r):
			letters++
		case strings.ContainsRune(`{}[]<>=|\$&*_^@/`+"`", r):
			symbols++
		case r > 0x7f && unicode.IsPunct(r):
			run = 0
		}
		longest = max(longest, run)
	}
	switch {
	case letters < 3 || letters+han < 6: // "ok", "lol", "早", "好的"
		return true
	case letters*10 < all*7, symbols > 4, symbols*12 > all:
		return true
	case longest > 40: // a hash, a key, keys mashed
		return true
	}
	return repeats(s)
}

// repeats tells whether a text is little more than one character or word again
// and again.
func repeats(s string) bool {
	distinct := make(map[rune]bool)
	for _, r := range s {
		distinct[unicode.ToLower(r)] = true
	}
	n := utf8.RuneCountInString(s)
	if len(distinct) <= 3 || n > 40 && len(distinct) < 8 {
		return true
	}
	words := strings.Fields(strings.ToLower(s))
	seen := make(map[string]bool)
	for _, w := range words {
		seen[w] = true
	}
	return len(words) >= 5 && len(seen)*3 < len(words)
}
