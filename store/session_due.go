package store

import (
	"context"
	"fmt"
	"time"

	"reverie/internal/reverie"
	"reverie/store/pg"
)

// SessionQueue is the store as extraction sees it: what is due are sessions, by a
// rule. Otherwise it is the [Store].
type SessionQueue struct {
	*Store
	rule reverie.SessionRule
}

// Sessions returns the store as a rule for sessions makes it look.
func (s *Store) Sessions(rule reverie.SessionRule) SessionQueue { return SessionQueue{s, rule} }

const (
	// Not left alone after a failure: $9 does not wait for the next try, $10 is now: as
	// reverie.LeftAlone has it.
	triedAgain = ` and s.parked_at is null and ($9::bool or s.retry_at is null or s.retry_at <= $10::timestamptz
			or s.retry_at > $10 + ` + maxRetryAfter + `)`

	maxRetryAfter = `interval '168 hours'` // reverie.MaxRetryAfter

	// The sessions of a group g that are due, as reverie.SessionRule says it, some of
	// them several times: each reason has an index of its own. $1 to $3 are limits of
	// what is new; a session that is silent since $4 is idle; it is folded up to $8,
	// beyond $5 turns and $6 turns or $7 tokens. A run that was interrupted goes on.
	dueSessionsOf = `
		select s.session_id from sessions s where s.group_id = g.group_id and s.new_messages > 0 and $1::bigint > 0
			and s.new_tokens >= $1` + triedAgain + `
		union all select s.session_id from sessions s where s.group_id = g.group_id and s.new_tool_calls > 0 and $2::int > 0
			and s.new_tool_calls >= $2` + triedAgain + `
		union all select s.session_id from sessions s where s.group_id = g.group_id and s.new_turns > 0 and $3::int > 0
			and s.new_turns >= $3` + triedAgain + `
		union all select s.session_id from sessions s where s.group_id = g.group_id and s.new_messages > 0
			and s.last_at <= $4::timestamptz` + triedAgain + `
		union all select s.session_id from sessions s where s.group_id = g.group_id and s.unfinished
			and s.new_messages > 0` + triedAgain + `
		union all select s.session_id from sessions s where s.group_id = g.group_id and s.last_at >= $8::timestamptz
			and s.turns - s.folded_turns > $5::int
			and ($6::int > 0 and s.turns - s.folded_turns > $6 or $7::bigint > 0 and s.tokens - s.folded_tokens > $7)
			and ($9 or s.fold_retry_at is null or s.fold_retry_at <= $10 or s.fold_retry_at > $10 + ` + maxRetryAfter + `)
		union all select r.session_id from runs r where r.group_id = g.group_id and r.job = 'extract'
			and r.status = 'running' and r.session_id <> ''`

	// A session that fails is left alone by itself: its group has no setback.
	dueSessionGroups = `select ` + GroupColumns + `, coalesce((select s.last_at from sessions s
				where s.group_id = g.group_id and s.new_messages > 0 order by s.last_at limit 1), now()) as first_pending,
			exists (select 1 from past_calendars c where c.group_id = g.group_id) as moved,
			false as failed
		from groups g where exists (` + dueSessionsOf + `)`

	dueSessionPageQuery = dueSessionGroups + ` and g.group_id > $11 and not g.paused order by g.group_id
		limit nullif($12::int, 0)`
	dueSessionGroupQuery = dueSessionGroups + ` and g.group_id = $11`

	dueSessionsQuery = `select ` + sessionColumns + ` from sessions
		where group_id = $11 and session_id = any (array(select d.session_id from groups g cross
			join lateral (` + dueSessionsOf + `) d where g.group_id = $11))
		order by last_at, session_id`
)

// limits are the rule as the queries take it.
func (q SessionQueue) limits() []any {
	r, now := q.rule, q.db.Now()
	var idle, remembered time.Time
	if r.Idle > 0 {
		idle = now.Add(-r.Idle)
	}
	if r.ShortTermTTL > 0 {
		remembered = now.Add(-r.ShortTermTTL)
	}
	return []any{r.Tokens, r.ToolCalls, r.Turns, pg.OrMinusInfinity(idle), r.KeepTurns, r.FoldTurns, r.FoldTokens,
		pg.OrMinusInfinity(remembered), r.IgnoreRetry, now}
}

// DueGroups is [Store.DueGroups] for groups with sessions that are due. In place of
// the first pending message stands the last one of the session with something new
// that has been silent the longest.
func (q SessionQueue) DueGroups(ctx context.Context, due reverie.DueQuery) ([]reverie.DueGroup, error) {
	query, args := dueSessionPageQuery, append(q.limits(), due.After, due.Limit)
	if due.GroupID != "" {
		query, args = dueSessionGroupQuery, append(q.limits(), due.GroupID)
	}
	return q.dueGroups(ctx, "list groups with sessions that are due", due, query, args)
}

// DueSessions lists the sessions of a group that are due: those that have been
// silent the longest come first.
func (q SessionQueue) DueSessions(ctx context.Context, groupID string) ([]reverie.Session, error) {
	var list []reverie.Session
	err := q.db.Run(ctx, pg.Work{What: fmt.Sprintf("list the sessions of group %q that are due", groupID),
		ReadOnly: true, ByKey: true,
		Do: func(ctx context.Context, t *pg.Tx) error {
			list = nil
			return t.Select(ctx, &list, dueSessionsQuery, append(q.limits(), groupID)...)
		}})
	return utcSessions(list), err
}
