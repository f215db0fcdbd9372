package offline

import (
	"errors"
	"time"
)

// task is the evolve prompt's user part, as far as it is read here.
type task struct {
	memories []memory
	messages []message // earlier discussions first
}

type memory struct {
	ID        string `json:"id"`
	Statement string `json:"statement"`
	Stale     bool   `json:"stale"`
	Held      bool   `json:"held"` // and judged again: only what is quoted keeps it
	digest    digest
}

type message struct {
	ID      int    `json:"id"`
	Time    string `json:"time"`
	Author  string `json:"author"`
	Role    string `json:"role"`
	Text    string `json:"text"`
	at      time.Time
	earlier bool // consumed by an earlier run: context, citable beside a new one
}

// fromPerson tells whether the message can be evidence: the evolve prompt
// leaves the role out for people.
func (m message) fromPerson() bool { return m.Role == "" || m.Role == "user" }

// readTask reads the user part of the evolve prompt. Memories without an id or
// statement are left out; a time that cannot be read is the zero time.
func readTask(q question) (task, error) {
	var memories []memory
	var earlier, fresh []message
	if err := errors.Join(q.read("existing_memories", &memories), q.read("earlier_discussions", &earlier),
		q.read("new_discussions", &fresh)); err != nil {
		return task{}, err
	}
	var t task
	for _, m := range memories {
		if m.ID != "" && m.Statement != "" {
			t.memories = append(t.memories, m)
		}
	}
	for i, m := range append(earlier, fresh...) {
		m.earlier = i < len(earlier)
		m.at, _ = time.Parse(time.RFC3339, m.Time) // only distances in time are used
		t.messages = append(t.messages, m)
	}
	return t, nil
}
