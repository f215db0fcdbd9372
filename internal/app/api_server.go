package app

import (
	"context"
	"fmt"
	"net"
	"sync"
	"time"

	"reverie/internal/api"
	apiserver "reverie/internal/api/server"
	"reverie/internal/config"
	"reverie/internal/llm"
	"reverie/internal/recall"
	"reverie/internal/reverie"
	"reverie/jobs"
)

// Serve answers clients until ctx ends. hurried watches for the word to stop at once.
func (a *App) Serve(ctx context.Context, hurried func() (hurry <-chan struct{}, end func())) error {
	if err := a.Open(ctx); err != nil {
		return err
	}
	a.queue = &jobs.Queue{} // who asks again waits for what follows the last run of the group
	server, _, err := a.newAPIServer(ctx, a.DayBudget())
	if err != nil {
		return err
	}
	hurry, end := hurried()
	defer end()
	<-ctx.Done()
	a.Log.Info("stopping: what is under way may finish; a second signal stops it at once", "grace", a.Config.Jobs.Grace.Duration)
	server.stop(ctx, a.Config.Jobs.Grace.Duration, hurry)
	a.Log.Info("stopped")
	return nil
}

// CheckListen refuses a configuration without a place to serve clients at.
func CheckListen(c *config.Config) error {
	if c.HTTP.Listen == "" {
		return fmt.Errorf("[http] listen is empty, so there is nowhere to serve: set it, or say --listen 127.0.0.1:8470: %w", reverie.ErrConfiguration)
	}
	return nil
}

// apiServer is what clients see of a process that stays.
type apiServer struct {
	*App
	server  *apiserver.Server
	service *api.Service
	usage   *recall.UsageLog
}

// newAPIServer begins to serve clients, at the address that it returns.
func (a *App) newAPIServer(ctx context.Context, day *llm.DayBudget) (f *apiServer, addr string, err error) {
	a.wellness(ctx)
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

// announce says where the page is, to whoever reads the log.
func (f *apiServer) announce(url string, open bool) {
	if f.Config.Log.Format == "json" {
		f.Log.Info("serving", "url", url, "open", open)
		return
	}
	note := ""
	if open {
		note = " (no token was created yet: only this machine can reach it; reverie token create makes one)"
	}
	f.Notify("serving " + url + note)
}

// wellness warns of what will go wrong, as doctor would.
func (a *App) wellness(ctx context.Context) {
	info, err := a.Store.Info(ctx)
	if err != nil {
		a.Log.Warn("the state of the database could not be looked at", "error", err)
		return
	}
	if info.Skew.Abs() > time.Minute {
		a.Log.Warn("this clock and the database's differ: set them right, since tokens and windows go by the clock", "by", info.Skew.Round(time.Second))
	}
	a.watchReader(ctx)
	if _, _, err := a.Embeddings(); err != nil {
		a.Log.Warn("no embedding model is configured: nothing is searched but groups of the offline model", "error", err)
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
	runs.Go(func() { // while those who wait for them still can
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

// end writes what is left of the usage log.
func (f *apiServer) end(ctx context.Context) {
	if err := CloseUsage(ctx, f.usage); err != nil {
		f.Log.Warn("not every use of a memory was written down", "error", err)
	}
}
