package api

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	"reverie/internal/reverie"
	"reverie/internal/safety"
	"reverie/store/teams"
)

// TeamOptions are how a team's memories are shared with others.
type TeamOptions struct {
	Deployment string // what this one is called; "" for its id
	Quotes     bool   // the words that memories rest on are sent and taken along
}

// TeamPut is a write to a team's memory.
type TeamPut struct {
	Team   string // "" for the token's own
	ID     string // of the memory
	Memory reverie.TeamMemory
	// New says that there must be no such memory, IfMatch which version it must have: its
	// ETag. One of the two is given.
	New     bool
	IfMatch string
	Key     string // of the write; "" for none
}

// noVersion is the id of no version.
const noVersion = "00000000-0000-0000-0000-000000000000"

// teamGroup is the tenant of the team that is asked for: by its name, or the token's own.
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

// TeamMemories returns a page of a team's memories, deleted ones included, by id.
func (s *Service) TeamMemories(ctx context.Context, team, after string, limit int) (reverie.TeamMemories, error) {
	groupID, err := teamGroup(ctx, team)
	if err != nil {
		return reverie.TeamMemories{}, err
	}
	ctx, _, err = reading(ctx, groupID, reverie.ScopeRead, page(limit, 0))
	if err != nil {
		return reverie.TeamMemories{}, err
	}
	list, err := teams.New(s.Store.DB()).TeamMemories(ctx, groupID, after, limit+1) // to see whether there are more
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

// TeamMemory returns a team's memory as it is now, deleted or not.
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

// present brings memories into the shape in which others see them: this deployment under
// its name, quotes where they may travel, and deleted ones without their words.
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

// presented is one memory as others see it.
func (s *Service) presented(ctx context.Context, groupID string, m reverie.TeamMemory) (reverie.TeamMemory, error) {
	list := []reverie.TeamMemory{m}
	err := s.present(ctx, groupID, list)
	return list[0], err
}

// PutTeamMemory makes a version the head of a team's memory, where what is there is what
// the write rests on, and returns the memory as it is then. A team that does not exist is
// made. A memory that is sent is checked like any that is to be kept:
// *reverie.TeamRefusedError says what was found in it. The other errors are
// [reverie.ErrNoCondition] and those of the store's PutTeamMemory.
func (s *Service) PutTeamMemory(ctx context.Context, put TeamPut) (m reverie.TeamMemory, err error) {
	groupID, err := teamGroup(ctx, put.Team)
	if err != nil {
		return m, err
	}
	if _, err := allowed(ctx, groupID, reverie.ScopeWrite); err != nil {
		return m, err
	}
	w := reverie.TeamWrite{RequestKey: put.Key, Quotes: s.Team.Quotes}
	w.Team, _ = reverie.TeamOf(groupID)
	if err := reverie.CheckTeam(w.Team); err != nil {
		return m, err
	}
	if put.Memory.ID != "" && put.Memory.ID != put.ID {
		return m, fmt.Errorf("the body's id %.40q is not that of the address: %w", put.Memory.ID, reverie.ErrInvalid)
	}
	if w.BodySHA256, err = put.digest(); err != nil {
		return m, err
	}
	if w.Memory, err = s.sent(put); err != nil {
		return m, err
	}
	if w.IfVersion, err = put.expected(); err != nil {
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
	s.Log.Info("team memory written", "group_id", groupID, "lineage_id", m.ID, "memory_id", m.VersionID, "version", m.Version, "by", caller.Name)
	return s.presented(ctx, groupID, m)
}

// digest names a write with all that it is made of.
func (put TeamPut) digest() (string, error) {
	text, err := json.Marshal([]any{put.ID, put.Memory, put.New, put.IfMatch})
	sum := sha256.Sum256(text)
	return hex.EncodeToString(sum[:]), err
}

// sent is the memory of a write as it may be kept. What it leaves out is filled in: a
// memory that does not say where it was made is made here, now.
func (s *Service) sent(put TeamPut) (reverie.TeamMemory, error) {
	m, now := put.Memory, s.Now().UTC()
	// Whatever the version is called where it comes from, here it has an id of its own.
	m.ID, m.VersionID, m.Version = put.ID, put.ID, 1
	if m.Status == "" {
		m.Status = reverie.StatusActive
	}
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
		m.Origin = reverie.Origin{Deployment: "here", MemoryID: put.ID, LineageID: put.ID, Version: 1, MadeAt: now}
	}
	found, err := safety.CheckTeamMemory(&m, s.Privacy, now)
	if err != nil {
		return m, err
	}
	if len(found) > 0 {
		return m, &reverie.TeamRefusedError{ID: put.ID, Findings: found}
	}
	if here {
		m.Origin = reverie.Origin{}
	}
	return m, nil
}

// expected is the version that a write rests on, "" where there must be none.
func (put TeamPut) expected() (string, error) {
	version := strings.Trim(put.IfMatch, `"`)
	switch {
	case put.New && put.IfMatch != "":
		return "", fmt.Errorf("If-None-Match: * and If-Match exclude each other: %w", reverie.ErrInvalid)
	case !put.New && put.IfMatch == "":
		return "", reverie.ErrNoCondition
	case !put.New && !reverie.IsTeamID(version):
		return noVersion, nil
	}
	return version, nil
}
