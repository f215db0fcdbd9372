package answer

import (
	"slices"
	"strings"
	"unicode/utf8"

	"reverie/internal/text"
)

// colon reads what is between a key and its value.
func (s *scan) colon() {
	mark := equalSign.FindString(s.window(s.pos))
	if mark == "" {
		s.reason = ReasonBroken
		return
	}
	s.want = wantValue
	s.pos += len(mark)
}

// bentKey reads a known key with a mistake in its quotes or colon.
func (s *scan) bentKey() bool {
	rest := s.window(s.pos)
	if !startsOurKey(rest) || isPlainKey(rest) {
		return false
	}
	for _, p := range bentKeys {
		if groups := p.FindStringSubmatchIndex(rest); groups != nil {
			s.text(rest[groups[4]:groups[5]], true)
			s.want = wantValue
			s.pos += groups[3]
			return true
		}
	}
	return false
}

// isPlainKey reports whether a text starts with a correctly written key.
func isPlainKey(rest string) bool {
	if key := quotedKey.FindString(rest); key != "" {
		begin, _ := utf8.DecodeRuneInString(key)
		end, _ := utf8.DecodeRuneInString(key[strings.LastIndexFunc(key, isQuote):])
		return ends(begin, end)
	}
	return bareKey.MatchString(rest)
}

// startsBentKey reports whether a text starts with a known key with a mistake.
func startsBentKey(rest string) bool {
	return startsOurKey(rest) && slices.ContainsFunc(bentKeys, func(p *text.Pattern) bool { return p.MatchString(rest) })
}
