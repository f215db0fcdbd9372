// Package eval plays scenarios and counts: what a group remembers after some nights of
// messages, held against what it should. A scenario is a folder (see scenarios/README.md); a
// [Player] runs its nights in an empty store, through the same pipeline as ever; a score
// is a pure function of what came of it.
package eval

import (
	"encoding/json"
	"slices"
	"strings"
	"time"

	"reverie/internal/reverie"
)

// Scenario is one folder: what is there, what is said, and what is expected of it.
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
	ExtraOK  []string `toml:"extra_ok"` // messages of each of which one further memory may be made

	Expects   []Expect   `toml:"expect"`
	Forbids   []Forbid   `toml:"forbid"`
	Questions []Question `toml:"question"`

	Memories []Memory          `toml:"-"`
	Messages []reverie.Message `toml:"-"` // as sent, with group and defaults filled in
	Nights   []reverie.Window  `toml:"-"` // the local dates that have messages
	Answers  []Answer          `toml:"-"` // nil: none are recorded
	AskedAt  time.Time         `toml:"-"` // of its questions; zero is the end of the last night
}

// Expect is a fact that must be remembered. Matches are statements that are the fact in
// other words, Passes are some that are not: they try the terms.
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

// Forbid is what must not be remembered.
type Forbid struct {
	ID      string   `toml:"id"`
	About   string   `toml:"about"`
	All     []string `toml:"all"`
	None    []string `toml:"none"`
	When    string   `toml:"when"`
	Matches []string `toml:"matches"` // statements that it must catch
	Passes  []string `toml:"passes"`  // and that it must not

	pattern pattern
}

// Question is what somebody asks at the end.
type Question struct {
	Text     string   `toml:"text"`
	Evidence []string `toml:"evidence"`
	Expect   string   `toml:"expect"`
}

// Memory is what the group remembers before the first night.
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

// The actions of an expectation, and when a forbidden fact must not be there.
const (
	Kept    = "kept"
	Updated = "updated"
	Created = "created"

	WhenEnd  = "end"
	WhenEver = "ever"
)

// may tells whether an action is among those that the expectation allows.
func (e Expect) may(action string) bool {
	return e.Action == "" || slices.Contains(strings.Split(e.Action, "|"), action)
}

// memory finds what is remembered by its name in the scenario.
func (s *Scenario) memory(id string) (Memory, bool) {
	i := slices.IndexFunc(s.Memories, func(m Memory) bool { return m.ID == id })
	if i < 0 {
		return Memory{}, false
	}
	return s.Memories[i], true
}

// hasMessage tells whether a message of the id was said.
func (s *Scenario) hasMessage(id string) bool {
	return slices.ContainsFunc(s.Messages, func(m reverie.Message) bool { return m.ID == id })
}

// hasNight tells whether anything was said on a local date.
func (s *Scenario) hasNight(date string) bool {
	return slices.ContainsFunc(s.Nights, func(w reverie.Window) bool { return w.Date == date })
}

// bystanders are the memories of which nothing is expected: they are to stay.
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

// talked are the dates before the first night, from the first support of a memory on: the
// group is taken to have talked daily.
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

// Points is how many points there are to earn.
func (s *Scenario) Points() int {
	n := len(s.Expects) + len(s.Forbids) + len(s.Gone) + len(s.Stay)
	if len(s.bystanders()) > 0 {
		n++
	}
	return n
}
