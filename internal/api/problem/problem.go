// Package problem says what an error means to a client: RFC 9457.
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
	Type        string `json:"type"`               // about:blank: the status says what kind it is
	Title       string `json:"title"`              // of the status
	Status      int    `json:"status"`             // HTTP status code
	Detail      string `json:"detail"`             // what happened, to what, and what to do next
	Instance    string `json:"instance,omitempty"` // the id of the request, as in its answer's X-Request-Id
	HeadID      string `json:"head_id,omitempty"`  // 409 of an old version: its lineage's head
	HeadVersion int    `json:"head_version,omitempty"`

	Current  *reverie.TeamMemory   `json:"current,omitempty"`  // 412: the team's memory as it is
	Findings []reverie.ScanFinding `json:"findings,omitempty"` // 422: what a team's memory may not hold, the first ones

	Errors []Detail `json:"errors,omitempty"` // each thing that is wrong with a request, the first ones

	retryAfter time.Duration
}

// Detail is one thing that is wrong with a request.
type Detail struct {
	Location string `json:"location,omitempty"` // such as query.limit or body.strength
	Message  string `json:"message"`
}

// MediaType is the media type of problems.
const MediaType = "application/problem+json"

// Bounds of what a problem repeats of a request.
const (
	MaxMessage = 300 // characters of a message, and of a location
	MaxErrors  = 20  // things that are wrong

	maxDetail = 1000 // characters of a detail
)

// NotFound is the detail that is given of everything that is not there, or is another group's.
const NotFound = "there is no such thing, or none that this token may see"

// Waiting times that nothing else is known about.
const (
	retryDeferred    = 30 * time.Second
	retryUnavailable = 5 * time.Second
)

// rules are the one place where errors become statuses, the first that fits. Says is
// what clients read where the error itself is not for them.
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

// Of says what an error means to a client. What is not for it to know, it does
// not say: of a 5xx the caller logs the error itself.
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
		if r.kind == reverie.ErrConfiguration && errors.As(err, &fault) { // in the provider's own words
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

// more fills what some errors know besides.
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

// ofMoved is the problem of a write that rests on another version than the newest, which
// is in it.
func ofMoved(moved *reverie.TeamHeadError) *Problem {
	p := New(http.StatusPreconditionFailed, moved.Error())
	if head := moved.Head; head != nil {
		p.HeadID, p.HeadVersion, p.Current = head.VersionID, head.Version, head
	}
	return p
}

// New is a problem that no error of the domain stands for, such as 404 of an unknown
// route or 429.
func New(status int, detail string) *Problem {
	return &Problem{Type: "about:blank", Title: http.StatusText(status), Status: status,
		Detail: text.Excerpt(detail, maxDetail)}
}

// Error makes a problem an error.
func (p *Problem) Error() string { return p.Detail }

// GetStatus is the HTTP status.
func (p *Problem) GetStatus() int { return p.Status }

// ContentType is that of problems, whatever is negotiated.
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

// RetryAfter has clients wait before they ask again.
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
	_ = json.NewEncoder(w).Encode(p) // a client that has gone needs no answer
}

type requestIDKey struct{}

// WithRequestID is a context of the request of that id.
func WithRequestID(ctx context.Context, id string) context.Context {
	return context.WithValue(ctx, requestIDKey{}, id)
}

// RequestID returns the id of the request that a context belongs to, "" if it is none's.
// It stands in the log beside what went wrong, and in the answer.
func RequestID(ctx context.Context) string {
	id, _ := ctx.Value(requestIDKey{}).(string)
	return id
}
