package webhook

import (
	"context"
	"log/slog"
	"net/http"
	"time"

	"golang.org/x/sync/errgroup"

	"reverie/internal/fault"
	"reverie/internal/reverie"
)

// Store stores the events to send: see store/hooks.
type Store interface {
	DueLanes(ctx context.Context, most int) ([]reverie.WebhookLane, error)
	TakeEvent(ctx context.Context, lane reverie.WebhookLane, lease time.Duration) (e reverie.WebhookEvent, ok bool, err error)
	EventSent(ctx context.Context, e reverie.WebhookEvent) error
	EventFailed(ctx context.Context, e reverie.WebhookEvent, f reverie.WebhookFailure) error
	SweepEvents(ctx context.Context, before time.Time) (lost int, err error)
	OldestEvent(ctx context.Context) (time.Duration, error)
}

const (
	lanes  = 64 // most lanes in one round
	atOnce = 8  // lanes at the same time
	inLane = 100

	poll   = 2 * time.Second // wait after a round that found nothing
	sweep  = time.Hour
	noting = 10 * time.Second // time limit for noting the outcome of an event

	firstWait = 5 * time.Second
	longWait  = time.Hour   // longest wait of an event that keeps failing
	hookWait  = time.Minute // longest wait of its webhook: events of other groups may succeed

	leastAttempts = 10 // attempts before an event is given up: it may be old for other reasons
)

// Deliverer sends due events. Several deliverers, in several processes, share the work.
type Deliverer struct {
	Store   Store
	Sender  *Sender
	GiveUp  time.Duration // how long an event, or a webhook, may keep failing
	Keep    time.Duration // how long events are stored
	Random  func() float64
	Now     func() time.Time
	After   func(time.Duration) <-chan time.Time
	Log     *slog.Logger
	Count   func(outcome string, n int) // sent, failed, given_up, disabled (a webhook) or lost
	Waiting func(time.Duration)         // called with the age of the oldest waiting event; may be nil
}

// Run sends events until stop is closed. It finishes the requests in progress, unless ctx ends.
func (d *Deliverer) Run(ctx context.Context, stop <-chan struct{}) {
	var swept time.Time
	for down := false; ; {
		n, err := d.Round(ctx, stop)
		if now := d.Now(); err == nil && now.Sub(swept) >= sweep {
			swept, err = now, d.sweep(ctx)
		}
		if err == nil && d.Waiting != nil {
			err = d.tellWaiting(ctx)
		}
		if err != nil && !down && ctx.Err() == nil {
			d.Log.Warn("events for webhooks wait: the database did not answer", "error", err)
		}
		if down = err != nil; n > 0 && !down {
			continue
		}
		select {
		case <-stop:
			return
		case <-ctx.Done():
			return
		case <-d.After(poll):
		}
	}
}

// Drain sends events until none is due, or stop is closed. It finishes the requests in progress, unless ctx ends.
func (d *Deliverer) Drain(ctx context.Context, stop <-chan struct{}) {
	for {
		n, err := d.Round(ctx, stop)
		if err != nil && ctx.Err() == nil {
			d.Log.Warn("events for webhooks wait: the database did not answer", "error", err)
		}
		if n == 0 || err != nil {
			return
		}
	}
}

func (d *Deliverer) sweep(ctx context.Context) error {
	lost, err := d.Store.SweepEvents(ctx, d.Now().Add(-d.Keep))
	if lost > 0 {
		d.Count("lost", lost)
		d.Log.Warn("events for webhooks were never sent and are too old now", "events", lost, "kept", d.Keep)
	}
	return err
}

func (d *Deliverer) tellWaiting(ctx context.Context) error {
	age, err := d.Store.OldestEvent(ctx)
	if err == nil {
		d.Waiting(age)
	}
	return err
}

// Round tries the events that are due now, and returns their number.
func (d *Deliverer) Round(ctx context.Context, stop <-chan struct{}) (tried int, err error) {
	due, err := d.Store.DueLanes(ctx, lanes)
	if err != nil {
		return 0, err
	}
	counts := make([]int, len(due))
	var work errgroup.Group
	work.SetLimit(atOnce)
	for i, lane := range due {
		work.Go(func() (err error) {
			counts[i], err = d.lane(ctx, stop, lane)
			return err
		})
	}
	err = work.Wait()
	for _, n := range counts {
		tried += n
	}
	return tried, err
}

// lane sends the events of a lane in order, until one fails. A slow webhook gets no more time than one that does not
// answer.
func (d *Deliverer) lane(ctx context.Context, stop <-chan struct{}, lane reverie.WebhookLane) (tried int, err error) {
	end := d.Now().Add(d.Sender.Timeout)
	for ; ctx.Err() == nil && (tried == 0 || tried < inLane && d.Now().Before(end)); tried++ {
		select {
		case <-stop:
			return tried, nil
		default:
		}
		e, ok, err := d.Store.TakeEvent(ctx, lane, 2*d.Sender.Timeout+noting)
		if err != nil || !ok {
			return tried, err
		}
		if sent, err := d.event(ctx, e); !sent || err != nil {
			return tried + 1, err
		}
	}
	return tried, nil
}

// event sends an event and notes the outcome, even if ctx has ended meanwhile.
func (d *Deliverer) event(ctx context.Context, e reverie.WebhookEvent) (sent bool, err error) {
	answer, why := Answer{}, error(nil)
	if fault.Off(fault.Sent) {
		_ = d.Store.EventSent(ctx, e)
	}
	if !e.Gone {
		answer, why = d.Sender.Post(ctx, e)
	}
	if why != nil && ctx.Err() != nil { // we have cancelled it ourselves
		return false, nil
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), noting)
	defer cancel()
	if why == nil {
		d.Count("sent", 1)
		return true, d.Store.EventSent(ctx, e)
	}
	now := d.Now().UTC()
	after := min(answer.After, longWait)
	f := reverie.WebhookFailure{Why: why.Error(), EventAgain: now.Add(max(after, d.wait(e.Attempts, longWait))),
		HookAgain: now.Add(max(after, d.wait(e.Hook.Failures+1, hookWait))),
		GiveUp:    e.Attempts >= leastAttempts && now.Sub(e.QueuedAt) >= d.GiveUp,
		Disable:   answer.Status == http.StatusGone || e.Hook.FailingSince != nil && now.Sub(*e.Hook.FailingSince) >= d.GiveUp}
	about := []any{"webhook_id", e.WebhookID, "group_id", e.GroupID, "event_id", e.ID, "attempt", e.Attempts, "error", why}
	switch d.Count("failed", 1); {
	case f.Disable:
		d.Count("disabled", 1)
		d.Log.Error("a webhook is disabled: `reverie webhooks replay` enables it and sends what it has missed", about...)
	case f.GiveUp:
		d.Count("given_up", 1)
		d.Log.Warn("an event is given up: its webhook did not take it for too long", about...)
	default:
		d.Log.Info("a webhook did not take an event; it is tried again", about...)
	}
	return false, d.Store.EventFailed(ctx, e, f)
}

// wait returns how long to wait after a number of failures in a row: doubled each time, with a random part.
func (d *Deliverer) wait(failures int, most time.Duration) time.Duration {
	wait := min(firstWait<<min(failures-1, 20), most)
	return time.Duration(float64(wait) * (1 + d.Random()) / 2)
}

// EventPrefix comes before the id of an event in a request.
const EventPrefix = "evt_"

// Post sends an event once: see [Sender.Send].
func (s *Sender) Post(ctx context.Context, e reverie.WebhookEvent) (Answer, error) {
	body, err := e.Body()
	if err != nil {
		return Answer{}, err
	}
	key, err := Key(e.Hook.Secret)
	if err != nil {
		return Answer{}, err
	}
	return s.Send(ctx, e.Hook.URL, key, EventPrefix+e.ID, body)
}
