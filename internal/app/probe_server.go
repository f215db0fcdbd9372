package app

import (
	"context"
	"time"

	"reverie/internal/llm"
	"reverie/internal/telemetry"
)

// listener is where a process that stays is asked: by clients where it serves them, else
// by probes alone.
type listener struct {
	clients *apiServer        // nil: probes alone
	probes  *telemetry.Server // nil: clients' server answers them
}

// listen opens one, and returns the address that it listens on, "" for none.
func (a *App) listen(ctx context.Context, day *llm.DayBudget, serves bool) (l *listener, addr string, err error) {
	l = &listener{}
	if serves {
		l.clients, addr, err = a.newAPIServer(ctx, day)
		return l, addr, err
	}
	l.probes = a.probeServer()
	addr, err = l.probes.Start(ctx)
	return l, addr, err
}

// probeServer answers probes and metrics.
func (a *App) probeServer() *telemetry.Server {
	return &telemetry.Server{Listen: a.Config.HTTP.Listen, Metrics: a.metrics, Log: a.Log, Ready: a.Store.Ready}
}

// leave takes in no client any more. Those who are being answered have grace; probes
// hear that the process is stopping.
func (l *listener) leave(ctx context.Context, grace time.Duration, hurry <-chan struct{}) {
	if l.clients != nil {
		l.clients.stop(ctx, grace, hurry)
		return
	}
	l.probes.Stopping()
}

// close is the last that is heard, when the jobs have ended.
func (l *listener) close(ctx context.Context) error {
	if l.clients != nil {
		return nil
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), 5*time.Second)
	defer cancel()
	return l.probes.Stop(ctx)
}
