package command

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"reverie/internal/reverie"
	"reverie/jobs"
)

// The exit codes. Scripts and Kubernetes rely on them; help.toml explains them.
const (
	ExitOK          = 0
	ExitError       = 1   // any other error
	ExitUsage       = 2   // usage or configuration: retrying does not help
	ExitPartial     = 3   // some groups failed, the others are done
	ExitDeferred    = 4   // a transient fault or a spent budget; the rest stays pending
	ExitBusy        = 11  // another run holds the group's lease
	ExitInterrupted = 130 // stopped by a signal
)

// codeError carries an exit code that its cause does not imply. An empty cause prints nothing.
type codeError struct {
	code int
	err  error
}

func (e *codeError) Error() string { return e.err.Error() }
func (e *codeError) Unwrap() error { return e.err }

// usageError marks a mistake in the command line.
func usageError(err error) error {
	if err == nil {
		return nil
	}
	return &codeError{ExitUsage, err}
}

// hints say where to look for what was not found.
var hints = []struct{ missing, hint string }{
	{`group "` + reverie.TeamGroupID(""), "`reverie team create NAME` creates a team"},
	{"group ", "`reverie groups list` shows all groups, `reverie groups add` creates one"},
	{"run ", "`reverie runs list` has the ids"},
	{"session ", "`reverie sessions list` shows all sessions"},
	{"entity ", "`reverie entity list --group G` has the ids"},
	{"memory ", "`reverie memory list --group G --status all` has the ids"},
	{"webhook ", "`reverie webhooks list` shows all webhooks"},
	{"token ", "`reverie token list` shows all tokens"},
}

// withHint shortens an error about something missing to what it is, and adds where to look for it, unless the error
// says so itself.
func withHint(err error) error {
	if !errors.Is(err, reverie.ErrNotFound) || strings.Contains(err.Error(), "\n") {
		return err
	}
	for _, h := range hints {
		said := err.Error()
		i := strings.LastIndex(": "+said, ": "+h.missing)
		if i < 0 {
			continue
		}
		if said = said[i:]; !strings.Contains(said, "`reverie ") {
			said += "; " + h.hint
		}
		return &codeError{ExitCode(err, false), errors.New(said)}
	}
	return err
}

// ExitCode is the only place where an error becomes an exit code.
func ExitCode(err error, interrupted bool) int {
	var coded *codeError
	switch {
	case err == nil:
		return ExitOK
	case interrupted && errors.Is(err, context.Canceled):
		return ExitInterrupted
	case errors.As(err, &coded):
		return coded.code
	case errors.Is(err, reverie.ErrBusy):
		return ExitBusy
	case errors.Is(err, reverie.ErrConfiguration), errors.Is(err, reverie.ErrInvalid),
		errors.Is(err, reverie.ErrOutdatedSchema):
		return ExitUsage
	case errors.Is(err, reverie.ErrDeferred):
		return ExitDeferred
	}
	return ExitError
}

// fanOutError returns the error of a fan-out's end, which determines the exit code.
func fanOutError(ctx context.Context, s jobs.Summary, err error) error {
	var partial *jobs.PartialError
	switch {
	case err == nil:
		return nil
	case ctx.Err() != nil:
		return fmt.Errorf("%w: %w", err, context.Canceled)
	case jobs.IsGlobal(err), jobs.IsForbidden(err):
		return err
	case errors.As(err, &partial) && s.Failed > 0:
		return &codeError{ExitPartial, err}
	case errors.As(err, &partial) && (errors.Is(err, reverie.ErrDeferred) || errors.Is(err, reverie.ErrUnavailable)):
		return &codeError{ExitDeferred, err}
	}
	return err
}

// gravest joins the errors of two jobs. The exit code is that of a failed job, if the other job was only deferred.
func gravest(first, second error) error {
	if second != nil && ExitCode(first, false) == ExitDeferred {
		first, second = second, first
	}
	return errors.Join(first, second)
}
