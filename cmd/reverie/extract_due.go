package main

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"reverie/internal/cli"
	"reverie/internal/config"
	"reverie/internal/reverie"
	"reverie/internal/session"
	"reverie/jobs"
	"reverie/store"
)

// anything is the rule by which every session is due that has gathered something.
var anything = reverie.SessionRule{Tokens: 1, ToolCalls: 1, Turns: 1, IgnoreRetry: true}

// sessions are those that --due or --all mean.
func (a *app) sessions(f selection) store.SessionQueue {
	if f.all {
		return a.store.Sessions(anything)
	}
	return a.store.Sessions(a.sessionRule())
}

// dueSessions plans a window for each session of a group that is due.
func dueSessions(queue store.SessionQueue) jobs.Plan {
	return func(ctx context.Context, g reverie.DueGroup) (jobs.Agenda, error) {
		due, err := queue.DueSessions(ctx, g.ID)
		var agenda jobs.Agenda
		for _, s := range due {
			agenda.Windows = append(agenda.Windows, reverie.Window{SessionID: s.ID})
		}
		return agenda, err
	}
}

// extractJob is extraction of sessions, as a request says.
func (a *app) extractJob(p *session.Pipeline, req session.Request) job {
	return job{name: reverie.JobExtract, use: config.UseExtract, failed: a.noteSession,
		run: func(ctx context.Context, held *jobs.Held, g reverie.DueGroup, w reverie.Window) (jobs.RunOutcome, error) {
			req := req
			req.GroupID, req.SessionID = g.ID, w.SessionID
			r, err := p.Run(ctx, leaseOf(held), req)
			return jobs.RunOutcome{RunID: r.RunID, Status: r.Status, NoNew: r.NoNew, Stats: r.Stats, Held: r.Held, Result: r}, err
		}}
}

// listed is a job on sessions that were listed before: one may have become part of another
// since.
func (j job) listed() job {
	run := j.run
	j.run = func(ctx context.Context, held *jobs.Held, g reverie.DueGroup, w reverie.Window) (jobs.RunOutcome, error) {
		done, err := run(ctx, held, g, w)
		if errors.Is(err, reverie.ErrNotFound) && done.RunID == "" {
			return jobs.RunOutcome{NoNew: true}, nil
		}
		return done, err
	}
	return j
}

// noteSession counts a failure against a session. A success has forgotten those before.
func (a *app) noteSession(ctx context.Context, groupID string, w reverie.Window, err error) error {
	sessionID := w.SessionID
	setback, err := a.store.NoteSession(ctx, groupID, sessionID, err.Error(), a.parkRule())
	switch {
	case errors.Is(err, reverie.ErrNotFound): // it has become part of another
		return nil
	case err != nil || setback.ParkedAt == nil:
	case a.daemon:
		a.log.Warn("session parked: not extracted until reverie extract --session or groups resume", "group_id", groupID, "session_id", sessionID,
			"failures", setback.Failures, "error", setback.Error)
	default:
		fmt.Fprintf(a.Stderr, "reverie: session %q of group %q is parked: --due and --all pass it over until `reverie extract --session` succeeds, or `reverie groups resume %s`\n",
			sessionID, groupID, cli.Operand(groupID))
	}
	return err
}

// findSession is the session of a group, or, where none is named, of whichever group
// has one of that id. All groups that have one are named where several do.
func (a *app) findSession(ctx context.Context, groupID, sessionID string) (reverie.Session, error) {
	if groupID != "" {
		s, err := a.store.Session(ctx, groupID, sessionID)
		return s, unknownSession(err)
	}
	found, err := a.store.FindSession(ctx, sessionID)
	if err != nil || len(found) == 1 {
		return append(found, reverie.Session{})[0], unknownSession(err)
	}
	const named = 10
	var groups []string
	for _, s := range found[:min(named, len(found))] {
		groups = append(groups, cli.Quoted(s.GroupID))
	}
	if len(found) > named {
		groups = append(groups, fmt.Sprintf("and %d more", len(found)-named))
	}
	return reverie.Session{}, usageError(fmt.Errorf("session %q is in %d groups: say which with --group: %s", sessionID, len(found), strings.Join(groups, ", ")))
}

// unknownSession says what to do about a session that does not exist.
func unknownSession(err error) error {
	if errors.Is(err, reverie.ErrNotFound) {
		return fmt.Errorf("%w; `reverie sessions list` shows which there are", err)
	}
	return err
}
