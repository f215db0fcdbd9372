package store

import (
	"context"

	"reverie/internal/reverie"
	"reverie/store/pg"
)

const (
	requeueDreamQuery = `with freed as (` + freeChunks + `
			returning c.run_id),
		given as (
			delete from memory_uses u using freed f where u.group_id = $1 and u.job = 'dream' and u.run_id = f.run_id
			returning u.memory_id)
		select m.session_id from given g join memories m on m.group_id = $1 and m.memory_id = g.memory_id`

	uncoverQuery = `with given as (
			select session_id from sessions where group_id = $1 and session_id = any ($2::text[])
				order by session_id for no key update)
		update sessions s set dreamt_until = null from given g where s.group_id = $1 and s.session_id = g.session_id`
)

// requeueDream makes what a dream took in new again, of which all items are held, and
// says how many versions. The sessions that those are of are fresh again, and so is the
// one that the dream reached up to: a group without any is due to nobody.
func requeueDream(ctx context.Context, t *pg.Tx, run *reverie.Run) (int, error) {
	var of []string // the session of each
	if err := t.Select(ctx, &of, requeueDreamQuery, run.GroupID, run.ID, reverie.TagSummary); err != nil || len(of) == 0 {
		return 0, err
	}
	fresh, err := t.Exec(ctx, uncoverQuery, run.GroupID, freshAgain(of, *run))
	if err != nil {
		return 0, err
	}
	run.Stats.Material -= len(of)
	run.Stats.Sessions = max(run.Stats.Sessions-fresh, 0)
	return len(of), nil
}
