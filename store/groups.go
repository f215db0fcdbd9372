package store

import (
	"context"

	"github.com/lib/pq"

	"reverie/internal/reverie"
	"reverie/store/pg"
)

// Groups returns the named groups with their past calendars, by id. Those that do
// not exist are left out.
func (s *Store) Groups(ctx context.Context, ids []string) (map[string]reverie.Group, error) {
	var found map[string]reverie.Group
	err := s.db.Run(ctx, pg.Work{What: "read groups", ReadOnly: true, Do: func(ctx context.Context, t *pg.Tx) error {
		var list []reverie.Group
		if err := t.Select(ctx, &list, `select `+GroupColumns+` from groups
			where group_id = any ($1::text[])`, pq.StringArray(ids)); err != nil {
			return err
		}
		past, err := pastCalendars(ctx, t, ids)
		found = map[string]reverie.Group{}
		for _, g := range list {
			g.Past = past[g.ID]
			found[g.ID] = g
		}
		return err
	}})
	return found, err
}
