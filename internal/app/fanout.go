package app

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math"
	"strings"
	"sync"
	"time"

	"reverie/dream"
	"reverie/evolve"
	"reverie/internal/config"
	"reverie/internal/entity"
	"reverie/internal/llm"
	"reverie/internal/maintain"
	"reverie/internal/reverie"
	"reverie/internal/session"
	"reverie/jobs"
	"reverie/store"
	"reverie/store/history"
)

// FanOut is one job over many groups, as a command or the daemon starts it.
type FanOut struct {
	*App
	*jobs.Runner
	Use       string                 // the use of its model
	InBatches bool                   // asks its questions in the provider's batches
	ShowGroup func(jobs.GroupResult) // prints a group's result; called for one group at a time
}

// FanOut returns a job over the groups that a plan selects. Its log is the process's.
func (a *App) FanOut(j Job, plan jobs.Plan) *FanOut {
	f := &FanOut{App: a, Runner: a.runner(j), Use: j.Use, ShowGroup: a.logGroup(j.Name)}
	f.Plan = plan
	return f
}

// EvolveDue evolves the windows of a plan.
func (a *App) EvolveDue(p *evolve.Pipeline, req evolve.Request, plan jobs.Plan) *FanOut {
	return a.FanOut(a.EvolveJob(p, req), plan)
}

// ImpressionsDue runs impressions in groups that have them on.
func (a *App) ImpressionsDue(p *entity.Pipeline, req entity.Request, plan jobs.Plan) *FanOut {
	return a.FanOut(a.ImpressionJob(p, req), a.Followed(plan))
}

// ExtractDue extracts the sessions of a queue.
func (a *App) ExtractDue(p *session.Pipeline, queue store.SessionQueue, req session.Request) *FanOut {
	f := a.FanOut(listed(a.ExtractJob(p, req)), DueSessions(queue))
	f.Runner.Store = queue
	return f
}

// DreamDue runs dreams in groups that are due.
func (a *App) DreamDue(p *dream.Pipeline, req dream.Request) *FanOut {
	f := a.FanOut(a.DreamJob(p, req), a.dueDream)
	f.Runner.Store = a.Store.Dreams()
	return f
}

// MaintainDue maintains the groups in which anything is due.
func (a *App) MaintainDue(k *maintain.Keeper, req maintain.Request) *FanOut {
	f := a.FanOut(a.MaintainJob(k, req), func(ctx context.Context, g reverie.DueGroup) (jobs.Agenda, error) {
		due, err := k.Due(ctx, g.ID)
		if err != nil || !due {
			return jobs.Agenda{}, err
		}
		return jobs.Agenda{Windows: []reverie.Window{{}}}, nil
	})
	f.Runner.Store = a.Store.Upkeeps()
	return f
}

// Run works on everything that is due. When stop is closed, it starts nothing more.
func (f *FanOut) Run(ctx context.Context, stop <-chan struct{}) (jobs.Summary, error) {
	if f.DryRun || f.Use == "" {
		return f.once(ctx, stop)
	}
	if f.InBatches {
		return f.inWaves(ctx, stop)
	}
	if err := f.collect(ctx); err != nil && ctx.Err() == nil { // the runner reports an interruption
		return jobs.Summary{}, err
	}
	return f.once(ctx, stop)
}

// once works on each group once.
func (f *FanOut) once(ctx context.Context, stop <-chan struct{}) (jobs.Summary, error) {
	began, c := f.Clock(), f.Config
	stop, done, err := f.whileOffPeak(stop)
	if err != nil {
		return jobs.Summary{}, err
	}
	defer done()
	after := ""
	if c.Budget != (config.BudgetConfig{}) { // a spent budget must not affect the same groups every night
		var err error
		// The runner reports an interruption.
		if after, err = f.App.Store.LastAsked(ctx, f.Use); err != nil && ctx.Err() == nil {
			return jobs.Summary{}, err
		}
	}
	ahead := c.Jobs.Concurrency // groups that are read before they can ask
	if ahead == 1 {
		ahead = 0 // with one at a time, groups run one after the other
	}
	slots := llm.NewSemaphore(f.places(ctx))
	f.Enter = func(ctx context.Context) (context.Context, func()) { return slots.Work(ctx, stop) }
	if show := f.Show; show != nil && f.InBatches {
		f.Runner.Show = func(r jobs.Report) {
			if !llm.IsPending(r.Err) {
				show(r)
			}
		}
		defer func() { f.Runner.Show = show }()
	}
	f.Concurrency, f.After, f.Report = c.Jobs.Concurrency+ahead, after, f.report
	if f.DryRun { // results are shown in order
		f.Concurrency = 1
	}
	summary, err := f.Runner.Run(ctx, stop)
	partial := (*jobs.PartialError)(nil)
	finished := summary.Stopped == "" && (err == nil || errors.As(err, &partial))
	if finished && !f.DryRun {
		f.settle(ctx, stop)
	}
	f.metrics.FanOutDone(f.Job, summary.Left, summary.Parked, f.Clock().Sub(began), finished)
	return summary, err
}

// places returns how many groups are processed at a time, not counting those that wait for a model. The processors
// handle few groups faster than many, and a new connection must first plan its statements, which costs as much as
// some groups. So if the database is near, a third of the connections is used; the others serve leases, rows of
// calls and the like. If it is far, groups mostly wait for round trips, so more are processed at a time.
func (a *App) places(ctx context.Context) int {
	roundTrip := time.Second
	for range 3 { // the first ping may have to connect
		began := time.Now()
		if a.Store.Ping(ctx) != nil {
			roundTrip = 0 // the next use of the database returns the error
		}
		roundTrip = min(roundTrip, time.Since(began))
	}
	conns := a.Config.Database.MaxConns
	return min(conns, (conns+2)/3+int(roundTrip/workPerTrip))
}

// workPerTrip is the approximate processor time for a group between two round trips.
const workPerTrip = 300 * time.Microsecond

func (a *App) parkRule() reverie.ParkRule {
	j := a.Config.Jobs
	return reverie.ParkRule{After: j.ParkAfter, RetryAfter: j.RetryAfter.Duration, MaxRetryAfter: j.MaxRetryAfter.Duration}
}

func (f *FanOut) report(r jobs.GroupResult) {
	if f.InBatches && llm.IsPending(r.Err) { // the next wave reports the group
		return
	}
	f.metrics.GroupDone(f.Job, string(r.Outcome))
	if f.ShowGroup != nil {
		f.ShowGroup(r)
	}
}

// whileOffPeak returns a stop channel that also closes at the end of the off-peak hours, and a function that
// releases it. Outside of the hours it returns an [OffPeakError].
func (f *FanOut) whileOffPeak(stop <-chan struct{}) (<-chan struct{}, func(), error) {
	hours, err := llm.ParseOffPeak(f.Config.LLM.OffPeak)
	if err != nil || hours == nil || f.Use == "" {
		return stop, func() {}, err
	}
	now := f.Clock()
	if !hours.Open(now) {
		return nil, nil, &OffPeakError{Hours: hours.String(), Next: hours.Change(now)}
	}
	over, done := make(chan struct{}), make(chan struct{})
	timer := time.NewTimer(hours.Change(now).Sub(now))
	go func() {
		defer close(over)
		defer timer.Stop()
		select {
		case <-timer.C:
			f.App.Log.Info("the off-peak hours are over: no further group is begun", "job", f.Job, "off_peak", hours.String())
		case <-stop:
		case <-done:
		}
	}()
	return over, func() { close(done) }, nil
}

// OffPeakError says that a fan-out was not started outside of the off-peak hours. It is a [reverie.ErrDeferred].
type OffPeakError struct {
	Hours string
	Next  time.Time
}

func (e *OffPeakError) Error() string {
	return fmt.Sprintf("nothing was asked outside of the off-peak hours, %s: start this at %s, or set [llm] off_peak to \"\"",
		e.Hours, e.Next.Format(time.RFC3339))
}

// Is makes errors.Is(err, reverie.ErrDeferred) true.
func (e *OffPeakError) Is(target error) bool { return target == reverie.ErrDeferred }

// logGroup returns a function that logs why a job did not finish a group.
func (a *App) logGroup(job reverie.Job) func(jobs.GroupResult) {
	return func(r jobs.GroupResult) {
		level := slog.LevelInfo
		if r.Outcome == jobs.Failed {
			level = slog.LevelWarn
		}
		if r.Outcome != jobs.Done || r.Capped > 0 {
			a.Log.Log(context.Background(), level, "group "+string(r.Outcome), "job", job, "group_id", r.GroupID,
				"reason", r.Reason, "windows_left", r.Left, "parked", r.Parked)
		}
	}
}

// eachGroup calls fn for every group of a shard with work for a job, or only for the named one.
func eachGroup(ctx context.Context, s jobs.Store, q reverie.DueQuery, shard jobs.Shard, fn func(reverie.DueGroup) error) error {
	for q.Limit = 500; ; { // a page
		groups, err := s.DueGroups(ctx, q)
		if err != nil {
			return err
		}
		for _, g := range groups {
			q.After = g.ID
			if !shard.Has(g.ID) {
				continue
			}
			if err := fn(g); err != nil {
				return err
			}
		}
		if len(groups) == 0 || q.GroupID != "" {
			return nil
		}
	}
}

// Backfill is a range of dates, both inclusive, to be evolved.
type Backfill struct {
	From, To string
	GroupID  string // only this one
	Shard    jobs.Shard
	Batch    bool // in batches of the provider
	Replay   bool // undo the runs from From on, and evolve again
}

// BackfillRuns evolves the dates.
func (a *App) BackfillRuns(p *evolve.Pipeline, f Backfill) *FanOut {
	batch := a.EvolveDue(p, evolve.Request{}, jobs.Dates(a.Store, f.From, f.To, a.Clock))
	batch.Shard, batch.GroupID, batch.IgnoreRetry, batch.InBatches = f.Shard, f.GroupID, true, f.Batch
	if f.Replay {
		again := &rewinding{App: a, dates: f}
		batch.Plan, batch.Runner.Store, batch.Prepare = again.plan, replayStore{a.Store}, again.prepare
	}
	return batch
}

// Estimate is the estimated cost of a backfill.
type Estimate struct {
	Groups       int     `json:"groups"`
	Windows      int     `json:"windows"`
	Messages     int     `json:"messages"`
	Calls        int     `json:"calls"`
	InputTokens  int     `json:"input_tokens"`
	OutputTokens int     `json:"output_tokens"`
	CostUSD      float64 `json:"cost_usd"`
	Model        string  `json:"model"`
	Priced       bool    `json:"priced"`              // false: the model's price is unknown, and counts as 0
	Rewound      int     `json:"rewound,omitempty"`   // runs that --replay undoes
	Parked       int     `json:"parked,omitempty"`    // groups that are skipped until somebody resumes them
	Unknown      int     `json:"unknown,omitempty"`   // groups without an estimate, since their calendar is invalid
	OpenFrom     string  `json:"open_from,omitempty"` // the first requested date that is not over in some group

	Free bool `json:"free,omitempty"` // the model costs nothing
}

// add adds the estimate of another backfill with the same model.
func (e *Estimate) add(o Estimate) {
	e.Model, e.Priced, e.Free, e.OpenFrom = o.Model, o.Priced, o.Free, cmp.Or(e.OpenFrom, o.OpenFrom)
	e.Groups, e.Windows, e.Messages, e.Calls = e.Groups+o.Groups, e.Windows+o.Windows, e.Messages+o.Messages, e.Calls+o.Calls
	e.InputTokens, e.OutputTokens, e.CostUSD = e.InputTokens+o.InputTokens, e.OutputTokens+o.OutputTokens, e.CostUSD+o.CostUSD
}

// usualOutput is the assumed size of an answer if the ledger has none by this model.
const usualOutput = 600

// usualAnswer returns the average number of tokens in answers of "provider/model" for a purpose.
func (a *App) usualAnswer(ctx context.Context, purpose, model string) (float64, error) {
	_, name, _ := strings.Cut(model, "/")
	output, calls, err := a.Store.MeanOutput(ctx, purpose, name)
	if calls == 0 {
		output = usualOutput
	}
	return output, err
}

// Estimate estimates a backfill.
func (a *App) Estimate(ctx context.Context, p *evolve.Pipeline, f Backfill) (Estimate, error) {
	model, settings, err := a.Model(config.UseEvolve)
	if err != nil {
		return Estimate{}, err
	}
	e := Estimate{Model: model.Name(), Priced: model.Priced(), Free: config.Keyless(settings.Provider)}
	e.Priced = e.Priced || e.Free
	expect := map[string]evolve.Expectation{}
	err = eachGroup(ctx, a.BackfillRuns(p, f).Runner.Store, reverie.DueQuery{Job: reverie.JobEvolve, GroupID: f.GroupID}, f.Shard, func(g reverie.DueGroup) error {
		if _, err := jobs.CalendarOf(g.Group); err != nil && f.GroupID == "" { // only this group fails
			e.Unknown++
			a.Notify("reverie: left out of the estimate: " + reverie.ErrorText(err))
			return nil
		}
		loads, rewound, err := a.loads(ctx, g, f)
		if err != nil {
			return err
		}
		if g.Setback != nil && g.Setback.ParkedAt != nil {
			if len(loads) > 0 {
				e.Parked++
			}
			return nil
		}
		if err := e.leavesOpen(g, f, a.Clock()); err != nil {
			return err
		}
		if len(loads) > 0 {
			e.Groups++
		}
		e.Rewound += rewound
		if _, ok := expect[g.Language]; !ok {
			if expect[g.Language], err = p.Expect(g.Language); err != nil {
				return err
			}
		}
		for _, l := range loads {
			calls, input := expect[g.Language].Window(l)
			e.Windows, e.Messages = e.Windows+1, e.Messages+l.Messages
			e.Calls, e.InputTokens = e.Calls+calls, e.InputTokens+input
		}
		return nil
	})
	if err != nil {
		return e, err
	}
	output, err := a.usualAnswer(ctx, config.UseEvolve, model.Name())
	if err != nil {
		return e, err
	}
	e.OutputTokens = int(math.Round(output * float64(e.Calls)))
	cost := model.Cost
	if f.Batch {
		cost = model.BatchCost
	}
	e.CostUSD = cost(llm.Usage{InputTokens: e.InputTokens, OutputTokens: e.OutputTokens})
	return e, nil
}

// leavesOpen records a requested date of a group that is not over.
func (e *Estimate) leavesOpen(g reverie.DueGroup, f Backfill, now time.Time) error {
	c, err := jobs.CalendarOf(g.Group)
	if err != nil {
		return err
	}
	open := max(c.Containing(now).Date, f.From)
	if open <= f.To && (e.OpenFrom == "" || open < e.OpenFrom) {
		e.OpenFrom = open
	}
	return nil
}

// loads returns the windows of a group that a backfill would evolve, with their load, and the number of runs that
// it would undo first.
func (a *App) loads(ctx context.Context, g reverie.DueGroup, f Backfill) ([]reverie.WindowLoad, int, error) {
	if f.Replay {
		back, windows, err := a.wouldRewind(ctx, g, f)
		if err != nil {
			return nil, 0, err
		}
		if back > 0 {
			loads, err := a.Store.WindowLoads(ctx, g.ID, windows)
			return loads, back, err
		}
	}
	agenda, err := jobs.Dates(a.Store, f.From, f.To, a.Clock)(ctx, g)
	if err != nil || len(agenda.Windows) == 0 {
		return nil, 0, err
	}
	loads, err := a.Store.PendingWindows(ctx, g.ID, agenda.Windows)
	return loads, 0, err
}

// replayStore makes every group due, also without pending messages: messages become pending only when a replay
// undoes their runs.
type replayStore struct{ *store.Store }

// DueGroups lists all groups that are not paused.
func (s replayStore) DueGroups(ctx context.Context, q reverie.DueQuery) ([]reverie.DueGroup, error) {
	var due []reverie.DueGroup
	if q.GroupID != "" {
		if due, err := s.Store.DueGroups(ctx, q); err != nil || len(due) > 0 {
			return due, err
		}
	}
	for q.Limit == 0 || len(due) < q.Limit { // a page with paused groups is filled from the next
		entries, err := s.GroupList(ctx, reverie.GroupQuery{GroupID: q.GroupID, After: q.After, Limit: q.Limit})
		if err != nil || len(entries) == 0 {
			return due, err
		}
		for _, e := range entries {
			if q.After = e.ID; (!e.Paused || q.GroupID != "") && (q.Limit == 0 || len(due) < q.Limit) {
				due = append(due, dueOf(e, q.Job))
			}
		}
		if q.GroupID != "" || q.Limit == 0 {
			break
		}
	}
	return due, nil
}

// dueOf converts a listed group to a due one.
func dueOf(e reverie.GroupEntry, job reverie.Job) reverie.DueGroup {
	g := reverie.DueGroup{Group: e.Group}
	if e.OldestPending != nil {
		g.FirstPending = *e.OldestPending
	}
	for _, s := range e.Setbacks {
		if s.Job == job {
			g.Setback = &s
		}
	}
	return g
}

// rewinding is the state of --replay for each group.
type rewinding struct {
	*App
	dates Backfill
	from  sync.Map // by id: the first date with a message of an undone run
}

// plan returns the dates of a group to be evolved again. Before the undo, these are all dates. After it, they are
// the dates with pending messages, including dates before --from with messages of undone runs.
func (r *rewinding) plan(ctx context.Context, g reverie.DueGroup) (jobs.Agenda, error) {
	if from, rewound := r.from.Load(g.ID); rewound {
		return jobs.Dates(r.Store, from.(string), r.dates.To, r.Clock)(ctx, g)
	}
	back, windows, err := r.wouldRewind(ctx, g, r.dates)
	if err != nil || back > 0 {
		return jobs.Agenda{Windows: windows}, err
	}
	return jobs.Dates(r.Store, r.dates.From, r.dates.To, r.Clock)(ctx, g)
}

// prepare undoes a group's runs before the first of its dates is evolved again.
func (r *rewinding) prepare(ctx context.Context, held *jobs.Held, g reverie.DueGroup) error {
	if _, rewound := r.from.Load(g.ID); rewound { // done in the previous wave
		return nil
	}
	back, err := r.rewindable(ctx, g, r.dates)
	if err != nil || len(back.Runs) == 0 {
		return err
	}
	c, err := jobs.CalendarOf(g.Group)
	if err != nil {
		return err
	}
	return held.Exclusive(func() error {
		q := reverie.UndoQuery{GroupID: g.ID, Requeue: true, Again: true, Reason: reverie.ReplayReason + r.dates.From + " on"}
		if _, err := history.New(r.Store.DB()).UndoAll(ctx, held.Lease(), q, back.Runs); err != nil {
			return err
		}
		r.from.Store(g.ID, firstDate(c, r.dates, back))
		r.Log.Info("undone", "group_id", g.ID, "runs", len(back.Runs))
		return nil
	})
}

// firstDate returns where evolving starts again: at --from, or earlier if an undone run had a message from before.
func firstDate(c jobs.Calendar, f Backfill, back history.Rewindable) string {
	if back.Earliest == nil {
		return f.From
	}
	return min(f.From, c.Containing(*back.Earliest).Date)
}

// wouldRewind returns how many runs of a group a replay would undo, and which closed dates it would evolve.
func (a *App) wouldRewind(ctx context.Context, g reverie.DueGroup, f Backfill) (runs int, closed []reverie.Window, err error) {
	back, err := a.rewindable(ctx, g, f)
	if err != nil || len(back.Runs) == 0 {
		return 0, nil, err
	}
	c, err := jobs.CalendarOf(g.Group)
	if err != nil {
		return 0, nil, err
	}
	windows, err := c.Between(firstDate(c, f, back), f.To)
	for _, w := range windows {
		if !w.Until.After(a.Clock()) {
			closed = append(closed, w)
		}
	}
	return len(back.Runs), closed, err
}

// rewindable returns what a replay would undo in a group: nothing if its calendar has none of the dates.
func (a *App) rewindable(ctx context.Context, g reverie.DueGroup, f Backfill) (history.Rewindable, error) {
	c, err := jobs.CalendarOf(g.Group)
	if err != nil {
		return history.Rewindable{}, err
	}
	windows, err := c.Between(f.From, f.To)
	if err != nil || len(windows) == 0 {
		return history.Rewindable{}, err
	}
	return history.New(a.Store.DB()).Rewindable(ctx, g.ID, windows[0].Since)
}
