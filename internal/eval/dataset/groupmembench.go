package dataset

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"reverie/internal/reverie"
)

// groupTurn is a message of GroupMemBench, whose file has a list for each channel.
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

// groupTimes are the formats of times in its files.
var groupTimes = []string{time.RFC3339, "2006-01-02T15:04:05", "2006-01-02 15:04:05", "2006-01-02T15:04"}

func readGroupMemBench(dir string) (list []Conversation, err error) {
	const needs = "GroupMemBench's data/final and questions"
	found, err := find(dir, needs, "data/final/*/synthetic_domain_channels_*.json")
	if err != nil {
		return nil, err
	}
	for _, file := range found {
		domain := filepath.Base(filepath.Dir(file))
		c := Conversation{ID: domain}
		if err := each([]string{file}, c.readChannels); err != nil {
			return nil, err
		}
		// The channels have no order.
		slices.SortFunc(c.Messages, func(a, b reverie.Message) int { return strings.Compare(a.ID, b.ID) })
		questions, err := find(filepath.Join(dir, "questions", domain), needs, "*.jsonl")
		if err != nil {
			return nil, err
		}
		err = each(questions, func(file string, no int, raw groupQuestion) error {
			kind := strings.TrimSuffix(filepath.Base(file), ".jsonl")
			c.Questions = append(c.Questions, Question{ID: domain + "-" + raw.ID, Kind: kind, Asker: raw.Asker, Text: raw.Question,
				Gold: string(raw.Answer), Abstain: kind == "abstention"})
			return need("the question", "id", raw.ID, "question", raw.Question)
		})
		if err != nil {
			return nil, err
		}
		list = append(list, c)
	}
	return list, nil
}

func (c *Conversation) readChannels(_ string, _ int, channels map[string][]groupTurn) error {
	for name, turns := range channels {
		for i, t := range turns {
			at := parsed(t.Timestamp)
			c.Messages = append(c.Messages, reverie.Message{ID: t.ID, Author: t.Author, Text: t.Content, SessionID: name, SentAt: at, ReplyTo: t.ReplyTo})
			if err := need(fmt.Sprintf("channel %q, message %d", name, i+1), "msg_node", t.ID, "author", t.Author,
				"timestamp in ISO 8601", at); err != nil {
				return err
			}
		}
	}
	return nil
}

func parsed(written string) time.Time {
	for _, layout := range groupTimes {
		if at, err := time.Parse(layout, written); err == nil {
			return at
		}
	}
	return time.Time{}
}
