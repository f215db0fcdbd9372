package app

import (
	"cmp"
	"context"
	"errors"
	"fmt"

	"reverie/internal/reverie"
	"reverie/internal/safety"
	"reverie/store/teams"
)

// TeamName returns the given team, or the configured one.
func (a *App) TeamName(given string) (string, error) {
	name := cmp.Or(given, a.Config.Team.Name)
	if name == "" {
		return "", badRequest(errors.New("a team is needed: give --team NAME, or set [team] name"))
	}
	return name, reverie.CheckTeam(name)
}

// TeamMemory returns a team's memory and the team, by the memory's id or its head's.
func (a *App) TeamMemory(ctx context.Context, team, id string) (m reverie.TeamMemory, of string, err error) {
	if team != "" {
		if team, err = a.TeamName(team); err != nil {
			return m, "", err
		}
	}
	inGroup := ""
	if team != "" {
		inGroup = reverie.TeamGroupID(team)
	}
	if id, err = a.Store.WholeID(ctx, reverie.IDMemory, inGroup, id); err != nil {
		return m, "", err
	}
	m, of, err = teams.New(a.Store.DB()).TeamMemoryOf(ctx, team, id)
	switch {
	case errors.Is(err, reverie.ErrNotFound):
		return m, "", fmt.Errorf("%w; `reverie memory list --group team:NAME` shows a team's", err)
	case err == nil && id != m.ID && id != m.VersionID:
		return m, "", &reverie.NotHeadError{MemoryID: id, Head: reverie.Head{MemoryID: m.VersionID, Version: m.Version}}
	}
	return m, of, err
}

// TeamWords returns a person's statement and reason as they may be stored.
func (a *App) TeamWords(statement, reason string) (text, why string, err error) {
	privacy := PrivacyOf(a.Config)
	if text, err = privacy.Statement(statement); err != nil {
		return "", "", err
	}
	return text, safety.CleanReason(privacy.Mask(reason)), nil
}

// EditTeamMemory rewords a team's memory.
func (a *App) EditTeamMemory(ctx context.Context, team, id, statement, reason string) (m reverie.TeamMemory, of string,
	err error) {
	text, why, err := a.TeamWords(statement, reason)
	if err != nil {
		return m, "", err
	}
	if m, of, err = a.TeamMemory(ctx, team, id); err != nil {
		return m, "", err
	}
	switch {
	case m.Status != reverie.StatusActive:
		return m, "", fmt.Errorf("memory %s is deleted; `reverie memory restore %s` brings it back: %w", m.ID, m.VersionID,
			reverie.ErrConflict)
	case m.Statement == text:
		return m, "", fmt.Errorf("memory %s already says that: %w", m.ID, reverie.ErrConflict)
	}
	m, err = teams.New(a.Store.DB()).PutTeamMemory(ctx, reverie.TeamWrite{Team: of, IfVersion: m.VersionID, Memory: reverie.TeamMemory{
		ID: m.ID, Statement: text, Status: reverie.StatusActive, Tags: m.Tags, Strength: m.Strength, ChangeReason: why}})
	return m, of, err
}

// ToShare returns a group's memory as it may be shared with a team, "" for the group's own team. The error is a
// *reverie.TeamRefusedError if it contains something forbidden.
func (a *App) ToShare(ctx context.Context, id, team, reason string) (none reverie.TeamShare, err error) {
	if id, err = a.Store.WholeID(ctx, reverie.IDMemory, "", id); err != nil {
		return none, err
	}
	m, err := a.Store.Memory(ctx, "", id)
	if err != nil {
		return none, err
	}
	if m, err = a.Store.LineageHead(ctx, m.GroupID, m.LineageID); err != nil {
		return none, err
	}
	switch of, is := reverie.TeamOf(m.GroupID); {
	case is:
		return none, fmt.Errorf("memory %s already belongs to the team %s: %w", m.ID, of, reverie.ErrInvalid)
	case m.ID != id:
		return none, &reverie.NotHeadError{MemoryID: id, Head: reverie.Head{MemoryID: m.ID, Version: m.Version}}
	case m.Status != reverie.StatusActive:
		return none, fmt.Errorf("memory %s is %s, and only active memories can be shared: %w",
			m.ID, m.Status, reverie.ErrConflict)
	}
	if team == "" {
		if team, _, err = a.Store.GroupTeam(ctx, m.GroupID); err != nil {
			return none, err
		}
		if team == reverie.GroupOff {
			return none, badRequest(fmt.Errorf("group %s belongs to no team: give --team NAME", m.GroupID))
		}
	}
	share := reverie.TeamShare{Memory: m, Reason: cmp.Or(reason, m.ChangeSummary), Quotes: a.Config.Team.Quotes}
	if share.Team, err = a.TeamName(team); err != nil {
		return none, err
	}
	return share, safety.PrepareTeamShare(&share, PrivacyOf(a.Config))
}
