package main

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"reverie/llm/llmtest"
)

// question is the user part of a prompt, as a model reads it.
type question struct {
	WindowUntil string `json:"window_until"`
	Memories    []struct {
		ID        string `json:"id"`
		Statement string `json:"statement"`
		Version   int    `json:"version"`
	} `json:"existing_memories"`
	Earlier  []questionMessage `json:"earlier_discussions"`
	Messages []questionMessage `json:"new_discussions"`
}

type questionMessage struct {
	ID     int    `json:"id"`
	Time   string `json:"time"`
	Author string `json:"author"`
	Text   string `json:"text"`
}

func readQuestion(t testing.TB, r llmtest.Request) question {
	var q question
	at := strings.IndexByte(r.User, '{')
	if at < 0 {
		t.Errorf("the user part holds no JSON object: %s", r.User)
		return q
	}
	if err := json.Unmarshal([]byte(r.User[at:]), &q); err != nil {
		t.Errorf("the user part is no JSON object: %v\n%s", err, r.User)
	}
	return q
}

// action is a line of an answer.
type action struct {
	Action    string     `json:"action"`
	OldID     string     `json:"old_id,omitempty"`
	Statement string     `json:"statement,omitempty"`
	Reason    string     `json:"change_reason,omitempty"`
	Tags      []string   `json:"tags,omitempty"`
	Evidence  []citation `json:"evidence,omitempty"`
}

type citation struct {
	Message int    `json:"message"`
	Quote   string `json:"quote,omitempty"`
}

func (a action) String() string {
	raw, err := json.Marshal(a)
	if err != nil {
		panic(err) // strings and numbers always encode
	}
	return string(raw)
}

// scribe is a model that does what the chat says, word for word, so that a test
// writes the plan into the chat and the same question has the same answer:
//
//	note STATEMENT          creates it
//	change OLD => NEW       updates the memory that says OLD
//	drop STATEMENT          deletes it, quoting the message
//	forget STATEMENT        deletes it without a quote
//	again STATEMENT         keeps it, with the message as evidence
func scribe(t testing.TB) func(llmtest.Request) llmtest.Answer {
	return func(r llmtest.Request) llmtest.Answer { return llmtest.Text(transcribe(t, r)) }
}

func transcribe(t testing.TB, r llmtest.Request) string {
	q := readQuestion(t, r)
	handles := map[string]string{}
	for _, m := range q.Memories {
		handles[m.Statement] = m.ID
	}
	lines := []string{}
	for _, m := range q.Messages {
		word, rest, _ := strings.Cut(m.Text, " ")
		quoted := []citation{{m.ID, rest}}
		reason := fmt.Sprintf("%s said so", m.Author)
		switch word {
		case "note":
			lines = append(lines, action{Action: "create", Statement: rest, Reason: reason, Evidence: quoted}.String())
		case "change":
			from, to, _ := strings.Cut(rest, " => ")
			lines = append(lines, action{Action: "update", OldID: handles[from], Statement: to, Reason: reason, Evidence: quoted}.String())
		case "drop":
			lines = append(lines, action{Action: "delete", OldID: handles[rest], Reason: reason, Evidence: quoted}.String())
		case "forget":
			lines = append(lines, action{Action: "delete", OldID: handles[rest], Reason: reason, Evidence: []citation{{Message: m.ID}}}.String())
		case "again":
			lines = append(lines, action{Action: "keep", OldID: handles[rest], Evidence: quoted}.String())
		}
	}
	if len(lines) == 0 {
		return `{"action":"none"}`
	}
	return strings.Join(lines, "\n")
}
