// Package maintain archives memories that have proved useless, and prunes what has expired. It asks no model. It
// decides what to archive, and the store writes it in bounded batches. Each batch is complete by itself, so another
// process can continue after any of them.
package maintain

import (
	"context"
	"log/slog"
	"time"

	"reverie/internal/pipeline"
	"reverie/internal/reverie"
	"reverie/internal/text"
)

// Store is what maintenance reads and writes. Each method is one transaction. Methods that take a lease return
// [reverie.ErrLeaseLost] once another holder has it.
type Store interface {
	Upkeep(ctx context.Context, q reverie.UpkeepQuery) (reverie.Upkeep, error)
	FadingMemories(ctx context.Context, q reverie.FadingQuery) ([]reverie.Fading, error)
	pipeline.Ledger
	Resume(ctx context.Context, lease reverie.Lease, job reverie.Job, since, until time.Time) (*reverie.Run,
		*reverie.Chunk, error)
	// Fade archives memories and writes the stats of the run. It skips memories that have changed since they were read.
	Fade(ctx context.Context, lease reverie.Lease, run reverie.Run, fades []reverie.Fading) (reverie.Stats,
		[]reverie.Change, error)
	// Prune removes a batch of expired rows. It returns the time from which to search for messages next.
	Prune(ctx context.Context, lease reverie.Lease, batch reverie.PruneBatch) (reverie.Pruned, time.Time, error)
}

// Keeper maintains groups. Its fields are set once; it is safe for concurrent use
// on different groups.
type Keeper struct {
	Store       Store
	Rule        reverie.FadeRule
	Retention   reverie.Retention
	Impressions bool // default for groups that do not say whether people and things are observed
	Batch       int  // rows in one transaction
	Now         func() time.Time
	Log         *slog.Logger
}

// Request says which group to maintain.
type Request struct {
	GroupID string
	DryRun  bool // report what is due; writes nothing and needs no lease
}

// Result is what this call did, as far as it came. Stats are those of the whole run, which may have been resumed.
type Result struct {
	pipeline.Result
	Pruned reverie.Pruned
}

// Reply is the result in the shape of the API.
func (r Result) Reply() reverie.MaintainReply {
	s := r.Summary("nothing to do")
	return reverie.MaintainReply{Success: s.Success, Job: reverie.JobMaintain, GroupID: s.GroupID, RunID: s.RunID,
		Status: s.Status, DryRun: s.DryRun, Message: s.Message, Error: s.Error, Archived: len(r.Changes), Pruned: r.Pruned,
		Changes: reverie.ChangeReplies(r.Changes)}
}

// run is the maintenance of one group in progress.
type run struct {
	*Keeper
	recorder pipeline.RunRecorder
	req      Request
	now      time.Time
	expiry   reverie.Expiry
	result   Result
}

// Due reports whether a group needs maintenance. It takes no lease.
func (k *Keeper) Due(ctx context.Context, groupID string) (bool, error) {
	r := k.of(nil, Request{GroupID: groupID, DryRun: true})
	u, err := r.look(ctx)
	if err != nil || u.Interrupted || u.Expired.Total() > 0 {
		return err == nil, err
	}
	due := false
	err = r.pages(ctx, u, func(fades []reverie.Fading) error {
		due = due || len(fades) > 0
		return nil
	})
	return due, err
}

// Run maintains one group. The hold is nil exactly for a dry run. If nothing is due, it writes nothing, not even a run.
// It resumes the run of a process that died. The result covers the run as far as it came, also beside an error.
func (k *Keeper) Run(ctx context.Context, hold pipeline.LeaseHolder, req Request) (Result, error) {
	r := k.of(hold, req)
	err := r.work(ctx)
	return r.finish(ctx, err)
}

func (k *Keeper) of(hold pipeline.LeaseHolder, req Request) *run {
	now := k.Now().UTC().Truncate(time.Microsecond) // the precision of PostgreSQL
	return &run{Keeper: k, req: req, now: now, expiry: k.expiry(now),
		result: Result{Result: pipeline.Result{GroupID: req.GroupID, DryRun: req.DryRun}},
		recorder: pipeline.RunRecorder{Ledger: k.Store, Hold: hold, Now: k.Now, Log: k.Log,
			Row: reverie.Run{GroupID: req.GroupID}}}
}

func (r *run) look(ctx context.Context) (reverie.Upkeep, error) {
	return r.Store.Upkeep(ctx, reverie.UpkeepQuery{GroupID: r.req.GroupID, Expiry: r.expiry})
}

// work repeats until nothing is due. A pass may make more rows due, such as an answer that was stored for messages that
// are pruned now.
func (r *run) work(ctx context.Context) error {
	for {
		u, err := r.look(ctx)
		if err != nil {
			return err
		}
		if u.Interrupted && !r.req.DryRun && r.recorder.Row.ID == "" {
			if err := r.resume(ctx); err != nil {
				return err
			}
		}
		before := r.done()
		if err := r.fade(ctx, u); err != nil {
			return err
		}
		if err := r.prune(ctx, u.Expired); err != nil {
			return err
		}
		if r.req.DryRun || r.done() == before {
			return nil
		}
	}
}

// done counts what this call has done.
func (r *run) done() int {
	return len(r.result.Changes) + r.result.Pruned.Total()
}

// resume takes the newest run of a process that died, and ends all others.
func (r *run) resume(ctx context.Context) error {
	row, _, err := r.Store.Resume(ctx, r.recorder.Hold.Lease(), reverie.JobMaintain, time.Time{}, time.Time{})
	if err != nil || row == nil {
		return err
	}
	r.recorder.Resume(*row)
	return nil
}

// start writes the row of the run, once something is due.
func (r *run) start(ctx context.Context) error {
	r.recorder.Stats.OpenEnded = true // a resumed run has another present time
	return r.recorder.Start(ctx, reverie.Run{Job: reverie.JobMaintain, WindowSince: r.now, WindowUntil: r.now})
}

// row returns the row of the run with its counts so far.
func (r *run) row() reverie.Run {
	row := r.recorder.Row
	row.Stats = r.recorder.Stats
	return row
}

// pages calls fn with the memories to archive, page by page.
func (r *run) pages(ctx context.Context, u reverie.Upkeep, fn func([]reverie.Fading) error) error {
	c, err := r.calendar(u)
	if err != nil {
		return err
	}
	f := r.Rule.Forget
	q := reverie.FadingQuery{GroupID: r.req.GroupID, Rule: r.Rule, Limit: r.Batch, Today: text.LocalDate(r.now, c.loc),
		Silent: min(r.Rule.Tentative, f.Habit+1, f.Plan+1, f.Opinion+1)}
	if r.Rule.Closed > 0 {
		q.ClosedBy = c.asOf.Add(-r.Rule.Closed)
	}
	for {
		page, err := r.Store.FadingMemories(ctx, q)
		if err != nil {
			return err
		}
		var fades []reverie.Fading
		for _, m := range page {
			var since string
			if m.Reason, since = fade(m, r.Rule, c); m.Reason != "" {
				m.SaidUntil = endOf(since, c.loc)
				fades = append(fades, m)
			}
			q.After = m.LineageID
		}
		if len(fades) > 0 {
			if err := fn(fades); err != nil {
				return err
			}
		}
		if len(page) < q.Limit {
			return nil
		}
	}
}

// endOf returns the end of a local date, nil for none.
func endOf(date string, loc *time.Location) *time.Time {
	day, err := time.ParseInLocation(time.DateOnly, date, loc)
	if err != nil {
		return nil
	}
	day = day.AddDate(0, 0, 1)
	return &day
}

// fade archives memories.
func (r *run) fade(ctx context.Context, u reverie.Upkeep) error {
	return r.pages(ctx, u, func(fades []reverie.Fading) error {
		if r.req.DryRun {
			r.foresee(fades)
			return nil
		}
		if err := r.start(ctx); err != nil {
			return err
		}
		return r.recorder.Write(func(lease reverie.Lease) error {
			stats, archived, err := r.Store.Fade(ctx, lease, r.row(), fades)
			if err != nil {
				return err
			}
			r.recorder.Stats = stats
			r.result.Changes = append(r.result.Changes, archived...)
			return nil
		})
	})
}

// foresee adds what would be archived to the result.
func (r *run) foresee(fades []reverie.Fading) {
	for _, f := range fades {
		r.result.Changes = append(r.result.Changes, f.Change())
	}
}

// prune removes expired rows.
func (r *run) prune(ctx context.Context, expired reverie.Pruned) error {
	if r.req.DryRun {
		r.result.Pruned = expired
		return nil
	}
	var after time.Time
	for left := expired.Total(); left > 0; {
		if err := r.start(ctx); err != nil {
			return err
		}
		var n reverie.Pruned
		err := r.recorder.Write(func(lease reverie.Lease) (err error) {
			n, after, err = r.Store.Prune(ctx, lease, reverie.PruneBatch{Run: r.row(), Limit: r.Batch, After: after,
				Expiry: r.expiry})
			return err
		})
		if err != nil {
			return err
		}
		r.result.Pruned.Add(n)
		r.recorder.Stats.Pruned += n.Total()
		if left = left - n.Total(); n.Total() == 0 { // another process has removed or used them since the count
			break
		}
	}
	return nil
}

// finish records the run's end and completes the result.
func (r *run) finish(ctx context.Context, err error) (Result, error) {
	err = r.recorder.End(ctx, err)
	r.result.RunID, r.result.Stats, r.result.Err, r.result.Status = r.recorder.Row.ID, r.recorder.Stats, err,
		reverie.EndOf(err, 0)
	r.result.Stats.OpenEnded = false // it only serves to resume the run
	if r.req.DryRun {
		r.result.Stats.Archived, r.result.Stats.Pruned = len(r.result.Changes), r.result.Pruned.Total()
	}
	r.result.NoNew = err == nil && r.recorder.Row.ID == "" && r.done() == 0
	return r.result, err
}
