package entity

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"reverie/internal/reverie"
)

// TestTwoWeeks follows a group through fourteen nights, the change to summer time
// among them, and compares who is who in the end with the truth: nickname changes,
// two of one name, hearsay against people's own words, somebody who is only spoken
// of, a cat, and a bot that claims things about everybody.
func TestTwoWeeks(t *testing.T) {
	s := newStage(t)
	zone, err := time.LoadLocation("Europe/Lisbon")
	if err != nil {
		t.Fatal(err)
	}
	first := time.Date(2026, 3, 20, 0, 0, 0, 0, zone)
	days := [][]line{
		{{"u1:Kay", "I live in Lisbon"}, {"u2:Alex", "I live in Berlin"}, {"u5:小华", "我住在上海"}, {"u4:Lin", "Marta moved to Faro"}},
		{{"u3:Alex", "I live in Madrid"}, {"u2:Alex", "Lin lives in Rome"}, {"bot:Helper", "Kay lives in Mars"}},
		{{"u6:小華", "我住在成都"}, {"u5:小华", "我喜欢火锅"}, {"bot:Helper", "Lin likes robots"}},
		{{"u1:Kay", "Alex likes jazz"}, {"u2:Alex", "I like techno"}},
		{{"u4:Lin", "I live in Oslo"}, {"u3:Alex", "I like rock"}},
		{{"u1:Kay", "Marta moved to Faro"}, {"u1:Kay", "Lin is my sister"}},
		{{"u1:小K", "call me Kiki"}, {"u5:小华", "叫我阿飞"}},
		{{"u2:Alex", "Lin moved to Paris"}, {"u4:Lin", "Kiki likes tea"}},
		{{"u4:Lin", "Miso eats tuna, our cat"}, {"bot:Helper", "Miso eats bolts, our cat"}},
		{{"u1:小K", "I moved to Porto"}, {"u3:Alex", "Miso eats tuna, our cat"}},
		{{"u5:阿飞", "我搬到了北京"}, {"u6:小華", "阿飞住在深圳"}},
		{{"u2:Sasha", "I like techno"}, {"u1:小K", "Sasha likes chess"}},
		{{"u4:Lin", "小华住在广州"}, {"u3:Alex", "good night"}},
		{{"u1:小K", "Alex likes jazz"}, {"u4:Lin", "Kay likes tea"}},
	}
	for i, lines := range days {
		since, until := first.AddDate(0, 0, i), first.AddDate(0, 0, i+1)
		s.say(since.Add(21*time.Hour), lines...)
		s.now = until.UTC()
		if res, err := s.runWith(s.pipe, Request{Since: since, Until: until}); err != nil || res.Status != reverie.RunSucceeded {
			t.Fatalf("night %d: %+v, %v", i+1, res, err)
		}
	}
	want := []string{
		"person Alex [u2] aka Sasha | city: Berlin; likes chess (u1); likes techno",
		"person Alex [u3] aka  | city: Madrid; likes rock",
		"person Kay [u1] aka Kiki, 小K | city: Porto; likes tea (u4)",
		"person Lin [u4] aka  | city: Oslo; city: Paris (u2); sister of: Kay (u1)",
		"person Marta [] aka  | city: Faro (u1,u4)",
		"person 小华 [u5] aka 阿飞 | 喜欢火锅; 城市: 北京; 城市: 深圳 (u6)",
		"person 小華 [u6] aka  | 城市: 成都",
		"thing Miso [] aka  | eats tuna (u3,u4)",
	}
	if diff := cmp.Diff(want, s.people()); diff != "" {
		t.Errorf("-want +got\n%s", diff)
	}
	s.want(`select subject, reason, status from entity_observations where status = 'waiting' order by 1, 2`, "Alex|ambiguous|waiting", "小华|ambiguous|waiting")
	for _, r := range s.model.Requests() {
		for _, m := range readQuestion(t, r).Messages {
			if strings.Contains(m.Author, "u1") {
				t.Fatalf("an account is shown: %+v", m)
			}
		}
	}
	s.want(`select count(*) from message_uses where job = 'impression' and run_id is null`, "0")
	s.want(`select count(*) from entity_evidence where author_id = 'bot'`, "0")
}
