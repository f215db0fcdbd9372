// Package maintain lets memories fade that nothing supports, archives those that
// have become weak, and prunes what is kept no longer. It asks no model. What time
// makes of a memory is decided here and written by the store, in bounded batches,
// each of which stands by itself: whoever goes on after one has the rest to do.
package maintain

import (
	"context"
	"log/slog"
	"time"

	"reverie/internal/pipeline"
	"reverie/internal/reverie"
)

// Store is what maintenance reads and writes. Each method is one transaction;
// those that take a lease refuse it, with [reverie.ErrLeaseLost], once another
// holder has it.
type Store interface {
	Upkeep(ctx context.Context, q reverie.UpkeepQuery) (reverie.Upkeep, error)
	FadingMemories(ctx context.Context, q reverie.FadingQuery) ([]reverie.Fading, error)
	Ledger
	// Fade writes what time has made of memories, with their run's stats. One that
	// somebody has changed since it was read is left as it is.
	Fade(ctx context.Context, lease reverie.Lease, run reverie.Run, fades []reverie.Fade) (reverie.Stats,
		[]reverie.Change, error)
	// Prune removes a batch of what has expired. The time is where to look for
	// messages next.
	Prune(ctx context.Context, lease reverie.Lease, batch reverie.PruneBatch) (reverie.Pruned, time.Time, error)
}

// Ledger keeps the rows of runs.
type Ledger interface {
	pipeline.Ledger
	Resume(ctx context.Context, lease reverie.Lease, job reverie.Job, since, until time.Time) (*reverie.Run,
		*reverie.Chunk, error)
}

// Keeper maintains groups. Its fields are set once; it is safe for concurrent use
// on different groups.
type Keeper struct {
	Store       Store
	Rule        reverie.FadeRule
	Retention   reverie.Retention
	Impressions bool // people and things are followed where a group does not say otherwise
	Batch       int  // rows of one transaction
	Now         func() time.Time
	Log         *slog.Logger
}

// Request says which group to maintain.
type Request struct {
	GroupID string
	DryRun  bool // say what is due; nothing is written, and no lease is needed
}

// Result is what was done, as far as it came: by this call, where a run was
// continued. Stats are the whole run's.
type Result struct {
	GroupID  string
	RunID    string // "" when nothing was due, and for a dry run
	Status   reverie.RunStatus
	Nothing  bool // was due
	DryRun   bool
	Decayed  int
	Archived []reverie.Change
	Pruned   reverie.Pruned
	Stats    reverie.Stats
	Err      error
}

// Reply is the result in the shape of the API.
func (r Result) Reply() reverie.MaintainReply {
	reply := reverie.MaintainReply{Success: r.Err == nil, Job: reverie.JobMaintain, GroupID: r.GroupID, RunID: r.RunID,
		Status: r.Status,
		DryRun: r.DryRun, Decayed: r.Decayed, Archived: len(r.Archived), Pruned: r.Pruned,
		Changes: []reverie.ChangeReply{}}
	if r.Err != nil {
		reply.Error = r.Err.Error()
	}
	if r.Nothing {
		reply.Status, reply.Message = "", "nothing to do"
	}
	for _, c := range r.Archived {
		reply.Changes = append(reply.Changes, c.Reply())
	}
	return reply
}
