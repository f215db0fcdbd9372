// Package eval plays scenarios and scores them: it compares what a group remembers after some nights of messages
// with what it should. A scenario is a folder (see scenarios/README.md). A [Player] runs its nights in an empty
// store, through the usual pipeline. A score is a pure function of the outcome.
package eval

import (
	"encoding/json"
	"slices"
	"strings"
	"time"

	"reverie/internal/reverie"
)

// Scenario is one folder: initial memories, messages, and expectations.
type Scenario struct {
	Name string `toml:"-"` // of the folder
	Dir  string `toml:"-"`

	Title    string   `toml:"title"`
	About    string   `toml:"about"`
	Language string   `toml:"language"`
	TimeZone string   `toml:"time_zone"`
	Topics   []string `toml:"topics"`
	Gone     []string `toml:"gone"`
	Stay     []string `toml:"stay"`
	MayGo    []string `toml:"may_go"`
	ExtraOK  []string `toml:"extra_ok"` // messages for each of which one further memory is allowed

	Expects   []Expect   `toml:"expect"`
	Forbids   []Forbid   `toml:"forbid"`
	Questions []Question `toml:"question"`

	Memories []Memory          `toml:"-"`
	Messages []reverie.Message `toml:"-"` // as sent, with group and defaults set
	Nights   []reverie.Window  `toml:"-"` // the local dates with messages
	Answers  []Answer          `toml:"-"` // nil: none are recorded
	AskedAt  time.Time         `toml:"-"` // when its questions are asked; zero is the end of the last night
}

// Expect is a fact that must be remembered. Matches are other wordings of the fact, Passes are similar statements
// of other facts: both test the terms.
type Expect struct {
	ID       string   `toml:"id"`
	All      []string `toml:"all"`
	None     []string `toml:"none"`
	Action   string   `toml:"action"`
	Of       string   `toml:"of"`
	Evidence []string `toml:"evidence"`
	After    string   `toml:"after"`
	Matches  []string `toml:"matches"`
	Passes   []string `toml:"passes"`

	pattern pattern
}

// Forbid is a fact that must not be remembered.
type Forbid struct {
	ID      string   `toml:"id"`
	About   string   `toml:"about"`
	All     []string `toml:"all"`
	None    []string `toml:"none"`
	When    string   `toml:"when"`
	Matches []string `toml:"matches"` // statements that the terms must match
	Passes  []string `toml:"passes"`  // statements that they must not match

	pattern pattern
}

// Question is a question asked at the end.
type Question struct {
	Text     string   `toml:"text"`
	Evidence []string `toml:"evidence"`
	Expect   string   `toml:"expect"`
}

// Memory is a memory of the group before the first night.
type Memory struct {
	ID        string       `json:"id"`
	Statement string       `json:"statement"`
	Tags      []string     `json:"tags"`
	Type      reverie.Type `json:"type"` // "" = fact
	Due       string       `json:"due"`  // of a plan
	Support   []string     `json:"support"`
	Strength  float64      `json:"strength"`
}

// Answer is one recorded answer of a model.
type Answer struct {
	Night   string            `json:"night"`
	Purpose string            `json:"purpose"`
	Lines   []json.RawMessage `json:"lines,omitempty"`
	Text    string            `json:"answer,omitempty"`
	Finish  string            `json:"finish,omitempty"` // "" = stop

}

// The actions of an expectation, and when a forbidden fact must be absent.
const (
	Kept    = "kept"
	Updated = "updated"
	Created = "created"

	WhenEnd  = "end"
	WhenEver = "ever"
)

// may reports whether the expectation allows an action.
func (e Expect) may(action string) bool {
	return e.Action == "" || slices.Contains(strings.Split(e.Action, "|"), action)
}

// IsSaidBy reports whether a statement is the fact.
func (e Expect) IsSaidBy(statement string) bool { return e.pattern.matches(statement) }

// memory returns an initial memory by its name in the scenario.
func (s *Scenario) memory(id string) (Memory, bool) {
	i := slices.IndexFunc(s.Memories, func(m Memory) bool { return m.ID == id })
	if i < 0 {
		return Memory{}, false
	}
	return s.Memories[i], true
}

// hasMessage reports whether a message has the id.
func (s *Scenario) hasMessage(id string) bool {
	return slices.ContainsFunc(s.Messages, func(m reverie.Message) bool { return m.ID == id })
}

// hasNight reports whether a local date has messages.
func (s *Scenario) hasNight(date string) bool {
	return slices.ContainsFunc(s.Nights, func(w reverie.Window) bool { return w.Date == date })
}

// bystanders returns the initial memories without an expectation: they are to stay.
func (s *Scenario) bystanders() (list []Memory) {
	for _, m := range s.Memories {
		named := slices.Contains(s.Gone, m.ID) || slices.Contains(s.Stay, m.ID) || slices.Contains(s.MayGo, m.ID) ||
			slices.ContainsFunc(s.Expects, func(e Expect) bool { return e.Of == m.ID })
		if !named {
			list = append(list, m)
		}
	}
	return list
}

// talked returns all dates from the first support of a memory to the first night: the group counts as active on
// each.
func (s *Scenario) talked() (dates []string) {
	first := s.Nights[0].Date
	for _, m := range s.Memories {
		first = min(first, slices.Min(m.Support))
	}
	for day, _ := time.Parse(time.DateOnly, first); day.Format(time.DateOnly) < s.Nights[0].Date; day = day.AddDate(0, 0, 1) {
		dates = append(dates, day.Format(time.DateOnly))
	}
	return dates
}

// Points returns the number of possible points.
func (s *Scenario) Points() int {
	n := len(s.Expects) + len(s.Forbids) + len(s.Gone) + len(s.Stay)
	if len(s.bystanders()) > 0 {
		n++
	}
	return n
}
