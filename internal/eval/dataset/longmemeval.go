package dataset

import (
	"fmt"
	"strings"
	"time"

	"reverie/internal/reverie"
)

// longMemEval is a question of LongMemEval, which has a history of its own.
type longMemEval struct {
	ID       string   `json:"question_id"`
	Kind     string   `json:"question_type"`
	Question string   `json:"question"`
	Answer   plain    `json:"answer"`
	AskedAt  string   `json:"question_date"`
	Sessions []string `json:"haystack_session_ids"`
	Dates    []string `json:"haystack_dates"`
	Haystack [][]struct {
		Role      string `json:"role"`
		Content   string `json:"content"`
		HasAnswer bool   `json:"has_answer"`
	} `json:"haystack_sessions"`
}

const longMemEvalTime = "2006/01/02 (Mon) 15:04"

func readLongMemEval(f *files) (list []Conversation) {
	found := f.find("one of LongMemEval's longmemeval_*.json", "longmemeval_*.json", "data/longmemeval_*.json")
	if len(found) > 1 {
		f.wrong(f.dir, "there are %d files of LongMemEval in it, with the same questions: name one, such as %s", len(found), found[0])
		return nil
	}
	for _, file := range found {
		for i, r := range f.records(file) {
			raw, ok := decode[longMemEval](f, r)
			of := fmt.Sprintf("question %d (%s)", i+1, raw.ID)
			if !ok || !f.need(r, of, "question_id", raw.ID != "") || !f.need(r, of, "question_type", raw.Kind != "") ||
				!f.need(r, of, "question", raw.Question != "") || !f.need(r, of, "haystack_sessions", len(raw.Haystack) > 0) {
				continue
			}
			if len(raw.Dates) != len(raw.Haystack) || len(raw.Sessions) != len(raw.Haystack) {
				f.wrong(r.at(0), "%s has %d sessions, %d haystack_dates and %d haystack_session_ids: they must be as many",
					of, len(raw.Haystack), len(raw.Dates), len(raw.Sessions))
				continue
			}
			c := Conversation{ID: raw.ID}
			q := Question{ID: raw.ID, Kind: raw.Kind, Text: raw.Question, Gold: string(raw.Answer), Abstain: strings.HasSuffix(raw.ID, "_abs")}
			if q.Abstain {
				q.Kind = "abstention"
			}
			if c.AskedAt, ok = f.time(r, of, "question_date", longMemEvalTime, raw.AskedAt); !ok {
				continue
			}
			for s, turns := range raw.Haystack {
				begin, ok := f.time(r, of, "haystack_dates", longMemEvalTime, raw.Dates[s])
				if !ok {
					break
				}
				for t, turn := range turns {
					// A session may stand in a history twice.
					m := reverie.Message{ID: fmt.Sprintf("%d/%s/%d", s+1, raw.Sessions[s], t+1), Author: turn.Role, Role: reverie.RoleUser,
						Text: turn.Content, SessionID: raw.Sessions[s], SentAt: begin.Add(time.Duration(t) * turnGap)}
					if turn.Role == string(reverie.RoleAssistant) {
						m.Role = reverie.RoleAssistant
					}
					if turn.HasAnswer {
						q.Evidence = append(q.Evidence, m.ID)
					}
					c.Messages = append(c.Messages, m)
				}
			}
			c.Questions = []Question{q}
			list = append(list, c)
		}
	}
	return list
}

// time reads a date of a record.
func (f *files) time(r record, of, field, layout, written string) (time.Time, bool) {
	at, err := time.Parse(layout, written)
	if err != nil {
		f.wrong(r.at(0), "%s: %s is %q, and not like %q", of, field, written, layout)
	}
	return at, err == nil
}
