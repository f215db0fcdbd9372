package history

import (
	"context"
	"fmt"

	"github.com/lib/pq"

	"reverie/internal/reverie"
	"reverie/store"
	"reverie/store/pg"
)

const (
	// Messages without a text cannot be read again.
	freeMessagesQuery = `update messages set run_id = null, outcome = null
		where group_id = $1 and run_id = $2::uuid and pruned_at is null`

	prunedOfRunQuery = `select count(*) from messages where group_id = $1 and run_id = $2::uuid and pruned_at is not null`

	// The messages that a run has extracted facts from, and the memories that a dream has taken in.
	extractedOfRun = ` from message_uses u where u.group_id = $1 and u.job = 'extract' and u.run_id = $2
		and exists (select 1 from messages m where m.group_id = $1 and m.message_id = u.message_id and m.pruned_at is null)`
	takenByRun = ` from memory_uses where group_id = $1 and job = 'dream' and run_id = $2`

	freeExtractedQuery = `update message_uses f set run_id = null
		from (select u.message_id` + extractedOfRun + ` order by u.message_id for no key update) o
		where f.group_id = $1 and f.job = 'extract' and f.message_id = o.message_id
		returning f.session_id, f.message_id`

	freeDreamtQuery = `with given as (delete` + takenByRun + ` returning memory_id)
		select m.session_id, m.status = 'active' as new from given g join memories m on m.group_id = $1
			and m.memory_id = g.memory_id`

	sessionsOfRunQuery = `select distinct u.session_id` + extractedOfRun + ` and u.session_id <> ''
		order by u.session_id`
)

// requeue makes what a run has read pending again, and returns how much that is. If messages have lost their text, it
// is reverie.ErrConflict.
func (h *History) requeue(ctx context.Context, t *pg.Tx, run reverie.Run) (int, error) {
	pruned, err := pg.Get[int](ctx, t, prunedOfRunQuery, run.GroupID, run.ID)
	if err != nil {
		return 0, err
	}
	if pruned > 0 {
		return 0, fmt.Errorf("the texts of %d of the messages are gone ([retention] messages), so what they led to could not be learnt again; "+
			"undo it without requeue: %w", pruned, reverie.ErrConflict)
	}
	freed, err := t.ExecRows(ctx, freeMessagesQuery, run.GroupID, run.ID)
	if err != nil {
		return 0, err
	}
	more := 0
	switch run.Job {
	case reverie.JobExtract:
		more, err = h.requeueExtracted(ctx, t, run)
	case reverie.JobDream:
		more, err = requeueDreamt(ctx, t, run)
	case reverie.JobImpression:
		more, err = requeueObserved(ctx, t, run)
	}
	return freed + more, err
}

// requeueExtracted makes the messages that a run has extracted facts from pending for extraction again, in the sessions
// that they belong to by now.
func (h *History) requeueExtracted(ctx context.Context, t *pg.Tx, run reverie.Run) (int, error) {
	sessions, err := pg.Select[string](ctx, t, sessionsOfRunQuery, run.GroupID, run.ID)
	if err != nil {
		return 0, err
	}
	for _, id := range sessions {
		if err := store.LockSession(ctx, t, run.GroupID, id); err != nil {
			return 0, err
		}
	}
	rows, err := pg.Select[reverie.Message](ctx, t, freeExtractedQuery, run.GroupID, run.ID)
	if err != nil {
		return 0, err
	}
	of := map[string]pq.StringArray{}
	for _, m := range rows {
		of[m.SessionID] = append(of[m.SessionID], m.ID)
	}
	for _, id := range sessions {
		if err := t.Exec(ctx, store.AddNewQuery, run.GroupID, id, of[id], h.db.Now(), 1); err != nil {
			return 0, err
		}
	}
	return len(rows), nil
}

// requeueDreamt makes the memories that a dream took in new to dreams again, and returns how many still exist as heads.
// It also makes their sessions fresh again, and the last session that the dream covered.
func requeueDreamt(ctx context.Context, t *pg.Tx, run reverie.Run) (int, error) {
	var rows []struct {
		SessionID string `db:"session_id"`
		New       bool   `db:"new"`
	}
	if err := t.Select(ctx, &rows, freeDreamtQuery, run.GroupID, run.ID); err != nil || len(rows) == 0 {
		return 0, err
	}
	var of []string
	n := 0
	for _, r := range rows {
		of = append(of, r.SessionID)
		if r.New {
			n++
		}
	}
	_, err := store.Uncover(ctx, t, run, of)
	return n, err
}
