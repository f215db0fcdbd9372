// Package rest is the HTTP API: its routes, the OpenAPI document that describes them, and how errors become
// problems. Package api implements the operations and permissions.
package rest

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"path"
	"reflect"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/danielgtaylor/huma/v2"
	"github.com/danielgtaylor/huma/v2/adapters/humago"

	"reverie/internal/api"
	"reverie/internal/api/problem"
	"reverie/internal/text"
)

// Options configure the API.
type Options struct {
	Version string // of the binary, for the OpenAPI document; "" = dev
	MaxBody int64  // bytes of a request's body, except messages; 0 = 1 MiB
}

// room is the state that all routes share.
type room struct {
	Options
	service *api.Service
	mux     *http.ServeMux
	api     huma.API
	methods []string // of all routes
}

// New returns the handler of all routes of the API. It answers every request, including 404 and 405. The request's
// context must contain the caller, see [api.WithCaller], and the answer's X-Request-Id header the id of the
// request.
func New(service *api.Service, opts Options) (http.Handler, *huma.OpenAPI) {
	opts.Version, opts.MaxBody = cmp.Or(opts.Version, "dev"), cmp.Or(opts.MaxBody, 1<<20)
	r := &room{Options: opts, service: service, mux: http.NewServeMux(),
		methods: []string{http.MethodGet, http.MethodHead}}
	r.api = huma.NewAPI(r.config(), r)
	r.memories()
	r.groups()
	r.recall()
	r.runs()
	r.people()
	r.live()
	r.team()
	r.webhooks()
	describe(r.api.OpenAPI())
	r.documents()
	r.mux.HandleFunc("/", r.unknown)
	return http.HandlerFunc(r.serve), r.api.OpenAPI()
}

// serve rejects requests that no route can have.
func (r *room) serve(w http.ResponseWriter, req *http.Request) {
	switch p := req.URL.EscapedPath(); {
	case p == "" || path.Clean(p) != p: // the mux would redirect, which no client of an API expects
		problem.New(http.StatusNotFound, noRoute).Write(w, req)
	case !text.Storable(req.URL.Path): // such a path names nothing
		problem.New(http.StatusNotFound, problem.NotFound).Write(w, req)
	default:
		r.mux.ServeHTTP(w, req)
	}
}

const noRoute = "there is no such route; /openapi.json lists all"

// unknown answers a request without a route.
func (r *room) unknown(w http.ResponseWriter, req *http.Request) {
	var allow []string
	for _, m := range r.methods {
		probe := &http.Request{Method: m, URL: req.URL, Host: req.Host}
		if _, pattern := r.mux.Handler(probe); pattern != "" && pattern != "/" {
			allow = append(allow, m)
		}
	}
	if len(allow) == 0 {
		problem.New(http.StatusNotFound, noRoute).Write(w, req)
		return
	}
	w.Header().Set("Allow", strings.Join(allow, ", "))
	problem.New(http.StatusMethodNotAllowed, fmt.Sprintf("%s is not for this route: it takes %s", req.Method,
		strings.Join(allow, ", "))).Write(w, req)
}

// config returns huma's configuration, without what it loads from elsewhere or adds to answers.
func (r *room) config() huma.Config {
	c := huma.DefaultConfig("Reverie", r.Version)
	c.OpenAPIPath, c.DocsPath, c.SchemasPath, c.CreateHooks = "", "", "", nil
	c.AllowAdditionalPropertiesByDefault = true // for answers; bodies of requests say otherwise
	format := huma.Format{Marshal: marshal, Unmarshal: unmarshal}
	// The second is for types that end in +json.
	c.Formats = map[string]huma.Format{"application/json": format, "json": format}
	c.Transformers = []huma.Transformer{func(ctx huma.Context, _ string, v any) (any, error) {
		if p, ok := v.(*problem.Problem); ok {
			p.Instance = problem.RequestID(ctx.Context())
		}
		return v, nil
	}}
	c.Info.Description = about
	c.Tags = tags
	c.Components.SecuritySchemes = map[string]*huma.SecurityScheme{"bearer": {Type: "http", Scheme: "bearer",
		Description: "A token of `reverie token create`. Its scope is read, write or admin, each covering those before it."}}
	aliases(c.Components.Schemas)
	return c
}

// marshal writes an answer in one piece. A disconnected client is no error.
func marshal(w io.Writer, v any) error {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(v); err != nil {
		return err
	}
	_, _ = w.Write(b.Bytes())
	return nil
}

// unmarshal parses a body. It refuses other charsets, in which JSON would silently lose characters.
func unmarshal(data []byte, v any) error {
	if !utf8.Valid(data) {
		return errors.New("it is not UTF-8")
	}
	return json.Unmarshal(data, v)
}

// ServeHTTP makes the room an adapter of huma.
func (r *room) ServeHTTP(w http.ResponseWriter, req *http.Request) { r.serve(w, req) }

// Handle adds a route of huma's to the mux.
func (r *room) Handle(op *huma.Operation, handle func(huma.Context)) {
	r.mux.HandleFunc(op.Method+" "+op.Path, func(w http.ResponseWriter, req *http.Request) {
		values, err := url.ParseQuery(req.URL.RawQuery)
		for name, list := range values {
			if !text.Storable(name) || !text.Storable(strings.Join(list, "")) {
				err = fmt.Errorf("%q holds a NUL or invalid UTF-8", name)
			}
		}
		if err != nil {
			problem.New(http.StatusUnprocessableEntity, "the query of the address cannot be read: "+err.Error()).Write(w, req)
			return
		}
		handle(&exchange{humago.NewContext(op, req, w), values})
	})
}

type humaContext = huma.Context // a field named Context would hide the method

// exchange is one request and its answer, as huma sees them.
type exchange struct {
	humaContext
	values url.Values
}

// Unwrap is for humago.
func (e *exchange) Unwrap() huma.Context { return e.humaContext }

// Query is the first value of a parameter.
func (e *exchange) Query(name string) string { return e.values.Get(name) }

// SetReadDeadline does nothing, since the server sets deadlines. A deadline that is left after reading a body would
// end the request while it is answered.
func (e *exchange) SetReadDeadline(time.Time) error { return nil }

func init() {
	// Lists are never null, and huma's own errors are problems like all others.
	huma.DefaultArrayNullable = false
	huma.NewError = problemOfHuma
	huma.NewErrorWithContext = func(_ huma.Context, status int, message string, errs ...error) huma.StatusError {
		return problemOfHuma(status, message, errs...)
	}
}

// problemOfHuma converts a request error found by huma.
func problemOfHuma(status int, message string, errs ...error) huma.StatusError {
	var large *http.MaxBytesError
	broken := errors.Join(errs...)
	switch {
	case errors.As(broken, &large):
		return problem.Of(broken, time.Time{})
	case status == http.StatusInternalServerError && strings.Contains(message, "request body"):
		return problem.New(http.StatusBadRequest, "the request's body broke off")
	}
	p := problem.New(status, message)
	for _, err := range errs[:min(len(errs), problem.MaxErrors)] {
		var d huma.ErrorDetailer
		if !errors.As(err, &d) {
			p.Errors = append(p.Errors, problem.Detail{Message: text.Excerpt(err.Error(), problem.MaxMessage)})
			continue
		}
		e := d.ErrorDetail()
		p.Errors = append(p.Errors, problem.Detail{Location: text.Excerpt(e.Location, problem.MaxMessage),
			Message: text.Excerpt(e.Message, problem.MaxMessage)})
	}
	if len(p.Errors) > 0 {
		p.Detail = p.Errors[0].Message
		if at := p.Errors[0].Location; at != "" {
			p.Detail = at + ": " + p.Detail
		}
	}
	return p
}

// unstorable returns the place of a text that PostgreSQL cannot store in a body, "" if there is none.
func unstorable(v reflect.Value, at string) string {
	switch v.Kind() {
	case reflect.String:
		if !text.Storable(v.String()) {
			return at
		}
	case reflect.Pointer:
		return unstorable(v.Elem(), at)
	case reflect.Slice:
		for i := range v.Len() {
			if bad := unstorable(v.Index(i), at); bad != "" {
				return bad
			}
		}
	case reflect.Struct:
		for i := range v.NumField() {
			f := v.Type().Field(i)
			name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
			if bad := unstorable(v.Field(i), at+"."+name); bad != "" {
				return bad
			}
		}
	}
	return ""
}
