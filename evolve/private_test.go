package evolve

import (
	"strings"
	"testing"
	"time"

	"reverie/internal/llm/llmtest"
	"reverie/internal/safety"
)

// A model is not shown what may not be remembered, and what it makes up is not kept
// either: the messages alone have it.
func TestPrivate(t *testing.T) {
	const secret, mail = "hunter2x", "ada@example.org"
	s := newStage(t)
	s.say(evening.Add(-time.Hour), "note The wifi password is "+secret, "note Ada is at "+mail, "note Ada reads books.")
	res := s.evolve()
	if res.Stats.Created != 2 || res.Stats.Refused != 1 || res.Refusals[0].Rule != string(safety.RuleSecret) {
		t.Errorf("%+v, %+v", res.Stats, res.Refusals)
	}
	s.want(`select statement from memories order by statement`, "Ada is at [pii:email]", "Ada reads books.")
	s.want(`select quote from memory_evidence order by quote`, "Ada is at [pii:email]", "Ada reads books.")

	s.say(evening.Add(-30*time.Minute), "my number at the gym is the old one, "+mail)
	s.model.Script(llmtest.Text(`{"action":"create","statement":"Ada writes to ` + mail + `","change_reason":"said by ` + mail + `","evidence":[{"message":1,"quote":"the old one, ` + mail + `"}]}
{"action":"create","statement":"The key is AKIA` + `Z7QK3W2NVYTL5RPX","evidence":[{"message":1}]}`))
	s.pipe.Privacy.PII = safety.PIIMask
	res = s.evolve()
	if res.Stats.Created != 1 || res.Stats.Refused != 1 {
		t.Errorf("%+v, %+v", res.Stats, res.Refusals)
	}
	s.want(`select statement, change_summary from memories where statement like '%writes%'`, "Ada writes to [pii:email]|said by [pii:email]")
	for _, q := range s.model.Requests() {
		for _, word := range []string{secret, mail} {
			if strings.Contains(q.User, word) {
				t.Errorf("the model was shown %q", word)
			}
		}
	}
	s.want(`select count(*) from run_chunks where answer ~ '`+secret+`|`+mail+`|AKIA'`, "0")
	s.want(`select count(*) from messages where text ~ '`+secret+`|`+mail+`'`, "3")
}
