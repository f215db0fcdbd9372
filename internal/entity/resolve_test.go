package entity

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"reverie/internal/reverie"
	"reverie/internal/text"
)

// known is an identity index of lines such as "e1 person Alex=Lex u1".
func known(lines ...string) *index {
	var names []reverie.EntityName
	for _, l := range lines {
		f := strings.Fields(l)
		for i, name := range strings.Split(f[2], "=") {
			kind := reverie.NameAlias
			if i == 0 {
				kind = reverie.NameSubject
			}
			names = append(names, reverie.EntityName{EntityID: f[0], Kind: kind, Name: name, Key: text.NameKey(name), Entity: reverie.EntityKind(f[1])})
		}
		for _, id := range f[3:] {
			names = append(names, reverie.EntityName{EntityID: f[0], Kind: reverie.NameID, Name: id, Key: id, Entity: reverie.EntityKind(f[1])})
		}
	}
	return newIndex(names)
}

// here are the participants of lines such as "u1 person Alex=Lex".
func here(lines ...string) *participants {
	c := &participants{accounts: map[string]*account{}, labels: map[string]string{}}
	for _, l := range lines {
		f := strings.Fields(l)
		a := c.add(f[0], reverie.EntityKind(f[1]))
		for _, name := range strings.Split(f[2], "=") {
			a.addName(name)
		}
	}
	return c
}

func TestResolve(t *testing.T) {
	about := func(account, subject string, kind reverie.EntityKind, aliases ...string) reverie.Observation {
		return seen(account, subject, kind, aliases, "likes "+subject, "1 u9 tea")
	}
	twice := func(o reverie.Observation) reverie.Observation {
		o.Claims[0].Evidence = quotes("1 u9 tea", "2 u9 tea")
		return o
	}
	for name, c := range map[string]struct {
		idx          *index
		participants *participants
		list         []reverie.Observation
		want         []string
	}{
		"an account that is known":    {known("e1 person Alex u1"), here("u1 person Zed"), []reverie.Observation{about("u1", "Zed", person)}, []string{"Zed: e1"}},
		"an account that is new":      {known("e1 person Alex u1"), here("u2 person Alex"), []reverie.Observation{about("u2", "Alex", person)}, []string{"Alex: create u2"}},
		"accounts of one name":        {known(), here("u1 person Alex", "u2 person Alex"), []reverie.Observation{about("u1", "Alex", person), about("u2", "Alex", person)}, []string{"Alex: create u1", "Alex: create u2"}},
		"a name in the index":         {known("e1 person Alex=Lex u1"), here(), []reverie.Observation{about("", "@lex", person)}, []string{"@lex: e1"}},
		"a name twice in the index":   {known("e1 person Alex u1", "e2 person Bo=Alex"), here(), []reverie.Observation{twice(about("", "Alex", person))}, []string{"Alex: ambiguous e1 e2"}},
		"a name in the cast":          {known(), here("u1 person Alex"), []reverie.Observation{about("", "Alex", person)}, []string{"Alex: create u1"}},
		"a name twice in the cast":    {known(), here("u1 person Alex", "u2 person Alex"), []reverie.Observation{twice(about("", "Alex", person))}, []string{"Alex: ambiguous"}},
		"in the index and the cast":   {known("e1 person Alex u1"), here("u2 person Alex"), []reverie.Observation{about("", "Alex", person)}, []string{"Alex: ambiguous e1"}},
		"the same in both":            {known("e1 person Alex u1"), here("u1 person Alex"), []reverie.Observation{about("", "Alex", person)}, []string{"Alex: e1"}},
		"a proven alias":              {known("e1 person Alex u1"), here(), []reverie.Observation{about("", "Lex", person, "Alex")}, []string{"Lex: e1"}},
		"an alias of an account":      {known(), here("u1 person Alex"), []reverie.Observation{about("u1", "Alex", person, "Kay"), about("", "Kay", person)}, []string{"Kay: create u1", "Alex: create u1"}},
		"an alias of two accounts":    {known(), here("u1 person Alex", "u2 person Bo"), []reverie.Observation{about("u1", "Alex", person, "K"), about("u2", "Bo", person, "K"), about("", "K", person)}, []string{"K: ambiguous", "Alex: create u1", "Bo: create u2"}},
		"another kind":                {known("e1 thing Atlas"), here(), []reverie.Observation{about("", "Atlas", person)}, []string{"Atlas: insufficient"}},
		"both kinds":                  {known("e1 thing Atlas", "e2 person Atlas u2"), here(), []reverie.Observation{about("", "Atlas", thing), about("", "Atlas", person)}, []string{"Atlas: e2", "Atlas: e1"}},
		"a bot taken for a person":    {known("e1 bot Helper b1"), here(), []reverie.Observation{about("", "Helper", person)}, []string{"Helper: e1"}},
		"a person and a bot":          {known("e1 bot Max b1", "e2 person Max u2"), here(), []reverie.Observation{about("", "Max", person)}, []string{"Max: ambiguous e1 e2"}},
		"one message":                 {known(), here(), []reverie.Observation{about("", "Marta", person)}, []string{"Marta: insufficient"}},
		"two messages":                {known(), here(), []reverie.Observation{twice(about("", "Marta", person))}, []string{"Marta: create"}},
		"one only talked of so far":   {known("e1 person Marta"), here("u5 person Marta"), []reverie.Observation{about("u5", "Marta", person), about("", "Marta", person)}, []string{"Marta: e1", "Marta: e1"}},
		"talked of, and two bear it":  {known("e1 person Marta"), here("u5 person Marta", "u6 person Marta"), []reverie.Observation{about("u5", "Marta", person)}, []string{"Marta: create u5"}},
		"talked of, and two take it":  {known("e1 person Marta=Tita"), here("u5 person Marta", "u6 person Tita"), []reverie.Observation{about("u5", "Marta", person), about("u6", "Tita", person)}, []string{"Marta: create u5", "Tita: create u6"}},
		"talked of, as a thing":       {known("e1 thing Marta"), here("u5 person Marta"), []reverie.Observation{about("u5", "Marta", person)}, []string{"Marta: create u5"}},
		"two that are talked of":      {known("e1 person Marta", "e2 person Marta"), here("u5 person Marta"), []reverie.Observation{about("u5", "Marta", person)}, []string{"Marta: create u5"}},
		"joined by an alias, but two": {known("e1 person Mia", "e2 person Max"), here(), []reverie.Observation{about("", "Mia", person, "M"), about("", "Max", person, "M")}, []string{"Max: ambiguous e1 e2"}},
	} {
		t.Run(name, func(t *testing.T) {
			list, _ := aggregate(c.list, nil, c.participants, 0.5)
			var got []string
			settled, _ := resolve(list, c.idx, c.participants, 2)
			for _, one := range settled {
				text := one.Subject + ": " + one.entityID + string(one.postponed)
				if one.create {
					text += "create " + one.Account
				}
				for _, id := range one.MatchingIDs {
					text += " " + id
				}
				got = append(got, strings.TrimSpace(text))
				if n := len(one.entityID) + len(one.postponed); (n > 0) == one.create {
					t.Errorf("settled in more than one way, or none: %+v", one)
				}
			}
			if diff := cmp.Diff(c.want, got); diff != "" {
				t.Errorf("-want +got\n%s", diff)
			}
		})
	}
}

// Hundreds of observations cost no more than in proportion.
func BenchmarkPlan(b *testing.B) {
	for _, people := range []int{100, 400, 1600} {
		b.Run(fmt.Sprint(people), func(b *testing.B) {
			var index, participants []string
			var list []reverie.Observation
			for i := range people {
				index = append(index, fmt.Sprintf("e%d person P%d u%d", i, i, i))
				participants = append(participants, fmt.Sprintf("u%d person P%d", i, i))
				list = append(list, seen(fmt.Sprint("u", i), fmt.Sprint("P", i), person, nil, "likes tea", "1 u1 tea"), seen("", fmt.Sprint("Q", i), person, nil, "likes tea", "1 u1 tea"))
			}
			idx, c := known(index...), here(participants...)
			for b.Loop() {
				all, _ := aggregate(list, nil, c, 0.5)
				settled, who := resolve(all, idx, c, 2)
				build(draft{groupID: "g", list: settled, resolver: who})
			}
		})
	}
}
