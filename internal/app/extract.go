package app

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"reverie/internal/reverie"
	"reverie/internal/text"
	"reverie/jobs"
	"reverie/store"
)

// anything is the rule by which every session is due that has gathered something.
var anything = reverie.SessionRule{Tokens: 1, ToolCalls: 1, Turns: 1, IgnoreRetry: true}

// Sessions are those that are due, or all that have gathered something.
func (a *App) Sessions(all bool) store.SessionQueue {
	if all {
		return a.Store.Sessions(anything)
	}
	return a.Store.Sessions(a.SessionRule())
}

// DueSessions plans a window for each session of a group that is due.
func DueSessions(queue store.SessionQueue) jobs.Plan {
	return func(ctx context.Context, g reverie.DueGroup) (jobs.Agenda, error) {
		due, err := queue.DueSessions(ctx, g.ID)
		var agenda jobs.Agenda
		for _, s := range due {
			agenda.Windows = append(agenda.Windows, reverie.Window{SessionID: s.ID})
		}
		return agenda, err
	}
}

// listed is a job on sessions that were listed before: one may have become part of another
// since.
func listed(j Job) Job {
	run := j.Run
	j.Run = func(ctx context.Context, held *jobs.Held, g reverie.DueGroup, w reverie.Window) (jobs.RunOutcome, error) {
		done, err := run(ctx, held, g, w)
		if errors.Is(err, reverie.ErrNotFound) && done.RunID == "" {
			return jobs.RunOutcome{NoNew: true}, nil
		}
		return done, err
	}
	return j
}

// noteSession counts a failure against a session. A success has forgotten those before.
func (a *App) noteSession(ctx context.Context, groupID string, w reverie.Window, err error) error {
	sessionID := w.SessionID
	setback, err := a.Store.NoteSession(ctx, groupID, sessionID, err.Error(), a.parkRule())
	switch {
	case errors.Is(err, reverie.ErrNotFound): // it has become part of another
		return nil
	case err != nil || setback.ParkedAt == nil:
	case a.Resident:
		a.Log.Warn("session parked: not extracted until reverie extract --session or groups resume", "group_id", groupID, "session_id", sessionID,
			"failures", setback.Failures, "error", setback.Error)
	default:
		a.Notify(fmt.Sprintf("reverie: session %q of group %q is parked: --due and --all pass it over until `reverie extract --session` succeeds, or `reverie groups resume %s`",
			sessionID, groupID, text.ShellOperand(groupID)))
	}
	return err
}

// FindSession is the session of a group, or, where none is named, of whichever group
// has one of that id. All groups that have one are named where several do.
func (a *App) FindSession(ctx context.Context, groupID, sessionID string) (reverie.Session, error) {
	if groupID != "" {
		s, err := a.Store.Session(ctx, groupID, sessionID)
		return s, UnknownSession(err)
	}
	found, err := a.Store.FindSession(ctx, sessionID)
	if err != nil || len(found) == 1 {
		return append(found, reverie.Session{})[0], UnknownSession(err)
	}
	const named = 10
	var groups []string
	for _, s := range found[:min(named, len(found))] {
		groups = append(groups, text.ShellWord(s.GroupID))
	}
	if len(found) > named {
		groups = append(groups, fmt.Sprintf("and %d more", len(found)-named))
	}
	return reverie.Session{}, badRequest(fmt.Errorf("session %q is in %d groups: say which with --group: %s", sessionID, len(found), strings.Join(groups, ", ")))
}

// UnknownSession says what to do about a session that does not exist.
func UnknownSession(err error) error {
	if errors.Is(err, reverie.ErrNotFound) {
		return fmt.Errorf("%w; `reverie sessions list` shows which there are", err)
	}
	return err
}
