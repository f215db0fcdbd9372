package dataset

import (
	"fmt"
	"strings"
	"time"

	"reverie/internal/reverie"
)

// longMemEval is a question of LongMemEval, with its own history.
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

func readLongMemEval(dir string) (list []Conversation, err error) {
	found, err := find(dir, "one of LongMemEval's longmemeval_*.json", "longmemeval_*.json", "data/longmemeval_*.json")
	if len(found) > 1 {
		err = fmt.Errorf("%s: there are %d files of LongMemEval in it, with the same questions: name one, such as %s: %w", dir,
			len(found), found[0], reverie.ErrInvalid)
	}
	if err != nil {
		return nil, err
	}
	return list, each(found, func(_ string, _ int, raw longMemEval) (err error) {
		if err := need("the question", "question_id", raw.ID, "question_type", raw.Kind, "question", raw.Question,
			"haystack_sessions", raw.Haystack); err != nil {
			return err
		}
		if len(raw.Dates) != len(raw.Haystack) || len(raw.Sessions) != len(raw.Haystack) {
			return fmt.Errorf("the question has %d sessions, %d haystack_dates and %d haystack_session_ids: they must be as many",
				len(raw.Haystack), len(raw.Dates), len(raw.Sessions))
		}
		c := Conversation{ID: raw.ID}
		q := Question{ID: raw.ID, Kind: raw.Kind, Text: raw.Question, Gold: string(raw.Answer), Abstain: strings.HasSuffix(raw.ID, "_abs")}
		if q.Abstain {
			q.Kind = "abstention"
		}
		if c.AskedAt, err = timeOf("question_date", longMemEvalTime, raw.AskedAt); err != nil {
			return err
		}
		for s, turns := range raw.Haystack {
			begin, err := timeOf("haystack_dates", longMemEvalTime, raw.Dates[s])
			if err != nil {
				return err
			}
			for t, turn := range turns {
				// A session may occur twice in a history.
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
		return nil
	})
}
