package entity

import (
	_ "embed"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"unicode"
	"unicode/utf8"

	"reverie/internal/reverie"
	"reverie/internal/safety"
	"reverie/internal/text"
)

// newParticipants collects the authors of a chunk's messages, and of the messages that they reply to. The accounts have
// no labels yet: see [participants.name].
func newParticipants(messages, replied []reverie.Message) *participants {
	c := &participants{accounts: map[string]*account{}, labels: map[string]string{}}
	for _, m := range slices.Concat(messages, replied) {
		if m.AuthorID == "" || m.Role == reverie.RoleTool {
			continue
		}
		a := c.add(m.AuthorID, reverie.EntityPerson)
		if m.Role == reverie.RoleAssistant {
			a.kind = reverie.EntityBot
		}
		a.addName(m.Author)
	}
	return c
}

// add returns an account, and makes it if there is none.
func (c *participants) add(id string, kind reverie.EntityKind) *account {
	a := c.accounts[id]
	if a == nil {
		a = &account{id: id, kind: kind}
		c.accounts[id] = a
		c.order = append(c.order, id)
	}
	return a
}

// addName adds a display name. A pronoun such as "me" or 我 is no name, even if an account shows it.
func (a *account) addName(name string) {
	if name = text.Excerpt(name, reverie.MaxNameLength); !slices.Contains(a.names, name) && !isNobody(name) {
		a.names = append(a.names, name)
	}
}

// suitableName returns the first name of the account that may be stored and shown, "" if there is none.
func (a *account) suitableName() string {
	at := slices.IndexFunc(a.names, isShown)
	if at < 0 {
		return ""
	}
	return a.names[at]
}

// isShown reports whether a model may see a name. Markup, instructions and the like are not shown.
func isShown(name string) bool {
	rule, _ := checkWords(name, reverie.MaxNameLength)
	return rule == ""
}

// maxLabel leaves room for a number after a name.
const maxLabel = reverie.MaxNameLength - 6

// fallbackLabel is the label, with a number, of an account without a suitable name.
const fallbackLabel = "member"

// name gives every account its label: its first suitable name. A number follows if another account of the chunk, or
// another known entity, has that name too. No label equals another account's real name.
func (c *participants) name(known *index) {
	bearers := map[string]int{} // key -> how many accounts have it
	for _, id := range c.order {
		for _, key := range c.accounts[id].keys() {
			bearers[key]++
		}
	}
	numbers := map[string]int{} // key -> the last number used
	for _, id := range c.order {
		a := c.accounts[id]
		base := text.Excerpt(a.suitableName(), maxLabel)
		if text.NameKey(base) == "" {
			base = fallbackLabel
		}
		key := text.NameKey(base)
		a.label = base
		taken := base == fallbackLabel || bearers[key] > 1 || known.othersHaveName(key, known.byID[id]) || c.labels[key] != ""
		for of := key; taken; {
			numbers[of]++
			a.label = fmt.Sprintf("%s#%d", base, numbers[of])
			key = text.NameKey(a.label)
			taken = c.labels[key] != "" || bearers[key] > 0 || len(known.byKey[key]) > 0
		}
		c.labels[key] = id
	}
}

// keys returns the distinct keys of the account's names.
func (a *account) keys() []string { return nameKeys(a.names) }

// nameKeys returns the distinct keys of names, in their order.
func nameKeys(names []string) (keys []string) {
	for _, name := range names {
		if key := text.NameKey(name); key != "" && !slices.Contains(keys, key) {
			keys = append(keys, key)
		}
	}
	return keys
}

// newIndex makes the identity index from the active names. The names of a merged entity belong to its target.
func newIndex(names []reverie.EntityName) *index {
	x := &index{byKey: map[string][]string{}, byID: map[string]string{}, entries: map[string]*entry{}}
	ordered := slices.Clone(names)
	slices.SortFunc(ordered, func(a, b reverie.EntityName) int { return strings.Compare(a.ID, b.ID) })
	for _, n := range ordered {
		e := x.entries[n.EntityID]
		if e == nil {
			e = &entry{}
			x.entries[n.EntityID] = e
		}
		e.kind = n.Entity
		if n.Kind == reverie.NameID {
			x.byID[n.Key] = n.EntityID
			e.accounts = append(e.accounts, n.Key)
			slices.Sort(e.accounts)
			continue
		}
		if e.names = append(e.names, n.Name); n.Kind == reverie.NameSubject {
			e.names = slices.Insert(e.names[:len(e.names)-1], 0, n.Name)
		}
		if key := text.NameKey(n.Name); key != "" && !slices.Contains(x.byKey[key], n.EntityID) {
			x.byKey[key] = append(x.byKey[key], n.EntityID)
			slices.Sort(x.byKey[key])
		}
	}
	return x
}

// kind returns the kind of an entity, "" if it is unknown.
func (x *index) kind(entityID string) reverie.EntityKind {
	if e := x.entries[entityID]; e != nil {
		return e.kind
	}
	return ""
}

// othersHaveName reports whether another entity than the given one has a name.
func (x *index) othersHaveName(key, entityID string) bool {
	return slices.ContainsFunc(x.byKey[key], func(id string) bool { return id != entityID })
}

// hasName reports whether an entity has a name already.
func (x *index) hasName(entityID, name string) bool {
	return slices.Contains(x.byKey[text.NameKey(name)], entityID)
}

// mentions finds names in texts. It reads each text once, however many names there are. A name in a script with spaces
// must stand between word boundaries. A Chinese name may be part of a run of characters.
type mentions struct {
	names   map[string]pattern // by their normalized form
	lengths []int              // distinct lengths of the forms in runes, longest first
}

// pattern is a name or an account to look for.
type pattern struct {
	key     string
	needsAt bool // only counts after an @: an account, a single Latin letter, a number
}

// newMentions looks for names by their keys, and for accounts after an @.
func newMentions(keys, accounts []string) *mentions {
	m := &mentions{names: map[string]pattern{}}
	for _, id := range accounts {
		m.names[strings.TrimPrefix(textForm(id), "@")] = pattern{id, true}
	}
	for _, key := range keys {
		m.names[key] = pattern{key, !countsWithoutAt(key)}
	}
	delete(m.names, "")
	for form := range m.names {
		m.lengths = append(m.lengths, utf8.RuneCountInString(form))
	}
	slices.Sort(m.lengths)
	m.lengths = slices.Compact(m.lengths)
	slices.Reverse(m.lengths)
	return m
}

// countsWithoutAt reports whether a name counts without an @. Names without a letter do not, nor single letters of a
// script with spaces.
func countsWithoutAt(key string) bool {
	letters := strings.ContainsFunc(key, unicode.IsLetter)
	first, size := utf8.DecodeRuneInString(key)
	return letters && (size < len(key) || !text.Joins(first))
}

// textForm returns the form in which texts and names are compared, see [text.NameKey].
func textForm(s string) string { return text.Simplify(text.Fold(s)) }

// places finds a name as a separate word in folded text: see [text.Places].
func places(folded, name string) [][2]int { return text.Places(folded, text.NameKey(name)) }

// find returns the keys of the names and the ids of the accounts that a text mentions. Each comes once, in the order in
// which they end.
func (m *mentions) find(text string) []string {
	text = textForm(text)
	var runes []rune
	var at []int // byte offset of each rune
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
			p, ok := m.names[text[at[end-n]:at[end]]]
			if ok && p.fits(runes, end-n, end) && !slices.Contains(found, p.key) {
				found = append(found, p.key)
			}
		}
	}
	return found
}

// fits reports whether the characters around runes[from:to] allow a name there. A single Chinese character must have
// no letter beside it.
func (p pattern) fits(runes []rune, from, to int) bool {
	if from > 0 && text.Joins(runes[from-1]) && text.Joins(runes[from]) || to < len(runes) && text.Joins(runes[to-1]) &&
		text.Joins(runes[to]) {
		return false
	}
	if p.needsAt {
		before := strings.TrimSuffix(string(runes[max(from-2, 0):from]), "!") // <@!123> on Discord
		return strings.HasSuffix(before, "@")
	}
	return to-from > 1 || (from == 0 || !isLetter(runes[from-1])) && (to == len(runes) || !isLetter(runes[to]))
}

func isLetter(r rune) bool { return unicode.IsLetter(r) || unicode.IsNumber(r) }

// checkWords refuses text that may not be stored as a name, a key, a kind or a text of at most limit characters: see
// [safety.CheckStatement]. It returns the rule and the fault, or "".
func checkWords(s string, limit int) (rule, detail string) {
	if n := utf8.RuneCountInString(s); n > limit {
		return string(safety.RuleTooLong), fmt.Sprintf("it has %d characters, at most %d are kept: shorten it", n,
			limit)
	}
	var broken *safety.StatementError
	if err := safety.CheckStatement(s); errors.As(err, &broken) {
		return string(broken.Rule), broken.Detail
	}
	return "", ""
}

// checkName refuses text that cannot be a name.
func checkName(name string) (rule, detail string) {
	if rule, detail = checkWords(name, reverie.MaxNameLength); rule != "" {
		return rule, detail
	}
	switch {
	case reverie.IsID(strings.TrimSpace(name)):
		return ruleIdentity, "an id names nobody: say the name that the group uses"
	case isNobody(name):
		return ruleName, fmt.Sprintf("%q means nobody in particular: say who, by name", text.Excerpt(name, 40))
	}
	return "", ""
}

// isNobody reports whether a name only has a meaning in its context (he, someone, everyone, my wife, 大家). The code
// cannot know who is meant. Chinese is matched without spaces: 我的老婆, 群友们, 本群.
func isNobody(name string) bool {
	key, list := text.NameKey(name), words()
	if !slices.ContainsFunc(strings.Fields(key), func(word string) bool { return !list.Nobody[word] }) {
		return true
	}
	key = strings.TrimSuffix(key, "们")
	for before := range list.Before {
		if rest, ok := strings.CutPrefix(key, before); ok && (rest == "" || list.NobodyHan[strings.TrimPrefix(rest, "的")]) {
			return true
		}
	}
	return list.NobodyHan[key]
}

//go:embed words.toml
var wordsFile string

// wordLists are the lists of words.toml.
type wordLists struct {
	Nobody, Nothing text.WordSet
	NobodyHan       text.WordSet `toml:"nobody_han"`
	Before          text.WordSet `toml:"nobody_han_before"`
}

var words = sync.OnceValue(func() wordLists { return text.ReadTOML[wordLists](wordsFile) })
