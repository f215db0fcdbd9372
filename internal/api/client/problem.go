package client

import (
	"encoding/json"
	"net/http"
	"strconv"
	"strings"
	"time"

	"reverie/internal/reverie"
	"reverie/internal/safety"
	"reverie/internal/text"
)

// Problem is what a server answers instead of what was asked for (RFC 9457). It is the
// domain's error of its status, for errors.Is: reverie.ErrUnauthorized (401),
// ErrForbidden (403), ErrNotFound (404), ErrConflict (409), ErrBusy (409 with a time to
// come back), ErrConflict (412), ErrInvalid (400, 413, 422, 428), ErrDeferred (429, 503,
// 504). Of an old version it holds a *reverie.NotHeadError, of a team's memory that has
// moved a *reverie.TeamHeadError, and of one that is refused a *reverie.TeamRefusedError.
type Problem struct {
	Status      int      `json:"status"`
	Title       string   `json:"title"`
	Detail      string   `json:"detail"`
	Instance    string   `json:"instance"` // the request's id, for the server's log
	HeadID      string   `json:"head_id"`
	HeadVersion int      `json:"head_version"`
	Errors      []Detail `json:"errors"`

	Current  *reverie.TeamMemory   `json:"current"`  // 412: a team's memory as it is
	Findings []reverie.ScanFinding `json:"findings"` // 422: what a team's memory may not hold

	RetryAfter time.Duration `json:"-"` // 0: the server does not say

	memoryID string // that was written to
}

// Detail is one thing that is wrong with a request.
type Detail struct {
	Location string `json:"location"`
	Message  string `json:"message"`
}

func (p *Problem) Error() string {
	text := strconv.Itoa(p.Status) + " " + p.Title
	if p.Detail != "" {
		text += ": " + p.Detail
	}
	for _, e := range p.Errors {
		text += "; " + e.Location + ": " + e.Message
	}
	if p.Instance != "" && p.Status >= 500 {
		text += " (request " + p.Instance + ")"
	}
	return text
}

// Is tells the domain's errors by the status.
func (p *Problem) Is(target error) bool {
	switch p.Status {
	case http.StatusUnauthorized:
		return target == reverie.ErrUnauthorized
	case http.StatusForbidden:
		return target == reverie.ErrForbidden
	case http.StatusNotFound:
		return target == reverie.ErrNotFound
	case http.StatusPreconditionFailed:
		return target == reverie.ErrConflict
	case http.StatusConflict:
		return target == reverie.ErrConflict || target == reverie.ErrBusy && p.RetryAfter > 0
	case http.StatusBadRequest, http.StatusRequestEntityTooLarge, http.StatusUnprocessableEntity, http.StatusPreconditionRequired:
		return target == reverie.ErrInvalid
	case http.StatusTooManyRequests, http.StatusServiceUnavailable, http.StatusGatewayTimeout:
		return target == reverie.ErrDeferred
	}
	return false
}

// Unwrap is the error of the domain that it tells of, nil where it is none.
func (p *Problem) Unwrap() error {
	switch {
	case p.Status == http.StatusPreconditionFailed:
		return &reverie.TeamHeadError{ID: p.memoryID, Head: p.Current}
	case len(p.Findings) > 0:
		return &reverie.TeamRefusedError{ID: p.memoryID, Findings: p.Findings}
	case p.HeadID == "":
		return nil
	}
	return &reverie.NotHeadError{MemoryID: p.memoryID, Head: reverie.Head{MemoryID: p.HeadID, Version: p.HeadVersion}}
}

// Bounds of what is told of a problem. Whoever answers may be set on harm, or hand back
// what it was sent.
const (
	maxTold    = 500 // characters of a text
	maxDetails = 20
)

var fieldName = text.NewPattern(`^[a-z0-9_.\[\]-]{1,64}$`)

// bound cuts what a server says to what is worth reading, and takes out the token and
// other secrets.
func (p *Problem) bound(token string) {
	p.Title, p.Detail, p.Instance = told(p.Title, token), told(p.Detail, token), told(p.Instance, token)
	p.HeadID = told(p.HeadID, token)
	p.Errors = p.Errors[:min(len(p.Errors), maxDetails)]
	for i, e := range p.Errors {
		p.Errors[i] = Detail{Location: told(e.Location, token), Message: told(e.Message, token)}
	}
	p.Findings = p.Findings[:min(len(p.Findings), maxDetails)]
	for i := range p.Findings {
		f := &p.Findings[i]
		for _, name := range []*string{&f.Where, &f.Rule, (*string)(&f.Class)} {
			if !fieldName.MatchString(*name) || *name != told(*name, token) {
				*name = "unknown"
			}
		}
		f.Excerpt = told(f.Excerpt, token)
	}
}

// told is a text of a server's as it may be shown.
func told(s, token string) string {
	if token != "" {
		s = strings.ReplaceAll(s, token, "[token]")
	}
	return safety.MaskSecrets(text.Excerpt(text.Visible(s), maxTold))
}

// toldError is an error with what is told of it.
type toldError struct {
	error
	text string
}

func (e *toldError) Error() string { return e.text }

func (e *toldError) Unwrap() error { return e.error }

// problemOf reads a problem. Of an answer that is none, such as a proxy's, the status is
// all that is known.
func problemOf(resp *http.Response, answer []byte, token string) *Problem {
	var p Problem
	if json.Unmarshal(answer, &p) != nil {
		p = Problem{}
	}
	p.Status = resp.StatusCode
	if p.Title == "" {
		p.Title = http.StatusText(resp.StatusCode)
	}
	p.bound(token)
	p.RetryAfter = retryAfter(resp.Header.Get("Retry-After"), time.Now())
	return &p
}

// retryAfter reads a header of seconds, or of a date.
func retryAfter(value string, now time.Time) time.Duration {
	if n, err := strconv.Atoi(value); err == nil {
		return time.Duration(min(max(n, 0), 1<<31)) * time.Second
	}
	if at, err := http.ParseTime(value); err == nil {
		return max(at.Sub(now), 0)
	}
	return 0
}
