package main

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
// its evolver is to be closed, if it has one, and then the usage log: see [front.stop].
func (a *app) service(day *llm.DayBudget) (*api.Service, *recall.UsageLog, error) {
	evolver, err := a.evolver(day)
	if err != nil {
		return nil, nil, err
	}
	s, usage := a.serviceWithoutRuns()
	s.Evolver = evolver
	return s, usage, nil
}

// serviceWithoutRuns is service for who asks for no runs.
func (a *app) serviceWithoutRuns() (*api.Service, *recall.UsageLog) {
	search, approver := a.searchers(), a.approver()
	usage := recall.NewUsageLog(a.store, recall.UsageOptions{Log: a.log})
	leases := a.leases()
	leases.Queue = nil // who asks is told that a group is busy, and does not wait for its run
	return &api.Service{
		Store:    a.store,
		Privacy:  privacyOf(a.cfg),
		Team:     api.TeamOptions{Deployment: a.cfg.Team.Deployment, Quotes: a.cfg.Team.Quotes},
		Searcher: search,
		Recaller: func(ctx context.Context, groupID string) (*recall.Recaller, error) {
			searcher, err := search(ctx, groupID)
			if err != nil && !errors.Is(err, errNoEmbeddings) {
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
		Approver: func() *evolve.Pipeline { return approver }, Leases: leases,
		Filters: a.ingestFilters(), NewGroup: a.withDefaults, Now: a.Now, PageSession: a.cfg.HTTP.PageSession.Duration, Log: a.log,
	}, usage
}

// evolver wires what evolves groups for clients: nil, with a word in the log, where no
// model is configured for it.
func (a *app) evolver(day *llm.DayBudget) (*api.Evolver, error) {
	if err := checkModels(a.cfg, reverie.JobEvolve); err != nil {
		a.log.Warn("groups are not evolved over HTTP: all else is served", "error", err)
		return nil, nil
	}
	p, err := a.pipelines(reverie.JobEvolve)
	if err != nil {
		return nil, err
	}
	wait := a.cfg.HTTP.EvolveWait.Duration
	return api.NewEvolver(api.EvolverOptions{Concurrency: a.cfg.Jobs.Concurrency, Log: a.log, Turn: a.leases().Turn,
		Wait: func() (<-chan time.Time, func()) {
			t := time.NewTimer(wait)
			return t.C, func() { t.Stop() }
		},
		Run: func(ctx context.Context, order api.EvolveOrder) error {
			ctx = llm.WithBudget(ctx, a.budget(day))
			return a.evolveOrder(ctx, p.with(a.remotePrompts(ctx, p.prompts)), order)
		}}), nil
}

// evolveOrder evolves a group that a client has asked for.
func (a *app) evolveOrder(ctx context.Context, p pipelines, order api.EvolveOrder) error {
	g, err := a.store.Group(ctx, order.GroupID)
	if err != nil {
		return err
	}
	req := evolve.Request{GroupID: g.ID, Days: order.Days, Started: order.Started}
	end, err := a.evolveGroup(ctx, order.Open, p, g, req, func(r evolve.Result) { order.Evolved(r.Reply()) })
	if end.nextErr != nil {
		a.log.Warn("impressions did not follow", "group_id", g.ID, "error", end.nextErr)
	}
	return err
}

// server puts the service on a port, with everything around it.
func (a *app) server(service *api.Service, day *llm.DayBudget) (*apiserver.Server, error) {
	h := a.cfg.HTTP
	routes, _ := rest.New(service, rest.Options{Version: version, MaxBody: int64(h.MaxBody), Now: a.Now, Log: a.log})
	var agents http.Handler
	if h.MCP {
		agents = mcp.New(service, mcp.Options{Version: version, Write: h.MCPWrite, Now: a.Now, Log: a.log}).Handler()
	}
	return apiserver.New(apiserver.Options{
		Service: service,
		REST:    routes,
		Web:     web.New(service, web.Options{HTTPS: h.HTTPS, Log: a.log}),
		MCP:     agents,
		Context: func(ctx context.Context) context.Context { return llm.WithBudget(ctx, a.budget(day)) }, // each request may spend what one command may
		Listen:  h.Listen, RequireToken: h.RequireToken,
		RequestTimeout: h.RequestTimeout.Duration, EvolveWait: h.EvolveWait.Duration,
		MaxBody: int64(h.MaxBody), MaxMessagesBody: int64(h.MaxMessagesBody), RequestsPerSecond: h.RequestsPerSecond,
		Ready: a.store.Ready, Metrics: a.metrics, Now: a.Now, Log: a.log,
	})
}
