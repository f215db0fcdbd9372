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

// turnGap lies between turns whose benchmark gives no time for each.
const turnGap = 10 * time.Second

// loCoMo is a conversation of LoCoMo: sessions lie in numbered fields.
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

func readLoCoMo(f *files) (list []Conversation) {
	for _, file := range f.find("LoCoMo's locomo10.json", "locomo*.json", "data/locomo*.json") {
		for i, r := range f.records(file) {
			raw, ok := decode[loCoMo](f, r)
			of := fmt.Sprintf("conversation %d (%s)", i+1, raw.ID)
			if !ok || !f.need(r, of, "sample_id", raw.ID != "") || !f.need(r, of, "conversation", len(raw.Conversation) > 0) ||
				!f.need(r, of, "qa", len(raw.QA) > 0) {
				continue
			}
			c := Conversation{ID: raw.ID, Messages: f.loCoMoMessages(r, of, raw.Conversation)}
			known := idsOf(c.Messages)
			for n, qa := range raw.QA {
				of := fmt.Sprintf("%s, question %d", of, n+1)
				if !f.need(r, of, "question", qa.Question != "") || !f.need(r, of, "category", qa.Category > 0 && qa.Category <= len(loCoMoKinds)) {
					continue
				}
				q := Question{ID: fmt.Sprintf("%s-%d", c.ID, n+1), Kind: loCoMoKinds[qa.Category-1], Text: qa.Question, Gold: string(qa.Answer)}
				if q.Kind == kindAdversarial {
					q.Gold, q.Abstain = notMentioned, true
				}
				for _, e := range qa.Evidence { // some hold several
					q.cite(known, strings.FieldsFunc(e, func(r rune) bool { return r == ';' || r == ',' || r == ' ' })...)
				}
				c.Questions = append(c.Questions, q)
			}
			list = append(list, c)
		}
	}
	return list
}

// loCoMoMessages are the turns of all sessions. A picture is told by its caption.
func (f *files) loCoMoMessages(r record, of string, sessions map[string]json.RawMessage) (list []reverie.Message) {
	for key, raw := range sessions {
		number, isSession := strings.CutPrefix(key, "session_")
		if _, err := strconv.Atoi(number); err != nil || !isSession {
			continue
		}
		var turns []loCoMoTurn
		if err := json.Unmarshal(raw, &turns); err != nil {
			f.wrong(r.at(0), "%s: %s: %v", of, key, err)
			continue
		}
		var written string
		_ = json.Unmarshal(sessions[key+"_date_time"], &written) // what is wrong shows as no date
		begin, err := time.Parse(loCoMoTime, written)
		if err != nil {
			f.wrong(r.at(0), "%s: %s_date_time is %q, and not like %q", of, key, written, loCoMoTime)
			continue
		}
		for i, t := range turns {
			of := fmt.Sprintf("%s: %s, turn %d", of, key, i+1)
			if !f.need(r, of, "dia_id", t.ID != "") || !f.need(r, of, "speaker", t.Speaker != "") {
				continue
			}
			if t.Caption != "" {
				t.Text = strings.TrimSpace(t.Text + " [picture: " + t.Caption + "]")
			}
			list = append(list, reverie.Message{ID: t.ID, Author: t.Speaker, Text: t.Text, SessionID: key, SentAt: begin.Add(time.Duration(i) * turnGap)})
		}
	}
	if len(list) == 0 {
		f.wrong(r.at(0), "%s has no session_1 with turns", of)
	}
	slices.SortStableFunc(list, func(a, b reverie.Message) int {
		return cmp.Or(a.SentAt.Compare(b.SentAt), cmp.Compare(a.SessionID, b.SessionID))
	})
	return list
}

func idsOf(list []reverie.Message) map[string]bool {
	ids := map[string]bool{}
	for _, m := range list {
		ids[m.ID] = true
	}
	return ids
}

// cite names messages as evidence, each once; names under which there is none are counted.
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
