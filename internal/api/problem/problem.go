// Package problem converts errors to the problems that clients see: RFC 9457.
package problem

import (
	"context"
	"encoding/json"
	"errors"
	"math"
	"net/http"
	"strconv"
	"time"

	"reverie/internal/llm"
	"reverie/internal/reverie"
	"reverie/internal/text"
)

// Problem is an error as clients see it: RFC 9457, application/problem+json.
type Problem struct {
	Type        string `json:"type"`               // about:blank: the status is the kind
	Title       string `json:"title"`              // of the status
	Status      int    `json:"status"`             // HTTP status code
	Detail      string `json:"detail"`             // what happened, to what, and what to do next
	Instance    string `json:"instance,omitempty"` // the id of the request, as in the answer's X-Request-Id
	HeadID      string `json:"head_id,omitempty"`  // 409 for an old version: the head of its lineage
	HeadVersion int    `json:"head_version,omitempty"`

	Current  *reverie.TeamMemory   `json:"current,omitempty"`  // 412: the current version of the team's memory
	Findings []reverie.ScanFinding `json:"findings,omitempty"` // 422: the first forbidden contents of a team's memory

	Errors []Detail `json:"errors,omitempty"` // the first mistakes of a request

	retryAfter time.Duration
}

// Detail is one mistake of a request.
type Detail struct {
	Location string `json:"location,omitempty"` // such as query.limit or body.strength
	Message  string `json:"message"`
}

// MediaType is the media type of problems.
const MediaType = "application/problem+json"

// Bounds of what a problem quotes from a request.
const (
	MaxMessage = 300 // characters of a message, and of a location
	MaxErrors  = 20  // number of mistakes

	maxDetail = 1000 // characters of a detail
)

// NotFound is the detail for everything that does not exist or belongs to another group.
const NotFound = "there is no such thing, or none that this token may see"

// Default delays for retries.
const (
	retryDeferred    = 30 * time.Second
	retryUnavailable = 5 * time.Second
)

// rules are the only place where errors become statuses; the first match counts. Says replaces the text of errors
// that clients must not read.
var rules = []struct {
	kind   error
	status int
	says   string
	retry  time.Duration
}{
	{reverie.ErrNoCondition, http.StatusPreconditionRequired, "", 0},
	{reverie.ErrUnauthorized, http.StatusUnauthorized, "a good token is needed: send it as Authorization: Bearer", 0},
	{reverie.ErrNotFound, http.StatusNotFound, NotFound, 0},
	{reverie.ErrForbidden, http.StatusForbidden, "", 0},
	{reverie.ErrBusy, http.StatusConflict, "another process is working on this group: try again in a moment",
		retryUnavailable},
	{reverie.ErrUnavailable, http.StatusServiceUnavailable, "the database cannot be reached now: try again",
		retryUnavailable},
	{reverie.ErrLeaseLost, http.StatusServiceUnavailable,
		"another process has taken the group over; nothing was applied: try again", retryUnavailable},
	{reverie.ErrOutdatedSchema, http.StatusServiceUnavailable, "the database is being upgraded: try again", retryDeferred},
	{reverie.ErrDeferred, http.StatusServiceUnavailable,
		"the model is out of reach now; nothing is lost: try again later", retryDeferred},
	{reverie.ErrConflict, http.StatusConflict, "", 0},
	{reverie.ErrConfiguration, http.StatusConflict, "", 0},
	{reverie.ErrInvalid, http.StatusUnprocessableEntity, "", 0},
	{reverie.ErrUnusable, http.StatusBadGateway, "the model's answer could not be used; the messages stay pending", 0},
	{context.DeadlineExceeded, http.StatusGatewayTimeout, "it took longer than this server lets a request take", 0},
	{context.Canceled, http.StatusServiceUnavailable, "the server is stopping: try again", retryUnavailable},
}

// Of converts an error to a problem. It hides internal details: the caller must log the error of a 5xx.
func Of(err error, now time.Time) *Problem {
	var own *Problem
	if errors.As(err, &own) {
		return own
	}
	var large *http.MaxBytesError
	if errors.As(err, &large) {
		return New(http.StatusRequestEntityTooLarge, err.Error())
	}
	var moved *reverie.TeamHeadError
	if errors.As(err, &moved) {
		return ofMoved(moved)
	}
	for _, r := range rules {
		if !errors.Is(err, r.kind) {
			continue
		}
		var fault *llm.Error
		if r.kind == reverie.ErrConfiguration && errors.As(err, &fault) { // with the provider's message
			return New(r.status, "the model's server refuses this one as it is set up; its operator finds the reason in the "+
				"log and in the run")
		}
		p := New(r.status, r.says)
		if r.says == "" {
			p = New(r.status, reverie.ErrorText(err))
		}
		p.retryAfter = r.retry
		p.more(err, now)
		return p
	}
	return New(http.StatusInternalServerError, "something went wrong here; the log knows more under this request's id")
}

// more adds the fields of some errors.
func (p *Problem) more(err error, now time.Time) {
	var old *reverie.NotHeadError
	if errors.As(err, &old) {
		p.HeadID, p.HeadVersion = old.Head.MemoryID, old.Head.Version
	}
	var refused *reverie.TeamRefusedError
	if errors.As(err, &refused) {
		p.Findings = refused.Findings[:min(len(refused.Findings), MaxErrors)]
	}
	var busy *reverie.BusyError
	if errors.As(err, &busy) && busy.ExpiresAt.After(now) {
		p.retryAfter = min(busy.ExpiresAt.Sub(now), retryUnavailable) // most work ends long before its lease
	}
	var budget *reverie.BudgetError
	if errors.As(err, &budget) {
		p.Detail = budget.Error()
		if budget.Scope == "day" {
			p.retryAfter = now.UTC().Truncate(24 * time.Hour).Add(24 * time.Hour).Sub(now)
		}
	}
}

// ofMoved returns the problem of a write to an old version; it contains the newest version.
func ofMoved(moved *reverie.TeamHeadError) *Problem {
	p := New(http.StatusPreconditionFailed, moved.Error())
	if head := moved.Head; head != nil {
		p.HeadID, p.HeadVersion, p.Current = head.VersionID, head.Version, head
	}
	return p
}

// New returns a problem without an error of the domain, such as 404 for an unknown route or 429.
func New(status int, detail string) *Problem {
	return &Problem{Type: "about:blank", Title: http.StatusText(status), Status: status,
		Detail: text.Excerpt(detail, maxDetail)}
}

// Error makes a problem an error.
func (p *Problem) Error() string { return p.Detail }

// GetStatus is the HTTP status.
func (p *Problem) GetStatus() int { return p.Status }

// ContentType is that of problems, independent of content negotiation.
func (p *Problem) ContentType(string) string { return MediaType }

// GetHeaders are the headers that belong to the status.
func (p *Problem) GetHeaders() http.Header {
	h := http.Header{}
	if p.Status == http.StatusUnauthorized {
		h.Set("WWW-Authenticate", "Bearer")
	}
	if p.retryAfter > 0 {
		h.Set("Retry-After", strconv.Itoa(int(math.Ceil(p.retryAfter.Seconds()))))
	}
	return h
}

// RetryAfter sets the delay before the client asks again.
func (p *Problem) RetryAfter(d time.Duration) *Problem {
	p.retryAfter = d
	return p
}

// Write answers a request with the problem.
func (p *Problem) Write(w http.ResponseWriter, r *http.Request) {
	for name, values := range p.GetHeaders() {
		w.Header()[name] = values
	}
	p.Instance = RequestID(r.Context())
	w.Header().Set("Content-Type", MediaType)
	w.WriteHeader(p.Status)
	_ = json.NewEncoder(w).Encode(p) // a disconnected client needs no answer
}

type requestIDKey struct{}

// WithRequestID returns a context with the id of a request.
func WithRequestID(ctx context.Context, id string) context.Context {
	return context.WithValue(ctx, requestIDKey{}, id)
}

// RequestID returns the id of a context's request, "" if there is none. The id is in the log with errors, and in
// the answer.
func RequestID(ctx context.Context) string {
	id, _ := ctx.Value(requestIDKey{}).(string)
	return id
}
