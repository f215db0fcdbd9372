package jobs

import (
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"runtime/debug"

	"reverie/internal/llm"
	"reverie/internal/reverie"
)

// IsGlobal tells whether an error is the same for every group: a key that is not known,
// a model or a table that is not there. An unreadable time zone, which is invalid too, is
// one group's.
func IsGlobal(err error) bool {
	return errors.Is(err, reverie.ErrOutdatedSchema) ||
		errors.Is(err, reverie.ErrConfiguration) && !errors.Is(err, reverie.ErrInvalid) && !IsForbidden(err)
}

// IsForbidden tells whether the model's server has refused a question with 403.
func IsForbidden(err error) bool {
	fault, ok := errors.AsType[*llm.Error](err)
	return ok && fault.Status == http.StatusForbidden
}

// CountsAgainstGroup tells whether an error counts against its group: it does not pass
// by itself, and is not the same for all.
func CountsAgainstGroup(err error) bool {
	return err != nil && !reverie.Passing(err) && !IsGlobal(err) && !IsForbidden(err) &&
		aborted(err) == nil && !errors.Is(err, errEnded)
}

// MaxRefused is how many runs in a row may be refused with 403 before that is taken
// for the key's fault. A single one may be a gateway that dislikes what somebody
// wrote, which must not stop the groups behind.
const MaxRefused = 5

// classify marks the error of a window that ends the fan-out, and defers the group whose
// question was refused.
func (f *fanOut) classify(done Report) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	switch err := done.Err; {
	case aborted(err) != nil:
		return err
	case IsGlobal(err):
		return Abort(err)
	case IsForbidden(err):
		if f.refused++; f.refused >= MaxRefused {
			return Abort(err)
		}
		return fmt.Errorf("%w: %w", reverie.ErrDeferred, err)
	case err == nil && !done.NoNew:
		f.refused = 0
	}
	return done.Err
}

// Recovered runs fn and makes an error of a panic, which the log has with its stack and
// with what names the work.
func Recovered(log *slog.Logger, fn func() error, what ...any) (err error) {
	defer func() {
		if p := recover(); p != nil {
			log.Error("panic", append(what, "panic", p, "stack", string(debug.Stack()))...)
			err = fmt.Errorf("panic, see the log: %v", p)
		}
	}()
	return fn()
}

// recovered is [Recovered] for one group: its panic is not the process's.
func (r *Runner) recovered(groupID string, fn func() error) error {
	return Recovered(r.logger(), fn, "job", r.Job, "group_id", groupID)
}
