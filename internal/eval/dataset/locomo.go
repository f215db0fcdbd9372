package dataset

import (
	"cmp"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"reverie/internal/reverie"
)

// turnGap is the assumed time between turns without times.
const turnGap = 10 * time.Second

// loCoMo is a conversation of LoCoMo, with sessions in numbered fields.
type loCoMo struct {
	ID           string                     `json:"sample_id"`
	Conversation map[string]json.RawMessage `json:"conversation"`
	QA           []struct {
		Question string   `json:"question"`
		Answer   plain    `json:"answer"`
		Evidence []string `json:"evidence"`
		Category int      `json:"category"`
	} `json:"qa"`
}

type loCoMoTurn struct {
	Speaker string `json:"speaker"`
	ID      string `json:"dia_id"`
	Text    string `json:"text"`
	Caption string `json:"blip_caption"`
}

// loCoMoKinds are the categories of its questions, from 1 on.
var loCoMoKinds = []string{"multi-hop", "temporal", "open-domain", "single-hop", kindAdversarial}

const (
	kindAdversarial = "adversarial"
	loCoMoTime      = "3:04 pm on 2 January, 2006"
	notMentioned    = "No information available"
)

func readLoCoMo(dir string) (list []Conversation, err error) {
	found, err := find(dir, "LoCoMo's locomo10.json", "locomo*.json", "data/locomo*.json")
	if err != nil {
		return nil, err
	}
	return list, each(found, func(_ string, _ int, raw loCoMo) (err error) {
		if err := need("the conversation", "sample_id", raw.ID, "conversation", raw.Conversation, "qa", raw.QA); err != nil {
			return err
		}
		c := Conversation{ID: raw.ID}
		if c.Messages, err = loCoMoMessages(raw.Conversation); err != nil {
			return err
		}
		known := idsOf(c.Messages)
		for n, qa := range raw.QA {
			isKind, of := qa.Category > 0 && qa.Category <= len(loCoMoKinds), fmt.Sprintf("question %d", n+1)
			if err := need(of, "question", qa.Question, "category", isKind); err != nil {
				return err
			}
			q := Question{ID: fmt.Sprintf("%s-%d", c.ID, n+1), Kind: loCoMoKinds[qa.Category-1], Text: qa.Question, Gold: string(qa.Answer)}
			if q.Kind == kindAdversarial {
				q.Gold, q.Abstain = notMentioned, true
			}
			for _, e := range qa.Evidence { // some contain several
				q.cite(known, strings.FieldsFunc(e, func(r rune) bool { return r == ';' || r == ',' || r == ' ' })...)
			}
			c.Questions = append(c.Questions, q)
		}
		list = append(list, c)
		return nil
	})
}

// loCoMoMessages returns the turns of all sessions. A picture becomes its caption.
func loCoMoMessages(sessions map[string]json.RawMessage) (list []reverie.Message, err error) {
	for key, raw := range sessions {
		number, isSession := strings.CutPrefix(key, "session_")
		if _, err := strconv.Atoi(number); err != nil || !isSession {
			continue
		}
		var turns []loCoMoTurn
		if err := json.Unmarshal(raw, &turns); err != nil {
			return nil, fmt.Errorf("%s: %w", key, err)
		}
		var written string
		_ = json.Unmarshal(sessions[key+"_date_time"], &written) // an invalid value becomes a missing date
		begin, err := timeOf(key+"_date_time", loCoMoTime, written)
		if err != nil {
			return nil, err
		}
		for i, t := range turns {
			if err := need(fmt.Sprintf("%s, turn %d", key, i+1), "dia_id", t.ID, "speaker", t.Speaker); err != nil {
				return nil, err
			}
			if t.Caption != "" {
				t.Text = strings.TrimSpace(t.Text + " [picture: " + t.Caption + "]")
			}
			list = append(list, reverie.Message{ID: t.ID, Author: t.Speaker, Text: t.Text, SessionID: key, SentAt: begin.Add(time.Duration(i) * turnGap)})
		}
	}
	slices.SortStableFunc(list, func(a, b reverie.Message) int {
		return cmp.Or(a.SentAt.Compare(b.SentAt), cmp.Compare(a.SessionID, b.SessionID))
	})
	return list, need("the conversation", "session_1", list)
}

func idsOf(list []reverie.Message) map[string]bool {
	ids := map[string]bool{}
	for _, m := range list {
		ids[m.ID] = true
	}
	return ids
}

// cite adds messages as evidence, without duplicates, and counts names without a message.
func (q *Question) cite(known map[string]bool, ids ...string) {
	for _, id := range ids {
		switch {
		case !known[id]:
			q.Unknown++
		case !slices.Contains(q.Evidence, id):
			q.Evidence = append(q.Evidence, id)
		}
	}
}
