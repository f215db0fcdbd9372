package reverie

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

var newfoundland = time.FixedZone("NST", -(3*60*60 + 30*60))

// TestEntityReply: names and claims of a merged entity read as the entity's own,
// no name is said twice, and claims come in a fixed order.
func TestEntityReply(t *testing.T) {
	at := time.Date(2026, 1, 5, 20, 0, 0, 0, newfoundland)
	target := "t1"
	claim := func(id string, aspect Aspect, name, value string, self bool, strength float64) Claim {
		c := Claim{ID: id, Aspect: aspect, Name: name, Value: value, Self: self, Strength: strength, LastSupportedAt: at}
		if aspect == AspectRelation {
			c.TargetID = &target
		}
		return c
	}
	quoted := claim("c1", AspectFeature, "city", "Porto", true, 0.3)
	quoted.SaidBy = []string{"u1"}
	quoted.Evidence = []Evidence{{MessageID: "m2", Quote: "second", SentAt: at.Add(time.Hour)}, {MessageID: "m1", Quote: "first", SentAt: at}}
	e := Entity{GroupID: "g", ID: "a", Kind: EntityPerson, Subject: "Lin", Status: EntityActive, CreatedAt: at, UpdatedAt: at,
		Names: []EntityName{
			{EntityID: "a", Kind: NameSubject, Name: "Lin", Key: "lin"}, {EntityID: "a", Kind: NameAlias, Name: "@lin", Key: "lin"}, {EntityID: "a", Kind: NameID, Name: "u9"},
			{EntityID: "b", Kind: NameSubject, Name: "小林", Key: "小林"}, {EntityID: "b", Kind: NameAlias, Name: "小林", Key: "小林"}, {EntityID: "b", Kind: NameID, Name: "u1"},
		},
		Claims: []Claim{
			claim("c2", AspectFeature, "city", "Lisbon", false, 0.9), quoted,
			claim("c3", AspectImpression, "", "likes tea", true, 0.3), claim("c4", AspectImpression, "", "likes tennis", true, 0.6),
			claim("c5", AspectRelation, "sister of", "Ana", false, 0.3),
		}}
	r := e.Reply()
	if diff := cmp.Diff([][]string{{"u1", "u9"}, {"小林"}, {"b"}}, [][]string{r.Accounts, r.Aliases, r.Merged}); diff != "" {
		t.Errorf("accounts, aliases, merged (-want +got):\n%s", diff)
	}
	if r.Features[0].ClaimID != "c1" || r.Features[1].ClaimID != "c2" {
		t.Errorf("the entity's own words are not first: %v", r.Features)
	}
	if r.Impressions[0].ClaimID != "c4" || r.Impressions[1].ClaimID != "c3" {
		t.Errorf("the stronger impression is not first: %v", r.Impressions)
	}
	if r.Relations[0].TargetID == nil || *r.Relations[0].TargetID != "t1" {
		t.Errorf("the relation is %v", r.Relations)
	}
	if got := r.Features[0].Evidence; got[0].MessageID != "m1" || got[1].MessageID != "m2" {
		t.Errorf("evidence is not in order of time: %v", got)
	}
	if quoted.Evidence[0].MessageID != "m2" {
		t.Error("shaping the reply has reordered the entity's own evidence")
	}
}

// TestEntityRepliesHoldNoNull: clients may walk every list and read every instant
// in UTC.
func TestEntityRepliesHoldNoNull(t *testing.T) {
	at := time.Date(2026, 1, 5, 20, 0, 0, 0, newfoundland)
	e := Entity{GroupID: "g", ID: "a", Kind: EntityThing, Subject: "x", Status: EntityActive, CreatedAt: at, UpdatedAt: at,
		Claims: []Claim{{Aspect: AspectImpression, Value: "v", LastSupportedAt: at, Evidence: []Evidence{{SentAt: at}}}, {Aspect: AspectFeature}}}
	for name, reply := range map[string]any{
		"entity":  OneEntityReply{true, e.Reply()},
		"bare":    OneEntityReply{true, Entity{CreatedAt: at, UpdatedAt: at}.Reply()},
		"waiting": NewWaitingReply("g", []Observation{{LastAt: at, ExpiresAt: at, CreatedAt: at}}),
		"nobody":  NewWaitingReply("g", nil),
		"nothing": NewEntityHistoryReply(e, nil, nil),
		"history": NewEntityHistoryReply(e, []EntityChange{{RunID: new(string), CreatedAt: at}},
			[]Claim{{CreatedAt: at, UpdatedAt: at, EndedAt: &at, LastSupportedAt: at}}),
	} {
		raw, err := json.Marshal(reply)
		if err != nil {
			t.Fatal(err)
		}
		if text := string(raw); strings.Contains(text, "null") || strings.Contains(text, "-03:30") || !strings.Contains(text, `"success":true`) {
			t.Errorf("%s: %s", name, text)
		}
	}
}
