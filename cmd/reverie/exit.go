package main

import (
	"context"
	"errors"
	"fmt"

	"reverie/internal/reverie"
	"reverie/jobs"
)

// The exit codes. Scripts and Kubernetes rely on them.
const (
	exitOK          = 0
	exitError       = 1   // something went wrong
	exitUsage       = 2   // usage or configuration: trying again does not help
	exitPartial     = 3   // some groups failed, the others are done
	exitDeferred    = 4   // a passing fault or a spent budget; what is left stays pending
	exitBusy        = 11  // another run has the group
	exitInterrupted = 130 // stopped by a signal
)

const exitHelp = `Exit codes:
  0    done
  1    error
  2    usage or configuration: trying again does not help
  3    some groups failed, the others are done
  4    deferred: the model or the budget gave out; what is left stays pending
  11   busy: another run has the group
  130  interrupted`

// codeError carries an exit code that its cause does not tell. An empty cause
// prints nothing more.
type codeError struct {
	code int
	err  error
}

func (e *codeError) Error() string { return e.err.Error() }
func (e *codeError) Unwrap() error { return e.err }

// usageError is a mistake in the command line.
func usageError(err error) error { return &codeError{exitUsage, err} }

// exitCode is the one place where an error becomes an exit code.
func exitCode(err error, interrupted bool) int {
	var coded *codeError
	switch {
	case err == nil:
		return exitOK
	case interrupted && errors.Is(err, context.Canceled):
		return exitInterrupted
	case errors.As(err, &coded):
		return coded.code
	case errors.Is(err, reverie.ErrBusy):
		return exitBusy
	case errors.Is(err, reverie.ErrConfiguration), errors.Is(err, reverie.ErrInvalid),
		errors.Is(err, reverie.ErrOutdatedSchema):
		return exitUsage
	case errors.Is(err, reverie.ErrDeferred):
		return exitDeferred
	}
	return exitError
}

// fanOutError is what a fan-out's end means for the exit code.
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
		return &codeError{exitPartial, err}
	case errors.As(err, &partial) && (errors.Is(err, reverie.ErrDeferred) || errors.Is(err, reverie.ErrUnavailable)):
		return &codeError{exitDeferred, err}
	}
	return err
}

// gravest joins the errors of two jobs so that the exit code is that of what
// failed, where the other only waits for its next turn.
func gravest(first, second error) error {
	if second != nil && exitCode(first, false) == exitDeferred {
		first, second = second, first
	}
	return errors.Join(first, second)
}
