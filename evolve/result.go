package evolve

import (
	"reverie/internal/pipeline"
	"reverie/internal/planfile"
	"reverie/internal/reverie"
)

// Result is what a run did, as far as it came.
type Result struct {
	pipeline.Result
	Plan *planfile.File // of a dry run: what it would write, and what that rests on
}

// Reply is the result in the shape of the API.
func (r Result) Reply() reverie.EvolveReply {
	reply := reverie.EvolveReply{Success: r.Err == nil, GroupID: r.GroupID, RunID: r.RunID, DryRun: r.DryRun, Status: r.Status,
		Stats:   r.Stats.Evolve(),
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

// complete fills in the outcome.
func (r *run) complete(err error) { r.life.Complete(&r.result.Result, err) }
