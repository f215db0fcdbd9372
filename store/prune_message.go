package store

import (
	"context"
	"maps"
	"slices"
	"time"

	"github.com/lib/pq"

	"reverie/internal/reverie"
	"reverie/store/pg"
)

const (
	// A message has been read by every job when evolve has consumed it and nothing of
	// it waits: not for impressions, where people are followed, not for the extraction
	// of a session that goes on, and not for a person, who may make it pending again.
	// What a session that has long been silent has left to extract is given up, unless
	// its extraction was cut short and is to go on.
	expiredMessages = ` from messages x join groups g on g.group_id = x.group_id
		where x.group_id = $1 and x.run_id is not null and x.pruned_at is null and x.sent_at < $2::timestamptz
			and x.sent_at >= $3::timestamptz
			and not exists (select 1 from held_plans h where h.group_id = x.group_id and h.run_id = x.run_id
				and h.status = 'waiting')
			and not exists (select 1 from message_uses u
				where u.group_id = x.group_id and u.job in ('extract', 'impression') and u.message_id = x.message_id and case
					when u.run_id is not null then exists (select 1 from held_plans h
						where h.group_id = u.group_id and h.run_id = u.run_id and h.status = 'waiting')
					when u.job = 'impression' then g.impressions = 'on' or g.impressions = '' and $4::bool
					else exists (select 1 from sessions s
						where s.group_id = u.group_id and s.session_id = u.session_id and (s.last_at >= $2::timestamptz
							or s.parked_at is null and (s.unfinished or exists (select 1 from runs r
								where r.group_id = s.group_id and r.session_id = s.session_id and r.session_id <> '' and r.job = 'extract'
									and r.status = 'running')))) end)`

	// What was filtered as it came in, nothing has read or will. It has an index of its own.
	expiredFiltered = ` from messages x where x.group_id = $1 and x.filter <> '' and x.pruned_at is null
			and x.sent_at < $2::timestamptz and x.sent_at >= $3::timestamptz`

	countMessagesQuery = `select (select count(*)` + expiredMessages + `) + (select count(*)` + expiredFiltered + `)`

	findMessagesQuery = `select message_id, sent_at from (
			(select x.message_id, x.sent_at, x.seq` + expiredMessages + ` order by x.sent_at, x.seq limit $5)
			union all (select x.message_id, x.sent_at, x.seq` + expiredFiltered + ` order by x.sent_at, x.seq limit $5)) e
		order by sent_at, seq limit $5`

	// The row stays, and so does who wrote it.
	pruneMessagesQuery = `update messages set text = '', pruned_at = $3::timestamptz where group_id = $1
		and message_id = any ($2::text[])`

	// What was never read is counted as used by the run that gave it up.
	giveUpQuery = `update message_uses set run_id = $3::uuid
		where group_id = $1 and job in ('extract', 'impression') and message_id = any ($2::text[]) and run_id is null
		returning case when job = 'extract' then session_id else '' end as session_id, message_id`

	// Where nothing is left, nothing goes on.
	givenUpQuery = `update sessions set unfinished = false where group_id = $1 and session_id = $2 and unfinished
		and new_messages = 0`
)

// pruneMessages removes the texts of the oldest messages that have expired, and
// tells where it came to.
func pruneMessages(ctx context.Context, t *pg.Tx, groupID string, at time.Time, b reverie.PruneBatch) (int, time.Time,
	error) {
	// Messages that come in now may bring a session back to life, or count it anew.
	if _, err := LockGroup(ctx, t, groupID); err != nil {
		return 0, b.After, err
	}
	var found []struct {
		ID     string    `db:"message_id"`
		SentAt time.Time `db:"sent_at"`
	}
	if err := t.Select(ctx, &found, findMessagesQuery, groupID, b.Messages, pg.OrMinusInfinity(b.After), b.Impressions,
		b.Limit); err != nil || len(found) == 0 {
		return 0, b.After, err
	}
	ids := make(pq.StringArray, len(found))
	for i, m := range found {
		ids[i] = m.ID
	}
	if _, err := t.Exec(ctx, pruneMessagesQuery, groupID, ids, at); err != nil {
		return 0, b.After, err
	}
	var given []struct {
		SessionID string `db:"session_id"`
		ID        string `db:"message_id"`
	}
	if err := t.Select(ctx, &given, giveUpQuery, groupID, ids, b.Run.ID); err != nil {
		return 0, b.After, err
	}
	bySession := map[string]pq.StringArray{}
	for _, u := range given {
		bySession[u.SessionID] = append(bySession[u.SessionID], u.ID)
	}
	delete(bySession, "") // of impressions
	for _, id := range slices.Sorted(maps.Keys(bySession)) {
		if _, err := t.Exec(ctx, addNewQuery, groupID, id, bySession[id], at, -1); err != nil {
			return 0, b.After, err
		}
		if _, err := t.Exec(ctx, givenUpQuery, groupID, id); err != nil {
			return 0, b.After, err
		}
	}
	return len(found), found[len(found)-1].SentAt, nil
}
