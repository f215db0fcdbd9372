package app

import (
	"context"
	"fmt"
	"math/rand/v2"
	"time"

	"reverie/internal/api"
	"reverie/internal/fault"
	"reverie/internal/reverie"
	"reverie/internal/webhook"
	"reverie/store/hooks"
)

// sender returns the configured sender of events.
func (a *App) sender() *webhook.Sender {
	c := a.Config.Webhooks
	return webhook.NewSender(webhook.Options{AllowPrivate: c.AllowPrivate, Timeout: c.Timeout.Duration, Now: a.Clock})
}

// deliverer returns what sends waiting events.
func (a *App) deliverer() *webhook.Deliverer {
	c := a.Config.Webhooks
	d := &webhook.Deliverer{Store: hooks.New(a.Store.DB()), Sender: a.sender(), GiveUp: c.GiveUp.Duration, Keep: c.Keep.Duration,
		Random: rand.Float64, Now: a.Clock, After: fault.Timers(a.Clock).After, Log: a.Log, Count: a.metrics.WebhookEvents}
	if a.metrics != nil {
		d.Waiting = a.metrics.WebhookWaits
	}
	return d
}

// deliver sends events until the returned function is called, which waits for running requests.
func (a *App) deliver(ctx context.Context) (end func()) {
	d := a.deliverer()
	ctx, cancel := context.WithCancel(context.WithoutCancel(ctx))
	stop, done := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(done)
		d.Run(ctx, stop)
	}()
	return func() {
		close(stop)
		time.AfterFunc(parting, cancel)
		<-done
		cancel()
		d.Sender.Close()
	}
}

// deliverLast sends the events that a command left. It starts nothing more once it has taken as long as the
// command's work, and as long as a webhook's timeout.
func (a *App) deliverLast(ctx context.Context) {
	if a.Resident || a.Store == nil || !a.Store.DB().Wrote() {
		return
	}
	d := a.deliverer()
	defer d.Sender.Close()
	enough, cancel := context.WithTimeout(ctx, max(d.Sender.Timeout, a.Clock().Sub(a.opened)))
	defer cancel()
	d.Drain(context.WithoutCancel(ctx), enough.Done())
}

// examineWebhooks finds webhooks that are disabled or fail.
func (a *App) examineWebhooks(ctx context.Context, note func(check, detail string, err error) bool) {
	list, err := hooks.New(a.Store.DB()).Webhooks(ctx, "")
	if err == nil && len(list) == 0 {
		return
	}
	for _, w := range list {
		switch {
		case w.DisabledAt != nil:
			err = fmt.Errorf("%s is disabled since %s: %s; `reverie webhooks replay` enables it", w.ID, w.DisabledAt.UTC().Format(time.RFC3339),
				w.LastError)
		case w.FailingSince != nil && err == nil:
			err = fmt.Errorf("%s has failed since %s: %s", w.ID, w.FailingSince.UTC().Format(time.RFC3339), w.LastError)
		}
	}
	note("webhooks", fmt.Sprintf("%d, none fails", len(list)), err)
}

// WebhookService returns the service for the webhook commands, with the rights of the database's owner.
func (a *App) WebhookService(ctx context.Context) (context.Context, *api.Service) {
	return api.WithCaller(ctx, api.Caller{Name: "reverie webhooks", Scope: reverie.ScopeAdmin}),
		&api.Service{Store: a.Store, Now: a.Clock, Log: a.Log, Sender: a.sender()}
}
