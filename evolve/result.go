package evolve

import (
	"time"

	"reverie/internal/reverie"
)

// Result is what a run did, as far as it came.
type Result struct {
	GroupID   string
	RunID     string // "" when nothing was pending, and for a dry run
	At        time.Time
	Status    reverie.RunStatus
	NoNew     bool // nothing was pending
	DryRun    bool
	Stats     reverie.Stats
	Changes   []reverie.Change
	Supported []reverie.Step // keeps with evidence: no change, but strength
	Refusals  []reverie.Refusal
	Held      []string // why plans are held, one for each held plan
	Warnings  []string
	Err       error
	Plan      *reverie.PlanFile // of a dry run: what it would write, and what that rests on
}

// complete fills in the outcome.
func (r *run) complete(err error) {
	r.result.Err, r.result.Status, r.result.Stats = err, reverie.EndOf(err, r.life.Stats.Held), r.life.Stats
	r.result.Stats.Limit, r.result.Stats.OpenEnded, r.result.Stats.Days = 0, false, 0 // kept for a run that is taken up, and nothing to report
	r.result.NoNew = err == nil && !r.life.Began && r.life.Row.ID == ""
	r.result.Warnings = r.life.Warnings
}

// Reply is the result in the shape of the API.
func (r Result) Reply() reverie.EvolveReply {
	reply := reverie.EvolveReply{Success: r.Err == nil, GroupID: r.GroupID, RunID: r.RunID, DryRun: r.DryRun, Status: r.Status,
		Stats: reverie.EvolveStats{Kept: r.Stats.Kept, Updated: r.Stats.Updated, Created: r.Stats.Created,
			Deleted: r.Stats.Deleted, Refused: r.Stats.Refused, Held: r.Stats.Held},
		Changes: []reverie.ChangeReply{}, Refusals: r.Refusals, Warnings: append(r.Held, r.Warnings...)}
	if r.Err != nil {
		reply.Error = r.Err.Error()
	}
	if r.NoNew {
		reply.Status, reply.Message = "", "no new messages"
		return reply
	}
	reply.EvolutionTime = &r.At
	reply.Messages = &reverie.MessageStats{Cited: r.Stats.Cited, Considered: r.Stats.Considered,
		Filtered: r.Stats.Filtered, Deferred: r.Stats.Deferred}
	for _, c := range r.Changes {
		reply.Changes = append(reply.Changes, c.Reply())
	}
	return reply
}
