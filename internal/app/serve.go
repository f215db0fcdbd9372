package app

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"strings"
	"sync"
	"time"

	"reverie/dream"
	"reverie/evolve"
	"reverie/internal/api"
	"reverie/internal/api/mcp"
	"reverie/internal/api/rest"
	apiserver "reverie/internal/api/server"
	"reverie/internal/api/web"
	"reverie/internal/config"
	"reverie/internal/fault"
	"reverie/internal/llm"
	"reverie/internal/maintain"
	"reverie/internal/recall"
	"reverie/internal/reverie"
	"reverie/internal/session"
	"reverie/internal/telemetry"
	"reverie/jobs"
)

// service wires the service of all clients, once. When no client is left, its evolver, if any, must be closed, and
// then the usage log: see [App.Serve].
func (a *App) service(day *llm.DayBudget) (*api.Service, *recall.UsageLog, error) {
	evolver, err := a.evolver(day)
	if err != nil {
		return nil, nil, err
	}
	s, usage := a.ServiceWithoutRuns()
	s.Evolver = evolver
	return s, usage, nil
}

// ServiceWithoutRuns is service without runs.
func (a *App) ServiceWithoutRuns() (*api.Service, *recall.UsageLog) {
	search, approver := a.searchers(), a.Approver()
	usage := recall.NewUsageLog(a.Store, recall.UsageOptions{Log: a.Log})
	leases := a.Leases()
	leases.Queue = nil // callers get a busy error instead of waiting for a run
	return &api.Service{
		Store:    a.Store,
		Privacy:  PrivacyOf(a.Config),
		Sender:   a.sender(),
		Team:     api.TeamOptions{Deployment: a.Config.Team.Deployment, Quotes: a.Config.Team.Quotes},
		Searcher: search,
		Recaller: func(ctx context.Context, groupID string) (*recall.Recaller, error) {
			searcher, err := search(ctx, groupID)
			if err != nil {
				return nil, err
			}
			return a.recallerWith(searcher, usage), nil
		},
		Feedback: func(ctx context.Context, groupID string) (*recall.Feedback, error) {
			f, err := a.feedbackWith(ctx, search, groupID)
			if err == nil {
				f.Usage = usage
			}
			return f, err
		},
		ApproveHeld: ApproveHeld(a.Store, leases, func() *evolve.Pipeline { return approver }), Leases: leases, Inbox: a.inbox(),
		Filters: a.IngestFilters(), NewGroup: a.NewGroup, Now: a.Clock, PageSession: a.Config.HTTP.PageSession.Duration, Log: a.Log,
	}, usage
}

// evolver wires evolve for clients: nil, with a log entry, if no model is configured for it.
func (a *App) evolver(day *llm.DayBudget) (*api.Evolver, error) {
	if err := CheckModels(a.Config, reverie.JobEvolve); err != nil {
		a.Log.Warn("groups are not evolved over HTTP: all else is served", "error", err)
		return nil, nil
	}
	if _, err := a.pipelines(context.Background(), false, reverie.JobEvolve); err != nil {
		return nil, err
	}
	wait := a.Config.HTTP.EvolveWait.Duration
	return api.NewEvolver(api.EvolverOptions{Concurrency: a.Config.Jobs.Concurrency, Log: a.Log, Turn: a.Leases().Turn,
		Wait: func() (<-chan time.Time, func()) {
			t := time.NewTimer(wait)
			return t.C, func() { t.Stop() }
		},
		Run: func(ctx context.Context, order api.EvolveOrder) error {
			ctx = llm.WithBudget(ctx, a.Budget(day))
			return a.evolveOrder(ctx, order)
		}}), nil
}

// evolveOrder evolves a group for a client.
func (a *App) evolveOrder(ctx context.Context, order api.EvolveOrder) error {
	p, err := a.pipelines(ctx, true, reverie.JobEvolve)
	if err != nil {
		return err
	}
	g, err := a.Store.Group(ctx, order.GroupID)
	if err != nil {
		return err
	}
	req := evolve.Request{GroupID: g.ID, Days: order.Days, Started: order.Started}
	end, err := a.Evolve(ctx, order.Open, p, g, req, func(r evolve.Result) { order.Evolved(r.Reply()) })
	if end.NextErr != nil {
		a.Log.Warn("impressions did not follow", "group_id", g.ID, "error", end.NextErr)
	}
	if s := end.Parked; s != nil {
		a.Log.Warn("impressions are passed over: they are parked until reverie groups resume", "group_id", g.ID, "failures", s.Failures, "error", s.Error)
	}
	return err
}

// server wires the HTTP server around the service.
func (a *App) server(service *api.Service, day *llm.DayBudget) (*apiserver.Server, error) {
	h := a.Config.HTTP
	var agents http.Handler
	if h.MCP {
		agents = onRequest(func() http.Handler {
			return mcp.New(service, mcp.Options{Version: a.Version, Write: h.MCPWrite}).Handler()
		})
	}
	return apiserver.New(apiserver.Options{
		Service: service,
		REST: onRequest(func() http.Handler {
			routes, _ := rest.New(service, rest.Options{Version: a.Version, MaxBody: int64(h.MaxBody)})
			return routes
		}),
		Web: web.New(service, web.Options{HTTPS: h.HTTPS}),
		MCP: agents,
		// Each request has the budget of one command.
		Context: func(ctx context.Context) context.Context { return llm.WithBudget(ctx, a.Budget(day)) },
		Listen:  h.Listen, RequireToken: h.RequireToken,
		RequestTimeout: h.RequestTimeout.Duration, EvolveWait: h.EvolveWait.Duration,
		MaxBody: int64(h.MaxBody), MaxMessagesBody: int64(h.MaxMessagesBody), RequestsPerSecond: h.RequestsPerSecond,
		MaxWorking: max(1, a.Config.Database.MaxConns*3/4), // the rest of the connections stays free for others
		Ready:      a.Store.Ready, Metrics: a.metrics, Now: a.Clock, Log: a.Log,
	})
}

// onRequest creates a handler at its first request: its schemas take longer than the rest of the start.
func onRequest(handler func() http.Handler) http.Handler {
	handler = sync.OnceValue(handler)
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { handler().ServeHTTP(w, r) })
}

// Serve answers clients until ctx ends. hurried returns a channel that requests an immediate stop.
func (a *App) Serve(ctx context.Context, hurried func() (hurry <-chan struct{}, end func())) error {
	if err := a.Open(ctx); err != nil {
		return err
	}
	a.queue = &jobs.Queue{} // a second request for a group waits for the end of its run
	server, _, err := a.newAPIServer(ctx, a.DayBudget())
	if err != nil {
		return err
	}
	defer a.deliver(ctx)()
	hurry, end := hurried()
	defer end()
	<-ctx.Done()
	a.Log.Info("stopping: what is under way may finish; a second signal stops it at once", "grace", a.Config.Jobs.Grace.Duration)
	server.stop(ctx, a.Config.Jobs.Grace.Duration, hurry)
	a.Log.Info("stopped")
	return nil
}

// CheckListen refuses a configuration without an address to listen on.
func CheckListen(c *config.Config) error {
	if c.HTTP.Listen == "" {
		return fmt.Errorf("[http] listen is empty, so there is no address to serve at: set it, or add --listen "+
			"127.0.0.1:8470: %w", reverie.ErrConfiguration)
	}
	return nil
}

// apiServer serves the clients of a long-running process.
type apiServer struct {
	*App
	server  *apiserver.Server
	service *api.Service
	usage   *recall.UsageLog
}

// newAPIServer starts serving clients, and returns its address.
func (a *App) newAPIServer(ctx context.Context, day *llm.DayBudget) (f *apiServer, addr string, err error) {
	a.logWarnings(ctx)
	f = &apiServer{App: a}
	if f.service, f.usage, err = a.service(day); err != nil {
		return nil, "", err
	}
	if f.server, err = a.server(f.service, day); err == nil {
		addr, err = f.server.Start(ctx)
	}
	if err != nil {
		f.end(ctx)
		return nil, "", err
	}
	open, err := f.server.Open(ctx)
	if err != nil {
		f.stop(ctx, 0, nil)
		return nil, "", err
	}
	f.announce(pageURL(addr), open)
	return f, addr, nil
}

// announce logs where the operator's page is.
func (f *apiServer) announce(url string, open bool) {
	if f.Config.Log.Format == "json" {
		f.Log.Info("serving", "url", url, "open", open)
		return
	}
	note := ""
	if open {
		note = " (no token was created yet: only this machine can reach it; reverie token create creates one)"
	}
	f.Notify("serving " + url + note)
}

// logWarnings logs warnings about expected problems, like doctor.
func (a *App) logWarnings(ctx context.Context) {
	info, err := a.Store.Info(ctx)
	if err != nil {
		a.Log.Warn("the state of the database could not be looked at", "error", err)
		return
	}
	if info.Skew.Abs() > time.Minute {
		a.Log.Warn("this clock and the database's differ: set them right, since tokens and windows go by the clock", "by", info.Skew.Round(time.Second))
	}
	a.watchReader(ctx)
	if a.embedsOffline() != nil {
		a.Log.Warn("memories are found by words and spelling, not by meaning: name a model in [embed] or [llm]")
	} else if _, err := a.Embedder(); err != nil {
		a.Log.Warn("no embedding model can be used: memories are found by their words alone", "error", err)
	}
}

// pageURL returns the URL of the operator's page, as seen from this machine.
func pageURL(addr string) string {
	host, port, err := net.SplitHostPort(addr)
	if ip := net.ParseIP(host); err == nil && ip != nil && ip.IsUnspecified() {
		host = "127.0.0.1"
	}
	return "http://" + net.JoinHostPort(host, port) + "/ui/"
}

// stop lets requests finish within grace, or until hurry, and then aborts them. An abort is no failure: uncommitted
// work stays pending.
func (f *apiServer) stop(ctx context.Context, grace time.Duration, hurry <-chan struct{}) {
	f.server.Stopping()
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), grace)
	defer cancel()
	go func() {
		select {
		case <-hurry:
			cancel()
		case <-ctx.Done():
		}
	}()
	var runs sync.WaitGroup
	runs.Go(func() { // while their callers can still wait for them
		if f.service.Evolver == nil {
			return
		}
		if err := f.service.Evolver.Close(ctx); err != nil {
			f.Log.Warn("runs were stopped before their end; what they had not committed stays pending", "error", err)
		}
	})
	if err := f.server.Stop(ctx); err != nil {
		f.Log.Warn("requests were broken off", "error", err)
	}
	runs.Wait()
	f.end(ctx)
}

// end writes the rest of the usage log.
func (f *apiServer) end(ctx context.Context) {
	if err := CloseUsage(ctx, f.usage); err != nil {
		f.Log.Warn("not every use of a memory was written down", "error", err)
	}
}

// listener is the port of a long-running process: for clients if it serves them, otherwise only for probes.
type listener struct {
	clients *apiServer        // nil: only probes
	probes  *telemetry.Server // nil: the clients' server answers them
}

// listen opens the listener, and returns its address, "" for none.
func (a *App) listen(ctx context.Context, day *llm.DayBudget, serves bool) (l *listener, addr string, err error) {
	l = &listener{}
	if serves {
		l.clients, addr, err = a.newAPIServer(ctx, day)
		return l, addr, err
	}
	l.probes = &telemetry.Server{Listen: a.Config.HTTP.Listen, Metrics: a.metrics, Log: a.Log, Ready: a.Store.Ready}
	addr, err = l.probes.Start(ctx)
	return l, addr, err
}

// leave accepts no more clients. Running requests have grace; probes report that the process is stopping.
func (l *listener) leave(ctx context.Context, grace time.Duration, hurry <-chan struct{}) {
	if l.clients != nil {
		l.clients.stop(ctx, grace, hurry)
		return
	}
	l.probes.Stopping()
}

// close closes the listener when the jobs have ended.
func (l *listener) close(ctx context.Context) error {
	if l.clients != nil {
		return nil
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), 5*time.Second)
	defer cancel()
	return l.probes.Stop(ctx)
}

// RunDaemon runs the scheduled jobs and, if it serves, answers clients, until ctx ends. hurried returns a channel
// that requests an immediate stop.
func (a *App) RunDaemon(ctx context.Context, serves bool, hurried func() (hurry <-chan struct{}, end func())) error {
	specs, wanted, err := a.scheduled()
	if err != nil {
		return err
	}
	if err := CheckModels(a.Config, wanted...); err != nil {
		return err
	}
	if err := a.Open(ctx); err != nil {
		return err
	}
	if _, err := a.pipelines(ctx, false, wanted...); err != nil {
		return err
	}
	for _, job := range wanted {
		if _, err := a.batchModels(job); err != nil && a.Config.Schedule.Batch {
			return err
		}
	}
	defer a.deliver(ctx)()
	a.queue = &jobs.Queue{}
	day := a.DayBudget()
	var tasks []jobs.Task
	var times []string
	for _, job := range wanted {
		tasks = append(tasks, jobs.Task{Name: string(job), Spec: specs[job], Run: a.task(job, day)})
		times = append(times, fmt.Sprintf("%s %s", job, specs[job]))
	}
	listener, addr, err := a.listen(ctx, day, serves)
	if err != nil {
		return err
	}
	a.Log.Info("running", "version", a.Version, "schedule", strings.Join(times, "; "), "http", addr, "holder", a.Leases().Holder)
	hurry, forget := hurried()
	defer forget()
	leave, left := context.WithCancel(ctx) // at the first signal, or when the jobs have ended
	defer left()
	var leaving sync.WaitGroup
	leaving.Go(func() {
		<-leave.Done()
		listener.leave(ctx, a.Config.Jobs.Grace.Duration, hurry)
	})
	scheduler := &jobs.Scheduler{Tasks: tasks, Clock: fault.Timers(a.Clock), Grace: a.Config.Jobs.Grace.Duration, Log: a.Log, Done: a.taskDone}
	err = scheduler.Run(ctx, hurry)
	left()
	leaving.Wait()
	err = errors.Join(err, listener.close(ctx))
	a.Log.Info("stopped")
	return err
}

// scheduled returns the jobs of [schedule] that are enabled, and when they start. It logs which ones lack a model,
// and why.
func (a *App) scheduled() (specs map[reverie.Job]jobs.Spec, wanted []reverie.Job, err error) {
	schedules, err := a.Config.Schedules()
	if err != nil {
		return nil, nil, err
	}
	specs = map[reverie.Job]jobs.Spec{}
	var idle []string
	var needs error // why the first of them has no model
	for _, j := range schedules {
		unmet := CheckModels(a.Config, j.Job)
		switch {
		case j.Spec.String() == "":
		case errors.Is(unmet, config.ErrNeedsModel), errors.Is(unmet, config.ErrNoModel):
			idle, needs = append(idle, string(j.Job)), cmp.Or(needs, unmet)
		default:
			specs[j.Job] = j.Spec
			wanted = append(wanted, j.Job)
		}
	}
	if len(wanted) == 0 && needs != nil {
		return nil, nil, fmt.Errorf("there is nothing to do: %w", needs)
	}
	if needs != nil {
		a.Log.Warn("jobs do not run", "jobs", strings.Join(idle, ", "), "reason", needs)
	}
	if len(wanted) == 0 {
		return nil, nil, fmt.Errorf("there is nothing to do: %w: no job of [schedule] has a time; set one, "+
			"such as evolve to 17 * * * *", reverie.ErrConfiguration)
	}
	return specs, wanted, nil
}

// task returns the function for one start of a job, with its own budget.
func (a *App) task(job reverie.Job, day *llm.DayBudget) func(ctx context.Context, stop <-chan struct{}) error {
	return func(ctx context.Context, stop <-chan struct{}) (err error) {
		defer func() {
			if wait := (*OffPeakError)(nil); errors.As(err, &wait) { // this is intended
				a.Log.Debug("not the hour", "job", job, "off_peak", wait.Hours, "next", wait.Next)
				err = nil
			}
		}()
		ctx = llm.WithBudget(ctx, a.Budget(day))
		if job == reverie.JobMaintain {
			_, err := a.MaintainDue(a.Keeper(), maintain.Request{}).Run(ctx, stop)
			return err
		}
		p, err := a.pipelines(ctx, true, job)
		if err != nil {
			return err
		}
		switch job {
		case reverie.JobExtract:
			_, err := a.scheduledBatches(a.ExtractDue(p.Session, a.Sessions(false), session.Request{Due: true})).Run(ctx, stop)
			return err
		case reverie.JobDream:
			_, err := a.scheduledBatches(a.DreamDue(p.Dream, dream.Request{Due: true})).Run(ctx, stop)
			return err
		}
		return a.nightly(ctx, p, stop)
	}
}

// scheduledBatches makes a scheduled job use batches if configured.
func (a *App) scheduledBatches(f *FanOut) *FanOut {
	f.InBatches = a.Config.Schedule.Batch
	return f
}

// nightly evolves the dates that are over, and runs impressions if they are on.
func (a *App) nightly(ctx context.Context, p Pipelines, stop <-chan struct{}) error {
	evolves := a.scheduledBatches(a.EvolveDue(p.Evolve, evolve.Request{}, jobs.Nightly(a.Store, a.Clock, a.Config.Jobs.MissedNights)))
	summary, err := evolves.Run(ctx, stop)
	next := evolves.Impressions(p.Impression, jobs.Nightly(a.Queue(), a.Clock, a.Config.Jobs.MissedNights), summary, err)
	if next == nil {
		return err
	}
	_, nextErr := next.Run(ctx, stop)
	return errors.Join(err, nextErr)
}

// taskDone reports a job that ended before it reached its groups. Failures of groups have been reported already.
func (a *App) taskDone(task string, _ time.Duration, err error) {
	if partial := (*jobs.PartialError)(nil); !errors.As(err, &partial) && jobs.CountsAgainstGroup(err) {
		a.sentry.Capture(err, map[string]string{"job": task})
	}
}
