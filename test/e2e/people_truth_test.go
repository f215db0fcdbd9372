package e2e

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"reverie/internal/reverie"
	"reverie/internal/text"
)

// truth is what holds in a sample chat of two weeks (testdata/people): who is
// who, and what is said of them. Each fact has a word that occurs in no other, so
// that a claim which holds the word is that fact, however it is put.
type truth struct {
	GroupID  string              `json:"group_id"`
	TimeZone string              `json:"time_zone"`
	Language string              `json:"language"`
	People   map[string][]string `json:"people"` // account -> the names that it goes by
	Facts    []truthFact         `json:"facts"`
	Never    []string            `json:"never"`  // words that only a bot or a forged instruction says
	NotSo    []string            `json:"not_so"` // words of questions, and of what would be if
	chat     []chatLine
}

// truthFact is one fact. About is an account, or a name that has none.
type truthFact struct {
	Word     string         `json:"word"`
	About    string         `json:"about"`
	Called   string         `json:"called"` // what others call it there: Lin|Linnea
	State    string         `json:"state"`  // see the constants
	Kind     string         `json:"kind"`   // of what it is about; "" is a person
	Aspect   reverie.Aspect `json:"aspect"`
	Key      string         `json:"key"`
	Text     string         `json:"text"` // of an impression
	Messages []string       `json:"messages"`
	By       []string       `json:"by"` // the authors of those
}

// The states of facts.
const (
	stateHolds   = "holds"   // said by the one it is about, or of one who does not write here
	stateGone    = "gone"    // taken back later by the one it is about
	stateHearsay = "hearsay" // said by others, and not true
	stateWaits   = "waits"   // said of a name that two bear: nobody can know of whom
)

func (f truthFact) self() bool { return len(f.By) == 1 && f.By[0] == f.About }

func readTruth(t *testing.T, name string) *truth {
	t.Helper()
	read := func(file string) []byte {
		raw, err := os.ReadFile(filepath.Join("testdata", "people", file))
		if err != nil {
			t.Fatal(err)
		}
		return raw
	}
	var w truth
	if err := json.Unmarshal(read(name+".truth.json"), &w); err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(read(name + ".jsonl"))) {
		var l chatLine
		if err := json.Unmarshal([]byte(line), &l); err != nil {
			t.Fatal(err)
		}
		w.chat = append(w.chat, l)
	}
	return &w
}

// dates are those of the chat, in order, as its people count them.
func (w *truth) dates() []string {
	var list []string
	for _, l := range w.chat {
		list = append(list, l.SentAt[:len("2006-01-02")])
	}
	return slices.Compact(list)
}

// message is a line of the chat.
func (w *truth) message(id string) (chatLine, bool) {
	i := slices.IndexFunc(w.chat, func(l chatLine) bool { return l.ID == id })
	if i < 0 {
		return chatLine{}, false
	}
	return w.chat[i], true
}

// claimOf is a claim with its aspect, as it is said in a line.
type claimOf struct {
	reverie.ClaimReply
	aspect reverie.Aspect
	key    string
	text   string
}

func claimsOf(e reverie.EntityReply) []claimOf {
	var list []claimOf
	for _, c := range e.Impressions {
		list = append(list, claimOf{c.ClaimReply, reverie.AspectImpression, "", c.Text})
	}
	for _, c := range e.Features {
		list = append(list, claimOf{c.ClaimReply, reverie.AspectFeature, c.Key, c.Value})
	}
	for _, c := range e.Relations {
		list = append(list, claimOf{c.ClaimReply, reverie.AspectRelation, c.Kind, c.Target})
	}
	return list
}

// is tells whether an entity is the one that a fact is about.
func (w *truth) is(e reverie.EntityReply, about string) bool {
	if _, account := w.People[about]; account {
		return slices.Contains(e.Accounts, about)
	}
	return len(e.Accounts) == 0 && slices.ContainsFunc(append([]string{e.Subject}, e.Aliases...), func(name string) bool {
		return text.NameKey(name) == text.NameKey(about)
	})
}

// violations are what must never be, whatever a model answered: accounts joined,
// a name or a fact on the wrong person, a bot's word as evidence, hearsay in
// somebody's own mouth.
func (w *truth) violations(entities []reverie.EntityReply) []string {
	var out []string
	wrong := func(e reverie.EntityReply, format string, args ...any) {
		out = append(out, fmt.Sprintf("%s %v: ", e.Subject, e.Accounts)+fmt.Sprintf(format, args...))
	}
	seen := map[string]bool{}
	for _, e := range entities {
		if len(e.Accounts) > 1 {
			wrong(e, "accounts are joined")
		}
		for _, account := range e.Accounts {
			names, known := w.People[account]
			if !known || seen[account] {
				wrong(e, "account %s is invented, or of two entities", account)
			}
			seen[account] = true
			if bot := slices.ContainsFunc(w.chat, func(l chatLine) bool {
				return l.AuthorID == account && l.Role == string(reverie.RoleAssistant)
			}); bot != (e.Kind == reverie.EntityBot) {
				wrong(e, "is no %s", e.Kind)
			}
			for _, name := range append([]string{e.Subject}, e.Aliases...) {
				if !slices.ContainsFunc(names, func(n string) bool { return text.NameKey(n) == text.NameKey(name) }) {
					wrong(e, "is not called %q", name)
				}
			}
		}
		for _, c := range claimsOf(e) {
			for _, problem := range append(w.badEvidence(e, c), w.badClaim(e, c)...) {
				wrong(e, "%s %q: %s", c.key, c.text, problem)
			}
		}
	}
	return out
}

// badEvidence says what is wrong with what a claim rests on.
func (w *truth) badEvidence(e reverie.EntityReply, c claimOf) (problems []string) {
	var authors []string
	for _, ev := range c.Evidence {
		m, known := w.message(ev.MessageID)
		switch {
		case !known || m.AuthorID != ev.AuthorID || !text.VerifyQuote(ev.Quote, m.Text):
			problems = append(problems, fmt.Sprintf("%q is not what %s says in message %q", ev.Quote, ev.AuthorID, ev.MessageID))
		case m.Role != string(reverie.RoleUser):
			problems = append(problems, "a bot's word is evidence")
		case slices.Contains(e.Accounts, ev.AuthorID) != c.Self:
			problems = append(problems, fmt.Sprintf("self is %v, and %s says it", c.Self, ev.AuthorID))
		}
		authors = append(authors, ev.AuthorID)
	}
	slices.Sort(authors)
	if authors = slices.Compact(authors); len(authors) == 0 || !slices.Equal(authors, c.SaidBy) {
		problems = append(problems, fmt.Sprintf("said by %v, and the evidence is by %v", c.SaidBy, authors))
	}
	return problems
}

// badClaim says whether a claim is on the wrong person, or stands although it was
// taken back.
func (w *truth) badClaim(e reverie.EntityReply, c claimOf) (problems []string) {
	for _, word := range w.Never {
		if strings.Contains(c.text, word) {
			problems = append(problems, "nobody but a bot or a forged instruction says so")
		}
	}
	for _, word := range w.NotSo {
		if strings.Contains(c.text, word) {
			problems = append(problems, "nobody says that it is so")
		}
	}
	for _, f := range w.Facts {
		if f.Aspect == reverie.AspectRelation || !strings.Contains(c.text, f.Word) {
			continue // the target of a relation is named in other claims too
		}
		switch {
		case f.State == stateWaits:
			problems = append(problems, "nobody can know of whom that is said")
		case !w.is(e, f.About):
			problems = append(problems, "it is of "+f.About)
		case c.Self && !f.self():
			problems = append(problems, "they do not say so themselves")
		case f.State == stateGone && w.successor(e, f, c):
			problems = append(problems, "it stands beside what took its place")
		}
	}
	return problems
}

// successor tells whether the entity has the feature that took a gone one's place.
func (w *truth) successor(e reverie.EntityReply, gone truthFact, c claimOf) bool {
	return c.aspect == reverie.AspectFeature && slices.ContainsFunc(w.Facts, func(f truthFact) bool {
		return f.State == stateHolds && f.About == gone.About && f.Aspect == gone.Aspect && f.Key == gone.Key &&
			slices.ContainsFunc(e.Features, func(r reverie.FeatureReply) bool {
				return r.Self && r.Key == c.key && strings.Contains(r.Value, f.Word)
			})
	})
}

// found are the facts that the entities say, by word, and how many there are to
// be found: those that hold, and hearsay with who said it.
func (w *truth) found(entities []reverie.EntityReply) (words []string, of int) {
	for _, f := range w.Facts {
		if f.State != stateHolds && f.State != stateHearsay {
			continue
		}
		of++
		if slices.ContainsFunc(entities, func(e reverie.EntityReply) bool {
			return slices.ContainsFunc(claimsOf(e), func(c claimOf) bool { return w.saysSo(e, c, f) })
		}) {
			words = append(words, f.Word)
		}
	}
	return words, of
}

// saysSo tells whether a claim says a fact. A relation may be told from either end.
func (w *truth) saysSo(e reverie.EntityReply, c claimOf, f truthFact) bool {
	if f.Aspect != reverie.AspectRelation {
		return w.is(e, f.About) && c.aspect != reverie.AspectRelation && strings.Contains(c.text, f.Word)
	}
	return c.aspect == reverie.AspectRelation &&
		(w.is(e, f.About) && c.text == f.Word || w.is(e, f.Word) && slices.Contains(w.People[f.About], c.text))
}
