package api

import (
	"context"
	"errors"
	"log/slog"
	"time"

	"reverie/internal/ingest"
	"reverie/internal/recall"
	"reverie/internal/reverie"
	"reverie/internal/safety"
	"reverie/internal/webhook"
	"reverie/jobs"
	"reverie/store"
	"reverie/store/history"
)

// Service implements all operations. Each takes its caller from the context (see [WithCaller]) and answers with the
// domain's types and errors. It is safe for concurrent use.
type Service struct {
	Store *store.Store
	// Searcher returns the search of a group. Its error is a reverie.ErrConfiguration if no embedding model is
	// configured.
	Searcher func(ctx context.Context, groupID string) (*recall.Searcher, error)
	Recaller func(ctx context.Context, groupID string) (*recall.Recaller, error)
	Feedback func(ctx context.Context, groupID string) (*recall.Feedback, error)
	// ApproveHeld applies what a run holds, under its group's lease.
	ApproveHeld func(context.Context, reverie.RunDetail) (reverie.EvolveReply, error)
	Leases      *jobs.Leases
	Inbox       Inbox                             // of messages
	Evolver     *Evolver                          // nil: no model is configured, so nothing evolves here
	Filters     ingest.Filters                    // for incoming messages
	NewGroup    func(reverie.Group) reverie.Group // adds the configured settings of new groups
	Now         func() time.Time
	Privacy     safety.Privacy // for proposals and writes to a team
	Team        TeamOptions
	Sender      *webhook.Sender // for tests of webhooks
	// PageSession is the duration of a login to the operator's page; 0 for 12 hours.
	PageSession time.Duration
	Log         *slog.Logger

	underWay underWay
	lookups  lookups
}

// past returns the history of groups.
func (s *Service) past() *history.History { return history.New(s.Store.DB()) }

// Bounds of one answer.
const (
	MaxPage     = 200 // rows of a page
	MaxOffset   = 100_000
	MaxChanges  = 1000   // rows of changes
	MaxVersions = 500    // versions of a memory
	MaxDays     = 3650   // past days of changes, costs and evolve
	MaxQuery    = 10_000 // characters of a search or of a context's query
	MaxParts    = 500    // chunks of a run, and as many changes, decisions, held plans and calls
	MaxNights   = 60     // dates of a page of nights
	CostDays    = 30     // default number of past days of costs
)

// Instant parses RFC 3339, or a date, which means its first instant in UTC.
func Instant(s string) (time.Time, error) {
	at, err := time.Parse(time.RFC3339Nano, s)
	if err != nil {
		at, err = time.Parse(time.DateOnly, s)
	}
	if at = at.UTC(); err != nil || at.Year() < 1970 || at.Year() > 9999 {
		return time.Time{}, errors.New("write an instant of 1970 to 9999, such as 2026-01-15T12:30:00Z, or a date")
	}
	return at.Truncate(time.Microsecond), nil // the precision of stored instants; the database would round up
}
