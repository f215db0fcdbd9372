package app

import (
	"context"
	"fmt"
	"sync"

	"reverie/dream"
	"reverie/internal/reverie"
	"reverie/jobs"
)

// DreamRule says when groups dream that do not say otherwise, as configured.
func (a *App) DreamRule() reverie.DreamRule {
	d := a.Config.Dream
	return reverie.DreamRule{Idle: d.Idle.Duration, Sessions: d.Sessions, Interval: d.Interval.Duration, Silence: a.Config.Session.Silence.Duration}
}

// DueDreams finds out which groups are due to dream.
type DueDreams struct {
	*App
	looks  bool // and takes no lease: what is under way is not interrupted
	mu     sync.Mutex
	why    string // why the group that was asked about last is not due
	unread int    // groups in which nothing is new, but extraction has something to read
}

// DueDreams finds out which groups are due to dream; looks: to plan alone.
func (a *App) DueDreams(looks bool) *DueDreams { return &DueDreams{App: a, looks: looks} }

// Plan is one window for a group that is due, and none for another. A group whose
// rule cannot be read fails by itself.
func (d *DueDreams) Plan(ctx context.Context, g reverie.DueGroup) (jobs.Agenda, error) {
	rule, err := g.DreamRule(d.DreamRule())
	if err != nil {
		return jobs.Agenda{}, err
	}
	now := d.Clock()
	signs, err := d.Store.DreamSigns(ctx, reverie.DreamQuery{GroupID: g.ID, EndedBy: dream.Ended(rule, now)})
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

// Nothing is what to say where no group was due: of a single one, why.
func (d *DueDreams) Nothing(groupID string) string {
	d.mu.Lock()
	defer d.mu.Unlock()
	switch {
	case groupID == "" && d.unread > 0:
		return fmt.Sprintf("%s; %s with sessions that reverie extract has not read", nothingDue, groups(d.unread))
	case groupID == "":
		return nothingDue
	case d.why == "":
		_, d.why = dream.Due(reverie.DreamSigns{}, d.DreamRule(), d.Clock()) // no session of it is new
	}
	return "nothing is due: " + d.why
}

func groups(n int) string {
	if n == 1 {
		return "1 group"
	}
	return fmt.Sprintf("%d groups", n)
}
