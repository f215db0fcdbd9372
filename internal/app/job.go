package app

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"time"

	"reverie/dream"
	"reverie/evolve"
	"reverie/internal/config"
	"reverie/internal/entity"
	"reverie/internal/maintain"
	"reverie/internal/pipeline"
	"reverie/internal/reverie"
	"reverie/internal/session"
	"reverie/internal/text"
	"reverie/jobs"
	"reverie/store"
)

// Job is a kind of run, whoever asks for it.
type Job struct {
	Name reverie.Job
	Use  string // what its model is asked for
	Run  jobs.Work
	// Failed notes a window that failed; nil: failures are the group's, since its
	// windows build on each other.
	Failed func(ctx context.Context, groupID string, w reverie.Window, err error) error
	// none is the result where there is none to report but an error.
	none func(groupID string, w reverie.Window, err error) any
}

// jobOf is a job by its pipeline: run works on a window, and base is what its result has
// in common with that of the other jobs.
func jobOf[R any](name reverie.Job, use string, run func(context.Context, pipeline.LeaseHolder, string, reverie.Window) (R, error),
	base func(*R) *pipeline.Result) Job {
	return Job{Name: name, Use: use,
		Run: func(ctx context.Context, held *jobs.Held, g reverie.DueGroup, w reverie.Window) (jobs.RunOutcome, error) {
			var hold pipeline.LeaseHolder // nil for a dry run
			if held != nil {
				hold = held
			}
			r, err := run(ctx, hold, g.ID, w)
			b := base(&r)
			return jobs.RunOutcome{RunID: b.RunID, Status: b.Status, NoNew: b.NoNew, Stats: b.Stats, Held: b.Held,
				Waiting: b.Waiting(), Result: r}, err
		},
		none: func(groupID string, w reverie.Window, err error) any {
			var r R
			*base(&r) = pipeline.Result{GroupID: groupID, Err: err}
			return r
		},
	}
}

// EvolveJob is evolve, as a request says.
func (a *App) EvolveJob(p *evolve.Pipeline, req evolve.Request) Job {
	return EvolveJobBy(func(ctx context.Context, hold pipeline.LeaseHolder, groupID string, w reverie.Window) (evolve.Result, error) {
		req := req
		req.GroupID, req.Since, req.Until = groupID, w.Since, w.Until
		return p.Run(ctx, hold, req)
	})
}

// EvolveJobBy is a job whose runs are evolve's.
func EvolveJobBy(run func(context.Context, pipeline.LeaseHolder, string, reverie.Window) (evolve.Result, error)) Job {
	return jobOf(reverie.JobEvolve, config.UseEvolve, run, func(r *evolve.Result) *pipeline.Result { return &r.Result })
}

// ImpressionJob is impression, as a request says.
func (a *App) ImpressionJob(p *entity.Pipeline, req entity.Request) Job {
	return jobOf(reverie.JobImpression, config.UseObserve,
		func(ctx context.Context, hold pipeline.LeaseHolder, groupID string, w reverie.Window) (entity.Result, error) {
			req := req
			req.GroupID, req.Since, req.Until = groupID, w.Since, w.Until
			return p.Run(ctx, hold, req)
		}, func(r *entity.Result) *pipeline.Result { return &r.Result })
}

// ImpressionOnDemand is [App.ImpressionJob] for a person who asks: it takes all messages
// that evolve has taken in, also those that nobody has asked it to take before.
func (a *App) ImpressionOnDemand(p *entity.Pipeline, req entity.Request) Job {
	j := a.ImpressionJob(p, req)
	run := j.Run
	j.Run = func(ctx context.Context, held *jobs.Held, g reverie.DueGroup, w reverie.Window) (jobs.RunOutcome, error) {
		if !req.DryRun {
			if _, err := a.Store.QueueMessages(ctx, g.ID, j.Name, w.Since, w.Until); err != nil {
				return jobs.RunOutcome{}, err
			}
		}
		return run(ctx, held, g, w)
	}
	return j
}

// ExtractJob is extraction of sessions, as a request says.
func (a *App) ExtractJob(p *session.Pipeline, req session.Request) Job {
	j := jobOf(reverie.JobExtract, config.UseExtract,
		func(ctx context.Context, hold pipeline.LeaseHolder, groupID string, w reverie.Window) (session.Result, error) {
			req := req
			req.GroupID, req.SessionID = groupID, w.SessionID
			return p.Run(ctx, hold, req)
		}, func(r *session.Result) *pipeline.Result { return &r.Result })
	none := j.none
	j.none = func(groupID string, w reverie.Window, err error) any {
		r, _ := none(groupID, w, err).(session.Result)
		r.SessionID = w.SessionID
		return r
	}
	j.Failed = a.noteSession
	return j
}

// DreamJob is dreaming, as a request says.
func (a *App) DreamJob(p *dream.Pipeline, req dream.Request) Job {
	j := jobOf(reverie.JobDream, config.UseDream,
		func(ctx context.Context, hold pipeline.LeaseHolder, groupID string, _ reverie.Window) (dream.Result, error) {
			req := req
			req.GroupID = groupID
			return p.Run(ctx, hold, req)
		}, func(r *dream.Result) *pipeline.Result { return &r.Result })
	run := j.Run
	j.Run = func(ctx context.Context, held *jobs.Held, g reverie.DueGroup, w reverie.Window) (jobs.RunOutcome, error) {
		done, err := run(ctx, held, g, w)
		r, _ := done.Result.(dream.Result)
		done.NoNew, done.Through = r.None != "", r.SessionID
		return done, err
	}
	return j
}

// MaintainJob is maintenance, as a request says.
func (a *App) MaintainJob(k *maintain.Keeper, req maintain.Request) Job {
	return jobOf(reverie.JobMaintain, "",
		func(ctx context.Context, hold pipeline.LeaseHolder, groupID string, _ reverie.Window) (maintain.Result, error) {
			req := req
			req.GroupID = groupID
			return k.Run(ctx, hold, req)
		}, func(r *maintain.Result) *pipeline.Result { return &r.Result })
}

// runner does a job, told to whoever watches.
func (a *App) runner(j Job) *jobs.Runner {
	return &jobs.Runner{Job: j.Name, Store: a.Store, Leases: a.Leases(), Work: j.Run, WindowFailed: j.Failed, Rule: a.parkRule(),
		Instrument: a.instrument(j.Name), Ended: a.sendNotices, Now: a.Clock, Log: a.Log}
}

// RunOne does a job on what a person or a client asks for, and says where the group is
// parked for it now. The last window always has a result of the job's.
func (a *App) RunOne(ctx context.Context, j Job, req jobs.Request) jobs.GroupResult {
	res := a.runner(j).RunOne(ctx, req)
	if res.Parked {
		a.tell("reverie: ", fmt.Sprintf("group %q is parked: --due and --all pass it over until `reverie groups resume %s`", res.GroupID, res.GroupID))
	}
	last := res.Last()
	// What this process began where it has lost the group is another's to report.
	if last.Result == nil || errors.Is(res.Err, reverie.ErrBusy) || errors.Is(res.Err, reverie.ErrLeaseLost) {
		last.RunOutcome = jobs.RunOutcome{Result: j.none(res.GroupID, req.Window, res.Err)}
		res.Windows = []jobs.Report{last}
	}
	return res
}

// tell tells a person something; a process that stays has it in its log.
func (a *App) tell(prefix, text string) {
	if a.Resident {
		a.Log.Warn(text)
		return
	}
	a.Notify(prefix + text)
}

// Evolved is what came of evolve on one group, and of its impressions, which follow.
type Evolved struct {
	Run     jobs.Report      // its result is an evolve.Result
	Next    entity.Result    // the zero one where nothing waited
	NextErr error            // of what came after evolve
	Parked  *reverie.Setback // why impressions are passed over; nil: they are not
}

// Evolve takes in a window of one group under its lease, and has its impressions follow
// where they are on. evolved hears of a window that was taken in before they do.
//
// Who has waited for the group's turn already gives open: nothing is begun when it has
// ended.
func (a *App) Evolve(ctx, open context.Context, p Pipelines, g reverie.Group, req evolve.Request, evolved func(evolve.Result)) (end Evolved, err error) {
	window := reverie.Window{Since: req.Since, Until: req.Until}
	done := a.RunOne(ctx, a.EvolveJob(p.Evolve, req), jobs.Request{Group: g, Window: window, Open: open,
		DryRun: req.DryRun,
		Then: func(ctx context.Context, held *jobs.Held, r jobs.Report) (err error) {
			evolved(r.Result.(evolve.Result))
			if a.Follows(g) {
				err = a.observeAfter(ctx, p.Impression, held, g, window, &end)
			}
			return err
		}})
	end.Run, end.NextErr = done.Last(), done.ThenErr
	return end, done.Err
}

// Queue is the store as the impression job sees it: what is pending in it are
// messages that evolve has taken in.
func (a *App) Queue() store.Queue { return a.Store.For(reverie.JobImpression) }

// Follows tells whether people and things of a group are followed.
func (a *App) Follows(g reverie.Group) bool {
	return g.Impressions == "on" || g.Impressions == "" && a.Config.Impression.Enabled
}

// Followed is a plan that leaves out the groups whose people are not followed: what
// waits there, from when they were, goes on waiting.
func (a *App) Followed(plan jobs.Plan) jobs.Plan {
	return func(ctx context.Context, g reverie.DueGroup) (jobs.Agenda, error) {
		if !a.Follows(g.Group) {
			return jobs.Agenda{}, nil
		}
		return plan(ctx, g)
	}
}

// Impressions is the fan-out of the impression job that follows one of evolve, over the
// same groups: it takes what waits, from this time or from before. It is nil where evolve
// was stopped, after which nothing is begun, and where no model observes.
func (f *FanOut) Impressions(p *entity.Pipeline, plan jobs.Plan, summary jobs.Summary, err error) *FanOut {
	if partial := (*jobs.PartialError)(nil); summary.Stopped != "" || err != nil && !errors.As(err, &partial) {
		return nil
	}
	if p == nil {
		if f.Config.Impression.Enabled {
			f.withoutModel(reverie.JobImpression)
		}
		return nil
	}
	next := f.ImpressionsDue(p, entity.Request{}, plan)
	next.Shard, next.GroupID, next.IgnoreRetry, next.InBatches = f.Shard, f.GroupID, f.IgnoreRetry, f.InBatches
	return next
}

// observeAfter has the impression job follow evolve on a window of one group, whose
// lease is held.
func (a *App) observeAfter(ctx context.Context, p *entity.Pipeline, held *jobs.Held, g reverie.Group, w reverie.Window, end *Evolved) error {
	due, err := a.Store.DueGroups(ctx, reverie.DueQuery{Job: reverie.JobImpression, GroupID: g.ID, Limit: 1})
	if err != nil {
		return err
	}
	if len(due) == 0 { // but one that was killed may lack its last line
		return a.settleGroup(ctx, held, reverie.JobImpression)
	}
	if p == nil {
		a.withoutModel(reverie.JobImpression)
		return nil
	}
	if s := due[0].Setback; s != nil && s.ParkedAt != nil {
		end.Parked = s
		return nil
	}
	done := a.RunOne(ctx, a.ImpressionJob(p, entity.Request{}),
		jobs.Request{Group: g, Window: w, Held: held})
	if run := done.Last(); run.RunID != "" {
		end.Next, _ = run.Result.(entity.Result)
	}
	return done.Err
}

// withoutModel says of a job that was not asked for by itself that it is passed over.
func (a *App) withoutModel(job reverie.Job) {
	a.Log.Warn("job passed over: offline cannot do it; it needs a model", "job", job)
}

// Subjects are the names of what changed. Those that cannot be read are left out:
// the changes are written all the same.
func (a *App) Subjects(ctx context.Context, groupID string, changes []reverie.EntityChange) map[string]string {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), 10*time.Second)
	defer cancel()
	names, err := a.Store.Subjects(ctx, groupID, changes)
	if err != nil {
		a.Log.Warn("the names of what changed could not be read", "group_id", groupID, "error", err)
	}
	return names
}

// DreamRule says when groups dream that do not say otherwise, as configured.
func (a *App) DreamRule() reverie.DreamRule {
	d := a.Config.Dream
	return reverie.DreamRule{Idle: d.Idle.Duration, Sessions: d.Sessions, Interval: d.Interval.Duration, Silence: a.Config.Session.Silence.Duration}
}

// DueDreams finds out which groups are due to dream.
type DueDreams struct {
	*App
	mu     sync.Mutex
	why    string // why the group that was asked about last is not due
	unread int    // groups in which nothing is new, but extraction has something to read
}

// DueDreams finds out which groups are due to dream.
func (a *App) DueDreams() *DueDreams { return &DueDreams{App: a} }

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

// anything is the rule by which every session is due that has gathered something.
var anything = reverie.SessionRule{Tokens: 1, ToolCalls: 1, Turns: 1, Asked: true}

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
		return s, err
	}
	found, err := a.Store.FindSession(ctx, sessionID)
	if err != nil || len(found) == 1 {
		return append(found, reverie.Session{})[0], err
	}
	const named = 10
	var groups []string
	for _, s := range found[:min(named, len(found))] {
		groups = append(groups, text.ShellWord(s.GroupID))
	}
	if len(found) > named {
		groups = append(groups, fmt.Sprintf("and %d more", len(found)-named))
	}
	return reverie.Session{}, badRequest(fmt.Errorf("session %q is in %d groups: name one with --group: %s", sessionID, len(found), strings.Join(groups, ", ")))
}
