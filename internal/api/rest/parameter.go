package rest

import (
	"errors"
	"strings"
	"time"

	"github.com/danielgtaylor/huma/v2"
)

// Parameters that several routes have; their names are exported, since huma reads no
// others. Ids in a path are percent-encoded: a group's may hold anything.

// GroupPath is the id of a group in a path.
type GroupPath struct {
	Group string `path:"group_id" doc:"The group's id, percent-encoded: it may hold slashes and anything else." example:"g1"`
}

// MemoryPath is the id of a memory in a path.
type MemoryPath struct {
	Memory string `path:"memory_id" doc:"Any version of the memory: it stands for its lineage." example:"0197f3a0-1c2d-7e3f-8a4b-5c6d7e8f9a0b"`
}

// RunPath is the id of a run in a path.
type RunPath struct {
	Run string `path:"run_id" doc:"The run's id." example:"0197f3a0-0a1b-7c2d-9e3f-4a5b6c7d8e9f"`
}

// Paging says which rows are wanted.
type Paging struct {
	Limit  int `query:"limit" minimum:"1" maximum:"200" default:"20" doc:"Rows at most."`
	Offset int `query:"offset" minimum:"0" maximum:"100000" default:"0" doc:"Rows to skip."`
}

// instant is a parameter that is a point in time.
type instant struct{ at time.Time }

// UnmarshalText reads an instant as [Instant] does, with a plus sign that nobody encoded.
func (i *instant) UnmarshalText(text []byte) (err error) {
	i.at, err = Instant(strings.ReplaceAll(string(text), " ", "+"))
	return err
}

// Instant reads RFC 3339, or a date, which is its first instant in UTC.
func Instant(s string) (time.Time, error) {
	at, err := time.Parse(time.RFC3339Nano, s)
	if err != nil {
		at, err = time.Parse(time.DateOnly, s)
	}
	if at = at.UTC(); err != nil || at.Year() < 1970 || at.Year() > 9999 {
		return time.Time{}, errors.New("write an instant of 1970 to 9999, such as 2026-01-15T12:30:00Z, or a date")
	}
	return at.Truncate(time.Microsecond), nil // as instants are stored: the database would round up
}

// Schema is what the OpenAPI document says of it.
func (instant) Schema(huma.Registry) *huma.Schema {
	return &huma.Schema{Type: huma.TypeString, Examples: []any{"2026-01-15T12:30:00Z"},
		Description: "An instant (RFC 3339) of 1970 to 9999, or a date: its first instant in UTC."}
}
