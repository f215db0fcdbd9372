package main

import (
	"context"
	"time"

	"reverie/internal/llm"
	"reverie/internal/telemetry"
)

// door is where the daemon is asked: by clients where it serves them, else by probes
// alone.
type door struct {
	front  *front            // nil: probes alone
	probes *telemetry.Server // nil: front answers them
}

// door opens one, and returns the address that it listens on, "" for none.
func (a *app) door(ctx context.Context, day *llm.DayBudget, serves bool) (d *door, addr string, err error) {
	d = &door{}
	if serves {
		d.front, addr, err = a.front(ctx, day)
		return d, addr, err
	}
	d.probes = &telemetry.Server{Listen: a.cfg.HTTP.Listen, Metrics: a.metrics, Log: a.log, Ready: a.store.Ready}
	addr, err = d.probes.Start(ctx)
	return d, addr, err
}

// leave takes in no client any more. Those who are being answered have grace; probes
// hear that the daemon is stopping.
func (d *door) leave(ctx context.Context, grace time.Duration, hurry <-chan struct{}) {
	if d.front != nil {
		d.front.stop(ctx, grace, hurry)
		return
	}
	d.probes.Stopping()
}

// close is the last that is heard, when the jobs have ended.
func (d *door) close(ctx context.Context) error {
	if d.front != nil {
		return nil
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), 5*time.Second)
	defer cancel()
	return d.probes.Stop(ctx)
}
