package offline

import (
	"encoding/json"
	"errors"
	"fmt"
	"time"
)

// errNotEvolve refuses what this package cannot do: it answers one kind of
// question only.
var errNotEvolve = errors.New("the offline baseline can only evolve group memory: it needs the evolve prompt's JSON object " +
	"with existing_memories and new_discussions; configure a real model for anything else")

// task is the evolve prompt's user part, as far as it is read here.
type task struct {
	memories []memory
	messages []message // earlier discussions first
}

type memory struct {
	ID        string `json:"id"`
	Statement string `json:"statement"`
	Stale     bool   `json:"stale"`
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

// readTask reads the user part. Memories without an id or statement are left
// out; a time that cannot be read is the zero time.
func readTask(user string) (task, error) {
	var in struct {
		Memories []memory        `json:"existing_memories"`
		Earlier  []message       `json:"earlier_discussions"`
		New      json.RawMessage `json:"new_discussions"` // null is none, missing is another prompt
	}
	if err := json.Unmarshal([]byte(user), &in); err != nil {
		return task{}, fmt.Errorf("%w: %w", errNotEvolve, err)
	}
	if in.New == nil {
		return task{}, errNotEvolve
	}
	var fresh []message
	if err := json.Unmarshal(in.New, &fresh); err != nil {
		return task{}, fmt.Errorf("%w: %w", errNotEvolve, err)
	}
	var t task
	for _, m := range in.Memories {
		if m.ID != "" && m.Statement != "" {
			t.memories = append(t.memories, m)
		}
	}
	for i, m := range append(in.Earlier, fresh...) {
		m.earlier = i < len(in.Earlier)
		m.at, _ = time.Parse(time.RFC3339, m.Time) // only distances in time are used
		t.messages = append(t.messages, m)
	}
	return t, nil
}
