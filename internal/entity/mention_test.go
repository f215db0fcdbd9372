package entity

import (
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"reverie/internal/text"
)

func TestMentions(t *testing.T) {
	for _, c := range []struct {
		text  string
		names string // separated by bars
		want  string
	}{
		{"Ask Lin about it", "lin", "lin"},
		{"LIN! lin's court", "lin", "lin"},
		{"Linda met Collin in Berlin", "lin", ""},
		{"Ana and Anna, and Annabel", "ana|anna|anna bel", "ana|anna"},
		{"Mary Jane came", "mary jane|mary|jane", "mary|mary jane|jane"},
		{"maryjane", "mary jane", ""},
		{"Mary\n Jane", "mary jane", "mary jane"},
		{"问问小明吧", "小明", "小明"},
		{"小明明天来", "小明|小明明|明天", "小明|小明明|明天"},
		{"找小林lin聊", "小林|lin", "小林|lin"},
		{"找Lin聊", "lin", "lin"},
		{"問問小華", "小华", "小华"},
		{"ＬＩＮ 来了", "lin", "lin"},
		{"민수가 왔다", "민수", "민수"},
		{"I think a plan B works", "i|b", ""},
		{"@b come", "b", "b"},
		{"call me at 42 or 42nd", "42", ""},
		{"@42 hello", "42", "42"},
		{"树林里，林来了", "林", ""},
		{"林，你来吗", "林", "林"},
		{"@林你来吗", "林", ""},
		{"r2d2 is here", "r2d2", "r2d2"},
		{"kay_2 is here", "kay", ""},
		{"l'été chez René", "rené", "rené"},
		{"✨Mia✨ writes", "✨mia✨", "✨mia✨"},
		{"", "lin", ""},
		{"nothing here", "", ""},
	} {
		got := newMentions(barred(c.names), nil).find(c.text)
		if !slices.Equal(got, barred(c.want)) {
			t.Errorf("%q in %q: found %q, want %q", c.names, c.text, got, c.want)
		}
	}
}

// Accounts count behind an @ alone, in the ways in which platforms write it.
func TestMentionsOfAccounts(t *testing.T) {
	m := newMentions([]string{"kay"}, []string{"U01ABC", "1234", "@kay:example.org", "kay"})
	for text, want := range map[string]string{
		"<@U01ABC> hello":          "U01ABC",
		"<@!1234> hello":           "1234",
		"<@12345> hello":           "",
		"1234 is a number":         "",
		"U01ABC alone":             "",
		"ask @kay:example.org now": "kay|@kay:example.org",
		"kay":                      "kay",
	} {
		if got := m.find(text); !slices.Equal(got, barred(want)) {
			t.Errorf("%q: found %q, want %q", text, got, want)
		}
	}
}

func barred(list string) []string {
	if list == "" {
		return nil
	}
	return strings.Split(list, "|")
}

// The automaton finds what looking for each name by itself finds, in texts made
// of the names' own parts.
func TestMentionsFindWhatPlainSearchFinds(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	letters := []string{"a", "b", "ab", "小", "明", "小明", " ", "@", "a小", "1", "12", "é"}
	word := func(n int) string {
		var b strings.Builder
		for range 1 + rng.IntN(n) {
			b.WriteString(letters[rng.IntN(len(letters))])
		}
		return b.String()
	}
	found := 0
	for range 3000 {
		var keys []string
		for range 1 + rng.IntN(6) {
			if key := text.NameKey(word(3)); key != "" && !slices.Contains(keys, key) {
				keys = append(keys, key)
			}
		}
		text := word(12)
		got := newMentions(keys, nil).find(text)
		var want []string
		for _, key := range keys {
			if standsIn(key, text) {
				want = append(want, key)
			}
		}
		found += len(want)
		slices.Sort(got)
		slices.Sort(want)
		if !slices.Equal(got, want) {
			t.Fatalf("%q in %q: found %q, want %q", keys, text, got, want)
		}
	}
	if found < 300 {
		t.Errorf("only %d names were there to be found", found)
	}
}

// standsIn looks for one name in a text, at every place.
func standsIn(key, text string) bool {
	name, runes := []rune(key), []rune(textForm(text))
	p := pattern{needsAt: !countsWithoutAt(key)}
	for i := 0; i+len(name) <= len(runes); i++ {
		if slices.Equal(runes[i:i+len(name)], name) && p.fits(runes, i, i+len(name)) {
			return true
		}
	}
	return false
}

func BenchmarkMentions(b *testing.B) {
	var keys []string
	for i := range 5000 {
		keys = append(keys, text.NameKey(strings.Repeat(string(rune('a'+i%26)), 3)+string(rune(0x4E00+i))))
	}
	m := newMentions(keys, nil)
	text := strings.Repeat("今天大家聊了很多 and nobody said anything new, ", 40)
	b.SetBytes(int64(len(text)))
	for b.Loop() {
		m.find(text)
	}
}
