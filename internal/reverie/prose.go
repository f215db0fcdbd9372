package reverie

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// CleanSummary makes a text of several sentences that a model wrote fit to be
// stored and shown: one line, invisible and control characters removed, secrets
// masked, at most n characters, cut where a sentence ends if one does in the later
// half. Whether it may become a memory is for [CheckStatement] to say.
func CleanSummary(s string, n int) string {
	s = strings.Join(strings.Fields(MaskSecrets(visible(s))), " ")
	if utf8.RuneCountInString(s) <= n {
		return s
	}
	end, count := 0, 0
	for i, r := range s {
		if count++; count > n {
			break
		}
		if after := i + utf8.RuneLen(r); endsSentence(r, s[after:]) && 2*count >= n {
			end = after
		}
	}
	if end > 0 {
		return s[:end]
	}
	return Excerpt(s, n)
}

// endsSentence tells whether a sentence ends with r, before rest. A point ends one
// only before a space: 3.5 goes on.
func endsSentence(r rune, rest string) bool {
	switch r {
	case '。', '！', '？', '；', '…':
		return true
	case '.', '!', '?', ';':
		return rest == "" || rest[0] == ' '
	}
	return false
}

// visible is [Visible] with every white space a blank.
func visible(s string) string {
	return strings.Map(func(r rune) rune {
		if unicode.IsSpace(r) {
			return ' '
		}
		return r
	}, Visible(s))
}

// Visible is s without what nobody sees: control characters other than white space, zero-width
// and bidirectional ones, the tag block. The joiners and selectors of emoji, and the joiners
// of scripts that are written with them, stay where they belong. A model reads what is
// hidden from people, so it is shown none of it.
func Visible(s string) string {
	s = strings.ToValidUTF8(s, "\uFFFD")
	if !strings.ContainsFunc(s, isHidden) {
		return s
	}
	var b strings.Builder
	before, flag := rune(0), 0
	for i, r := range s {
		after, _ := utf8.DecodeRuneInString(s[i+utf8.RuneLen(r):])
		if flag == 0 && r > 0xE0000 {
			flag = flagTags(before, s[i:])
		}
		switch {
		case flag > 0:
			flag--
		case isHidden(r) && !isPlaced(before, r, after):
			continue
		}
		before = r
		b.WriteRune(r)
	}
	return b.String()
}

func isHidden(r rune) bool { return !unicode.IsSpace(r) && (unicode.IsControl(r) || isInvisible(r)) }
