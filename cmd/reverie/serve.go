package main

import (
	"context"
	"fmt"
	"net"
	"os/signal"
	"sync"
	"syscall"
	"time"

	"github.com/spf13/cobra"

	"reverie/internal/api"
	apiserver "reverie/internal/api/server"
	"reverie/internal/config"
	"reverie/internal/llm"
	"reverie/internal/recall"
	"reverie/internal/reverie"
	"reverie/jobs"
)

func newServe(a *app) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "serve",
		Short: "Serve the HTTP API, the operator's page and MCP",
		Long: `Serve answers at [http] listen, or --listen: the HTTP API (/openapi.json says what it
has), the operator's page (/ui/), MCP (/mcp), and /healthz, /readyz and /metrics. It
starts no job by itself: that is for CronJobs, or for ` + "`reverie run --listen`" + `, which does
both. It needs no model, and without one evolves and searches nothing.

While no token was ever created (` + "`reverie token create`" + `), it listens on loopback only,
and whoever can reach that may do everything.

A first SIGTERM or SIGINT ends it: /readyz says so, messages that are coming in end where
they stand, with their whole lines stored, what else is under way has [jobs] grace to
finish, and the exit code is 0. A second one ends it at once; what a run has not committed
stays pending.

The log level is info unless it is set.

` + exitHelp,
		Example: `  reverie serve
  reverie serve --listen :8470`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return a.serve(cmd.Context()) },
	}
	listenFlag(cmd, a)
	return cmd
}

// listenFlag says where a command listens for clients.
func listenFlag(cmd *cobra.Command, a *app) {
	cmd.Flags().Var(&settingFlag{path: "http.listen", values: a.flags}, "listen", "address and port of the API, the page and MCP, instead of [http] listen")
}

// serve answers clients until the first signal.
func (a *app) serve(ctx context.Context) error {
	a.daemon = true
	if err := a.settings(); err != nil {
		return err
	}
	if err := checkListen(a.cfg); err != nil {
		return err
	}
	if err := a.open(ctx); err != nil {
		return err
	}
	a.turns = &jobs.Queue{} // who asks again waits for what follows the last run of the group
	front, _, err := a.front(ctx, a.dayBudget())
	if err != nil {
		return err
	}
	signal.Ignore(syscall.SIGPIPE) // whoever read the log may go
	hurry, forget := twice()
	defer forget()
	<-ctx.Done()
	a.log.Info("stopping: what is under way may finish; a second signal stops it at once", "grace", a.cfg.Jobs.Grace.Duration)
	front.stop(ctx, a.cfg.Jobs.Grace.Duration, hurry)
	a.log.Info("stopped")
	return nil
}

// checkListen refuses a configuration without a place to serve clients at.
func checkListen(c *config.Config) error {
	if c.HTTP.Listen == "" {
		return fmt.Errorf("[http] listen is empty, so there is nowhere to serve: set it, or say --listen 127.0.0.1:8470: %w", reverie.ErrConfiguration)
	}
	return nil
}

// front is what clients see of a process that stays.
type front struct {
	*app
	server  *apiserver.Server
	service *api.Service
	usage   *recall.UsageLog
}

// front begins to serve clients, at the address that it returns.
func (a *app) front(ctx context.Context, day *llm.DayBudget) (f *front, addr string, err error) {
	a.wellness(ctx)
	f = &front{app: a}
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

// announce says where the page is, to whoever reads the log.
func (f *front) announce(url string, open bool) {
	if f.cfg.Log.Format == "json" {
		f.log.Info("serving", "url", url, "open", open)
		return
	}
	note := ""
	if open {
		note = " (no token was created yet: only this machine can reach it; reverie token create makes one)"
	}
	fmt.Fprintf(f.Stderr, "serving %s%s\n", url, note)
}

// wellness warns of what will go wrong, as doctor would.
func (a *app) wellness(ctx context.Context) {
	info, err := a.store.Info(ctx)
	if err != nil {
		a.log.Warn("the state of the database could not be looked at", "error", err)
		return
	}
	if info.Skew.Abs() > time.Minute {
		a.log.Warn("this clock and the database's differ: set them right, since tokens and windows go by the clock", "by", info.Skew.Round(time.Second))
	}
	a.watchReader(ctx)
	if _, _, err := a.embeddings(); err != nil {
		a.log.Warn("no embedding model is configured: nothing is searched but groups of the offline model", "error", err)
	}
}

// pageURL is where a person finds the page, as seen from this machine.
func pageURL(addr string) string {
	host, port, err := net.SplitHostPort(addr)
	if ip := net.ParseIP(host); err == nil && ip != nil && ip.IsUnspecified() {
		host = "127.0.0.1"
	}
	return "http://" + net.JoinHostPort(host, port) + "/ui/"
}

// stop lets what is under way finish within grace, or until hurry, and then breaks it
// off. That it came to that is no failure: what was not committed stays pending.
func (f *front) stop(ctx context.Context, grace time.Duration, hurry <-chan struct{}) {
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
	runs.Go(func() { // while those who wait for them still can
		if f.service.Evolver == nil {
			return
		}
		if err := f.service.Evolver.Close(ctx); err != nil {
			f.log.Warn("runs were stopped before their end; what they had not committed stays pending", "error", err)
		}
	})
	if err := f.server.Stop(ctx); err != nil {
		f.log.Warn("requests were broken off", "error", err)
	}
	runs.Wait()
	f.end(ctx)
}

// end writes what is left of the usage log.
func (f *front) end(ctx context.Context) {
	if err := closeUsage(ctx, f.usage); err != nil {
		f.log.Warn("not every use of a memory was written down", "error", err)
	}
}
