package entity

import (
	"flag"
	"fmt"
	"testing"
	"time"

	"reverie/internal/text"
)

var most = flag.Int("people", 120, "how many people TestCostIsLinear lets talk, after a fourth of them")

// TestCostIsLinear lets a few people talk, and four times as many, each of whom
// writes, answers and is named. All are covered, and the number of questions and
// their tokens grow with the people, not with their square: on the first night, and
// on the second, when all are known.
func TestCostIsLinear(t *testing.T) {
	type bill struct{ calls, tokens int }
	bills := map[int][2]bill{}
	s := newStage(t)
	for _, people := range []int{*most / 4, *most} {
		s.group = fmt.Sprint("g", people)
		s.addGroup(s.group)
		for night := range 2 {
			var lines []line
			for i := range people {
				lines = append(lines, line{fmt.Sprintf("u%03d:member%03d", i, i), fmt.Sprintf("I like thing%d number%d", i, night)})
				lines = append(lines, line{fmt.Sprintf("u%03d:member%03d", i, i), fmt.Sprintf("member%03d likes rain%d", (i+people/2)%people, night)})
			}
			asked := s.asked()
			s.say(evening.Add(time.Duration(night-2)*day), lines...)
			res := s.observe()
			b := bill{calls: s.asked() - asked}
			for _, r := range s.model.Requests()[asked:] {
				b.tokens += text.EstimateTokens(r.System) + text.EstimateTokens(r.User)
				if q := readQuestion(t, r); len(q.Subjects) > s.pipe.Limits.MaxSubjects {
					t.Fatalf("%d subjects in a question", len(q.Subjects))
				}
			}
			both := bills[people]
			both[night] = b
			bills[people] = both
			if res.Stats.Cited != 2*people || night == 0 && res.Stats.Created != people || night == 1 && res.Stats.Updated != people {
				t.Errorf("%d people: %+v", people, res.Stats)
			}
			t.Logf("%d people, night %d: %d questions, %d tokens, %.0f a person", people, night+1, b.calls, b.tokens, float64(b.tokens)/float64(people))
		}
		for _, query := range []string{`select count(*) from entities where group_id = $1`,
			`select count(*) from (select entity_id from entity_claims where group_id = $1 and self group by 1 having count(*) = 2) x`,
			`select count(*) from (select entity_id from entity_claims where group_id = $1 and not self group by 1 having count(*) = 2) x`} {
			if got := s.rows(query, s.group); got[0] != fmt.Sprint(people) {
				t.Errorf("%d people: %s of %s", people, got[0], query)
			}
		}
	}
	for night := range 2 {
		few, many := bills[*most/4][night], bills[*most][night]
		if many.calls > 4*few.calls || float64(many.tokens) > 4.2*float64(few.tokens) {
			t.Errorf("night %d: %+v for %d people, %+v for %d", night+1, few, *most/4, many, *most)
		}
		if want := (*most + 7) / 8; many.calls > want+want/8 {
			t.Errorf("night %d: %d questions about %d people, %d in batches of 8", night+1, many.calls, *most, want)
		}
	}
}
