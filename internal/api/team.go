package api

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"reverie/internal/reverie"
	"reverie/internal/safety"
	"reverie/store/teams"
)

// TeamOptions configure how a team's memories are shared.
type TeamOptions struct {
	Deployment string // name of this deployment; "" for its id
	Quotes     bool   // quotes are sent and accepted
}

// teamGroup returns the tenant of the requested team: by its name, or the token's own.
func teamGroup(ctx context.Context, team string) (string, error) {
	if team != "" {
		return reverie.TeamGroupID(team), nil
	}
	caller, _ := CallerOf(ctx)
	if _, ok := reverie.TeamOf(caller.GroupID); !ok && caller.Scope != "" {
		return "", fmt.Errorf("say which team: team=NAME; only a token of one team may leave it out: %w", reverie.ErrInvalid)
	}
	return caller.GroupID, nil
}

// TeamMemories returns a page of a team's memories, including deleted ones, by id.
func (s *Service) TeamMemories(ctx context.Context, team, after string, limit int) (reverie.TeamMemories, error) {
	groupID, err := teamGroup(ctx, team)
	if err != nil {
		return reverie.TeamMemories{}, err
	}
	ctx, _, err = reading(ctx, groupID, reverie.ScopeRead, page(limit, 0))
	if err != nil {
		return reverie.TeamMemories{}, err
	}
	// One more, to see whether there are more.
	list, err := teams.New(s.Store.DB()).TeamMemories(ctx, groupID, after, limit+1)
	if err != nil {
		return reverie.TeamMemories{}, err
	}
	reply := reverie.TeamMemories{Memories: list}
	reply.Team, _ = reverie.TeamOf(groupID)
	if len(list) > limit {
		reply.Memories, reply.Next = list[:limit], list[limit-1].ID
	}
	return reply, s.present(ctx, groupID, reply.Memories)
}

// TeamMemory returns the current version of a team's memory, deleted or not.
func (s *Service) TeamMemory(ctx context.Context, team, id string) (reverie.TeamMemory, error) {
	groupID, err := teamGroup(ctx, team)
	if err != nil {
		return reverie.TeamMemory{}, err
	}
	ctx, _, err = reading(ctx, groupID, reverie.ScopeRead)
	if err != nil {
		return reverie.TeamMemory{}, err
	}
	m, err := teams.New(s.Store.DB()).TeamMemory(ctx, groupID, id)
	if err != nil {
		return reverie.TeamMemory{}, err
	}
	return s.presented(ctx, groupID, m)
}

// present prepares memories for other deployments: with this deployment's name, with quotes only if allowed, and
// deleted ones without their statement.
func (s *Service) present(ctx context.Context, groupID string, list []reverie.TeamMemory) error {
	var id string
	var err error
	if s.Team.Deployment != "" {
		id, err = teams.New(s.Store.DB()).Deployment(ctx)
	}
	if err == nil && s.Team.Quotes {
		err = teams.New(s.Store.DB()).TeamEvidence(ctx, groupID, list)
	}
	for i := range list {
		list[i].CallDeployment(id, s.Team.Deployment)
		safety.DropWords(&list[i], s.Privacy)
	}
	return err
}

// presented prepares one memory.
func (s *Service) presented(ctx context.Context, groupID string, m reverie.TeamMemory) (reverie.TeamMemory, error) {
	list := []reverie.TeamMemory{m}
	err := s.present(ctx, groupID, list)
	return list[0], err
}

// PutTeamMemory writes a new head of a team's memory, if the current head is the expected one, and returns the
// memory. An empty team is the token's own; a missing team is created. The memory is checked:
// *reverie.TeamRefusedError says what was found in it. Other errors are those of the store's PutTeamMemory.
func (s *Service) PutTeamMemory(ctx context.Context, w reverie.TeamWrite) (m reverie.TeamMemory, err error) {
	groupID, err := teamGroup(ctx, w.Team)
	if err != nil {
		return m, err
	}
	if _, err := allowed(ctx, groupID, reverie.ScopeWrite); err != nil {
		return m, err
	}
	w.Quotes = s.Team.Quotes
	w.Team, _ = reverie.TeamOf(groupID)
	if err := reverie.CheckTeam(w.Team); err != nil {
		return m, err
	}
	body, err := json.Marshal([]any{w.Memory, w.IfVersion})
	if err != nil {
		return m, err
	}
	sum := sha256.Sum256(body)
	w.BodySHA256 = hex.EncodeToString(sum[:])
	if err := s.checkSent(&w.Memory); err != nil {
		return m, err
	}
	m, err = teams.New(s.Store.DB()).PutTeamMemory(ctx, w)
	var moved *reverie.TeamHeadError
	switch {
	case errors.As(err, &moved) && moved.Head != nil:
		head, failed := s.presented(ctx, groupID, *moved.Head)
		moved.Head = &head
		return m, cmp.Or(failed, err)
	case err != nil:
		return m, err
	}
	caller, _ := CallerOf(ctx)
	s.Log.Info("team memory written", "group_id", groupID, "lineage_id", m.ID, "memory_id", m.VersionID,
		"version", m.Version, "by", caller.Name)
	return s.presented(ctx, groupID, m)
}

// checkSent checks and completes a memory that was sent. A memory without an origin gets this deployment and the
// current time.
func (s *Service) checkSent(m *reverie.TeamMemory) error {
	now := s.Now().UTC()
	// Whatever the version's id is elsewhere, here it gets its own.
	m.VersionID, m.Version, m.Status = m.ID, 1, cmp.Or(m.Status, reverie.StatusActive)
	for _, at := range []*time.Time{&m.CreatedAt, &m.UpdatedAt} {
		if at.IsZero() {
			*at = now
		}
	}
	if !s.Team.Quotes {
		m.Evidence = nil
	}
	here := m.Origin == reverie.Origin{}
	if here {
		m.Origin = reverie.Origin{Deployment: "here", MemoryID: m.ID, LineageID: m.ID, Version: 1, MadeAt: now}
	}
	err := safety.CheckTeamMemory(m, s.Privacy, now)
	if here {
		m.Origin = reverie.Origin{}
	}
	return err
}
