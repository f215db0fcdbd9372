package entity

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"reverie/internal/reverie"
	"reverie/internal/text"
)

var noonOf28 = time.Date(2026, 3, 28, 12, 0, 0, 0, time.UTC)

// talk numbers messages m1, m2, ... a minute apart.
func talk(list ...reverie.Message) []reverie.Message {
	for i := range list {
		list[i].ID, list[i].SentAt = fmt.Sprintf("m%d", i+1), noonOf28.Add(time.Duration(i)*time.Minute)
	}
	return list
}

// flat prices each message and each subject alike.
func flat(sc *activity, budget, message, subject int) price {
	p := price{budget: budget, subject: func(active) int { return subject }}
	for range sc.shown {
		p.message = append(p.message, message)
	}
	return p
}

// told is who is active, with the messages that concern them.
func told(sc *activity) (list []string) {
	for _, a := range sc.subjects {
		text := a.label + ":"
		for _, i := range a.core {
			text += " " + sc.shown[i].ID
		}
		list = append(list, text)
	}
	return list
}

func TestSurvey(t *testing.T) {
	bot := func(text string) reverie.Message {
		return reverie.Message{AuthorID: "bot", Author: "Helper", Role: reverie.RoleAssistant, Text: text}
	}
	reply := func(m reverie.Message, to string) reverie.Message { m.ReplyTo = to; return m }
	lin, kay := func(text string) reverie.Message { return wrote("1", "Lin", text) }, func(text string) reverie.Message { return wrote("2", "Kay", text) }
	cat := entityNames("e9", reverie.EntityThing, nil, "年糕")
	for name, c := range map[string]struct {
		state reverie.EntityState
		want  []string
	}{
		"authors": {reverie.EntityState{Messages: talk(lin("a"), kay("b"), lin("c"))}, []string{"Lin: m1 m3", "Kay: m2"}},
		"a reply concerns both": {reverie.EntityState{Messages: talk(lin("a"), kay("b"), reply(kay("yes"), "m1"))},
			[]string{"Kay: m1 m2 m3", "Lin: m1 m3"}},
		"a name": {reverie.EntityState{Messages: talk(lin("a"), kay("ask lin"), kay("linear"))}, []string{"Lin: m1 m2", "Kay: m2 m3"}},
		"a known thing": {reverie.EntityState{Messages: talk(lin("年糕又吐了")), Index: cat},
			[]string{"Lin: m1", "年糕: m1"}},
		"a known person who does not write": {reverie.EntityState{Messages: talk(lin("Max moved")), Index: entityNames("e3", reverie.EntityPerson, []string{"3"}, "Maxim", "Max")},
			[]string{"Lin: m1", "Maxim: m1"}},
		"what replies to one who wrote before": {reverie.EntityState{Messages: talk(reply(lin("agreed"), "old")), Replied: []reverie.Message{{ID: "old", AuthorID: "7", Author: "Ana", Role: reverie.RoleUser, Text: "x"}}},
			[]string{"Ana: m1", "Lin: m1"}},
		"a bot is spoken of": {reverie.EntityState{Messages: talk(lin("a"), bot("Lin moved to Mars"), reply(lin("Helper is wrong"), "m2"))},
			[]string{"Lin: m1 m2 m3", "Helper: m3"}},
		"a bot is not":      {reverie.EntityState{Messages: talk(lin("a"), bot("Lin moved to Mars"))}, []string{"Lin: m1"}},
		"called by account": {reverie.EntityState{Messages: talk(lin("<@2> hi"), kay("u 1"))}, []string{"Kay: m1 m2", "Lin: m1"}},
		"empty, and tools":  {reverie.EntityState{Messages: talk(lin(" "), reverie.Message{AuthorID: "t", Author: "calc", Role: reverie.RoleTool, Text: "42"})}, nil},
		"homonyms stay together": {reverie.EntityState{Messages: talk(wrote("1", "Alex", "a"), wrote("4", "Bo", "b"), wrote("3", "Alex", "c"), kay("Alex moved"))},
			[]string{"Alex#1: m1 m4", "Alex#2: m3 m4", "Bo: m2"}},
		"two things of one name are nobody's": {reverie.EntityState{Messages: talk(lin("年糕来了")), Index: slices.Concat(cat, entityNames("e8", reverie.EntityThing, nil, "年糕"))},
			[]string{"Lin: m1", "年糕: m1"}},
	} {
		c.state.Messages = slices.Clone(c.state.Messages)
		sc, _ := survey(c.state, newIndex(c.state.Index))
		got := told(sc)
		if name == "homonyms stay together" {
			got = got[:3]
		}
		if diff := cmp.Diff(c.want, got); diff != "" {
			t.Errorf("%s: -want +got\n%s", name, diff)
		}
	}
}

// An entity that two names of the text may mean is known only where it is the
// only one.
func TestSurveyKnows(t *testing.T) {
	index := slices.Concat(entityNames("e1", reverie.EntityPerson, []string{"1"}, "Lin"), entityNames("e2", reverie.EntityThing, nil, "Reverie"),
		entityNames("e3", reverie.EntityThing, nil, "Miso"), entityNames("e4", reverie.EntityThing, nil, "Miso"), entityNames("e5", reverie.EntityPerson, []string{"5"}, "Max"))
	sc, c := survey(reverie.EntityState{Messages: talk(wrote("1", "Linnea", "Max likes Reverie and Miso")), Index: index}, newIndex(index))
	got := map[string]subject{}
	for _, a := range sc.subjects {
		got[a.label] = a.subject
	}
	want := map[string]subject{
		"Linnea":  {label: "Linnea", kind: reverie.EntityPerson, account: "1", entityID: "e1"},
		"Reverie": {label: "Reverie", kind: reverie.EntityThing, entityID: "e2"},
		"Miso":    {label: "Miso", kind: reverie.EntityThing},
		"Max":     {label: "Max", kind: reverie.EntityPerson, account: "5", entityID: "e5"},
	}
	if diff := cmp.Diff(want, got, cmp.AllowUnexported(subject{})); diff != "" {
		t.Errorf("-want +got\n%s", diff)
	}
	if c.labels["max"] != "5" || c.accounts["5"] == nil {
		t.Errorf("labels %v", c.labels)
	}
}

func TestPack(t *testing.T) {
	state := reverie.EntityState{Messages: talk(wrote("1", "Lin", "a"), wrote("2", "Kay", "b"), wrote("1", "Lin", "c"), wrote("3", "Bo", "d"), wrote("1", "Lin", "e"), wrote("1", "Lin", "f"))}
	for name, c := range map[string]struct {
		subjects, budget int
		gap              time.Duration
		want             string // subjects and messages of each batch
	}{
		"all in one":                          {8, 1000, 0, "Lin Kay Bo|m1 m2 m3 m4 m5 m6"},
		"two subjects":                        {2, 1000, 0, "Lin Kay|m1 m2 m3 m4 m5 m6; Bo|m3 m4"},
		"one subject":                         {1, 1000, 0, "Lin|m1 m2 m3 m4 m5 m6; Kay|m1 m2; Bo|m3 m4"},
		"budget for one more":                 {8, 55, 0, "Lin|m1 m2 m3 m5 m6; Kay Bo|m1 m2 m3 m4"},
		"budget without context":              {8, 45, 0, "Lin|m1 m3 m5 m6; Kay Bo|m1 m2 m4"},
		"too many of one for a batch":         {8, 26, 0, "Lin|m1 m3; Lin|m5 m6; Kay|m1 m2; Bo|m3 m4"},
		"not enough for anything":             {8, 1, 0, "Lin|m1; Lin|m3; Lin|m5; Lin|m6; Kay|m2; Bo|m4"},
		"the message before is from noonOf28": {1, 1000, 2 * time.Hour, "Lin|m1 m3 m5 m6; Kay|m2; Bo|m4"},
	} {
		sc, _ := survey(state, newIndex(nil))
		for i := range sc.shown {
			sc.shown[i].SentAt = sc.shown[i].SentAt.Add(time.Duration(i) * c.gap)
		}
		var got []string
		for _, task := range sc.pack(c.subjects, flat(sc, c.budget, 10, 5)) {
			got = append(got, task.String())
		}
		if diff := cmp.Diff(c.want, strings.Join(got, "; ")); diff != "" {
			t.Errorf("%s: -want +got\n%s", name, diff)
		}
	}
}

// A name that more bear than a subject is shown with concerns none of them; whoever of
// them writes is a subject as ever.
func TestSurveyOfACrowd(t *testing.T) {
	shown := []string{"Al#1: m1 m2 m3"}
	for len(shown) < maxShownNamesakes {
		shown = append(shown, fmt.Sprintf("Al#%d: m1 m3", len(shown)+1))
	}
	for _, c := range []struct {
		known int
		want  []string
	}{
		{maxShownNamesakes - 1, append(shown, "Bob: m1 m3")},
		{maxShownNamesakes + 1, []string{"Bob: m1 m3", "Al#1: m2"}},
		{4000, []string{"Bob: m1 m3", "Al#1: m2"}},
	} {
		var index []reverie.EntityName
		for i := range c.known {
			index = append(index, entityNames(fmt.Sprintf("e%04d", i), reverie.EntityPerson, []string{fmt.Sprint("account", i)}, "Al")...)
		}
		state := reverie.EntityState{Messages: talk(wrote("1", "Bob", "Al laughed"), wrote("2", "Al", "hello"), wrote("1", "Bob", "Al, hello")), Index: index}
		sc, _ := survey(state, newIndex(index))
		if diff := cmp.Diff(c.want, told(sc)); diff != "" {
			t.Errorf("%d of that name: -want +got\n%s", c.known, diff)
		}
	}
}

func (t *batch) String() string {
	var names, ids []string
	for _, s := range t.subjects {
		names = append(names, s.label)
	}
	for _, m := range t.messages {
		ids = append(ids, m.ID)
	}
	return strings.Join(names, " ") + "|" + strings.Join(ids, " ")
}

// randomState is a chat of some people, things and a bot, who name each other and
// answer, now and then after a long silence.
func randomState(rng *rand.Rand) reverie.EntityState {
	people := 1 + rng.IntN(20)
	var state reverie.EntityState
	for i := range rng.IntN(6) {
		state.Index = append(state.Index, entityNames(fmt.Sprintf("e%d", i), reverie.EntityThing, nil, fmt.Sprintf("thing%d", i%4))...)
	}
	at := noonOf28
	for i := range rng.IntN(80) {
		who := rng.IntN(people)
		m := wrote(fmt.Sprint(who), fmt.Sprintf("name%d", who%(people/2+1)), fmt.Sprintf("name%d and thing%d", rng.IntN(people), rng.IntN(8)))
		switch rng.IntN(10) {
		case 0:
			m.Text = " "
		case 1:
			m.AuthorID, m.Author, m.Role = "bot", "bot", reverie.RoleAssistant
		case 2:
			m.Text = strings.Repeat("long words ", rng.IntN(60))
		case 3, 4:
			m.ReplyTo = fmt.Sprintf("m%d", rng.IntN(i+1))
		}
		m.ID, m.SentAt = fmt.Sprintf("m%d", i), at
		at = at.Add(time.Duration(rng.IntN(90)) * time.Minute)
		state.Messages = append(state.Messages, m)
	}
	return state
}

// Whatever the chat and the budget: each member's message and each active subject
// is in a batch, a subject is in a batch with each message that concerns it, no
// batch is larger than allowed, the same chat makes the same batches, and all this
// holds too when every batch is divided as far as it goes.
func TestNobodyIsLeftOut(t *testing.T) {
	rng := rand.New(rand.NewPCG(5, 6))
	divided := 0
	for range 150 {
		state := randomState(rng)
		maxSubjects, budget := 1+rng.IntN(8), 20+rng.IntN(600)
		pack := func() (*activity, []*batch) {
			sc, _ := survey(state, newIndex(state.Index))
			p := flat(sc, budget, 0, 6)
			for i, m := range sc.shown {
				p.message[i] = text.EstimateTokens(m.Text)
			}
			tasks := sc.pack(maxSubjects, p)
			for _, task := range tasks {
				cost := 6 * len(task.subjects)
				for _, m := range task.messages {
					cost += text.EstimateTokens(m.Text)
				}
				if len(task.subjects) > maxSubjects || cost > budget && len(task.core) > 1 {
					t.Fatalf("%d subjects, %d tokens (%d, %d): %v", len(task.subjects), cost, maxSubjects, budget, task)
				}
			}
			return sc, tasks
		}
		sc, tasks := pack()
		_, again := pack()
		if fmt.Sprint(tasks) != fmt.Sprint(again) {
			t.Fatalf("the same chat makes\n%v\nand\n%v", tasks, again)
		}
		covered(t, sc, tasks)
		var ends []*batch
		for len(tasks) > 0 {
			halves := sc.halve(tasks[0])
			if halves == nil {
				ends = append(ends, tasks[0])
			}
			divided += len(halves)
			tasks = append(halves, tasks[1:]...)
		}
		covered(t, sc, ends)
		for _, end := range ends {
			if len(end.subjects) != 1 || len(end.messages) != 1 {
				t.Fatalf("not divided to the end: %v", end)
			}
		}
	}
	if divided < 1000 {
		t.Errorf("only %d halves", divided)
	}
}

// covered checks that tasks leave nobody and nothing out.
func covered(t *testing.T, sc *activity, tasks []*batch) {
	t.Helper()
	messages, pairs := map[string]bool{}, map[string]bool{}
	for _, task := range tasks {
		if !slices.IsSortedFunc(task.messages, func(a, b reverie.Message) int { return a.SentAt.Compare(b.SentAt) }) {
			t.Fatalf("out of order: %v", task)
		}
		for _, m := range task.messages {
			messages[m.ID] = true
			for _, s := range task.subjects {
				pairs[s.label+" "+m.ID] = true
			}
		}
	}
	for _, m := range sc.shown {
		if m.Role == reverie.RoleUser && !messages[m.ID] {
			t.Fatalf("%s is in no batch", m.ID)
		}
	}
	for _, a := range sc.subjects {
		for _, i := range a.core {
			if !pairs[a.label+" "+sc.shown[i].ID] {
				t.Fatalf("%s is not shown %s", a.label, sc.shown[i].ID)
			}
		}
	}
}
