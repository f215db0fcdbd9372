package rest

import (
	"strings"
	"time"

	"reverie/internal/api"

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

// UnmarshalText reads an instant as [api.Instant] does, with a plus sign that nobody encoded.
func (i *instant) UnmarshalText(text []byte) (err error) {
	i.at, err = api.Instant(strings.ReplaceAll(string(text), " ", "+"))
	return err
}

// Schema is what the OpenAPI document says of it.
func (instant) Schema(huma.Registry) *huma.Schema {
	return &huma.Schema{Type: huma.TypeString, Examples: []any{"2026-01-15T12:30:00Z"},
		Description: "An instant (RFC 3339) of 1970 to 9999, or a date: its first instant in UTC."}
}
