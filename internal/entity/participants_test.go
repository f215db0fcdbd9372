package entity

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"reverie/internal/reverie"
	"reverie/internal/text"
)

// wrote is a message of an account under a name.
func wrote(id, name, text string) reverie.Message {
	return reverie.Message{AuthorID: id, Author: name, Role: reverie.RoleUser, Text: text}
}

// entityNames are the index entries of an entity: its accounts, then its subject
// and aliases.
func entityNames(id string, kind reverie.EntityKind, accounts []string, names ...string) (list []reverie.EntityName) {
	add := func(of reverie.NameKind, name, key string) {
		list = append(list, reverie.EntityName{ID: fmt.Sprintf("%s-%d", id, len(list)), EntityID: id, Kind: of, Name: name, Key: key, Entity: kind})
	}
	for _, a := range accounts {
		add(reverie.NameID, a, a)
	}
	for i, name := range names {
		of := reverie.NameAlias
		if i == 0 {
			of = reverie.NameSubject
		}
		add(of, name, text.NameKey(name))
	}
	return list
}

func TestLabels(t *testing.T) {
	bot := wrote("bot", "Helper", "hi")
	bot.Role = reverie.RoleAssistant
	for name, c := range map[string]struct {
		messages []reverie.Message
		replied  []reverie.Message
		index    []reverie.EntityName
		want     string // account=label, in order
	}{
		"plain":                   {messages: []reverie.Message{wrote("1", "Lin", ""), bot}, want: "1=Lin bot=Helper"},
		"homonyms":                {messages: []reverie.Message{wrote("1", "Alex", ""), wrote("2", "alex", "")}, want: "1=Alex#1 2=alex#2"},
		"traditional, simplified": {messages: []reverie.Message{wrote("1", "小華", ""), wrote("2", "小华", "")}, want: "1=小華#1 2=小华#2"},
		"a nickname change":       {messages: []reverie.Message{wrote("1", "Kay", ""), wrote("1", "小K", ""), wrote("2", "Lin", "")}, want: "1=Kay 2=Lin"},
		"another took the name":   {messages: []reverie.Message{wrote("1", "Kay", ""), wrote("1", "小K", ""), wrote("2", "小K", "")}, want: "1=Kay 2=小K#1"},
		"a real name with a number": {messages: []reverie.Message{wrote("1", "Alex", ""), wrote("2", "Alex", ""), wrote("3", "Alex#1", "")},
			want: "1=Alex#2 2=Alex#3 3=Alex#1"},
		"no name to speak of":    {messages: []reverie.Message{wrote("1", "\u200b", ""), wrote("2", "@", ""), wrote("3", "member", "")}, want: "1=member#1 2=member#2 3=member#3"},
		"who is replied to":      {messages: []reverie.Message{wrote("1", "Alex", "")}, replied: []reverie.Message{wrote("2", "Alex", "")}, want: "1=Alex#1 2=Alex#2"},
		"known under its name":   {messages: []reverie.Message{wrote("1", "Alex", "")}, index: entityNames("e1", reverie.EntityPerson, []string{"1"}, "Alex"), want: "1=Alex"},
		"another is known by it": {messages: []reverie.Message{wrote("1", "Alex", "")}, index: entityNames("e2", reverie.EntityPerson, []string{"2"}, "Lex", "Alex"), want: "1=Alex#1"},
		"a thing is known by it": {messages: []reverie.Message{wrote("1", "Miso", "")}, index: entityNames("e2", reverie.EntityThing, nil, "Miso"), want: "1=Miso#1"},
		"a number that is known": {messages: []reverie.Message{wrote("1", "Alex", ""), wrote("2", "Alex", "")}, index: entityNames("e2", reverie.EntityThing, nil, "Alex#1"), want: "1=Alex#2 2=Alex#3"},
		"names that are cut alike": {messages: []reverie.Message{wrote("1", strings.Repeat("x", 90)+"1", ""), wrote("2", strings.Repeat("x", 79)+"y", "")},
			want: "1=" + strings.Repeat("x", 73) + "… 2=" + strings.Repeat("x", 73) + "…#1"},
		"a tool, and a bot without an account": {messages: []reverie.Message{{AuthorID: "t", Author: "calc", Role: reverie.RoleTool}, {Author: "bot", Role: reverie.RoleAssistant}}},
	} {
		got := newParticipants(c.messages, c.replied)
		got.name(newIndex(c.index))
		var list []string
		for _, id := range got.order {
			list = append(list, id+"="+got.accounts[id].label)
			if got.labels[text.NameKey(got.accounts[id].label)] != id {
				t.Errorf("%s: label %q leads to %q", name, got.accounts[id].label, got.labels[text.NameKey(got.accounts[id].label)])
			}
		}
		if diff := cmp.Diff(c.want, strings.Join(list, " ")); diff != "" {
			t.Errorf("%s: -want +got\n%s", name, diff)
		}
	}
	if kind := newParticipants([]reverie.Message{bot}, nil).accounts["bot"].kind; kind != reverie.EntityBot {
		t.Errorf("the bot is a %s", kind)
	}
}

// Whatever the names, each account has a label of its own, which is no other's
// name.
func TestLabelsAreUnique(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 4))
	pool := []string{"Alex", "alex", "Alex#1", "Alex#2", "alex#1#1", "member", "member#1", "@", "", "小华", "小華", "Lin", "Ｌｉｎ", strings.Repeat("长", 100), strings.Repeat("长", 80)}
	name := func() string { return pool[rng.IntN(len(pool))] }
	for range 600 {
		var messages []reverie.Message
		for range rng.IntN(12) {
			messages = append(messages, wrote(fmt.Sprint(rng.IntN(6)), name(), ""))
		}
		var index []reverie.EntityName
		for i := range rng.IntN(4) {
			index = append(index, entityNames(fmt.Sprintf("e%d", i), reverie.EntityPerson, []string{fmt.Sprint(i + 4)}, name(), name())...)
		}
		c, d := newParticipants(messages, nil), newIndex(index)
		c.name(d)
		for _, id := range c.order {
			key := text.NameKey(c.accounts[id].label)
			if len(c.labels) != len(c.order) || c.labels[key] != id || key == "" {
				t.Fatalf("labels %v of accounts %v", c.labels, c.order)
			}
			for _, other := range c.order {
				if other != id && slices.Contains(c.accounts[other].keys(), key) {
					t.Fatalf("%q is the label of %s and a name of %s", key, id, other)
				}
			}
			if d.othersHaveName(key, d.byID[id]) {
				t.Fatalf("%q is the label of %s and a name of %v", key, id, d.byKey[key])
			}
		}
	}
}
