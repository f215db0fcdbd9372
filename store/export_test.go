package store

import (
	"context"
	"io/fs"
	"sync"

	"reverie/internal/reverie"
	"reverie/store/pg"

	"golang.org/x/sync/errgroup"
)

// Setting asks for a session's setting, outside of any transaction.
func (s *Store) Setting(ctx context.Context, name string) (value string, err error) {
	return value, s.db.QueryRow(ctx, "read a setting", &value, `select current_setting($1)`, name)
}

// WaitingPageQuery is the statement behind a page of due groups of a job.
func WaitingPageQuery() string { return waitingPageQuery }

// DueSessionPage is the statement behind a page of groups with sessions that are
// due, and the arguments that its rule makes.
func DueSessionPage(q SessionQueue) (query string, args []any) {
	return dueSessionPageQuery, q.limits()
}

// DreamQueries are the statements that a scheduler asks of every group, and that a
// dream begins with, and how they take what they are asked.
func DreamQueries() []string {
	const args = ` (text, timestamptz, timestamptz, text, uuid[]`
	return []string{args + `) as ` + dreamSignsQuery, args + `, text) as ` + materialQuery, args + `, text[]) as ` + coveredQuery}
}

// KeepOpen opens n connections, and leaves them to the pool.
func (s *Store) KeepOpen(ctx context.Context, n int) error {
	var begun sync.WaitGroup
	begun.Add(n)
	var group errgroup.Group
	for range n {
		once := sync.OnceFunc(begun.Done)
		group.Go(func() error {
			defer once()
			return s.db.Run(ctx, pg.Work{What: "keep a connection open", Do: func(context.Context, *pg.Tx) error {
				once()
				begun.Wait()
				return nil
			}})
		})
	}
	return group.Wait()
}

// Isolation is the level of the transactions that say none.
func (s *Store) Isolation(ctx context.Context) (level string, err error) {
	err = s.db.Run(ctx, pg.Work{What: "look at the isolation", Do: func(ctx context.Context, t *pg.Tx) error {
		return t.Get(ctx, &level, `show transaction_isolation`)
	}})
	return level, err
}

// MessageCounts counts a group's messages by what became of them. The four add
// up to all there are.
type MessageCounts struct{ Pending, Cited, Considered, Filtered int }

// MessageCounts counts the messages of a group by outcome.
func (s *Store) MessageCounts(ctx context.Context, groupID string) (MessageCounts, error) {
	return pg.Read(ctx, s.db, "count messages", func(ctx context.Context, t *pg.Tx) (MessageCounts, error) {
		return pg.Get[MessageCounts](ctx, t, `select count(*) filter (where outcome is null) as pending,
			count(*) filter (where outcome = 'cited') as cited, count(*) filter (where outcome = 'considered') as considered,
			count(*) filter (where outcome = 'filtered') as filtered from messages where group_id = $1`, groupID)
	})
}

// UsageOf is [UsageCounts] in a transaction of its own.
func (s *Store) UsageOf(ctx context.Context, groupID string, lineageIDs []string) (map[string]reverie.UsageCount, error) {
	return pg.Read(ctx, s.db, "count uses", func(ctx context.Context, t *pg.Tx) (map[string]reverie.UsageCount, error) {
		return UsageCounts(ctx, t, groupID, lineageIDs)
	})
}

// MigrateTo brings the schema up to date by other migrations than this binary's.
func MigrateTo(ctx context.Context, opts pg.Options, files fs.FS) ([]MigrationStatus, error) {
	return migrate(ctx, opts, files)
}
