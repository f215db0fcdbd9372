package main

import (
	"context"
	"fmt"
	"sync"

	"reverie/dream"
	"reverie/internal/cli"
	"reverie/internal/config"
	"reverie/internal/reverie"
	"reverie/jobs"
)

// dreamRule says when groups dream that do not say otherwise, as configured.
func (a *app) dreamRule() reverie.DreamRule {
	d := a.cfg.Dream
	return reverie.DreamRule{Idle: d.Idle.Duration, Sessions: d.Sessions, Interval: d.Interval.Duration, Silence: a.cfg.Session.Silence.Duration}
}

// dueDreams finds out which groups are due to dream.
type dueDreams struct {
	*app
	looks  bool // and takes no lease: what is under way is not interrupted
	mu     sync.Mutex
	why    string // why the group that was asked about last is not due
	unread int    // groups in which nothing is new, but extraction has something to read
}

// plan is one window for a group that is due, and none for another. A group whose
// rule cannot be read fails by itself.
func (d *dueDreams) plan(ctx context.Context, g reverie.DueGroup) (jobs.Agenda, error) {
	rule, err := g.DreamRule(d.dreamRule())
	if err != nil {
		return jobs.Agenda{}, err
	}
	now := d.Now()
	signs, err := d.store.DreamSigns(ctx, reverie.DreamQuery{GroupID: g.ID, EndedBy: dream.Ended(rule, now)})
	if err != nil {
		return jobs.Agenda{}, err
	}
	due, why := dream.Due(signs, rule, now)
	if d.looks && signs.UnderWay {
		due, why = false, dream.UnderWay
	}
	if !due {
		d.mu.Lock()
		defer d.mu.Unlock()
		if d.why = why; signs.New == 0 && signs.Unread > 0 {
			d.unread++
		}
		return jobs.Agenda{}, nil
	}
	return jobs.Agenda{Windows: []reverie.Window{{SessionID: signs.Through}}}, nil
}

const nothingDue = "nothing is due: no group has gone quiet, or gathered enough sessions, with anything new, paused groups left out"

// nothing is what to say where no group was due: of a single one, why.
func (d *dueDreams) nothing(f selection) string {
	d.mu.Lock()
	defer d.mu.Unlock()
	switch {
	case f.group == "" && d.unread > 0:
		return fmt.Sprintf("%s; %s with sessions that reverie extract has not read", nothingDue, cli.Plural(d.unread, "group"))
	case f.group == "":
		return nothingDue
	case d.why == "":
		_, d.why = dream.Due(reverie.DreamSigns{}, d.dreamRule(), d.Now()) // no session of it is new
	}
	return "nothing is due: " + d.why
}

// dreamJob is dreaming, as a request says.
func dreamJob(p *dream.Pipeline, req dream.Request) job {
	return job{name: reverie.JobDream, use: config.UseDream,
		run: func(ctx context.Context, held *jobs.Held, g reverie.DueGroup, _ reverie.Window) (jobs.RunOutcome, error) {
			req := req
			req.GroupID = g.ID
			r, err := p.Run(ctx, leaseOf(held), req)
			return jobs.RunOutcome{RunID: r.RunID, Status: r.Status, NoNew: r.None != "", Stats: r.Stats, Held: r.Held, Through: r.SessionID, Result: r}, err
		}}
}
