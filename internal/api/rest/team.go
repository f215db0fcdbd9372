package rest

import (
	"context"
	"fmt"
	"net/http"
	"strings"
	"time"

	"github.com/danielgtaylor/huma/v2"

	"reverie/internal/reverie"
)

const teamTag = "team"

// TeamQuery names a team.
type TeamQuery struct {
	Team string `query:"team" maxLength:"64" doc:"The team's name. A token of one team may leave it out." example:"atlas"`
}

// TeamPath is the id of a team's memory in a path.
type TeamPath struct {
	ID string `path:"id" doc:"The memory's id: that of its lineage, the same in every deployment." example:"0197f3a0-1c2d-7e3f-8a4b-5c6d7e8f9a0b"`
}

type teamListInput struct {
	TeamQuery
	After string `query:"after" maxLength:"36" doc:"Only memories after this id: the next of the page before."`
	Limit int    `query:"limit" minimum:"1" maximum:"200" default:"100" doc:"Memories at most."`
}

type teamGetInput struct {
	TeamQuery
	TeamPath
}

type teamPutInput struct {
	TeamQuery
	TeamPath
	IfMatch     string `header:"If-Match" doc:"ETag of the version that this one takes the place of." example:"\"0197f3a0-1c2d-7e3f-8a4b-5c6d7e8f9a0b\""`
	IfNoneMatch string `header:"If-None-Match" enum:"*" doc:"To create the memory: there must be none of this id."`
	Key         string `header:"Idempotency-Key" pattern:"^[!-~]{1,200}$" patternDescription:"1 to 200 visible characters of ASCII" doc:"Names the write: sent again under the same key within 7 days, it is answered as it was, and made once."`
	Body        teamBody

	several bool // several lines of If-Match
}

// Resolve records whether there are several lines of the header; the parameter shows only one.
func (in *teamPutInput) Resolve(ctx huma.Context) []error {
	lines := 0
	ctx.EachHeader(func(name, _ string) {
		if http.CanonicalHeaderKey(name) == "If-Match" {
			lines++
		}
	})
	in.several = lines > 1
	return nil
}

// teamBody is a team's memory as a client sends it. Its version id and number belong to the other deployment; this
// one assigns its own.
type teamBody struct {
	ID           string                `json:"id,omitempty" maxLength:"36" doc:"As in the address."`
	VersionID    string                `json:"version_id,omitempty" doc:"Not looked at."`
	Version      int                   `json:"version,omitempty" doc:"Not looked at."`
	Statement    string                `json:"statement" maxLength:"2000" doc:"What is to be remembered, at most 500 characters." example:"The team releases on Thursdays."`
	Status       reverie.Status        `json:"status,omitempty" doc:"active, or deprecated to delete it."`
	Tags         []string              `json:"tags,omitempty" maxItems:"50" doc:"Tags; what no tag can be is left out."`
	Strength     float64               `json:"strength,omitempty" minimum:"0" maximum:"1" default:"0.5" doc:"How well supported it is, 0 to 1."`
	CreatedAt    time.Time             `json:"created_at,omitzero" doc:"When its lineage was born, where it is new here."`
	UpdatedAt    time.Time             `json:"updated_at,omitzero" doc:"When this version was made there."`
	ChangeReason string                `json:"change_reason,omitempty" maxLength:"2000" doc:"Why: it is kept with the change."`
	Origin       reverie.Origin        `json:"origin,omitzero" doc:"Where the version was made; here, where it is left out."`
	Versions     []reverie.TeamVersion `json:"versions,omitempty" doc:"Which there were before it, oldest first."`
	Evidence     []reverie.Evidence    `json:"evidence,omitempty" doc:"What it rests on; dropped unless [team] quotes is on here."`
}

// write returns the requested write. Its condition is one expected version, or that there is none.
func (in *teamPutInput) write() (w reverie.TeamWrite, err error) {
	b := in.Body
	w = reverie.TeamWrite{Team: in.Team, IfVersion: strings.Trim(in.IfMatch, `"`), RequestKey: in.Key,
		Memory: reverie.TeamMemory{ID: in.ID, Statement: b.Statement, Status: b.Status, Tags: b.Tags, Strength: b.Strength,
			CreatedAt: b.CreatedAt.UTC(), UpdatedAt: b.UpdatedAt.UTC(), ChangeReason: b.ChangeReason, Origin: b.Origin,
			Versions: b.Versions, Evidence: b.Evidence}}
	switch {
	case b.ID != "" && b.ID != in.ID:
		err = fmt.Errorf("the body's id %.40q is not that of the address: %w", b.ID, reverie.ErrInvalid)
	case in.IfMatch == "" && in.IfNoneMatch == "":
		err = reverie.ErrNoCondition
	case in.IfMatch != "" && in.IfNoneMatch != "":
		err = fmt.Errorf("If-None-Match: * and If-Match exclude each other: %w", reverie.ErrInvalid)
	case in.several, in.IfMatch != "" && !reverie.IsTeamID(w.IfVersion):
		w.IfVersion = noVersion
	}
	return w, err
}

// noVersion is the id that stands for no version.
const noVersion = "00000000-0000-0000-0000-000000000000"

// taggedMemory is a team's memory with its ETag.
type taggedMemory struct {
	Status int
	ETag   string `header:"ETag" doc:"The memory's version, in quotes."`
	Body   reverie.TeamMemory
}

// team adds the routes by which deployments share memories.
func (r *room) team() {
	add(r, operation{id: "list-team-memories"}, func(ctx context.Context, in *teamListInput) (reverie.TeamMemories, error) {
		return r.service.TeamMemories(ctx, in.Team, in.After, in.Limit)
	})
	register(r, operation{id: "get-team-memory"}, func(ctx context.Context, in *teamGetInput) (*taggedMemory, error) {
		m, err := r.service.TeamMemory(ctx, in.Team, in.ID)
		return &taggedMemory{http.StatusOK, `"` + m.VersionID + `"`, m}, err
	})
	put := operation{id: "put-team-memory", answers: map[string]*huma.Response{"201": r.shape(reverie.TeamMemory{}, "Created")},
		problems: []int{http.StatusPreconditionFailed, http.StatusPreconditionRequired}}
	register(r, put, func(ctx context.Context, in *teamPutInput) (*taggedMemory, error) {
		w, err := in.write()
		if err != nil {
			return nil, err
		}
		m, err := r.service.PutTeamMemory(ctx, w)
		a := &taggedMemory{http.StatusOK, `"` + m.VersionID + `"`, m}
		if m.Version == 1 {
			a.Status = http.StatusCreated
		}
		return a, err
	})
}
