package dataset

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"reverie/internal/reverie"
)

// groupTurn is a message of GroupMemBench, whose file has a list of them for each channel.
type groupTurn struct {
	ID        string `json:"msg_node"`
	Content   string `json:"content"`
	Author    string `json:"author"`
	Role      string `json:"role"`
	Timestamp string `json:"timestamp"`
	ReplyTo   string `json:"reply_to"`
}

// groupQuestion is a line of questions/DOMAIN/KIND.jsonl. It names no evidence.
type groupQuestion struct {
	ID       string `json:"id"`
	Question string `json:"question"`
	Answer   plain  `json:"answer"`
	Asker    string `json:"asking_user_id"`
}

// groupTimes are the ways in which its files write a time.
var groupTimes = []string{time.RFC3339, "2006-01-02T15:04:05", "2006-01-02 15:04:05", "2006-01-02T15:04"}

func readGroupMemBench(f *files) (list []Conversation) {
	const needs = "GroupMemBench's data/final and questions"
	for _, file := range f.find(needs, "data/final/*/synthetic_domain_channels_*.json") {
		domain := filepath.Base(filepath.Dir(file))
		c := Conversation{ID: domain}
		for _, r := range f.records(file) {
			channels, ok := decode[map[string][]groupTurn](f, r)
			if !ok {
				continue
			}
			for name, turns := range channels {
				for i, t := range turns {
					of := fmt.Sprintf("channel %q, message %d", name, i+1)
					at := parsed(t.Timestamp)
					if !f.need(r, of, "msg_node", t.ID != "") || !f.need(r, of, "author", t.Author != "") ||
						!f.need(r, of, "timestamp in ISO 8601", !at.IsZero()) {
						continue
					}
					c.Messages = append(c.Messages, reverie.Message{ID: t.ID, Author: t.Author, Text: t.Content, SessionID: name, SentAt: at, ReplyTo: t.ReplyTo})
				}
			}
		}
		slices.SortFunc(c.Messages, func(a, b reverie.Message) int { return strings.Compare(a.ID, b.ID) }) // channels have no order
		questions, _ := filepath.Glob(filepath.Join(f.dir, "questions", domain, "*.jsonl"))
		if len(questions) == 0 {
			f.wrong(filepath.Join(f.dir, "questions", domain), "there are no *.jsonl in it: it needs %s", needs)
		}
		for _, file := range questions {
			kind := strings.TrimSuffix(filepath.Base(file), ".jsonl")
			for i, r := range f.records(file) {
				raw, ok := decode[groupQuestion](f, r)
				of := fmt.Sprintf("question %d", i+1)
				if ok && f.need(r, of, "id", raw.ID != "") && f.need(r, of, "question", raw.Question != "") {
					c.Questions = append(c.Questions, Question{ID: domain + "-" + raw.ID, Kind: kind, Asker: raw.Asker, Text: raw.Question,
						Gold: string(raw.Answer), Abstain: kind == "abstention"})
				}
			}
		}
		list = append(list, c)
	}
	return list
}

func parsed(written string) time.Time {
	for _, layout := range groupTimes {
		if at, err := time.Parse(layout, written); err == nil {
			return at
		}
	}
	return time.Time{}
}
