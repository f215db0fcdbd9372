package app

import (
	"context"
	"errors"
	"fmt"
	"strings"
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

// Job is a kind of run, for any caller.
type Job struct {
	Name reverie.Job
	Use  string // the use of its model
	Run  jobs.Work
	// Failed records the failure of a window; nil: it counts against the group, since the group's windows depend on
	// each other.
	Failed func(ctx context.Context, groupID string, w reverie.Window, err error) error
	// none makes the result of a run that has only an error.
	none func(groupID string, w reverie.Window, err error) any
}

// jobOf makes a job of a pipeline: run processes a window, and base returns the part of its result that all jobs
// have.
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

// EvolveJob returns the evolve job of a request.
func (a *App) EvolveJob(p *evolve.Pipeline, req evolve.Request) Job {
	return EvolveJobBy(func(ctx context.Context, hold pipeline.LeaseHolder, groupID string, w reverie.Window) (evolve.Result, error) {
		req := req
		req.GroupID, req.Since, req.Until = groupID, w.Since, w.Until
		return p.Run(ctx, hold, req)
	})
}

// EvolveJobBy returns a job with evolve's results.
func EvolveJobBy(run func(context.Context, pipeline.LeaseHolder, string, reverie.Window) (evolve.Result, error)) Job {
	return jobOf(reverie.JobEvolve, config.UseEvolve, run, func(r *evolve.Result) *pipeline.Result { return &r.Result })
}

// ImpressionJob returns the impression job of a request.
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

// ExtractJob returns the job that extracts sessions.
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

// DreamJob returns the dream job of a request.
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

// MaintainJob returns the maintenance job of a request.
func (a *App) MaintainJob(k *maintain.Keeper, req maintain.Request) Job {
	return jobOf(reverie.JobMaintain, "",
		func(ctx context.Context, hold pipeline.LeaseHolder, groupID string, _ reverie.Window) (maintain.Result, error) {
			req := req
			req.GroupID = groupID
			return k.Run(ctx, hold, req)
		}, func(r *maintain.Result) *pipeline.Result { return &r.Result })
}

// runner returns the runner of a job, which reports to the monitors.
func (a *App) runner(j Job) *jobs.Runner {
	return &jobs.Runner{Job: j.Name, Store: a.Store, Leases: a.Leases(), Work: j.Run, WindowFailed: j.Failed, Rule: a.parkRule(),
		Instrument: a.instrument(j.Name), Ended: a.sendNotices, Now: a.Clock, Log: a.Log}
}

// RunOne runs a job for a person or a client, and says if the group is parked for it now. The last window always
// has a result of the job.
func (a *App) RunOne(ctx context.Context, j Job, req jobs.Request) jobs.GroupResult {
	res := a.runner(j).RunOne(ctx, req)
	if res.Parked {
		a.tell("reverie: ", fmt.Sprintf("group %q is parked: --due and --all pass it over until `reverie groups resume %s`", res.GroupID, res.GroupID))
	}
	last := res.Last()
	// If this process has lost the group's lease, the new holder reports the run.
	if last.Result == nil || errors.Is(res.Err, reverie.ErrBusy) || errors.Is(res.Err, reverie.ErrLeaseLost) {
		last.RunOutcome = jobs.RunOutcome{Result: j.none(res.GroupID, req.Window, res.Err)}
		res.Windows = []jobs.Report{last}
	}
	return res
}

// tell prints a message to a person, or logs it in a long-running process.
func (a *App) tell(prefix, text string) {
	if a.Resident {
		a.Log.Warn(text)
		return
	}
	a.Notify(prefix + text)
}

// Evolved is the result of evolve in one group, and of the impressions that follow.
type Evolved struct {
	Run     jobs.Report      // its result is an evolve.Result
	Next    entity.Result    // zero if nothing was pending
	NextErr error            // error after evolve
	Parked  *reverie.Setback // why impressions are skipped; nil: they are not
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

// Queue returns the store for the impression job: its pending messages are those that evolve has consumed.
func (a *App) Queue() store.Queue { return a.Store.For(reverie.JobImpression) }

// Follows reports whether a group has impressions on.
func (a *App) Follows(g reverie.Group) bool {
	return g.Impressions == "on" || g.Impressions == "" && a.Config.Impression.Enabled
}

// Followed returns a plan without the groups that have impressions off. Messages that became pending while they
// were on stay pending.
func (a *App) Followed(plan jobs.Plan) jobs.Plan {
	return func(ctx context.Context, g reverie.DueGroup) (jobs.Agenda, error) {
		if !a.Follows(g.Group) {
			return jobs.Agenda{}, nil
		}
		return plan(ctx, g)
	}
}

// Impressions returns the fan-out of the impression job after one of evolve, over the same groups. It processes
// everything that is pending for the job. It is nil if evolve was stopped, or if no model can observe.
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

// observeAfter runs the impression job after evolve on a window of one group, whose lease is held.
func (a *App) observeAfter(ctx context.Context, p *entity.Pipeline, held *jobs.Held, g reverie.Group, w reverie.Window, end *Evolved) error {
	due, err := a.Store.DueGroups(ctx, reverie.DueQuery{Job: reverie.JobImpression, GroupID: g.ID, Limit: 1})
	if err != nil {
		return err
	}
	if len(due) == 0 { // a killed run may lack only its end
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

// withoutModel reports that a job is skipped that nobody asked for explicitly.
func (a *App) withoutModel(job reverie.Job) {
	a.Log.Warn("job passed over: offline cannot do it; it needs a model", "job", job)
}

// Subjects returns the names of the changed entities. It omits names that cannot be read, since the changes are
// stored all the same.
func (a *App) Subjects(ctx context.Context, groupID string, changes []reverie.EntityChange) map[string]string {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), 10*time.Second)
	defer cancel()
	names, err := a.Store.Subjects(ctx, groupID, changes)
	if err != nil {
		a.Log.Warn("the names of what changed could not be read", "group_id", groupID, "error", err)
	}
	return names
}

// DreamRule returns the configured rule for groups without their own.
func (a *App) DreamRule() reverie.DreamRule {
	d := a.Config.Dream
	return reverie.DreamRule{Idle: d.Idle.Duration, Sessions: d.Sessions, Interval: d.Interval.Duration, Silence: a.Config.Session.Silence.Duration}
}

// dueDream plans one window for a group that is due to dream. A group with an invalid rule fails alone.
func (a *App) dueDream(ctx context.Context, g reverie.DueGroup) (jobs.Agenda, error) {
	rule, err := g.DreamRule(a.DreamRule())
	if err != nil {
		return jobs.Agenda{}, err
	}
	now := a.Clock()
	signs, err := a.Store.DreamSigns(ctx, reverie.DreamQuery{GroupID: g.ID, EndedBy: dream.Ended(rule, now)})
	if err != nil {
		return jobs.Agenda{}, err
	}
	if due, _ := dream.Due(signs, rule, now); !due {
		return jobs.Agenda{}, nil
	}
	return jobs.Agenda{Windows: []reverie.Window{{SessionID: signs.Through}}}, nil
}

// anything is the rule by which every session with new messages is due.
var anything = reverie.SessionRule{Tokens: 1, ToolCalls: 1, Turns: 1, Asked: true}

// Sessions returns the queue of due sessions, or of all with new messages.
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

// listed is a job on sessions that were listed earlier: one may have been merged into another since.
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

// noteSession counts a failure of a session. A success has reset the count.
func (a *App) noteSession(ctx context.Context, groupID string, w reverie.Window, err error) error {
	sessionID := w.SessionID
	setback, err := a.Store.NoteSession(ctx, groupID, sessionID, err.Error(), a.parkRule())
	switch {
	case errors.Is(err, reverie.ErrNotFound): // it was merged into another one
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

// FindSession returns a session of a group, or, without a group, of any group with that session id. If several
// groups have one, the error names them.
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
