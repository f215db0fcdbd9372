package entity

import (
	"maps"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"reverie/internal/text"
)

// mentions finds names in texts, in one pass over each text however many names there
// are. A name of a script that writes spaces stands between word boundaries; a Chinese
// one may stand inside a run of characters.
type mentions struct {
	patterns map[string]*pattern // by their form
	lengths  []int               // of the forms in runes, each once, the longest first
}

// pattern is a name, or an account, as it is looked for.
type pattern struct {
	key    string
	length int  // in runes
	at     bool // counts only behind an @: an account, a lone Latin letter, a number
	alone  bool // counts only with no letter beside it: a lone Chinese character
}

// newMentions looks for names by their keys, and for accounts behind an @.
func newMentions(keys, accounts []string) *mentions {
	m := &mentions{patterns: map[string]*pattern{}}
	for _, key := range keys {
		m.add(key, pattern{key: key, at: !speaks(key), alone: utf8.RuneCountInString(key) == 1})
	}
	for _, id := range accounts {
		m.add(strings.TrimPrefix(textForm(id), "@"), pattern{key: id, at: true})
	}
	lengths := map[int]bool{}
	for _, p := range m.patterns {
		lengths[p.length] = true
	}
	m.lengths = slices.Sorted(maps.Keys(lengths))
	slices.Reverse(m.lengths)
	return m
}

// speaks tells names that mean something without an @: not those without a
// letter, nor those of a single one of a script that writes spaces.
func speaks(key string) bool {
	letters := strings.ContainsFunc(key, unicode.IsLetter)
	first, size := utf8.DecodeRuneInString(key)
	return letters && (size < len(key) || !text.Joins(first))
}

// textForm is the form in which texts and names are compared, see
// [text.NameKey].
func textForm(s string) string { return text.Simplify(text.Fold(s)) }

// places finds a name in folded text, as a word of its own: see [text.Places].
func places(folded, name string) [][2]int { return text.Places(folded, text.NameKey(name)) }

func (m *mentions) add(form string, p pattern) {
	p.length = utf8.RuneCountInString(form)
	if old := m.patterns[form]; form != "" && (old == nil || old.at && !p.at) {
		m.patterns[form] = &p
	}
}

// find returns the keys of the names, and the ids of the accounts, that a text
// mentions: each once, in the order in which they end.
func (m *mentions) find(text string) []string {
	text = textForm(text)
	var runes []rune
	var at []int // where each rune begins
	for i, r := range text {
		runes, at = append(runes, r), append(at, i)
	}
	at = append(at, len(text))
	var found []string
	for end := 1; end <= len(runes); end++ {
		for _, n := range m.lengths {
			if n > end {
				continue
			}
			p := m.patterns[text[at[end-n]:at[end]]]
			if p != nil && p.stands(runes, end-n, end) && !slices.Contains(found, p.key) {
				found = append(found, p.key)
			}
		}
	}
	return found
}

// stands tells whether the characters around runes[from:to] let a name be one.
func (p *pattern) stands(runes []rune, from, to int) bool {
	if from > 0 && text.Joins(runes[from-1]) && text.Joins(runes[from]) || to < len(runes) && text.Joins(runes[to-1]) &&
		text.Joins(runes[to]) {
		return false
	}
	if p.at {
		before := strings.TrimSuffix(string(runes[max(from-2, 0):from]), "!") // <@!123> on Discord
		return strings.HasSuffix(before, "@")
	}
	return !p.alone || (from == 0 || !isLetter(runes[from-1])) && (to == len(runes) || !isLetter(runes[to]))
}

func isLetter(r rune) bool { return unicode.IsLetter(r) || unicode.IsNumber(r) }

// maxCalled bounds the characters of a name that is only known from behind an @.
const maxCalled = 20

// everyone is who is called by a platform's @everyone.
var everyone = map[string]bool{"all": true, "everyone": true, "here": true, "channel": true, "room": true,
	"所有人": true, "全体成员": true, "全体": true, "大家": true}

// called returns the words that follow an @ in a text, as they are written: names
// that need not be known. An @ inside a word is an address.
func called(s string) []string {
	var list []string
	var before rune = ' '
	for i, r := range s {
		if (r == '@' || r == '＠') && !text.Joins(before) {
			rest := s[i+utf8.RuneLen(r):]
			end := strings.IndexFunc(rest, func(r rune) bool {
				return !isLetter(r) && !unicode.IsMark(r) && r != '_' &&
					r != '-'
			})
			if end < 0 {
				end = len(rest)
			}
			name := rest[:end]
			if speaks(name) && utf8.RuneCountInString(name) <= maxCalled && !everyone[text.NameKey(name)] {
				list = append(list, name)
			}
		}
		before = r
	}
	return list
}
