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

// Service is everything that can be asked for. Each operation takes who asks from its
// context (see [WithCaller]) and answers in the domain's own shapes and errors. It is
// safe for concurrent use.
type Service struct {
	Store *store.Store
	// Searcher is what searches a group. Its error is a reverie.ErrConfiguration where
	// no embedding model is configured.
	Searcher func(ctx context.Context, groupID string) (*recall.Searcher, error)
	Recaller func(ctx context.Context, groupID string) (*recall.Recaller, error)
	Feedback func(ctx context.Context, groupID string) (*recall.Feedback, error)
	// ApproveHeld applies what a run holds, under its group's lease.
	ApproveHeld func(context.Context, reverie.RunDetail) (reverie.EvolveReply, error)
	Leases      *jobs.Leases
	Inbox       Inbox                             // of messages
	Evolver     *Evolver                          // nil: no model is configured, and nothing evolves here
	Filters     ingest.Filters                    // of messages that come in
	NewGroup    func(reverie.Group) reverie.Group // a new group as the configuration has new ones
	Now         func() time.Time
	Privacy     safety.Privacy // of what is proposed, or written to a team
	Team        TeamOptions
	Sender      *webhook.Sender // of tests of webhooks
	// PageSession is how long a login to the page is good for; 0 for 12 hours.
	PageSession time.Duration
	Log         *slog.Logger

	underWay underWay
	lookups  lookups
}

// past reads what was done to groups.
func (s *Service) past() *history.History { return history.New(s.Store.DB()) }

// Bounds of what one answer holds.
const (
	MaxPage     = 200 // rows of a page
	MaxOffset   = 100_000
	MaxChanges  = 1000   // rows of changes
	MaxVersions = 500    // of a memory
	MaxDays     = 3650   // that changes, costs and evolve look back
	MaxQuery    = 10_000 // characters of a search or of a context's query
	MaxParts    = 500    // chunks of a run, and as many changes, decisions, held plans and calls
	MaxNights   = 60     // dates of a page of nights
	CostDays    = 30     // that costs look back unless the question says otherwise
)

// Instant reads RFC 3339, or a date, which is its first instant in UTC.
func Instant(s string) (time.Time, error) {
	at, err := time.Parse(time.RFC3339Nano, s)
	if err != nil {
		at, err = time.Parse(time.DateOnly, s)
	}
	if at = at.UTC(); err != nil || at.Year() < 1970 || at.Year() > 9999 {
		return time.Time{}, errors.New("write an instant of 1970 to 9999, such as 2026-01-15T12:30:00Z, or a date")
	}
	return at.Truncate(time.Microsecond), nil // as instants are stored: the database would round up
}
