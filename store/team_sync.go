package store

import (
	"context"
	"database/sql"
	"fmt"
	"time"

	"reverie/internal/reverie"
	"reverie/store/pg"
)

const (
	teamLinksQuery = `select remote, lineage_id, local_id, remote_id, body_sha256, synced_at from team_links
		where group_id = $1 and remote = $2`

	linkTeamQuery = `insert into team_links (group_id, remote, lineage_id, local_id, remote_id, body_sha256, synced_at)
		values ($1, $2, $3::uuid, $4::uuid, $5::uuid, $6, $7::timestamptz)
		on conflict (group_id, remote, lineage_id) do update
		set local_id = excluded.local_id, remote_id = excluded.remote_id, body_sha256 = excluded.body_sha256,
			synced_at = excluded.synced_at`

	lastSyncQuery = `select max(synced_at) from team_links where group_id = $1 and remote = $2`

	settleConflictQuery = `update team_conflicts set status = 'settled', resolution = $4, settled_at = $5::timestamptz
		where group_id = $1 and remote = $2 and lineage_id = $3::uuid and status = 'open'`
)

// teamPage is how many heads are read at once.
const teamPage = 500

// Deployment returns what this database is called among those that share memories.
func (s *Store) Deployment(ctx context.Context) (id string, err error) {
	err = s.db.QueryRow(ctx, "read what this deployment is called", &id, deploymentQuery)
	return id, err
}

// TeamStates returns all memories of a team, deleted ones included, by id, and how they
// stand towards another deployment; none where there is no such team yet.
func (s *Store) TeamStates(ctx context.Context, team, remote string) ([]reverie.TeamState, error) {
	groupID := reverie.TeamGroupID(team)
	var list []reverie.TeamState
	err := s.db.Run(ctx, pg.Work{What: fmt.Sprintf("read how team %q stands", team), ReadOnly: true,
		Do: func(ctx context.Context, t *pg.Tx) error {
			list = nil
			for after := ZeroID; ; {
				var rows []MemoryRow
				if err := t.Select(ctx, &rows, teamHeadsQuery, groupID, after, teamPage); err != nil {
					return err
				}
				page, err := TeamMemories(ctx, t, groupID, rows)
				if err != nil {
					return err
				}
				for i, m := range page {
					held := rows[i].Status == reverie.StatusHeld || rows[i].Status == reverie.StatusArchived
					list = append(list, reverie.TeamState{TeamMemory: m, Held: held})
				}
				if len(rows) < teamPage {
					break
				}
				after = rows[len(rows)-1].LineageID
			}
			return fillStates(ctx, t, groupID, remote, list)
		}})
	return list, err
}

// fillStates adds what is known of the other side.
func fillStates(ctx context.Context, t *pg.Tx, groupID, remote string, list []reverie.TeamState) error {
	var links []reverie.TeamLink
	if err := t.Select(ctx, &links, teamLinksQuery, groupID, remote); err != nil {
		return err
	}
	conflicts, err := openConflicts(ctx, t, groupID)
	if err != nil {
		return err
	}
	byID := make(map[string]*reverie.TeamState, len(list))
	for i := range list {
		byID[list[i].ID] = &list[i]
	}
	for i := range links {
		if state := byID[links[i].LineageID]; state != nil {
			state.Link = &links[i]
		}
	}
	for i, c := range conflicts {
		if state := byID[c.LineageID]; state != nil && c.Remote == remote {
			state.Conflict = &conflicts[i]
		}
	}
	return nil
}

// LinkTeamMemory notes which version is common with another deployment now, and settles
// an open conflict with it: the resolution says how. The version is one of the team's.
func (s *Store) LinkTeamMemory(ctx context.Context, team string, l reverie.TeamLink, resolution string) error {
	groupID := reverie.TeamGroupID(team)
	return s.db.Run(ctx, pg.Work{What: fmt.Sprintf("note that memory %s of team %q is synced", l.LineageID, team),
		Do: func(ctx context.Context, t *pg.Tx) error {
			return s.linkTeam(ctx, t, groupID, l, resolution)
		}})
}

func (s *Store) linkTeam(ctx context.Context, t *pg.Tx, groupID string, l reverie.TeamLink, resolution string) error {
	at := s.db.Now()
	if _, err := t.Exec(ctx, linkTeamQuery, groupID, l.Remote, l.LineageID, l.LocalID, l.RemoteID, l.Digest,
		at); err != nil {
		return err
	}
	_, err := t.Exec(ctx, settleConflictQuery, groupID, l.Remote, l.LineageID, resolution, at)
	return err
}

// TakeTeamMemory makes a version the head, as PutTeamMemory does, and notes in the same
// transaction what is common with another deployment then.
func (s *Store) TakeTeamMemory(ctx context.Context, take reverie.TeamTake) (reverie.TeamMemory, error) {
	w := take.Write
	if err := checkTeamWrite(w); err != nil {
		return reverie.TeamMemory{}, err
	}
	versionID := reverie.NewID()
	var m reverie.TeamMemory
	err := s.db.Run(ctx, pg.Work{
		What: fmt.Sprintf("take memory %s of team %q", w.Memory.ID, w.Team),
		Do: func(ctx context.Context, t *pg.Tx) error {
			var err error
			if m, err = s.writeTeam(ctx, t, w, versionID); err != nil {
				return err
			}
			return s.linkTeam(ctx, t, reverie.TeamGroupID(w.Team), reverie.TeamLink{Remote: take.Remote, LineageID: m.ID,
				LocalID:  m.VersionID,
				RemoteID: take.RemoteID, Digest: take.Digest}, take.Resolution)
		},
		Committed: func(ctx context.Context, t *pg.Tx) (bool, error) { return s.teamWritten(ctx, t, w.Team, versionID) },
	})
	return m, err
}

// LastTeamSync returns when a memory of a team was synced with another deployment last;
// zero for never.
func (s *Store) LastTeamSync(ctx context.Context, team, remote string) (time.Time, error) {
	var at sql.NullTime
	err := s.db.QueryRow(ctx, fmt.Sprintf("read when team %q was synced", team), &at, lastSyncQuery,
		reverie.TeamGroupID(team), remote)
	return at.Time, err
}

// AddTeam makes the tenant of a team; one that is there stays as it is.
func (s *Store) AddTeam(ctx context.Context, team string) (created bool, err error) {
	if err := reverie.CheckTeam(team); err != nil {
		return false, err
	}
	return s.ensureTenant(ctx, reverie.Group{ID: reverie.TeamGroupID(team), Name: team})
}
