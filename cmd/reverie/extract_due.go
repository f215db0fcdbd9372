package main

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"reverie"
	"reverie/jobs"
	"reverie/session"
	"reverie/store"
)

// anything is the rule by which every session is due that has gathered something.
var anything = reverie.SessionRule{Tokens: 1, ToolCalls: 1, Turns: 1}

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

// extractJob is extraction as fan-outs see it; due takes no more than what is.
func extractJob(p *session.Pipeline, due bool) job {
	return job{name: reverie.JobExtract, use: useExtract, independent: true,
		run: func(ctx context.Context, held *jobs.Held, g reverie.Group, w reverie.Window) (ended, error) {
			res, err := p.Run(ctx, held, session.Request{GroupID: g.ID, SessionID: w.SessionID, Due: due})
			return endOfExtraction(res), err
		}}
}

func endOfExtraction(r session.Result) ended {
	return ended{runID: r.RunID, status: r.Status, noNew: r.NoNew, stats: r.Stats, held: r.Held,
		line: func(*reverie.Window) any { return extractReply(r) }}
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
		groups = append(groups, quoted(s.GroupID))
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
