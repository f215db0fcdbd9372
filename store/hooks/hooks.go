// Package hooks stores webhooks, and their events until these are sent.
package hooks

import (
	"context"
	"fmt"
	"time"

	"github.com/lib/pq"

	"reverie/internal/reverie"
	"reverie/internal/text"
	"reverie/store/pg"
)

// Hooks are the webhooks of one database.
type Hooks struct{ db *pg.DB }

// New returns the webhooks of a database.
func New(db *pg.DB) *Hooks { return &Hooks{db} }

const (
	columns = `group_id, webhook_id, url, secret, events, statements, created_at`

	listQuery = `select w.*, coalesce(e.waiting, 0) as waiting, e.oldest_at from webhooks w left join (
			select webhook_id, count(*)::int as waiting, min(created_at) as oldest_at from webhook_events
			where group_id is not null and done_at is null group by 1) e on e.webhook_id = w.webhook_id
		where ($1 = '' or w.group_id = $1) and ($2::uuid is null or w.webhook_id = $2) order by w.created_at, w.webhook_id`

	// Of a failing webhook only one group is tried, and the others after it answers again. Webhooks that answer come
	// first.
	dueQuery = `with heads as (
			select distinct on (e.webhook_id, e.group_id) e.webhook_id, e.group_id, e.event_no, e.due_at, w.failures
			from webhooks w join webhook_events e on e.webhook_id = w.webhook_id and e.done_at is null
			where w.disabled_at is null and w.retry_at <= $1::timestamptz
			order by e.webhook_id, e.group_id, e.event_no),
		ready as (
			select *, row_number() over (partition by webhook_id order by due_at, event_no) as nth from heads
			where due_at <= $1::timestamptz)
		select webhook_id, group_id from ready where failures = 0 or nth = 1
		order by failures > 0, nth, event_no limit $2`

	// If another process takes the event meanwhile, this returns no row.
	takeQuery = `with head as (
			select event_id from webhook_events where group_id = $1 and webhook_id = $2 and done_at is null
			order by event_no limit 1),
		taken as (
			update webhook_events e set due_at = $4::timestamptz, attempts = e.attempts + 1
			from head h, webhooks w
			where e.group_id = $1 and e.event_id = h.event_id and e.done_at is null and e.due_at <= $3::timestamptz
				and w.group_id = any (array['', $1]) and w.webhook_id = $2 and w.disabled_at is null and w.retry_at <= $3::timestamptz
			returning e.*, w.url, w.secret, w.statements, w.failures, w.failing_since)
		select e.group_id, e.webhook_id, e.event_id, e.type, e.attempts, e.due_at, e.created_at, coalesce(e.queued_at, e.created_at) as queued_at,
			e.type in ('memory.created', 'memory.updated') and m.memory_id is null as gone,
			e.url as "hook.url", e.secret as "hook.secret", e.failures as "hook.failures", e.failing_since as "hook.failing_since",
			e.webhook_id as "hook.webhook_id",
			e.group_id as "data.group_id", e.memory_id as "data.memory_id", coalesce(m.lineage_id, e.lineage_id) as "data.lineage_id",
			coalesce(m.version, 0) as "data.version", coalesce(m.kind, '') as "data.kind",
			case when e.type = 'memory.reviewed' then '' else e.detail end as "data.action",
			case when e.type = 'memory.reviewed' then e.detail else '' end as "data.verdict",
			case when e.statements and e.type <> 'memory.deleted' and e.detail not in ('refused', 'rejected') and m.status <> 'held'
				and m.statement <> '` + text.Erased + `' then m.statement else '' end as "data.statement",
			e.run_id as "data.run_id", coalesce(r.job, '') as "data.job",
			r.window_since as "data.window_since", r.window_until as "data.window_until"
		from taken e left join memories m on m.group_id = $1 and m.memory_id = e.memory_id
		left join runs r on r.group_id = $1 and r.run_id = e.run_id and e.type like 'run.%'`

	// The outcome counts only if this process still has the event. Another one may have sent it again, or taken it,
	// meanwhile.
	sentQuery = `with sent as (
			update webhook_events set done_at = $4, error = '' where group_id = $1 and event_id = $2 and due_at = $5),
		answered as (update webhooks set failures = 0, failing_since = null, retry_at = 'epoch', last_error = ''
			where group_id = any (array['', $1]) and webhook_id = $3 and failures > 0)
		select 1`
	failedQuery = `with failed as (
			update webhook_events set due_at = $5, error = $6, done_at = case when $7::boolean then $4::timestamptz end
			where group_id = $1 and event_id = $2 and done_at is null and due_at = $10 returning 1),
		counted as (update webhooks set failures = failures + 1, failing_since = coalesce(failing_since, $4), retry_at = $9, last_error = $6,
			disabled_at = case when $8::boolean then coalesce(disabled_at, $4) else disabled_at end
		where group_id = any (array['', $1]) and webhook_id = $3 and exists (select from failed))
		select 1`

	replayQuery = `update webhook_events e set done_at = null, queued_at = $4::timestamptz, attempts = 0, due_at = 'epoch', error = ''
		where group_id is not null and webhook_id = $1 and created_at >= $2::timestamptz and event_no >= $3`
	enableQuery = `with due as (
			update webhook_events set attempts = 0, due_at = 'epoch' where group_id is not null and webhook_id = $1 and done_at is null)
		update webhooks set failures = 0, failing_since = null, retry_at = 'epoch', last_error = '', disabled_at = null
		where group_id is not null and webhook_id = $1`
)

// maxWebhooks is the most webhooks of a group, and the most for all groups: each change is written once for each.
const maxWebhooks = 20

// AddWebhook stores a webhook. If there are too many, it returns reverie.ErrConflict.
func (h *Hooks) AddWebhook(ctx context.Context, w reverie.Webhook) error {
	return h.db.Run(ctx, pg.Work{What: "add a webhook", Do: func(ctx context.Context, t *pg.Tx) error {
		n, err := t.ExecRows(ctx, `insert into webhooks (`+columns+`) select $1, $2, $3, $4, $5, $6, $7
			where $8 > (select count(*) from webhooks where group_id = $1 and webhook_id <> $2)
			on conflict (group_id, webhook_id) do update set url = excluded.url`, w.GroupID, w.ID, w.URL, w.Secret,
			append(pq.StringArray{}, w.Events...), w.Statements, w.CreatedAt, maxWebhooks)
		if err == nil && n == 0 {
			err = fmt.Errorf("there are %d already, and no more are allowed; remove one that nobody needs: %w", maxWebhooks,
				reverie.ErrConflict)
		}
		return err
	}})
}

// Webhooks returns the webhooks of one group, or all webhooks if groupID is "", oldest first.
func (h *Hooks) Webhooks(ctx context.Context, groupID string) ([]reverie.Webhook, error) {
	return pg.QueryAll[reverie.Webhook](ctx, h.db, "list webhooks", listQuery, groupID, nil)
}

// Webhook returns one webhook of a group, or any webhook if groupID is "".
func (h *Hooks) Webhook(ctx context.Context, groupID, id string) (w reverie.Webhook, err error) {
	if !reverie.IsID(id) {
		return w, fmt.Errorf("webhook %q: %w", id, reverie.ErrNotFound)
	}
	err = h.db.QueryRow(ctx, "read a webhook", &w, listQuery, groupID, id)
	return w, pg.NotFoundIfEmpty(err, "webhook %s", id)
}

// RemoveWebhook deletes a webhook and its events.
func (h *Hooks) RemoveWebhook(ctx context.Context, id string) error {
	return h.db.Run(ctx, pg.Work{What: "remove a webhook", Do: func(ctx context.Context, t *pg.Tx) error {
		err := t.Exec(ctx, `delete from webhooks where group_id is not null and webhook_id = $1`, id)
		if err == nil {
			err = t.Exec(ctx, `delete from webhook_events where group_id is not null and webhook_id = $1`, id)
		}
		return err
	}})
}

// DueLanes returns at most most lanes whose first event is due. A lane is the events of one group for one webhook.
func (h *Hooks) DueLanes(ctx context.Context, most int) ([]reverie.WebhookLane, error) {
	return pg.QueryAll[reverie.WebhookLane](ctx, h.db, "look for events to send", dueQuery, h.db.Now(), most)
}

// TakeEvent takes the first event of a lane for the time of the lease. ok is false if none is due, or if another
// process has it. Gone in the event means that its memory was erased.
func (h *Hooks) TakeEvent(ctx context.Context, lane reverie.WebhookLane, lease time.Duration) (e reverie.WebhookEvent, ok bool,
	err error) {
	err = h.db.Run(ctx, pg.Work{What: "take an event", ByKey: true, Do: func(ctx context.Context, t *pg.Tx) error {
		now := h.db.Now()
		list, err := pg.Select[reverie.WebhookEvent](ctx, t, takeQuery, lane.GroupID, lane.WebhookID, now, now.Add(lease))
		if ok = len(list) > 0; ok {
			e = list[0]
		}
		return err
	}})
	return e, ok, err
}

// EventSent notes that the webhook has received an event.
func (h *Hooks) EventSent(ctx context.Context, e reverie.WebhookEvent) error {
	return h.db.Exec(ctx, "note that an event was sent", sentQuery, e.GroupID, e.ID, e.WebhookID, h.db.Now(), e.TakenFor)
}

// EventFailed notes that an event could not be sent, and what happens next.
func (h *Hooks) EventFailed(ctx context.Context, e reverie.WebhookEvent, f reverie.WebhookFailure) error {
	return h.db.Exec(ctx, "note that an event was not sent", failedQuery, e.GroupID, e.ID, e.WebhookID, h.db.Now(),
		f.EventAgain, pg.ValidText(f.Why), f.GiveUp, f.Disable, f.HookAgain, e.TakenFor)
}

// ReplayEvents sends the events of a webhook again and enables the webhook. It takes the events since a time, and with
// eventID only from that event on. An event that is no longer stored is reverie.ErrNotFound.
func (h *Hooks) ReplayEvents(ctx context.Context, id string, since time.Time, eventID string) (n int, err error) {
	var from int64
	return pg.Run(ctx, h.db, pg.Work{What: "send events again"}, func(ctx context.Context, t *pg.Tx) (int, error) {
		if eventID != "" {
			if err := t.Get(ctx, &from, `select event_no from webhook_events where group_id is not null
				and webhook_id = $1 and event_id = $2`, id, eventID); err != nil {
				return 0, pg.NotFoundIfEmpty(err, "event %s of this webhook", eventID)
			}
		}
		if err := t.Exec(ctx, enableQuery, id); err != nil {
			return 0, err
		}
		return t.ExecRows(ctx, replayQuery, id, pg.OrMinusInfinity(since), from, h.db.Now())
	})
}

// OldestEvent returns the age of the oldest event that waits for an enabled webhook.
func (h *Hooks) OldestEvent(ctx context.Context) (time.Duration, error) {
	var at *time.Time
	err := h.db.QueryRow(ctx, "look for the oldest event", &at, `select min(e.created_at) from webhooks w
		join webhook_events e on e.webhook_id = w.webhook_id and e.done_at is null and e.group_id is not null
		where w.disabled_at is null`)
	if err != nil || at == nil {
		return 0, err
	}
	return max(h.db.Now().Sub(*at), 0), nil
}

// SweepEvents deletes the events before a time, and returns how many of them were never sent.
func (h *Hooks) SweepEvents(ctx context.Context, before time.Time) (lost int, err error) {
	return pg.Run(ctx, h.db, pg.Work{What: "forget old events"}, func(ctx context.Context, t *pg.Tx) (int, error) {
		return pg.Get[int](ctx, t, `with swept as (delete from webhook_events where group_id is not null
				and created_at < $1::timestamptz returning done_at)
			select count(*)::int from swept where done_at is null`, before)
	})
}
