// Package app wires the parts of Reverie together. It has one function for each use case, for the command line, the
// daemon and the API.
package app

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"strings"
	"sync"
	"time"

	"reverie/evolve"
	"reverie/internal/api"
	"reverie/internal/config"
	"reverie/internal/llm"
	"reverie/internal/localdb"
	"reverie/internal/maintain"
	"reverie/internal/notify"
	"reverie/internal/reverie"
	_ "reverie/internal/safety/gitleaks" // registers the rules of gitleaks for all searches for secrets
	"reverie/internal/team"
	"reverie/internal/telemetry"
	"reverie/jobs"
	"reverie/prompts"
	"reverie/store"
	"reverie/store/erase"
	"reverie/store/pg"
	"reverie/store/teams"
)

// App holds what a process has opened so far. Its creator sets the exported fields, except Store, once.
type App struct {
	Config    *config.Config
	Version   string
	Log       *slog.Logger
	Clock     func() time.Time
	LookupEnv func(name string) string // "" if it is not set
	Notify    func(text string)        // prints a message to a person
	Recording []byte                   // answers for the recorded model, instead of those of [llm] recorded
	Resident  bool                     // a long-running process: it has metrics, and people read its log

	Store  *store.Store // see [App.Open]
	opened time.Time    // when Open was called

	cluster  *localdb.Cluster
	queue    *jobs.Queue                 // orders the jobs of a long-running process; nil for a command
	wiring   sync.Mutex                  // guards wiring, since jobs of a long-running process are wired concurrently
	policies map[string]*llm.Policy      // by server
	flex     map[*llm.Policy]*llm.Policy // policies of flex calls, by the policy of standard calls
	embedder sync.Map                    // *Embedder by config.EmbedSettings
	calls    *llm.Semaphore              // bounds the concurrency of all questions
	unpriced []string                    // models already warned about
	servers  map[string]serving          // by address and model
	notices  *notify.Notifier            // nil: no notifications
	monitors
}

// storeOptions returns the options for the database at url.
func (a *App) storeOptions(url string) pg.Options {
	d := a.Config.Database
	return pg.Options{URL: url, MaxConns: d.MaxConns, StatementTimeout: d.StatementTimeout.Duration,
		LockTimeout: d.LockTimeout.Duration, IdleTimeout: d.IdleTimeout.Duration, ReadTimeout: d.ReadTimeout.Duration,
		ReaderRole: d.ReaderRole, Now: a.Clock}
}

// MigrateOptions returns options for a direct connection: migrations take a session lock, which a pooler would
// lose.
func (a *App) MigrateOptions(ctx context.Context) (pg.Options, error) {
	url := a.Config.Database.MigrateURL.Reveal()
	if url == "" {
		var err error
		if url, _, err = a.databaseURL(ctx); err != nil {
			return pg.Options{}, err
		}
	}
	return a.storeOptions(url), nil
}

// databaseURL returns the configured database, or that of the private cluster, which it starts.
func (a *App) databaseURL(ctx context.Context) (url string, private bool, err error) {
	if url = a.Config.Database.URL.Reveal(); url != "" {
		return url, false, nil
	}
	if a.cluster != nil {
		return a.cluster.URL(localDatabase), true, nil
	}
	dir := a.Config.Database.DataDir
	if dir == "" {
		if dir, err = localdb.DefaultDir(a.LookupEnv); err != nil {
			return "", true, fmt.Errorf("%w: %w", reverie.ErrConfiguration, err)
		}
	}
	a.cluster, err = localdb.Start(ctx, localdb.Options{Dir: dir, BinDir: a.Config.Database.BinDir, Log: a.Log})
	if err != nil {
		return "", true, fmt.Errorf("start the private database: %w", err)
	}
	if err := a.cluster.EnsureDatabase(ctx, localDatabase); err != nil {
		return "", true, err
	}
	return a.cluster.URL(localDatabase), true, nil
}

// localDatabase is the name of the database in the private cluster.
const localDatabase = "reverie"

// Open opens the database and checks its schema. It migrates a private one.
func (a *App) Open(ctx context.Context) error {
	if a.Store != nil {
		return nil
	}
	a.opened = a.Clock()
	if err := a.observe(ctx); err != nil {
		return err
	}
	url, private, err := a.databaseURL(ctx)
	if err != nil {
		return err
	}
	opts := a.storeOptions(url)
	s, err := store.Open(ctx, opts)
	if err != nil {
		return err
	}
	if err := a.openNotices(); err != nil {
		return errors.Join(err, s.Close())
	}
	s.SessionSilence = cmp.Or(a.Config.Session.Silence.Duration, s.SessionSilence)
	a.Store = s
	err = s.CheckSchema(ctx)
	if private && errors.Is(err, reverie.ErrOutdatedSchema) {
		if _, err := store.Migrate(ctx, opts); err != nil {
			return fmt.Errorf("migrate the private database: %w", err)
		}
		err = s.CheckSchema(ctx)
	}
	return err
}

// Close closes what was opened. Everything has been committed by now, so a connection that breaks while closing is
// no failure.
func (a *App) Close(ctx context.Context) error {
	a.deliverLast(ctx)
	a.closeNotices()
	a.monitors.close()
	if a.Store != nil {
		if err := a.Store.Close(); err != nil {
			a.Log.Info("a connection was broken when it was closed", "error", err)
		}
	}
	if a.cluster != nil {
		return a.cluster.Close()
	}
	return nil
}

// Leases returns the leases of this process.
func (a *App) Leases() *jobs.Leases {
	host, err := os.Hostname()
	if err != nil {
		host = "unknown-host"
	}
	return &jobs.Leases{Store: a.Store, Holder: fmt.Sprintf("%s:%d", host, os.Getpid()), Queue: a.queue, Settler: api.Settler{Eraser: a.eraser(), Log: a.Log}, Takeover: func(groupID string) {
		a.Log.Warn("took over from a holder that is gone", "group_id", groupID)
		a.metrics.Takeover()
	}}
}

// Approver wires what approving a held plan or applying a plan file needs; it calls no model. A statement whose
// vector cannot be computed now gets it at the next search.
func (a *App) Approver() *evolve.Pipeline {
	p := a.EvolveBase(nil, 0)
	p.EmbeddingsOptional = true
	if embed, err := a.Embedder(); err == nil {
		p.Embeddings = embed
	}
	return p
}

// monitors receive the events of runs. Each may be nil, and does nothing then.
type monitors struct {
	metrics *telemetry.Metrics // only in a daemon: nobody scrapes a command
	tracer  *telemetry.Tracer
	sentry  *telemetry.Sentry
}

// observe opens the configured monitors.
func (a *App) observe(ctx context.Context) error {
	t, s := a.Config.Traces, a.Config.Sentry
	headers, err := headersOf(t.Headers.Reveal())
	if err != nil {
		return fmt.Errorf("[traces] headers: %w", err)
	}
	if a.tracer, err = telemetry.OpenTracer(ctx, telemetry.TraceOptions{Endpoint: t.Endpoint, Headers: headers, Ratio: t.Ratio,
		ServiceVersion: a.Version, Log: a.Log, Now: a.Clock}); err != nil {
		return err
	}
	if a.sentry, err = telemetry.OpenSentry(s.DSN.Reveal(), s.Environment, a.Version); err != nil {
		return err
	}
	if a.Resident {
		a.metrics = telemetry.New(a.Version, a.Clock, reverie.Jobs...)
	}
	return nil
}

// headersOf parses name=value, separated by commas. Errors do not repeat the values, which are secret.
func headersOf(text string) (map[string]string, error) {
	headers := map[string]string{}
	for i, field := range strings.Split(text, ",") {
		if strings.TrimSpace(field) == "" {
			continue
		}
		name, value, ok := strings.Cut(field, "=")
		if !ok || strings.TrimSpace(name) == "" {
			return nil, fmt.Errorf("entry %d is not name=value: %w", i+1, reverie.ErrConfiguration)
		}
		headers[strings.TrimSpace(name)] = strings.TrimSpace(value)
	}
	return headers, nil
}

// parting is how long sending the last events may take.
const parting = 5 * time.Second

// close sends the remaining events. A failure to send them is no failure of the work.
func (w *monitors) close() {
	ctx, cancel := context.WithTimeout(context.Background(), parting)
	defer cancel()
	_ = w.tracer.Shutdown(ctx)
	w.sentry.Close(parting)
}

// phase reports a step of a run to the monitors.
func (w *monitors) phase(job reverie.Job, now func() time.Time) func(ctx context.Context, name string) (context.Context, func(error)) {
	return func(ctx context.Context, name string) (context.Context, func(error)) {
		began := now()
		ctx, end := w.tracer.Phase(ctx, name)
		return ctx, func(err error) {
			end(err)
			w.metrics.Phase(job, name, now().Sub(began))
		}
	}
}

// refused counts a model's refused lines.
func (w *monitors) refused(model *llm.Model) func(reason string) {
	return func(reason string) { w.metrics.LineRefused(model.Name(), reason) }
}

// DayBudget returns what all processes may spend in a day; there is one per process.
func (a *App) DayBudget() *llm.DayBudget {
	b := a.Config.Budget
	day := llm.NewDayBudget(llm.Limits{Calls: b.CallsPerDay, Tokens: b.TokensPerDay, USD: b.USDPerDay}, a.Store.SpendSince, a.Clock)
	day.Batches = a.inBatches
	return day
}

// Budget returns what one command, or one start of a scheduled job, may spend.
func (a *App) Budget(day *llm.DayBudget) *llm.Budget {
	b := a.Config.Budget
	return llm.NewBudget(llm.Limits{Calls: b.CallsPerRun, Tokens: b.TokensPerRun, USD: b.USDPerRun}, day)
}

// RemotePrompts fetches the prompts from Langfuse, if configured. A prompt that cannot be fetched stays unchanged,
// with a warning.
func (a *App) RemotePrompts(ctx context.Context, set *prompts.Set) *prompts.Set {
	l := a.Config.Prompts.Langfuse
	if l.BaseURL == "" {
		return set
	}
	set, warnings := set.With(ctx, &prompts.Langfuse{BaseURL: l.BaseURL, PublicKey: l.PublicKey, SecretKey: l.SecretKey.Reveal(),
		Label: l.Label, Timeout: l.Timeout.Duration})
	for _, w := range warnings {
		a.Log.Warn("prompt from Langfuse not used: " + w)
	}
	return set
}

// WithBudget returns a context with the budget of one command.
func (a *App) WithBudget(ctx context.Context) context.Context {
	return llm.WithBudget(ctx, a.Budget(a.DayBudget()))
}

// instrument reports a job's runs to metrics, traces and the error tracker and, in a long-running process, to the
// log.
func (a *App) instrument(job reverie.Job) func(context.Context, string, reverie.Window) (context.Context, func(jobs.Report)) {
	return func(ctx context.Context, groupID string, w reverie.Window) (context.Context, func(jobs.Report)) {
		ctx, end := a.tracer.Run(ctx, job, groupID, w)
		return ctx, func(r jobs.Report) {
			end(r.RunID, r.Status, r.Err)
			if llm.IsPending(r.Err) { // the run continues in the next wave
				return
			}
			a.metrics.RunDone(job, r.Status, r.NoNew, r.Stats, r.Took)
			if r.Err != nil && !reverie.Passing(r.Err) {
				a.sentry.Capture(r.Err, map[string]string{"job": string(job), "group_id": groupID, "run_id": r.RunID})
			}
			if !r.NoNew && a.Resident {
				a.logRun(job, r)
			}
		}
	}
}

func (a *App) logRun(job reverie.Job, r jobs.Report) {
	what := []any{"job", job, "group_id", r.GroupID}
	if r.Window.SessionID != "" {
		what = append(what, "session_id", r.Window.SessionID)
	}
	what = append(what, "run_id", r.RunID, "status", r.Status, "took", r.Took,
		"messages", r.Stats.Cited+r.Stats.Considered+r.Stats.Filtered)
	if r.Err != nil {
		a.Log.Warn("run ended", append(what, "error", r.Err)...)
		return
	}
	a.Log.Info("run ended", what...)
}

// TeamSyncer wires the sync of a team with the configured remote.
func (a *App) TeamSyncer(ctx context.Context, name string) (*team.Syncer, error) {
	t := a.Config.Team
	name, err := a.TeamName(name)
	if err != nil {
		return nil, err
	}
	if t.Remote == "" {
		return nil, fmt.Errorf("no other Reverie is configured: set [team] remote to its address, "+
			"such as https://reverie.example.com, and [team] token to one of its tokens: %w", reverie.ErrConfiguration)
	}
	remote, err := team.Dial(t.Remote, t.Token.Reveal(), t.Timeout.Duration, t.AllowHTTP)
	if err != nil {
		return nil, err
	}
	here, err := teams.New(a.Store.DB()).Deployment(ctx)
	if err != nil {
		return nil, err
	}
	return &team.Syncer{Store: teams.New(a.Store.DB()), Remote: remote, Team: name, URL: remote.URL, Privacy: PrivacyOf(a.Config),
		Quotes: t.Quotes, Here: here, Name: t.Deployment, Now: a.Clock}, nil
}

// ApproveRun applies what a run holds, under its group's lease: see
// [evolve.Pipeline.Approve].
func ApproveRun(
	ctx context.Context, s *store.Store, leases *jobs.Leases, p *evolve.Pipeline, d reverie.RunDetail,
) (res evolve.Result, err error) {
	err = leases.With(ctx, d.Run.GroupID, func(ctx context.Context, held *jobs.Held) error {
		var err error
		res, err = p.Approve(ctx, s, held, d.Run, d.Held)
		return err
	})
	return res, err
}

// ApproveReply converts the result of an approval to the shape of a run. An approval reads no messages: only a run
// of evolve has their counts.
func ApproveReply(run reverie.Run, res evolve.Result, err error) reverie.EvolveReply {
	if res.GroupID == "" { // the run did not start
		res.GroupID, res.RunID, res.Err = run.GroupID, run.ID, err
	}
	reply := res.Reply()
	if run.Job != reverie.JobEvolve {
		reply.Messages = nil
	}
	return reply
}

// ApproveHeld converts [ApproveRun] to the function that [api.Service] calls. A failed approval returns an error
// without a reply.
func ApproveHeld(
	s *store.Store, leases *jobs.Leases, p func() *evolve.Pipeline,
) func(context.Context, reverie.RunDetail) (reverie.EvolveReply, error) {
	return func(ctx context.Context, d reverie.RunDetail) (reverie.EvolveReply, error) {
		res, err := ApproveRun(ctx, s, leases, p(), d)
		if err != nil {
			return reverie.EvolveReply{}, err
		}
		return ApproveReply(d.Run, res, nil), nil
	}
}

// settle ends runs whose process died after all work, before it wrote the end of the run. None of their windows is
// due, so nothing else would find them. It does not wait for busy groups, and starts none when stop is closed.
func (f *FanOut) settle(ctx context.Context, stop <-chan struct{}) {
	ctx, end := context.WithCancel(ctx)
	defer end()
	go func() {
		select {
		case <-stop:
			end()
		case <-ctx.Done():
		}
	}()
	groups, err := f.App.Store.Endless(ctx, f.Job)
	for _, id := range groups {
		if err != nil {
			break
		}
		if !f.Shard.Has(id) || f.GroupID != "" && f.GroupID != id {
			continue
		}
		err = f.App.Leases().With(ctx, id, func(ctx context.Context, held *jobs.Held) error {
			return f.settleGroup(ctx, held, f.Job)
		})
		if errors.Is(err, reverie.ErrBusy) {
			err = nil // the holder of the lease settles it
		}
	}
	if err != nil {
		f.App.Log.Warn("runs that were interrupted are still called running; the next run ends them", "error", err)
	}
}

// settleGroup is settle for one group, whose lease is held.
func (a *App) settleGroup(ctx context.Context, held *jobs.Held, job reverie.Job) error {
	return held.Exclusive(func() error { return a.Store.Settle(ctx, held.Lease(), job) })
}

// requestError is a request that is not possible. It is a [reverie.ErrInvalid].
type requestError struct{ error }

func badRequest(err error) error { return &requestError{err} }

func (e *requestError) Is(target error) bool { return target == reverie.ErrInvalid }
func (e *requestError) Unwrap() error        { return e.error }

// Erase erases accounts group by group, and returns the receipts of the finished groups. A failing or busy group
// does not stop the others.
func (a *App) Erase(ctx context.Context, accounts []reverie.Account, keepNames []string, dryRun bool) ([]reverie.Erasure, error) {
	var done []reverie.Erasure
	var failed []error
	for _, account := range accounts {
		if err := ctx.Err(); err != nil {
			return done, errors.Join(append(failed, err)...)
		}
		receipt, err := api.EraseAuthor(ctx, a.eraser(), a.Leases(), reverie.EraseQuery{GroupID: account.GroupID,
			AuthorID: account.AuthorID, KeepNames: keepNames, DryRun: dryRun})
		if err != nil {
			failed = append(failed, err)
			continue
		}
		done = append(done, receipt)
		if !dryRun {
			a.Log.Info("an author was erased", "group_id", receipt.GroupID, "erasure_id", receipt.ID, "messages", receipt.Messages,
				"memories_erased", receipt.Erased, "memories_held", receipt.Held)
		}
	}
	return done, errors.Join(failed...)
}

func (a *App) eraser() *erase.Eraser { return erase.New(a.Store.DB()) }

// Sweep makes the server remove what the erasure left behind. Without the permission, the operator has to do it,
// and the erasure is still valid.
func (a *App) Sweep(ctx context.Context, whole bool) error {
	err := a.eraser().Sweep(ctx, whole)
	if err == nil {
		return nil
	}
	if whole || ctx.Err() != nil {
		return fmt.Errorf("the erasure is done, but the tables were not rewritten: %w", err)
	}
	a.Notify("warning: the erasure is done, but deleted rows may stay in the files until the server vacuums them: " + err.Error())
	return nil
}

// Keeper wires maintenance.
func (a *App) Keeper() *maintain.Keeper {
	m, r := a.Config.Maintain, a.Config.Retention
	return &maintain.Keeper{Store: a.Store, Impressions: a.Config.Impression.Enabled, Batch: m.Batch, Now: a.Clock, Log: a.Log,
		Rule: reverie.FadeRule{Forget: a.forgetRule(), Threshold: m.ArchiveThreshold, Tentative: a.Config.Forget.TentativeNights, Closed: m.ClosedAfter.Duration},
		Retention: reverie.Retention{ShortTerm: a.Config.ShortTerm.ExpireAfter.Duration, Messages: r.Messages.Duration,
			Answers: r.Answers.Duration, Usage: r.UsageLog.Duration}}
}
