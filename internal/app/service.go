package app

import (
	"context"
	"errors"
	"net/http"
	"time"

	"reverie/evolve"
	"reverie/internal/api"
	"reverie/internal/api/mcp"
	"reverie/internal/api/rest"
	apiserver "reverie/internal/api/server"
	"reverie/internal/api/web"
	"reverie/internal/llm"
	"reverie/internal/recall"
	"reverie/internal/reverie"
)

// service wires what clients may ask for, once for all of them. When nobody asks any more,
// its evolver is to be closed, if it has one, and then the usage log: see [App.Serve].
func (a *App) service(day *llm.DayBudget) (*api.Service, *recall.UsageLog, error) {
	evolver, err := a.evolver(day)
	if err != nil {
		return nil, nil, err
	}
	s, usage := a.ServiceWithoutRuns()
	s.Evolver = evolver
	return s, usage, nil
}

// ServiceWithoutRuns is service for who asks for no runs.
func (a *App) ServiceWithoutRuns() (*api.Service, *recall.UsageLog) {
	search, approver := a.searchers(), a.Approver()
	usage := recall.NewUsageLog(a.Store, recall.UsageOptions{Log: a.Log})
	leases := a.Leases()
	leases.Queue = nil // who asks is told that a group is busy, and does not wait for its run
	return &api.Service{
		Store:    a.Store,
		Privacy:  PrivacyOf(a.Config),
		Team:     api.TeamOptions{Deployment: a.Config.Team.Deployment, Quotes: a.Config.Team.Quotes},
		Searcher: search,
		Recaller: func(ctx context.Context, groupID string) (*recall.Recaller, error) {
			searcher, err := search(ctx, groupID)
			if err != nil && !errors.Is(err, ErrNoEmbeddings) {
				return nil, err
			}
			return a.recallerWith(searcher, err, usage, groupID), nil
		},
		Feedback: func(ctx context.Context, groupID string) (*recall.Feedback, error) {
			f, err := a.feedbackWith(ctx, search, groupID)
			if err == nil {
				f.Usage = usage
			}
			return f, err
		},
		ApproveHeld: ApproveHeld(a.Store, leases, func() *evolve.Pipeline { return approver }), Leases: leases,
		Filters: a.IngestFilters(), NewGroup: a.NewGroup, Now: a.Clock, PageSession: a.Config.HTTP.PageSession.Duration, Log: a.Log,
	}, usage
}

// evolver wires what evolves groups for clients: nil, with a word in the log, where no
// model is configured for it.
func (a *App) evolver(day *llm.DayBudget) (*api.Evolver, error) {
	if err := CheckModels(a.Config, reverie.JobEvolve); err != nil {
		a.Log.Warn("groups are not evolved over HTTP: all else is served", "error", err)
		return nil, nil
	}
	p, err := a.pipelines(reverie.JobEvolve)
	if err != nil {
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
			return a.evolveOrder(ctx, p.with(a.RemotePrompts(ctx, p.Prompts)), order)
		}}), nil
}

// evolveOrder evolves a group that a client has asked for.
func (a *App) evolveOrder(ctx context.Context, p Pipelines, order api.EvolveOrder) error {
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

// server puts the service on a port, with everything around it.
func (a *App) server(service *api.Service, day *llm.DayBudget) (*apiserver.Server, error) {
	h := a.Config.HTTP
	routes, _ := rest.New(service, rest.Options{Version: a.Version, MaxBody: int64(h.MaxBody), Now: a.Clock, Log: a.Log})
	var agents http.Handler
	if h.MCP {
		agents = mcp.New(service, mcp.Options{Version: a.Version, Write: h.MCPWrite, Now: a.Clock, Log: a.Log}).Handler()
	}
	return apiserver.New(apiserver.Options{
		Service: service,
		REST:    routes,
		Web:     web.New(service, web.Options{HTTPS: h.HTTPS, Log: a.Log}),
		MCP:     agents,
		Context: func(ctx context.Context) context.Context { return llm.WithBudget(ctx, a.Budget(day)) }, // each request may spend what one command may
		Listen:  h.Listen, RequireToken: h.RequireToken,
		RequestTimeout: h.RequestTimeout.Duration, EvolveWait: h.EvolveWait.Duration,
		MaxBody: int64(h.MaxBody), MaxMessagesBody: int64(h.MaxMessagesBody), RequestsPerSecond: h.RequestsPerSecond,
		Ready: a.Store.Ready, Metrics: a.metrics, Now: a.Clock, Log: a.Log,
	})
}
