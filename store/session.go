package store

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"slices"
	"time"

	"github.com/lib/pq"

	"reverie/internal/reverie"
	"reverie/store/pg"
)

const (
	// sessionColumns are the columns of reverie.Session.
	sessionColumns = `group_id, session_id, cut, first_at, last_at, asking,
		messages as "total.messages", tokens as "total.tokens", tool_calls as "total.tool_calls", turns as "total.turns",
		new_messages as "new.messages", new_tokens as "new.tokens", new_tool_calls as "new.tool_calls",
		new_turns as "new.turns", folded_messages as "folded.messages", folded_tokens as "folded.tokens",
		folded_tool_calls as "folded.tool_calls", folded_turns as "folded.turns", extractions, extracted_until, unfinished,
		failures, failure, retry_at, parked_at, fold_failures, fold_retry_at, dreamt_until`

	sessionQuery = `select ` + sessionColumns + ` from sessions where group_id = $1 and session_id = $2`

	// All writers of a session's counts lock it first.
	lockSessionQuery = `select 1 from sessions where group_id = $1 and session_id = $2 for no key update`

	findSessionQuery = `select ` + sessionColumns + ` from sessions where session_id = $1 order by group_id`

	sessionFilter = ` from sessions where ($1 = '' or group_id = $1) and ($2 = '' or session_id = $2) and (not $3::bool
		or new_messages > 0)`

	summaryColumns = `group_id, session_id, summary, messages, turns, tokens, first_message_id, last_message_id,
		covers_since, covers_until,
		run_id, created_at, updated_at`

	summaryQuery = `select ` + summaryColumns + ` from session_summaries where group_id = $1 and session_id = $2`
)

// Session returns a session of a group, or reverie.ErrNotFound.
func (s *Store) Session(ctx context.Context, groupID, sessionID string) (reverie.Session, error) {
	return read(ctx, s, groupID, "read a session", func(ctx context.Context, t *pg.Tx) (reverie.Session, error) {
		return getSession(ctx, t, groupID, sessionID)
	})
}

// FindSession returns the sessions with that id in all groups, by group. If there is none, it returns
// reverie.ErrNotFound.
func (s *Store) FindSession(ctx context.Context, sessionID string) ([]reverie.Session, error) {
	what := "look for a session"
	return pg.Read(ctx, s.db, what, func(ctx context.Context, t *pg.Tx) (list []reverie.Session, err error) {
		err = t.Select(ctx, &list, findSessionQuery, sessionID)
		if err == nil && len(list) == 0 {
			return list, fmt.Errorf("session %q: %w", sessionID, reverie.ErrNotFound)
		}
		return list, err
	})
}

// ListSessions returns a page of sessions, those with the latest message first, and their total number. A limit of 0 is
// no limit; without a group it lists those of all groups. An unknown group is reverie.ErrNotFound.
func (s *Store) ListSessions(ctx context.Context, f reverie.SessionFilter) ([]reverie.Session, int, error) {
	var total int
	list, err := pg.Read(ctx, s.db, "list sessions", func(ctx context.Context, t *pg.Tx) (list []reverie.Session, err error) {
		if f.GroupID != "" {
			if _, err := GetGroup(ctx, t, f.GroupID); err != nil {
				return nil, err
			}
		}
		args := []any{f.GroupID, f.SessionID, f.Waiting}
		if err := t.Get(ctx, &total, `select count(*)`+sessionFilter, args...); err != nil {
			return nil, err
		}
		err = t.Select(ctx, &list, `select `+sessionColumns+sessionFilter+` order by last_at desc, group_id, session_id
			limit nullif($4::int, 0) offset $5`, append(args, f.Limit, f.Offset)...)
		return list, err
	})
	return list, total, err
}

// SessionSummary returns the rolling summary of a session, nil if there is none.
func (s *Store) SessionSummary(ctx context.Context, groupID, sessionID string) (*reverie.SessionSummary, error) {
	return read(ctx, s, groupID, "read the summary of a session", func(ctx context.Context,
		t *pg.Tx) (*reverie.SessionSummary, error) {
		return rollingSummary(ctx, t, groupID, sessionID)
	})
}

func getSession(ctx context.Context, t *pg.Tx, groupID, sessionID string) (reverie.Session, error) {
	session, err := pg.Get[reverie.Session](ctx, t, sessionQuery, groupID, sessionID)
	return session, pg.NotFoundIfEmpty(err, "session %q of group %q", sessionID, groupID)
}

// LockSession locks a session until the commit, against changes of its counts and merges.
func LockSession(ctx context.Context, t *pg.Tx, groupID, sessionID string) error {
	_, err := pg.Get[int](ctx, t, lockSessionQuery, groupID, sessionID)
	return pg.NotFoundIfEmpty(err, "session %q of group %q", sessionID, groupID)
}

func rollingSummary(ctx context.Context, t *pg.Tx, groupID, sessionID string) (*reverie.SessionSummary, error) {
	var list []reverie.SessionSummary
	if err := t.Select(ctx, &list, summaryQuery, groupID, sessionID); err != nil || len(list) == 0 {
		return nil, err
	}
	return &list[0], nil
}

// SessionQueue is the [Store] for extraction. The sessions that are due depend on a rule.
type SessionQueue struct {
	*Store
	rule reverie.SessionRule
}

// Sessions returns the store for extraction by a rule.
func (s *Store) Sessions(rule reverie.SessionRule) SessionQueue { return SessionQueue{s, rule} }

const (
	// A session s that a bot takes part in, or that a person asks about ($9).
	withBot = ` and ($9::bool or s.turns > 0 or s.tool_calls > 0)`

	// Not waiting after a failure, as in reverie.LeftAlone: $9 ignores the time of the next try, and $10 is now.
	triedAgain = ` and s.parked_at is null and ($9::bool or s.retry_at is null or s.retry_at <= $10::timestamptz
			or s.retry_at > $10 + ` + maxRetryAfter + `)`

	maxRetryAfter = `interval '168 hours'` // reverie.MaxRetryAfter

	// The due sessions of a group g, by reverie.SessionRule. A session may come several times, because each reason has
	// its own index. $1 to $3 are the limits of new messages. A session is idle if it is silent since $4. It is folded
	// up to $8, beyond $5 turns and $6 turns or $7 tokens. An interrupted run is resumed.
	dueSessionsOf = `
		select s.session_id from sessions s where s.group_id = g.group_id and s.new_messages > 0
			and s.new_tokens >= $1::bigint` + withBot + triedAgain + `
		union all select s.session_id from sessions s where s.group_id = g.group_id and s.new_tool_calls > 0
			and s.new_tool_calls >= $2::int` + triedAgain + `
		union all select s.session_id from sessions s where s.group_id = g.group_id and s.new_turns > 0
			and s.new_turns >= $3::int` + triedAgain + `
		union all select s.session_id from sessions s where s.group_id = g.group_id and s.new_messages > 0
			and s.last_at <= $4::timestamptz` + withBot + triedAgain + `
		union all select s.session_id from sessions s where s.group_id = g.group_id and s.unfinished
			and s.new_messages > 0` + triedAgain + `
		union all select s.session_id from sessions s where s.group_id = g.group_id and s.last_at >= $8::timestamptz
			and s.turns - s.folded_turns > $5::int
			and (s.turns - s.folded_turns > $6::int or s.tokens - s.folded_tokens > $7::bigint)
			and ($9 or s.fold_retry_at is null or s.fold_retry_at <= $10 or s.fold_retry_at > $10 + ` + maxRetryAfter + `)
		union all select r.session_id from runs r where r.group_id = g.group_id and r.job = 'extract'
			and r.status = 'running' and r.session_id <> ''`

	// A failed session waits by itself: its group has no setback.
	dueSessionGroups = `select ` + GroupColumns + `, coalesce((select s.last_at from sessions s
				where s.group_id = g.group_id and s.new_messages > 0 order by s.last_at limit 1), now()) as first_pending,
			` + duePast + `, null as setback
		from groups g where exists (` + dueSessionsOf + `)`

	dueSessionPageQuery = dueSessionGroups + ` and g.group_id > $11 and not g.paused order by g.group_id
		limit nullif($12::int, 0)`
)

var (
	dueSessionGroupQuery = inGroup(dueSessionGroups, "$11") + ` and g.group_id = $11`

	dueSessionsQuery = `select ` + sessionColumns + ` from sessions
		where group_id = $11 and session_id = any (array(` + inGroup(dueSessionsOf, "$11") + `))
		order by last_at, session_id`
)

// limits returns the rule as arguments of the queries. A limit that is off becomes a value that nothing reaches. Citus
// would drop the table from a statement whose condition is false for every row.
func (q SessionQueue) limits() []any {
	r, now := q.rule, q.db.Now()
	var idle, remembered time.Time
	if r.Idle > 0 {
		idle = now.Add(-r.Idle)
	}
	if r.ShortTermTTL > 0 {
		remembered = now.Add(-r.ShortTermTTL)
	}
	on := func(limit int) int { return cmp.Or(max(limit, 0), math.MaxInt32) }
	return []any{on(r.Tokens), on(r.ToolCalls), on(r.Turns), pg.OrMinusInfinity(idle), r.KeepTurns, on(r.FoldTurns), on(r.FoldTokens),
		pg.OrMinusInfinity(remembered), r.Asked, now}
}

// DueGroups is [Store.DueGroups] for groups with due sessions. FirstPending is the last message of the session with new
// messages that has been silent the longest.
func (q SessionQueue) DueGroups(ctx context.Context, due reverie.DueQuery) ([]reverie.DueGroup, error) {
	query, args := dueSessionPageQuery, append(q.limits(), due.After, due.Limit)
	if due.GroupID != "" {
		query, args = dueSessionGroupQuery, append(q.limits(), due.GroupID)
	}
	return q.dueGroups(ctx, "list groups with sessions that are due", due, query, args)
}

// DueSessions lists the due sessions of a group, those that have been silent the longest first.
func (q SessionQueue) DueSessions(ctx context.Context, groupID string) ([]reverie.Session, error) {
	what := fmt.Sprintf("list the sessions of group %q that are due", groupID)
	return pg.QueryByKey[reverie.Session](ctx, q.db.Of(ctx, groupID), what, dueSessionsQuery, append(q.limits(), groupID)...)
}

const (
	bufferWhere = ` from message_uses u where u.group_id = $1 and u.job = 'extract' and u.session_id = $2
		and u.session_id <> '' and u.run_id is null`

	// The time of a message is read from message_uses, so that its index gives the order.
	buffered = `select ` + MessageColumns + ` from (
			select m.*, u.sent_at as at from message_uses u join messages m on m.group_id = $1
				and m.message_id = u.message_id
			where u.group_id = $1 and u.job = 'extract' and u.session_id = $2 and u.session_id <> '' and u.run_id is null) w`

	oldestBufferedQuery = buffered + ` order by at, seq limit $3`
	chosenBufferedQuery = buffered + ` where message_id = any ($3::text[]) order by at, seq`
	moreBufferedQuery   = `select exists (select 1` + bufferWhere + ` and u.message_id <> all ($3::text[]))`

	headOf = `with ` + heldLines + ` select ` + headColumns + `, ` + heldColumns + ` from memories m where group_id = $1 and kind = 'session' and `

	factHeadsQuery = headOf + `(status = 'active' or memory_id` + archivedOf + `'session'` + newestArchived + `) and $2 <> all (tags) order by created_at, lineage_id`

	summaryHeadQuery = headOf + `status = 'active' and session_id = $3 and session_id <> '' and $2 = any (tags) order by created_at,
		lineage_id limit 1`

	// The summaries of other sessions to archive for a new one, chosen as decide.MakeRoom chooses facts. If there are
	// very many, later sessions archive the rest.
	weakestQuery = headOf + `status = 'active' and $2 = any (tags) and author = '' and weight < $4::float8
		order by round(10 * weight), strength, last_supported_at, lineage_id limit least(100, greatest(0, 1 - $3::int + (
			select count(*) from memories where group_id = $1 and kind = 'session' and status = 'active' and $2 = any (tags))))`

	unfoldedQuery = `select ` + MessageColumns + ` from messages m where group_id = $1 and session_id = $2
		and session_id <> '' and sent_at >= $3::timestamptz
			and (select true from message_uses f where f.group_id = $1 and f.job = 'summarize'
				and f.message_id = m.message_id) is null
		order by sent_at, seq`
)

// GatherSession reads what one chunk of an extraction needs, in one snapshot and at most seven statements. An unknown
// group or session is reverie.ErrNotFound.
func (s *Store) GatherSession(ctx context.Context, q reverie.SessionQuery) (reverie.SessionState, error) {
	what := fmt.Sprintf("gather session %q of group %q", q.SessionID, q.GroupID)
	return lookup(ctx, s, q.GroupID, what, func(ctx context.Context, t *pg.Tx) (state reverie.SessionState, err error) {
		if state.Group, err = GetGroup(ctx, t, q.GroupID); err != nil {
			return state, err
		}
		if state.Session, err = getSession(ctx, t, q.GroupID, q.SessionID); err != nil {
			return state, err
		}
		if state.Messages, state.More, err = buffer(ctx, t, q); err != nil {
			return state, err
		}
		facts, err := pg.Select[reverie.HeadState](ctx, t, factHeadsQuery, q.GroupID, reverie.TagSummary)
		if err != nil {
			return state, err
		}
		for _, h := range facts {
			if h.Status == reverie.StatusArchived {
				state.Archived = append(state.Archived, h)
			} else {
				state.Heads = append(state.Heads, h)
			}
		}
		summaries, err := pg.Select[reverie.HeadState](ctx, t, summaryHeadQuery, q.GroupID, reverie.TagSummary, q.SessionID)
		if len(summaries) > 0 {
			state.Summary = &summaries[0]
		} else if err == nil && q.Summaries > 0 {
			state.Weakest, err = pg.Select[reverie.HeadState](ctx, t, weakestQuery, q.GroupID, reverie.TagSummary, q.Summaries, reverie.CoreWeight)
		}
		return state, err
	})
}

// buffer reads the oldest messages of a session that are not extracted and whether there are more, or those that are
// named.
func buffer(ctx context.Context, t *pg.Tx, q reverie.SessionQuery) ([]reverie.Message, bool, error) {
	var list []reverie.Message
	if len(q.MessageIDs) > 0 {
		ids := pq.StringArray(q.MessageIDs)
		if err := t.Select(ctx, &list, chosenBufferedQuery, q.GroupID, q.SessionID, ids); err != nil {
			return nil, false, err
		}
		more, err := pg.Get[bool](ctx, t, moreBufferedQuery, q.GroupID, q.SessionID, ids)
		return list, more, err
	}
	limit := max(q.Limit, 0)
	if err := t.Select(ctx, &list, oldestBufferedQuery, q.GroupID, q.SessionID, limit+1); err != nil {
		return nil, false, err
	}
	more := len(list) > limit
	return list[:min(limit, len(list))], more, nil
}

// GatherFold reads what the fold of a session needs, in one snapshot and at most five statements. An unknown group or
// session is reverie.ErrNotFound.
func (s *Store) GatherFold(ctx context.Context, groupID, sessionID string) (reverie.FoldState, error) {
	what := fmt.Sprintf("gather what session %q of group %q has to fold", sessionID, groupID)
	return lookup(ctx, s, groupID, what, func(ctx context.Context, t *pg.Tx) (state reverie.FoldState, err error) {
		if state.Group, err = GetGroup(ctx, t, groupID); err != nil {
			return state, err
		}
		if state.Session, err = getSession(ctx, t, groupID, sessionID); err != nil {
			return state, err
		}
		if state.Summary, err = rollingSummary(ctx, t, groupID, sessionID); err != nil {
			return state, err
		}
		state.Messages, err = unfolded(ctx, t, state)
		return state, err
	})
}

// unfolded reads the messages of a session that its summary does not cover. It reads those after the covered ones, and
// earlier ones only if some of them came late.
func unfolded(ctx context.Context, t *pg.Tx, state reverie.FoldState) ([]reverie.Message, error) {
	var list []reverie.Message
	var since time.Time
	if state.Summary != nil {
		since = state.Summary.CoversUntil
	}
	err := t.Select(ctx, &list, unfoldedQuery, state.Group.ID, state.Session.ID, pg.OrMinusInfinity(since))
	if err == nil && !since.IsZero() && len(list) < state.Session.Unfolded().Messages {
		list = nil
		err = t.Select(ctx, &list, unfoldedQuery, state.Group.ID, state.Session.ID, "-infinity")
	}
	return list, err
}

const (
	coverQuery = `insert into message_uses (group_id, job, message_id, sent_at, session_id, run_id)
		select $1, 'summarize', m.message_id, m.sent_at, m.session_id, $4::uuid from ` + messagesByID + `
		where m.session_id = $2 and m.session_id <> ''
		order by m.message_id
		on conflict (group_id, job, message_id) do nothing`

	saveSummaryQuery = `insert into session_summaries as s (` + summaryColumns + `)
		values ($1, $2, $3, $4, $5, $6, $7, $8, $9::timestamptz, $10::timestamptz, $11::uuid, $12::timestamptz,
			$12::timestamptz)
		on conflict (group_id, session_id) do update set summary = excluded.summary,
			messages = s.messages + excluded.messages,
			turns = s.turns + excluded.turns, tokens = s.tokens + excluded.tokens,
				first_message_id = excluded.first_message_id, last_message_id = excluded.last_message_id,
			covers_since = excluded.covers_since, covers_until = excluded.covers_until, run_id = excluded.run_id,
				updated_at = excluded.updated_at`

	runStatsQuery = `update runs set stats = $3::jsonb where group_id = $1 and run_id = $2 and session_id = $4
		and status = 'running'`
)

// ApplyFold renews the rolling summary of a session. The same transaction marks the newly covered messages, and updates
// the counts of the session and the run's stats. The counts of the summary are those of the new messages, added to
// those of the earlier summary.
//
// After an error nothing is written. A lost lease is reverie.ErrLeaseLost. It is reverie.ErrConflict if a message is
// covered already or does not belong to the session, or if the run has ended. A fold without messages, or of another
// group, is reverie.ErrInvalid.
func (s *Store) ApplyFold(ctx context.Context, lease reverie.Lease, fold reverie.SessionFold) error {
	sum := fold.Summary
	what := fmt.Sprintf("fold %d messages of session %q of group %q", len(fold.MessageIDs), sum.SessionID, sum.GroupID)
	if err := checkLease(lease, sum.GroupID); err != nil {
		return fmt.Errorf("%s: %w", what, err)
	}
	if len(fold.MessageIDs) == 0 || sum.Summary == "" || sum.SessionID == "" {
		return fmt.Errorf("%s: a fold has a session, a summary and messages that it covers: %w", what, reverie.ErrInvalid)
	}
	return s.underLease(ctx, lease, pg.Work{
		What:  what,
		ByKey: true,
		Do: func(ctx context.Context, t *pg.Tx) error {
			if err := LockSession(ctx, t, sum.GroupID, sum.SessionID); err != nil {
				return err
			}
			return s.fold(ctx, t, fold)
		},
		Committed: CommittedUnder(lease, `select 1 from session_summaries where group_id = $1 and session_id = $2
			and run_id = $3 and covers_until >= $4::timestamptz`,
			sum.GroupID, sum.SessionID, sum.RunID, sum.CoversUntil),
	})
}

func (s *Store) fold(ctx context.Context, t *pg.Tx, fold reverie.SessionFold) error {
	sum, at := fold.Summary, s.db.Now()
	n, err := t.ExecRows(ctx, runStatsQuery, sum.GroupID, sum.RunID, pg.AsJSON(fold.Stats), sum.SessionID)
	if err != nil {
		return err
	}
	if n == 0 {
		return fmt.Errorf("run %s is not a running run of the session: %w", sum.RunID, reverie.ErrConflict)
	}
	ids := pq.StringArray(slices.Compact(slices.Sorted(slices.Values(fold.MessageIDs))))
	if n, err = t.ExecRows(ctx, coverQuery, sum.GroupID, sum.SessionID, ids, sum.RunID); err != nil {
		return err
	}
	if n != len(fold.MessageIDs) {
		return fmt.Errorf("%d of %d messages are covered already, or are not the session's: %w", len(fold.MessageIDs)-n,
			len(fold.MessageIDs), reverie.ErrConflict)
	}
	var covered reverie.Tally
	if err := t.Get(ctx, &covered, addFoldedQuery, sum.GroupID, sum.SessionID, ids, at); err != nil {
		return err
	}
	return t.Exec(ctx, saveSummaryQuery, sum.GroupID, sum.SessionID, pg.ValidText(sum.Summary), covered.Messages,
		covered.Turns, covered.Tokens,
		sum.FirstMessageID, sum.LastMessageID, sum.CoversSince, sum.CoversUntil, sum.RunID, at)
}

const (
	// Messages that a person has cleared are marked without a run, so they are not folded again.
	clearQuery = `insert into message_uses as u (group_id, job, message_id, sent_at, session_id)
		select $1, 'summarize', message_id, sent_at, session_id from messages
			where group_id = $1 and session_id = $2 and session_id <> ''
		on conflict (group_id, job, message_id) do update set run_id = null where u.run_id is not null`

	clearedQuery = `with gone as (
			delete from session_summaries where group_id = $1 and session_id = $2 returning messages)
		update sessions s set folded_messages = messages, folded_tokens = tokens, folded_tool_calls = tool_calls,
			folded_turns = turns, fold_failures = 0, fold_retry_at = null, updated_at = $3::timestamptz
		from (select folded_messages as folded from sessions where group_id = $1 and session_id = $2) b
		where s.group_id = $1 and s.session_id = $2
		returning s.messages - b.folded + coalesce((select messages from gone), 0)`
)

// ClearSession deletes the short-term memory of a session: its rolling summary, and the messages that a context would
// show. It returns the number of these messages. The messages themselves stay, also for extraction, and memories do not
// change. An unknown session is reverie.ErrNotFound.
func (s *Store) ClearSession(ctx context.Context, groupID, sessionID string) (n int, err error) {
	what := fmt.Sprintf("clear session %q of group %q", sessionID, groupID)
	return n, s.db.Run(ctx, pg.Work{What: what, ByKey: true, Do: func(ctx context.Context, t *pg.Tx) error {
		if err := LockSession(ctx, t, groupID, sessionID); err != nil {
			return err
		}
		if err := t.Exec(ctx, clearQuery, groupID, sessionID); err != nil {
			return err
		}
		return t.Get(ctx, &n, clearedQuery, groupID, sessionID, s.db.Now())
	}})
}

const (
	// What was written beside held facts stays. That is support, which would not count a second time, and the summary
	// of a session or a dream. If anything else of a chunk was written, the chunk counts as applied.
	freeChunks = `
			update run_chunks c set status = 'failed' from held_plans h
			where h.group_id = $1 and h.run_id = $2 and h.status = 'waiting'
				and c.group_id = $1 and c.run_id = $2 and c.chunk_no = h.chunk_no
				and not exists (select 1 from memory_change_log l join memories m on m.group_id = $1
					and m.memory_id = l.memory_id
					where l.group_id = $1 and l.run_id = $2 and l.chunk_no = h.chunk_no and $3 <> all (m.tags))`

	requeueSessionQuery = `with freed as (` + freeChunks + `
			returning c.message_ids)
		update message_uses u set run_id = null from freed f
		where u.group_id = $1 and u.job = 'extract' and u.message_id = any (f.message_ids) and u.run_id = $2
		returning u.message_id`
)

// requeueSession makes messages of a run of a session pending for extraction again, if all facts of their chunk are
// held. It returns their number.
func requeueSession(ctx context.Context, t *pg.Tx, run reverie.Run, at time.Time) (int, error) {
	if err := LockSession(ctx, t, run.GroupID, run.SessionID); err != nil {
		return 0, err
	}
	var ids []string
	if err := t.Select(ctx, &ids, requeueSessionQuery, run.GroupID, run.ID, reverie.TagSummary); err != nil {
		return 0, err
	}
	err := t.Exec(ctx, AddNewQuery, run.GroupID, run.SessionID, pq.StringArray(ids), at, 1)
	return len(ids), err
}

const (
	lockSetbackQuery = `select ` + sessionColumns + ` from sessions where group_id = $1
		and session_id = $2 for no key update`

	sessionFailureQuery = `update sessions set failures = $3, failure = $4, retry_at = $5::timestamptz,
		parked_at = $6::timestamptz
		where group_id = $1 and session_id = $2`

	foldFailureQuery = `update sessions set fold_failures = $3, fold_retry_at = $4::timestamptz where group_id = $1
		and session_id = $2`

	setBackSessionsQuery = `select ` + sessionColumns + ` from sessions
		where group_id = $1 and (failures > 0 or fold_failures > 0) order by last_at, session_id for no key update`

	forgetFailures = `update sessions set failures = 0, failure = '', retry_at = null, parked_at = null,
		fold_failures = 0, fold_retry_at = null
		where (failures > 0 or fold_failures > 0) and `
)

// NoteSession counts one more failure in a row to extract a session. It returns the resulting session, which waits for
// a while or is parked. The extraction of any of its messages clears the failures. Each call counts once, even if its
// connection is lost. An unknown session is reverie.ErrNotFound.
func (s *Store) NoteSession(ctx context.Context, groupID, sessionID, reason string,
	rule reverie.ParkRule) (reverie.Setback, error) {
	var noted reverie.Setback
	err := s.noteSession(ctx, groupID, sessionID, func(ctx context.Context, t *pg.Tx, session reverie.Session) error {
		noted = rule.Next(setbackOf(session), pg.ValidText(reason), s.db.Now())
		noted.RetryAt = noted.RetryAt.Truncate(time.Microsecond)
		return t.Exec(ctx, sessionFailureQuery, groupID, sessionID, noted.Failures, noted.Error, noted.RetryAt,
			noted.ParkedAt)
	})
	return noted, err
}

// NoteFold is [Store.NoteSession] for the session's fold, which is never parked. It returns the time of the next try. A
// successful fold clears the failures.
func (s *Store) NoteFold(ctx context.Context, groupID, sessionID string, rule reverie.ParkRule) (time.Time, error) {
	var retry time.Time
	err := s.noteSession(ctx, groupID, sessionID, func(ctx context.Context, t *pg.Tx, session reverie.Session) error {
		next := rule.Next(reverie.Setback{Failures: session.FoldFailures}, "", s.db.Now())
		retry = next.RetryAt.Truncate(time.Microsecond)
		return t.Exec(ctx, foldFailureQuery, groupID, sessionID, next.Failures, retry)
	})
	return retry, err
}

func (s *Store) noteSession(ctx context.Context, groupID, sessionID string, note func(context.Context, *pg.Tx,
	reverie.Session) error) error {
	return s.db.Run(ctx, pg.Work{
		What: fmt.Sprintf("note that session %q of group %q failed", sessionID, groupID),
		Do: func(ctx context.Context, t *pg.Tx) error {
			var session reverie.Session
			if err := t.Get(ctx, &session, lockSetbackQuery, groupID,
				sessionID); err != nil { // two failures at the same time count as two
				return pg.NotFoundIfEmpty(err, "session %q of group %q", sessionID, groupID)
			}
			return note(ctx, t, session)
		},
	}.Once(groupID))
}

// forgetSessions clears the failures of a group's sessions, and returns the setbacks that it ends.
func forgetSessions(ctx context.Context, t *pg.Tx, groupID string) ([]reverie.Setback, error) {
	var list []reverie.Session
	if err := t.Select(ctx, &list, setBackSessionsQuery, groupID); err != nil || len(list) == 0 {
		return nil, err
	}
	var gone []reverie.Setback
	for _, session := range list {
		if session.Failures > 0 {
			gone = append(gone, setbackOf(session))
		}
	}
	err := t.Exec(ctx, forgetFailures+`group_id = $1`, groupID)
	return gone, err
}

// setbackOf returns the setback of a session whose extraction has failed repeatedly.
func setbackOf(s reverie.Session) reverie.Setback {
	b := reverie.Setback{GroupID: s.GroupID, SessionID: s.ID, Job: reverie.JobExtract, Failures: s.Failures,
		Error: s.Failure, ParkedAt: s.ParkedAt}
	if s.RetryAt != nil {
		b.RetryAt = *s.RetryAt
	}
	return b
}
