package entity

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"reverie/internal/reverie"
	"reverie/prompts"
)

// viewsOf are the views of a chunk with what is known.
func viewsOf(messages []reverie.Message, index []reverie.EntityName, entities ...reverie.Entity) (views, *activity) {
	known := newIndex(index)
	sc, c := survey(reverie.EntityState{Messages: messages, Index: index}, known)
	v := newViews(time.UTC, c, known)
	for _, e := range entities {
		v.entities[e.ID] = e
	}
	return v, sc
}

// A subject is shown under its label with its other names, who else bears one of
// them, and what is known: its own words first, then the strongest. No id is.
func TestSubjectView(t *testing.T) {
	target := "e2"
	claim := func(aspect reverie.Aspect, name, value string, self bool, strength float64) reverie.Claim {
		return reverie.Claim{Aspect: aspect, Name: name, Value: value, Self: self, Strength: strength}
	}
	relation := claim(reverie.AspectRelation, "sister of", "Lin", false, 0.3)
	relation.TargetID = &target
	index := append(entityNames("e1", reverie.EntityPerson, []string{"u1"}, "Kay", "Kiki"), entityNames("e2", reverie.EntityPerson, []string{"u2"}, "Lin")...)
	v, sc := viewsOf(talk(wrote("u1", "小K", "a"), wrote("u2", "Linnea", "b"), wrote("u3", "Kiki", "c")), index,
		reverie.Entity{ID: "e1", Claims: []reverie.Claim{
			claim(reverie.AspectFeature, "city", "Paris", false, 0.9), claim(reverie.AspectImpression, "", "likes tea", false, 0.3), claim(reverie.AspectImpression, "", "likes jazz", false, 0.5),
			claim(reverie.AspectFeature, "city", "Lisbon", true, 0.3), relation, claim(reverie.AspectImpression, "", "likes tea", true, 0.3)}})
	got := map[string]prompts.SubjectView{}
	for _, a := range sc.subjects {
		got[a.label] = v.subject(a.subject)
	}
	want := map[string]prompts.SubjectView{
		"小K": {Name: "小K", Kind: "person", Aliases: []string{"Kay", "Kiki"}, Namesakes: []string{"Kiki#1"}, Known: &prompts.KnownView{
			Impressions: []string{"likes tea", "likes jazz"}, Features: map[string]string{"city": "Lisbon"}, Relations: []prompts.RelationView{{Kind: "sister of", Target: "Linnea"}}}},
		"Linnea": {Name: "Linnea", Kind: "person", Aliases: []string{"Lin"}},
		"Kiki#1": {Name: "Kiki#1", Kind: "person", Namesakes: []string{"小K"}},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("-want +got\n%s", diff)
	}
}

// What is known of a subject, its names and its namesakes have their bounds.
func TestSubjectViewIsBounded(t *testing.T) {
	var claims []reverie.Claim
	for i := range 200 {
		claims = append(claims, reverie.Claim{LineageID: fmt.Sprintf("%03d", i), Aspect: reverie.AspectImpression, Value: fmt.Sprintf("likes thing number %d", i), Strength: float64(i) / 200})
	}
	var aliases []string
	var messages []reverie.Message
	for i := range 30 {
		aliases = append(aliases, fmt.Sprintf("alias%d", i))
		messages = append(messages, wrote(fmt.Sprint("u", i), "Alex", "a"))
	}
	v, sc := viewsOf(talk(messages...), entityNames("e1", reverie.EntityPerson, []string{"u0"}, append([]string{"Alex"}, aliases...)...), reverie.Entity{ID: "e1", Claims: claims})
	for _, a := range sc.subjects {
		if a.account != "u0" {
			continue
		}
		view := v.subject(a.subject)
		if n := prompts.Tokens(view); n > 2*maxKnownTokens || len(view.Aliases) != maxShownAliases || len(view.Namesakes) != maxShownNamesakes ||
			len(view.Known.Impressions) < 10 || view.Known.Impressions[0] != "likes thing number 199" {
			t.Errorf("%d tokens: %+v", n, view)
		}
		return
	}
	t.Error("the subject is not there")
}

// Messages are numbered, and refer to each other by number; a long one is cut.
func TestMessageViews(t *testing.T) {
	list := talk(wrote("u1", "Kay", strings.Repeat("long ", 3000)), wrote("u2", "Kay", "yes"), reverie.Message{Author: "Helper", Role: reverie.RoleAssistant, Text: "no"})
	list[1].ReplyTo, list[2].ReplyTo = "m1", "elsewhere"
	v, _ := viewsOf(list, nil)
	got := v.messages(list)
	if n := len([]rune(got[0].Text)); n > prompts.MaxText || n < prompts.MaxText-20 {
		t.Errorf("%d characters are shown", n)
	}
	got[0].Text = ""
	want := []prompts.MessageView{{ID: 1, Time: "2026-03-28T12:00:00Z", Author: "Kay#1"}, {ID: 2, Time: "2026-03-28T12:01:00Z", Author: "Kay#2", ReplyTo: 1, Text: "yes"},
		{ID: 3, Time: "2026-03-28T12:02:00Z", Author: "Helper", Role: "assistant", Text: "no"}}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("-want +got\n%s", diff)
	}
}
