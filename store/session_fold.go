package store

import (
	"context"
	"fmt"
	"slices"

	"github.com/lib/pq"

	"reverie/internal/reverie"
	"reverie/store/pg"
)

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

// ApplyFold renews the rolling summary of a session, in one transaction with the
// marks of the messages that it covers from then on, what the session counts as
// folded, and the run's stats. What the summary counts as covered is counted from
// the messages, and added to what an earlier one covered.
//
// Nothing is written and the error is reverie.ErrLeaseLost when another holder took
// the lease; reverie.ErrConflict when a message is covered already or is none of
// the session's, or the run has ended; reverie.ErrInvalid for a fold of nothing or
// of another group.
func (s *Store) ApplyFold(ctx context.Context, lease reverie.Lease, fold reverie.SessionFold) error {
	sum := fold.Summary
	what := fmt.Sprintf("fold %d messages of session %q of group %q", len(fold.MessageIDs), sum.SessionID, sum.GroupID)
	if sum.GroupID != lease.GroupID {
		return fmt.Errorf("%s: the lease is group %q's: %w", what, lease.GroupID, reverie.ErrInvalid)
	}
	if len(fold.MessageIDs) == 0 || sum.Summary == "" || sum.SessionID == "" {
		return fmt.Errorf("%s: a fold has a session, a summary and messages that it covers: %w", what, reverie.ErrInvalid)
	}
	stats, err := pg.JSONText(fold.Stats)
	if err != nil {
		return err
	}
	return s.db.Run(ctx, pg.Work{
		What:  what,
		ByKey: true,
		Do: func(ctx context.Context, t *pg.Tx) error {
			if err := Fence(ctx, t, lease); err != nil {
				return err
			}
			if err := lockSession(ctx, t, sum.GroupID, sum.SessionID); err != nil {
				return err
			}
			return s.fold(ctx, t, fold, stats)
		},
		Committed: CommittedUnder(lease, `select 1 from session_summaries where group_id = $1 and session_id = $2
			and run_id = $3 and covers_until >= $4::timestamptz`,
			sum.GroupID, sum.SessionID, sum.RunID, sum.CoversUntil),
	})
}

func (s *Store) fold(ctx context.Context, t *pg.Tx, fold reverie.SessionFold, stats string) error {
	sum, at := fold.Summary, s.db.Now()
	n, err := t.Exec(ctx, runStatsQuery, sum.GroupID, sum.RunID, stats, sum.SessionID)
	if err != nil {
		return err
	}
	if n == 0 {
		return fmt.Errorf("run %s is no run of the session that is under way: %w", sum.RunID, reverie.ErrConflict)
	}
	ids := pq.StringArray(slices.Compact(slices.Sorted(slices.Values(fold.MessageIDs))))
	if n, err = t.Exec(ctx, coverQuery, sum.GroupID, sum.SessionID, ids, sum.RunID); err != nil {
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
	_, err = t.Exec(ctx, saveSummaryQuery, sum.GroupID, sum.SessionID, pg.ValidText(sum.Summary), covered.Messages,
		covered.Turns, covered.Tokens,
		sum.FirstMessageID, sum.LastMessageID, sum.CoversSince, sum.CoversUntil, sum.RunID, at)
	return err
}
