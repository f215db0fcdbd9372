package entity

import (
	"context"
	"fmt"
	"slices"
	"time"

	"reverie/internal/pipeline"
	"reverie/internal/reverie"
	"reverie/prompts"
)

// chunkInput is one chunk: its messages, its participants and its questions.
type chunkInput struct {
	no          int
	resumed     bool   // resumed from a run that did not apply it; more messages may have been queued
	resumedFrom string // id of that run
	state       reverie.EntityState

	loc          *time.Location
	language     string
	activity     *activity
	participants *participants
	views        views
	system       prompts.ObserveSystem
	refusals     []reverie.Refusal // refused lines of the answers
}

// gather reads the pending messages and the known identities, and saves the chunk before the model is asked. So whoever
// resumes the run asks the same questions. It returns nil when nothing is pending.
func (r *run) gather(ctx context.Context) (*chunkInput, error) {
	s, err := r.read(ctx)
	if err != nil || s == nil {
		return nil, err
	}
	if s.loc, err = s.state.Group.Location(); err != nil {
		return nil, fmt.Errorf("%w: %w", reverie.ErrConfiguration, err)
	}
	s.no = r.recorder.Stats.Chunks + 1
	s.language = prompts.Language(s.state.Group.Language, pipeline.Texts(s.state.Messages))
	s.system = prompts.ObserveSystem{MaxValue: reverie.MaxValueLength, MaxName: reverie.MaxNameLength}
	known := newIndex(s.state.Index)
	s.activity, s.participants = survey(s.state, known)
	s.views = newViews(s.loc, s.participants, known)
	s.views.set = r.Prompts
	r.open(s)
	if err := r.saveChunk(ctx, s, reverie.ChunkOpen); err != nil {
		return nil, err
	}
	var ids []string
	for _, a := range s.activity.subjects {
		ids = append(ids, a.entityID)
	}
	s.views.entities, err = r.entities(ctx, ids)
	return s, err
}

// read fetches the messages of an interrupted chunk, else the oldest pending ones.
func (r *run) read(ctx context.Context) (*chunkInput, error) {
	s := &chunkInput{}
	q := reverie.EntityQuery{GroupID: r.req.GroupID, Since: r.since, Until: r.until, Limit: r.Limits.MaxMessages}
	if c := r.resume; c != nil {
		r.resume = nil
		q.MessageIDs, s.resumed, s.resumedFrom = c.MessageIDs, true, c.RunID
	}
	var err error
	s.state, err = r.Store.GatherEntities(ctx, q)
	if err == nil && s.resumed && len(s.state.Messages) != len(q.MessageIDs) { // some are outside the window, or used
		q.MessageIDs, s.resumed = nil, false
		s.state, err = r.Store.GatherEntities(ctx, q)
	}
	if err != nil {
		return nil, fmt.Errorf("gather people and things of group %q: %w", r.req.GroupID, err)
	}
	if len(s.state.Messages) == 0 {
		return nil, nil
	}
	s.state.Messages, s.state.Replied = r.Privacy.Messages(s.state.Messages), r.Privacy.Messages(s.state.Replied)
	return s, nil
}

// entities reads entities by id. It ignores empty and repeated ids.
func (r *run) entities(ctx context.Context, ids []string) (map[string]reverie.Entity, error) {
	slices.Sort(ids)
	ids = slices.DeleteFunc(slices.Compact(ids), func(id string) bool { return id == "" })
	byID := make(map[string]reverie.Entity, len(ids))
	if len(ids) == 0 {
		return byID, nil
	}
	list, err := r.Store.EntitiesByID(ctx, r.req.GroupID, ids)
	if err != nil {
		return nil, fmt.Errorf("read %d entities of group %q: %w", len(ids), r.req.GroupID, err)
	}
	for _, e := range list {
		byID[e.ID] = e
	}
	return byID, nil
}

func (r *run) saveChunk(ctx context.Context, s *chunkInput, status reverie.ChunkStatus) error {
	return r.recorder.Save(ctx, reverie.Chunk{No: s.no, Status: status, MessageIDs: pipeline.IDs(s.state.Messages)})
}
