package rest

import (
	"context"
	_ "embed"
	"errors"
	"fmt"
	"net/http"
	"reflect"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/danielgtaylor/huma/v2"

	"reverie/internal/api"
	"reverie/internal/api/problem"
	"reverie/internal/reverie"
	"reverie/internal/text"
)

// operation is a route: its OpenAPI description, and the scope that it needs.
type operation struct {
	id string
	route
	answers  map[string]*huma.Response // besides 200 with the returned shape
	problems []int                     // further possible problems
	body     *huma.RequestBody         // if it is not JSON
}

// route is an operation's entry in operations.toml.
type route struct {
	Method  string        `toml:"method"`
	Path    string        `toml:"path"`
	Tag     string        `toml:"tag"`
	Scope   reverie.Scope `toml:"scope"`
	Summary string        `toml:"summary"`
	Detail  string        `toml:"detail"`
}

//go:embed operations.toml
var routeFile string

// routes are the entries, by operation id.
var routes = sync.OnceValue(func() map[string]route { return text.ReadTOML[map[string]route](routeFile) })

// answer is a 200 with a body.
type answer[O any] struct{ Body O }

// add adds a route that answers 200 with a shape.
func add[I, O any](r *room, op operation, do func(context.Context, *I) (O, error)) {
	register(r, op, func(ctx context.Context, in *I) (*answer[O], error) {
		out, err := do(ctx, in)
		return &answer[O]{out}, err
	})
}

// register adds a route whose answers set a status or headers.
func register[I, O any](r *room, op operation, do func(context.Context, *I) (*O, error)) {
	huma.Register(r.api, r.documented(op), func(ctx context.Context, in *I) (*O, error) {
		if err := r.check(in); err != nil {
			return nil, err
		}
		if past, may := any(in).(interface{ choose() error }); may {
			if err := past.choose(); err != nil {
				return nil, r.fail(ctx, op, err)
			}
		}
		out, err := do(ctx, in)
		if err != nil {
			return nil, r.fail(ctx, op, err)
		}
		return out, nil
	})
}

// check refuses a body that cannot be stored. Parameters have been checked before.
func (r *room) check(in any) error {
	body := reflect.ValueOf(in).Elem().FieldByName("Body")
	if !body.IsValid() {
		return nil
	}
	if at := unstorable(body, "body"); at != "" {
		return problem.New(http.StatusUnprocessableEntity, at+" holds a NUL, which no text can")
	}
	return nil
}

// fail converts an error to a problem, and logs what the client does not see.
func (r *room) fail(ctx context.Context, op operation, err error) error {
	p := problem.Of(err, r.service.Now())
	if p.Status >= 500 && !errors.Is(err, context.Canceled) {
		r.service.Log.ErrorContext(ctx, "a request failed", "request_id", problem.RequestID(ctx), "operation", op.id,
			"status", p.Status, "error", err)
	}
	return p
}

// documented returns the operation for huma, with all possible answers.
func (r *room) documented(op operation) huma.Operation {
	op.route = routes()[op.id]
	if !slices.Contains(r.methods, op.Method) {
		r.methods = append(r.methods, op.Method)
	}
	statuses := []int{http.StatusUnauthorized, http.StatusNotFound, http.StatusUnprocessableEntity,
		http.StatusTooManyRequests, http.StatusInternalServerError, http.StatusServiceUnavailable, http.StatusGatewayTimeout}
	if op.Scope != reverie.ScopeRead {
		statuses = append(statuses, http.StatusForbidden, http.StatusConflict)
	}
	if op.Method != http.MethodGet {
		statuses = append(statuses, http.StatusBadRequest, http.StatusConflict, http.StatusRequestEntityTooLarge,
			http.StatusUnsupportedMediaType)
	}
	statuses = append(statuses, op.problems...)
	return huma.Operation{
		OperationID:  op.id,
		Method:       op.Method,
		Path:         op.Path,
		Tags:         []string{op.Tag},
		Summary:      op.Summary,
		Description:  fmt.Sprintf("%s\n\nNeeds a token of scope %s.", op.Detail, op.Scope),
		Errors:       statuses,
		Responses:    op.answers,
		RequestBody:  op.body,
		MaxBodyBytes: r.MaxBody,
		Security:     []map[string][]string{{"bearer": {string(op.Scope)}}},
	}
}

// Parameters of several routes; their names are exported, since huma reads no others. Ids in a path are
// percent-encoded, since a group's id may contain any character.

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

// Paging selects a range of rows.
type Paging struct {
	Limit  int `query:"limit" minimum:"1" maximum:"200" default:"20" doc:"Rows at most."`
	Offset int `query:"offset" minimum:"0" maximum:"100000" default:"0" doc:"Rows to skip."`
}

// AsOf is the instant as of which something is read.
type AsOf struct {
	At         instant `query:"at" json:"at,omitempty" doc:"As of this instant of the chat: by when things were said."`
	RecordedAt instant `query:"recorded_at" json:"recorded_at,omitempty" doc:"As of this instant, by when things were written; instead of at."`

	when reverie.When // the chosen one
}

// choose sets the instant from one of the two parameters, and refuses both.
func (in *AsOf) choose() (err error) {
	in.when, err = api.When(in.At.at, in.RecordedAt.at)
	return err
}

// instant is a parameter that is a point in time.
type instant struct{ at time.Time }

// UnmarshalText parses an instant like [api.Instant], and accepts an unencoded plus sign.
func (i *instant) UnmarshalText(text []byte) (err error) {
	i.at, err = api.Instant(strings.ReplaceAll(string(text), " ", "+"))
	return err
}

// Schema is the parameter's schema in the OpenAPI document.
func (instant) Schema(huma.Registry) *huma.Schema {
	return &huma.Schema{Type: huma.TypeString, Examples: []any{"2026-01-15T12:30:00Z"},
		Description: "An instant (RFC 3339) of 1970 to 9999, or a date: its first instant in UTC."}
}
