package problem_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"reverie/internal/api/problem"
	"reverie/internal/llm"
	"reverie/internal/reverie"
)

// TestProblemOf: each error of the domain has its status, and tells no more than it may.
func TestProblemOf(t *testing.T) {
	now := time.Date(2026, 1, 15, 23, 59, 0, 0, time.UTC)
	inner := errors.New("pq: password of 10.0.0.1")
	for name, c := range map[string]struct {
		err    error
		status int
		retry  string
		says   string // part of the detail; "" = nothing of the error
	}{
		"nobody":       {reverie.ErrUnauthorized, 401, "", "Bearer"},
		"small scope":  {fmt.Errorf("this needs a token of scope admin: %w", reverie.ErrForbidden), 403, "", "scope admin"},
		"not there":    {fmt.Errorf("group %q: %w", "secret group", reverie.ErrNotFound), 404, "", ""},
		"moved":        {fmt.Errorf("its head has moved: %w", reverie.ErrConflict), 409, "", "moved"},
		"busy":         {&reverie.BusyError{GroupID: "g1", Holder: "h", ExpiresAt: now.Add(2500 * time.Millisecond)}, 409, "3", "another process"},
		"refused key":  {fmt.Errorf("evolve: %w", &llm.Error{Provider: "openai", Fault: llm.FaultUnauthorized, Status: 401, Err: inner}), 409, "", ""},
		"invalid":      {fmt.Errorf("limit 0: %w", reverie.ErrInvalid), 422, "", "limit 0"},
		"set up":       {fmt.Errorf("no model: %w", reverie.ErrConfiguration), 409, "", "no model"},
		"too large":    {fmt.Errorf("3 stored: %w", &http.MaxBytesError{Limit: 7}), 413, "", "3 stored"},
		"deferred":     {fmt.Errorf("%w: %w", reverie.ErrDeferred, inner), 503, "30", ""},
		"spent":        {fmt.Errorf("evolve: %w", &reverie.BudgetError{Scope: "day", What: "calls", Limit: 5}), 503, "60", "5 calls"},
		"no database":  {fmt.Errorf("%w: %w", reverie.ErrUnavailable, inner), 503, "5", ""},
		"schema":       {fmt.Errorf("%w: %w", reverie.ErrOutdatedSchema, inner), 503, "30", ""},
		"lease":        {reverie.ErrLeaseLost, 503, "5", ""},
		"unusable":     {fmt.Errorf("%w: %w", reverie.ErrUnusable, inner), 502, "", ""},
		"took long":    {context.DeadlineExceeded, 504, "", ""},
		"stopped":      {context.Canceled, 503, "5", ""},
		"anything":     {inner, 500, "", ""},
		"panic's":      {errors.New("runtime error: index out of range"), 500, "", ""},
		"of a problem": {fmt.Errorf("so: %w", problem.New(415, "no")), 415, "", "no"},
	} {
		p := problem.Of(c.err, now)
		h := p.GetHeaders()
		if p.Status != c.status || h.Get("Retry-After") != c.retry || (h.Get("WWW-Authenticate") != "") != (c.status == 401) || p.Detail == "" {
			t.Errorf("%s: %d %v %q", name, p.Status, h, p.Detail)
		}
		if c.says != "" && !strings.Contains(p.Detail, c.says) || c.says == "" && (strings.Contains(p.Detail, "10.0.0.1") || strings.Contains(p.Detail, "secret") || strings.Contains(p.Detail, "index")) {
			t.Errorf("%s says %q", name, p.Detail)
		}
	}
	if p := problem.Of(fmt.Errorf("%s: %w", strings.Repeat("long ", 5000), reverie.ErrInvalid), now); len(p.Detail) > 1100 {
		t.Errorf("a detail of %d bytes", len(p.Detail))
	}
}
