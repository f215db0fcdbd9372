package history

import (
	"context"
	"fmt"
	"time"

	"github.com/lib/pq"

	"reverie/internal/reverie"
	"reverie/store"
	"reverie/store/pg"
)

const (
	// nightly are the jobs whose runs are for dates. Runs of the other jobs are for the time at which they run.
	nightly = `(values ('evolve'), ('impression'))`

	// The newest time of any work, or of a window of a nightly run. Each part reads the end of an index.
	lastWorkQuery = `select greatest(
		(select max(started_at) from runs where group_id = $1 and started_at < $2::timestamptz),
		(select max(w.since) from ` + nightly + ` j (job) cross join lateral (
			select max(window_since) as since from runs where group_id = $1 and job = j.job
				and window_since < $2::timestamptz) w),
		(select created_at from memory_change_log where group_id = $1 and created_at < $2::timestamptz and run_id is null
			order by created_at desc limit 1))`

	workRunsQuery = `select ` + store.RunColumns + ` from (
			select * from runs where group_id = $1 and started_at >= $2::timestamptz and started_at < $3::timestamptz
			union all
			select r.* from ` + nightly + ` j (job) join runs r on r.group_id = $1 and r.job = j.job
				and r.window_since >= $2::timestamptz and window_since < $3::timestamptz
				and not (started_at >= $2::timestamptz and started_at < $3::timestamptz)) r
		order by started_at desc, run_id desc limit $4::int`

	workEditsQuery = `select ` + store.ChangeColumns + ` from memory_change_log
		where group_id = $1 and run_id is null and created_at >= $2::timestamptz and created_at < $3::timestamptz
		order by created_at desc, change_id desc limit $4::int`

	// The changes of each run are looked up by its id, newest first.
	workChangesQuery = `select c.* from unnest($2::uuid[]) with ordinality as k (id, no)
		cross join lateral (
			select ` + store.ChangeColumns + ` from memory_change_log where group_id = $1 and run_id = k.id
			order by created_at desc, change_id desc limit $3::int) c
		order by k.no, c.created_at desc, c.change_id desc limit $3::int`

	spendOfRunsQuery = `select k.id as run_id, s.* from unnest($2::uuid[]) as k (id)
		cross join lateral (select ` + store.SpendColumns + ` from llm_calls c where c.group_id = $1 and c.run_id = k.id) s`
)

// Work is what was done to a group's memories in a period of time.
type Work struct {
	Runs  []reverie.Run    // runs that began in it, and nightly runs whose window begins in it; newest first
	Edits []reverie.Change // changes by persons; newest first
	Cut   bool             // there are more of either
}

// LastWork returns the newest time before another at which a run of a group began, a person changed a memory, or the
// window of a nightly run began. It returns nil if there is none. The zero time means no bound.
func (h *History) LastWork(ctx context.Context, groupID string, before time.Time) (*time.Time, error) {
	var at *time.Time
	err := h.db.QueryRow(ctx, fmt.Sprintf("look for what was done in group %q", groupID), &at, lastWorkQuery, groupID,
		pg.OrInfinity(before))
	return at, err
}

// Work returns what was done in [since, until), at most limit runs and limit edits.
func (h *History) Work(ctx context.Context, groupID string, since, until time.Time, limit int) (Work, error) {
	what := fmt.Sprintf("read what was done in group %q", groupID)
	return pg.Read(ctx, h.db, what, func(ctx context.Context, t *pg.Tx) (w Work, err error) {
		if w.Runs, err = pg.Select[reverie.Run](ctx, t, workRunsQuery, groupID, since, until, limit+1); err != nil {
			return w, err
		}
		w.Edits, err = pg.Select[reverie.Change](ctx, t, workEditsQuery, groupID, since, until, limit+1)
		w.Runs, w.Edits = store.UpTo(w.Runs, limit, &w.Cut), store.UpTo(w.Edits, limit, &w.Cut)
		return w, err
	})
}

// RunWork returns the cost of runs of a group, and a limited number of their changes. The changes of the first run come
// before those of the second, newest first in each run.
func (h *History) RunWork(ctx context.Context, groupID string, runIDs []string,
	limit int) (spend map[string]reverie.Spend, list []reverie.Change, err error) {
	if len(runIDs) == 0 {
		return nil, nil, nil
	}
	err = h.db.Run(ctx, pg.Work{What: fmt.Sprintf("read what runs of group %q did", groupID), ReadOnly: true,
		Do: func(ctx context.Context, t *pg.Tx) error {
			var rows []struct {
				ID string `db:"run_id"`
				reverie.Spend
			}
			if err := t.Select(ctx, &rows, spendOfRunsQuery, groupID, pq.StringArray(runIDs)); err != nil {
				return err
			}
			spend = make(map[string]reverie.Spend, len(rows))
			for _, r := range rows {
				spend[r.ID] = r.Spend
			}
			list, err = pg.Select[reverie.Change](ctx, t, workChangesQuery, groupID, pq.StringArray(runIDs), limit)
			return err
		}})
	return spend, list, err
}
