package app

import (
	"context"
	"fmt"
	"math/rand/v2"
	"time"

	"reverie/internal/api"
	"reverie/internal/reverie"
	"reverie/internal/webhook"
	"reverie/store/hooks"
)

// sender sends events as is configured.
func (a *App) sender() *webhook.Sender {
	c := a.Config.Webhooks
	return webhook.NewSender(webhook.Options{AllowPrivate: c.AllowPrivate, Timeout: c.Timeout.Duration, Now: a.Clock})
}

// deliverer sends what waits, and gives a webhook so much time at most to answer.
func (a *App) deliverer(most time.Duration) *webhook.Deliverer {
	c, sender := a.Config.Webhooks, a.sender()
	sender.Timeout = min(sender.Timeout, most)
	d := &webhook.Deliverer{Store: hooks.New(a.Store.DB()), Sender: sender, GiveUp: c.GiveUp.Duration, Keep: c.Keep.Duration,
		Random: rand.Float64, Now: a.Clock, After: time.After, Log: a.Log, Count: a.metrics.WebhookEvents}
	if a.metrics != nil {
		d.Waiting = a.metrics.WebhookWaits
	}
	return d
}

// deliver sends events until the end that it returns, which waits for what is being sent.
func (a *App) deliver(ctx context.Context) (end func()) {
	d := a.deliverer(time.Minute)
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

// deliverBriefly sends what a command has left, as far as that takes no time to speak of.
func (a *App) deliverBriefly() {
	if a.Resident || a.Store == nil || !a.Store.DB().Wrote() {
		return
	}
	ctx, cancel := context.WithTimeout(context.Background(), parting)
	defer cancel()
	d := a.deliverer(parting * 4 / 5) // who hangs is noted to have failed
	defer d.Sender.Close()
	d.Drain(ctx)
}

// examineWebhooks finds those that are disabled, or fail.
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

// WebhookService is what the commands of webhooks ask, as whoever has the database.
func (a *App) WebhookService(ctx context.Context) (context.Context, *api.Service) {
	return api.WithCaller(ctx, api.Caller{Name: "reverie webhooks", Scope: reverie.ScopeAdmin}),
		&api.Service{Store: a.Store, Now: a.Clock, Log: a.Log, Sender: a.sender()}
}
