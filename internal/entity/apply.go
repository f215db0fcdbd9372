package entity

import (
	"context"
	"fmt"
	"slices"

	"reverie/internal/pipeline"
	"reverie/internal/reverie"
	"reverie/internal/text"
)

// plan makes the plan of a chunk from its observations: aggregate, resolve, build, validate.
func (r *run) plan(ctx context.Context, s *chunkInput, fresh []reverie.Observation) (reverie.EntityPlan, error) {
	idx := newIndex(s.state.Index)
	asOf := s.state.Messages[len(s.state.Messages)-1].SentAt
	now := r.Now().UTC()
	waiting, expired := unexpired(s.state.Waiting, fresh, asOf, now.Add(-r.Limits.ExpireAfter))
	list, refused := aggregate(fresh, waiting, s.participants, r.Limits.MinConfidence)
	settled, who := resolve(list, idx, s.participants, r.Limits.MinEvidence)
	concerned := s.concerned(settled, idx)
	entities, err := r.entities(ctx, concerned)
	if err != nil {
		return reverie.EntityPlan{}, err
	}
	plan := build(draft{groupID: r.req.GroupID, runID: r.recorder.Row.ID, chunkNo: s.no, now: now,
		expireAfter: r.Limits.ExpireAfter, list: settled, resolver: who, expired: expired, entities: entities})
	if err := validate(s.state, concerned, entities); err != nil {
		return plan, err
	}
	plan.Refusals = slices.Concat(s.refusals, refused, plan.Refusals)
	// The outcomes of messages in other chunks, which postponed observations cite, are stored already.
	plan.Outcomes = pipeline.Outcomes(s.state.Messages, citedBy(plan))
	plan.Stats = r.count(s, plan)
	return plan, nil
}

// concerned returns the entities that the plan may write to or refer to.
func (s *chunkInput) concerned(list []resolved, idx *index) []string {
	var ids []string
	for _, id := range s.participants.order {
		ids = append(ids, idx.byID[id])
	}
	for _, one := range list {
		ids = append(ids, one.entityID)
		for _, claim := range one.Claims {
			if claim.Aspect == reverie.AspectRelation {
				ids = append(append(ids, idx.byID[claim.Account]), idx.byKey[text.NameKey(claim.Value)]...)
			}
		}
	}
	return ids
}

// count adds a plan to the counts of the run.
func (r *run) count(s *chunkInput, plan reverie.EntityPlan) reverie.Stats {
	st := r.recorder.Stats
	st.Created += len(plan.Creates)
	st.Updated += len(plan.Heads) // each is counted as the entity that it is merged into
	for _, o := range plan.Postponed {
		if len(o.Continues) == 0 { // others were counted when they were first postponed
			st.Postponed++
		}
	}
	st.Refused += len(plan.Refusals)
	st.Chunks++
	pipeline.CountOutcomes(&st, s.state.Messages, plan.Outcomes)
	return st
}

// apply writes the plan. The same transaction stores the outcomes of the messages and the status of the chunk. A dry
// run only reports what it would write.
func (r *run) apply(ctx context.Context, s *chunkInput, plan reverie.EntityPlan) error {
	changes := plan.Changes()
	if !r.req.DryRun {
		err := r.recorder.Write(func(lease reverie.Lease) (err error) {
			changes, err = r.Store.ApplyEntities(ctx, lease, plan)
			return err
		})
		if err != nil {
			return fmt.Errorf("apply chunk %d of run %s: %w", s.no, r.recorder.Row.ID, err)
		}
	}
	r.recorder.Stats = plan.Stats
	r.result.Changes = append(r.result.Changes, changes...)
	r.recorder.Refuse(&r.result.Result, s.no, plan.Refusals)
	return nil
}
