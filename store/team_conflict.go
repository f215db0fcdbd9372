package store

import (
	"context"
	"fmt"

	"reverie/internal/reverie"
	"reverie/store/pg"
)

const (
	conflictsQuery = `select conflict_id, remote, lineage_id, local_id, theirs, created_at from team_conflicts
		where group_id = $1 and status = 'open' order by created_at, conflict_id`

	saveConflictQuery = `insert into team_conflicts (group_id, conflict_id, remote, lineage_id, local_id, remote_id,
		theirs, status, created_at)
		values ($1, $2::uuid, $3, $4::uuid, $5::uuid, $6::uuid, $7::jsonb, 'open', $8::timestamptz)
		on conflict (group_id, remote, lineage_id) where status = 'open' do update
		set local_id = excluded.local_id, remote_id = excluded.remote_id, theirs = excluded.theirs`
)

// conflictRow reads what the domain's struct leaves to us: theirs.
type conflictRow struct {
	reverie.TeamConflict
	Theirs pg.JSON[reverie.TeamMemory] `db:"theirs"`
}

// TeamConflicts returns the open conflicts of a team, oldest first.
func (s *Store) TeamConflicts(ctx context.Context, team string) ([]reverie.TeamConflict, error) {
	var list []reverie.TeamConflict
	err := s.db.Run(ctx, pg.Work{What: fmt.Sprintf("list the conflicts of team %q", team), ReadOnly: true,
		Do: func(ctx context.Context, t *pg.Tx) error {
			var err error
			list, err = openConflicts(ctx, t, reverie.TeamGroupID(team))
			return err
		}})
	return list, err
}

func openConflicts(ctx context.Context, t *pg.Tx, groupID string) ([]reverie.TeamConflict, error) {
	var rows []conflictRow
	if err := t.Select(ctx, &rows, conflictsQuery, groupID); err != nil {
		return nil, err
	}
	team, _ := reverie.TeamOf(groupID)
	list := make([]reverie.TeamConflict, len(rows))
	for i, r := range rows {
		list[i] = r.TeamConflict
		list[i].Team, list[i].Theirs = team, r.Theirs.V
	}
	return list, nil
}

// SaveTeamConflict keeps what another deployment says beside what is said here, whole,
// until a person decides. An open conflict of the same memory with it is renewed. What
// theirs holds has been checked: [reverie.TeamMemory.Check].
func (s *Store) SaveTeamConflict(ctx context.Context, c reverie.TeamConflict) error {
	id, groupID := reverie.NewID(), reverie.TeamGroupID(c.Team)
	return s.db.Run(ctx, pg.Work{What: fmt.Sprintf("keep both versions of memory %s of team %q", c.LineageID, c.Team),
		Do: func(ctx context.Context, t *pg.Tx) error {
			_, err := t.Exec(ctx, saveConflictQuery, groupID, id, c.Remote, c.LineageID, c.LocalID, c.Theirs.VersionID,
				pg.JSON[any]{V: c.Theirs}, s.db.Now())
			return err
		}})
}
