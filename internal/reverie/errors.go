package reverie

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"
)

// The sentinel errors of the domain. Packages wrap them with %w and enough context to act on. Only cmd/reverie
// turns them into exit codes, and only api into HTTP statuses.
var (
	// ErrNotFound: the group, memory or run does not exist (or belongs to another group).
	ErrNotFound = errors.New("not found")
	// ErrConflict: the data changed since the caller read it, such as a memory's head.
	ErrConflict = errors.New("conflict")
	// ErrInvalid: the input breaks a rule of the domain.
	ErrInvalid = errors.New("invalid")
	// ErrForbidden: the caller may see this, but may not do it.
	ErrForbidden = errors.New("not allowed")
	// ErrUnauthorized: the caller has no token, or one that is invalid or expired.
	ErrUnauthorized = errors.New("not authorized")
	// ErrBusy: another run holds the group's lease. See [BusyError].
	ErrBusy = errors.New("busy")
	// ErrLeaseLost: the lease was taken by another holder; nothing was applied.
	ErrLeaseLost = errors.New("lease lost")
	// ErrDeferred: a transient fault (429, 5xx, timeout, open circuit breaker, spent budget). Messages stay pending and
	// the attempt does not count.
	ErrDeferred = errors.New("deferred")
	// ErrUnavailable: the database is unreachable or is stopping. Uncommitted work is lost; messages stay pending and
	// the attempt does not count.
	ErrUnavailable = errors.New("database unavailable")
	// ErrUnknownOutcome: a write may be committed, or not. Errors that wrap it also wrap ErrUnavailable.
	ErrUnknownOutcome = errors.New("the connection broke at commit and the outcome could not be read")
	// ErrConfiguration: settings are missing or refused (401, 403, 404).
	ErrConfiguration = errors.New("configuration")
	// ErrUnusable: the model's answer was unusable, also when it was asked again.
	ErrUnusable = errors.New("unusable answer")
	// ErrOutdatedSchema: the database needs `reverie migrate up` first, or is
	// newer than this binary.
	ErrOutdatedSchema = errors.New("database schema does not fit this binary")
)

// plainly removes the texts of those sentinel errors that classify an error and tell people nothing.
var plainly = func() *strings.Replacer {
	var pairs []string
	for _, end := range []string{"\n", ";", ")", ": "} {
		for _, kind := range []error{ErrInvalid, ErrConflict, ErrConfiguration, ErrUnauthorized} {
			pairs = append(pairs, ": "+kind.Error()+end, end)
		}
		pairs = append(pairs, ": "+ErrNotFound.Error()+end, " "+ErrNotFound.Error()+end)
	}
	return strings.NewReplacer(pairs...)
}()

// ErrorText returns the text of an error for people.
func ErrorText(err error) string {
	said := plainly.Replace(": " + err.Error() + "\n")
	return strings.TrimSuffix(strings.TrimPrefix(said, ": "), "\n")
}

// BusyError names the holder of a group's lease and when it expires. It is an [ErrBusy].
type BusyError struct {
	GroupID   string
	Holder    string
	ExpiresAt time.Time
}

func (e *BusyError) Error() string {
	if e.Holder == "" {
		return fmt.Sprintf("group %q is busy: its lease is being written right now; try again", e.GroupID)
	}
	return fmt.Sprintf("group %q is busy: held by %s until %s; try again after that",
		e.GroupID, e.Holder, e.ExpiresAt.UTC().Format(time.RFC3339))
}

// Is makes errors.Is(err, ErrBusy) true.
func (e *BusyError) Is(target error) bool { return target == ErrBusy }

// BudgetError names the limit of [budget] that is spent. It is an [ErrDeferred].
type BudgetError struct {
	Scope string // "run" or "day"
	What  string // "calls", "tokens" or "USD"
	Limit float64
	Spent float64
}

func (e *BudgetError) Error() string {
	when := "raise [budget] " + map[string]string{"calls": "calls", "tokens": "tokens", "USD": "usd"}[e.What] + "_per_" + e.Scope
	if e.Scope == "day" {
		when += ", or wait for the next day (UTC)"
	}
	return fmt.Sprintf("the budget of %g %s a %s is spent (%g so far): %s", e.Limit, e.What, e.Scope, e.Spent, when)
}

// Is makes errors.Is(err, ErrDeferred) true.
func (e *BudgetError) Is(target error) bool { return target == ErrDeferred }

// Passing reports whether an error has nothing to do with the work itself: a fault of the model's server or the
// database, a spent budget, a lease that another run holds, a requested stop. The work stays pending, and the error
// never counts against a group.
func Passing(err error) bool {
	return slices.ContainsFunc([]error{ErrDeferred, ErrUnavailable, ErrLeaseLost, ErrBusy, context.Canceled, context.DeadlineExceeded},
		func(target error) bool { return errors.Is(err, target) })
}
