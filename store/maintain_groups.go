package store

import (
	"context"

	"reverie/internal/reverie"
	"reverie/store/pg"
)

const allGroupsQuery = `select ` + GroupColumns + `, exists (select 1 from setbacks s where s.group_id = g.group_id
	and s.job = $3) as failed
	from groups g where group_id > $1 and ($2 = '' or group_id = $2) order by group_id limit nullif($4::int, 0)`

// Upkeeps is the store as maintenance sees it: every group may be due.
type Upkeeps struct{ *Store }

// Upkeeps returns the store as maintenance sees it.
func (s *Store) Upkeeps() Upkeeps { return Upkeeps{s} }

// DueGroups lists all groups, by id: memories fade in those that are paused, too,
// so that none is said to be. A named group that does not exist is
// reverie.ErrNotFound.
func (u Upkeeps) DueGroups(ctx context.Context, q reverie.DueQuery) ([]reverie.DueGroup, error) {
	var list []reverie.DueGroup
	err := u.db.Run(ctx, pg.Work{What: "list the groups", ReadOnly: true, Do: func(ctx context.Context, t *pg.Tx) error {
		var rows []struct {
			reverie.Group
			Failed bool `db:"failed"`
		}
		list = nil
		if err := t.Select(ctx, &rows, allGroupsQuery, q.After, q.GroupID, string(q.Job), q.Limit); err != nil {
			return err
		}
		if len(rows) == 0 && q.GroupID != "" {
			_, err := GetGroup(ctx, t, q.GroupID)
			return err
		}
		var setBack []string // few, as a rule none
		for _, r := range rows {
			if r.Failed {
				setBack = append(setBack, r.ID)
			}
		}
		failed, err := setbacks(ctx, t, setBack, q.Job)
		if err != nil {
			return err
		}
		list = make([]reverie.DueGroup, len(rows))
		for i, r := range rows {
			r.Paused = false
			list[i] = reverie.DueGroup{Group: r.Group}
			if f := failed[r.ID]; len(f) > 0 {
				list[i].Setback = &f[0]
			}
		}
		return nil
	}})
	return list, err
}
