package rest

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"net/http"
	"reflect"
	"slices"
	"time"

	"github.com/danielgtaylor/huma/v2"

	"reverie/internal/api"
	"reverie/internal/api/problem"
	"reverie/internal/reverie"
	"reverie/internal/text"
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
	After       string `query:"after" maxLength:"36" doc:"Only memories after this id: the next of the page before."`
	Limit       int    `query:"limit" minimum:"1" maximum:"200" default:"100" doc:"Memories at most."`
	IfNoneMatch string `header:"If-None-Match" doc:"ETag of the page that is known: a 304 where it is the same."`
}

type teamGetInput struct {
	TeamQuery
	TeamPath
	IfNoneMatch string `header:"If-None-Match" doc:"ETag of the version that is known: a 304 where it is the newest."`
}

type teamPutInput struct {
	TeamQuery
	TeamPath
	IfMatch     string `header:"If-Match" doc:"ETag of the version that this one takes the place of." example:"\"0197f3a0-1c2d-7e3f-8a4b-5c6d7e8f9a0b\""`
	IfNoneMatch string `header:"If-None-Match" doc:"* to create the memory: there must be none of this id."`
	Key         string `header:"Idempotency-Key" pattern:"^[!-~]{1,200}$" patternDescription:"1 to 200 visible characters of ASCII" doc:"Names the write: sent again under the same key within 7 days, it is answered as it was, and made once."`
	Body        teamBody
}

// teamBody is a team's memory as it is sent. What it calls the version is for its own
// deployment; here it gets an id and a number of its own.
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
	Origin       *reverie.Origin       `json:"origin,omitempty" doc:"Where the version was made; here, where it is left out."`
	Versions     []reverie.TeamVersion `json:"versions,omitempty" doc:"Which there were before it, oldest first."`
	Evidence     []reverie.Evidence    `json:"evidence,omitempty" doc:"What it rests on; dropped unless [team] quotes is on here."`
}

func (b teamBody) memory() reverie.TeamMemory {
	m := reverie.TeamMemory{ID: b.ID, Statement: b.Statement, Status: b.Status, Tags: b.Tags, Strength: b.Strength,
		CreatedAt: b.CreatedAt.UTC(), UpdatedAt: b.UpdatedAt.UTC(),
		ChangeReason: b.ChangeReason, Versions: b.Versions, Evidence: b.Evidence}
	if b.Origin != nil {
		m.Origin = *b.Origin
	}
	return m
}

// tagged is an answer with its validator, or a 304 without a body.
type tagged[O any] struct {
	Status int
	ETag   string `header:"ETag"`
	Body   O
}

func newTagged[O any](body O, etag, ifNoneMatch string) *tagged[O] {
	if known(ifNoneMatch, etag) {
		return &tagged[O]{Status: http.StatusNotModified, ETag: etag}
	}
	return &tagged[O]{http.StatusOK, etag, body}
}

// team are the routes by which deployments share memories.
func (r *room) team() {
	list := operation{id: "list-team-memories", answers: r.withTag(reverie.TeamMemories{}, "304")}
	register(r, list, func(ctx context.Context, in *teamListInput) (*tagged[reverie.TeamMemories], error) {
		page, err := r.service.TeamMemories(ctx, in.Team, in.After, in.Limit)
		if err != nil {
			return nil, err
		}
		body, err := json.Marshal(page)
		sum := sha256.Sum256(body)
		return newTagged(page, `"`+hex.EncodeToString(sum[:16])+`"`, in.IfNoneMatch), err
	})
	get := operation{id: "get-team-memory", answers: r.withTag(reverie.TeamMemory{}, "304")}
	register(r, get, func(ctx context.Context, in *teamGetInput) (*tagged[reverie.TeamMemory], error) {
		m, err := r.service.TeamMemory(ctx, in.Team, in.ID)
		return newTagged(m, versionTag(m), in.IfNoneMatch), err
	})
	put := operation{id: "put-team-memory", answers: r.withTag(reverie.TeamMemory{}, "201"),
		problems: []int{http.StatusPreconditionFailed, http.StatusPreconditionRequired}}
	register(r, put, func(ctx context.Context, in *teamPutInput) (*tagged[reverie.TeamMemory], error) {
		match, err := in.match()
		if err != nil {
			return nil, err
		}
		m, err := r.service.PutTeamMemory(ctx, api.TeamPut{Team: in.Team, ID: in.ID, Memory: in.Body.memory(),
			Match: match, Key: in.Key})
		a := newTagged(m, versionTag(m), "")
		if m.Version == 1 {
			a.Status = http.StatusCreated
		}
		return a, err
	})
}

// versionTag is the validator of a team's memory.
func versionTag(m reverie.TeamMemory) string { return `"` + m.VersionID + `"` }

// match is what the headers of a write demand. A weak validator matches nothing: it does
// not say that the version is the same.
func (in *teamPutInput) match() (api.TeamMatch, error) {
	m := api.TeamMatch{New: in.IfNoneMatch == "*", Any: in.IfMatch == "*"}
	if in.IfNoneMatch != "" && !m.New {
		return m, problem.New(http.StatusBadRequest,
			"If-None-Match of a write is *: the memory is then created, and must not exist")
	}
	if in.IfMatch == "" || m.Any {
		return m, nil
	}
	tags := entityTag.FindAllStringSubmatch(in.IfMatch, -1)
	if tags == nil {
		return m, problem.New(http.StatusBadRequest, "If-Match has ETags: each stands in double quotes")
	}
	m.Versions = []string{}
	for _, tag := range tags {
		if tag[1] == "" {
			m.Versions = append(m.Versions, tag[2])
		}
	}
	return m, nil
}

// entityTag is a validator as headers have it, weak or not (RFC 9110, 8.8.3).
var entityTag = text.NewPattern(`([Ww]/)?"([^"]*)"`)

// known tells whether a client says that it has what it would get. A weak validator is
// good enough to read by.
func known(ifNoneMatch, etag string) bool {
	return ifNoneMatch == "*" || slices.ContainsFunc(entityTag.FindAllStringSubmatch(ifNoneMatch, -1),
		func(tag []string) bool { return `"`+tag[2]+`"` == etag })
}

// withTag documents an answer that has an ETag, and another status beside its 200.
func (r *room) withTag(shape any, other string) map[string]*huma.Response {
	schema := r.api.OpenAPI().Components.Schemas.Schema(reflect.TypeOf(shape), true, "")
	etag := map[string]*huma.Param{"ETag": {Description: "Validator of the answer",
		Schema: &huma.Schema{Type: huma.TypeString}}}
	whole := func(description string) *huma.Response {
		return &huma.Response{Description: description, Headers: etag,
			Content: map[string]*huma.MediaType{"application/json": {Schema: schema}}}
	}
	answers := map[string]*huma.Response{"200": whole("OK")}
	if answers[other] = whole("Created"); other == "304" {
		answers[other] = &huma.Response{Description: "It is what If-None-Match says is known", Headers: etag}
	}
	return answers
}
