package e2e

import (
	"slices"
	"strings"
	"testing"

	"reverie/internal/reverie"
)

// TestViolationsAreNoticed plants one wrong thing after the other into entities
// that are right: what the tests below assert must be able to fail.
func TestViolationsAreNoticed(t *testing.T) {
	w := readTruth(t, "harbor")
	claim := func(self bool, ids ...string) reverie.ClaimReply {
		c := reverie.ClaimReply{Self: self}
		for _, id := range ids {
			m, known := w.message(id)
			if !known {
				t.Fatalf("there is no message %s", id)
			}
			c.Evidence = append(c.Evidence, reverie.Evidence{MessageID: id, AuthorID: m.AuthorID, Quote: m.Text})
			c.SaidBy = append(c.SaidBy, m.AuthorID)
		}
		slices.Sort(c.SaidBy)
		return c
	}
	right := func() []reverie.EntityReply {
		return []reverie.EntityReply{
			{Subject: "Lin", Accounts: []string{"u-lin"}, Aliases: []string{"Linnea"}, Features: []reverie.FeatureReply{
				{Key: "city", Value: "Braga", ClaimReply: claim(true, "e11-1")}, {Key: "city", Value: "Porto", ClaimReply: claim(false, "e03-1", "e13-1")}}},
			{Subject: "Alex", Accounts: []string{"u-alex1"}, Features: []reverie.FeatureReply{{Key: "job", Value: "teacher", ClaimReply: claim(true, "e02-4")}}},
			{Subject: "Alex", Accounts: []string{"u-alex2"}},
			{Subject: "Nora", Features: []reverie.FeatureReply{{Key: "city", Value: "Faro", ClaimReply: claim(false, "e06-2")}}},
			{Subject: "Ana", Accounts: []string{"u-ana"}, Relations: []reverie.RelationReply{{Kind: "sister", Target: "Nora", ClaimReply: claim(true, "e06-1")}}},
		}
	}
	if got := w.violations(right()); len(got) > 0 {
		t.Fatalf("what is right is refused: %q", got)
	}
	if words, of := w.found(right()); strings.Join(words, " ") != "Braga Porto Nora teacher Faro" || of < 15 {
		t.Errorf("found %q of %d", words, of)
	}
	feature := func(value string, c reverie.ClaimReply) reverie.FeatureReply {
		return reverie.FeatureReply{Key: "city", Value: value, ClaimReply: c}
	}
	for name, change := range map[string]func(list []reverie.EntityReply){
		"accounts are joined": func(l []reverie.EntityReply) { l[0].Accounts = append(l[0].Accounts, "u-bo") },
		"of two entities":     func(l []reverie.EntityReply) { l[2].Accounts = []string{"u-alex1"} },
		"is invented":         func(l []reverie.EntityReply) { l[2].Accounts = []string{"u-zed"} },
		"is no bot":           func(l []reverie.EntityReply) { l[0].Kind = reverie.EntityBot },
		`not called "Eve"`:    func(l []reverie.EntityReply) { l[0].Aliases = append(l[0].Aliases, "Eve") },
		"not what u-lin says": func(l []reverie.EntityReply) { l[0].Features[0].Evidence[0].Quote = "I never said that" },
		"a bot's word is evidence": func(l []reverie.EntityReply) {
			l[0].Features = append(l[0].Features, feature("somewhere", claim(false, "e02-8")))
		},
		"self is true":                  func(l []reverie.EntityReply) { l[0].Features[1].Self = true },
		"self is false":                 func(l []reverie.EntityReply) { l[0].Features[0].Self = false },
		"said by []":                    func(l []reverie.EntityReply) { l[0].Features[0].SaidBy = nil },
		"the evidence is by []":         func(l []reverie.EntityReply) { l[0].Features[0].Evidence = nil },
		"it is of u-alex1":              func(l []reverie.EntityReply) { l[2].Features = l[1].Features },
		"it is of Nora":                 func(l []reverie.EntityReply) { l[4].Features = l[3].Features },
		"they do not say so themselves": func(l []reverie.EntityReply) { l[0].Features[0].Value = "Porto" },
		"a bot or a forged instruction": func(l []reverie.EntityReply) { l[0].Features[0].Value = "Madrid" },
		"nobody says that it is so":     func(l []reverie.EntityReply) { l[0].Features[0].Value = "Tokyo" },
		"nobody can know of whom": func(l []reverie.EntityReply) {
			l[2].Features = []reverie.FeatureReply{feature("Malaga", claim(false, "e05-4"))}
		},
		"stands beside what took its pla": func(l []reverie.EntityReply) {
			l[0].Features = append(l[0].Features, feature("Lisbon", claim(true, "e02-2")))
		},
	} {
		list := right()
		change(list)
		if got := w.violations(list); !slices.ContainsFunc(got, func(v string) bool { return strings.Contains(v, name) }) {
			t.Errorf("nothing says %q: %q", name, got)
		}
	}
}

// TestTruthFitsChat: the samples say what they are said to say.
func TestTruthFitsChat(t *testing.T) {
	for _, name := range []string{"harbor", "banshan"} {
		w := readTruth(t, name)
		if n := len(w.dates()); n != 14 {
			t.Errorf("%s has %d dates, want two weeks", name, n)
		}
		for _, l := range w.chat {
			if !slices.Contains(w.People[l.AuthorID], l.Author) {
				t.Errorf("%s: %s writes as %q, which the truth does not know", l.ID, l.AuthorID, l.Author)
			}
			for _, word := range w.Never {
				if forged := l.Role == string(reverie.RoleAssistant) || l.AuthorID == "u-eve" || l.AuthorID == "x-hei"; !forged && strings.Contains(l.Text, word) {
					t.Errorf("%s says %q, which nobody should", l.ID, word)
				}
			}
		}
		for _, word := range w.NotSo {
			if !slices.ContainsFunc(w.chat, func(l chatLine) bool { return strings.Contains(l.Text, word) }) {
				t.Errorf("%s: nobody asks of %q", name, word)
			}
		}
		for _, f := range w.Facts {
			for _, id := range f.Messages {
				if m, known := w.message(id); !known || !slices.Contains(f.By, m.AuthorID) || !strings.Contains(m.Text, f.Word) {
					t.Errorf("%s: message %q does not say so", f.Word, id)
				}
			}
			for _, g := range w.Facts {
				if f.Word != g.Word && strings.Contains(g.Text+g.Word, f.Word) {
					t.Errorf("the word of %q occurs in that of %q", f.Word, g.Word)
				}
			}
		}
	}
}
