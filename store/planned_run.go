package store

import (
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"slices"

	"github.com/lib/pq"

	"reverie/internal/reverie"
	"reverie/store/pg"
)

const (
	planMessagesQuery = `select ` + messageColumns + ` from messages
		where group_id = $1 and message_id = any ($2::text[]) and pruned_at is null order by sent_at, seq`

	// Nobody ends or rewrites one of them before the commit.
	restsOnQuery = `select memory_id from memories where group_id = $1 and kind = $2 and status = 'active'
		order by memory_id for share`
)

// PlanState reads what a plan file is held against, in one snapshot: who has its id,
// and the messages named. An unknown group is reverie.ErrNotFound.
func (s *Store) PlanState(ctx context.Context, groupID, planID string, messageIDs []string) (reverie.PlanState, error) {
	var state reverie.PlanState
	err := s.db.Run(ctx, pg.Work{What: fmt.Sprintf("read what a plan for group %q rests on", groupID), ReadOnly: true, Do: func(ctx context.Context, t *pg.Tx) error {
		state = reverie.PlanState{}
		if _, err := GetGroup(ctx, t, groupID); err != nil {
			return err
		}
		runs, err := runList(ctx, t, `select `+runColumns+` from runs where group_id = $1 and run_id = $2`, groupID, planID)
		if err != nil {
			return err
		}
		if len(runs) > 0 {
			state.Run = &runs[0]
		}
		err = t.Select(ctx, &state.Messages, planMessagesQuery, groupID, pq.StringArray(append([]string{}, messageIDs...)))
		utcMessages(state.Messages)
		return err
	}})
	return state, err
}

// PlanSeal returns a sum of a text that only this database can make, and only for the group.
// Nothing is written. An unknown group is reverie.ErrNotFound.
func (s *Store) PlanSeal(ctx context.Context, groupID, text string) (string, error) {
	var key string
	err := s.db.Run(ctx, pg.Work{What: fmt.Sprintf("seal a plan for group %q", groupID), ReadOnly: true, Do: func(ctx context.Context, t *pg.Tx) error {
		return pg.NotFoundIfEmpty(t.Get(ctx, &key, `select plan_key from groups where group_id = $1`, groupID), "it")
	}})
	if err != nil {
		return "", err
	}
	h := hmac.New(sha256.New, []byte(key))
	h.Write([]byte(text))
	return hex.EncodeToString(h.Sum(nil)), nil
}

// ApplyPlanned writes a run that has not begun, with all of its chunks, and ends it, in one
// transaction: everything of it is there, or nothing. It returns what [Store.Apply] does of
// each chunk in order, and how many messages of the window are left pending. A group whose
// active memories of the plans' kind are not the heads, and what Apply refuses, are
// reverie.ErrConflict, and nothing is written. The run's status and stats are the caller's.
func (s *Store) ApplyPlanned(ctx context.Context, lease reverie.Lease, planned reverie.PlannedRun) (list []reverie.Change, pending int, err error) {
	run := planned.Run
	what := fmt.Sprintf("apply the plan of run %s to group %q", run.ID, run.GroupID)
	if run.GroupID != lease.GroupID || len(planned.Plans) == 0 || len(planned.Plans) != len(planned.Chunks) || run.Status == reverie.RunRunning {
		return nil, 0, fmt.Errorf("%s: it is none of the lease's group, or not planned: %w", what, reverie.ErrInvalid)
	}
	if err := reverie.CheckChat(run.GroupID); err != nil {
		return nil, 0, err
	}
	for i, p := range planned.Plans {
		if p.GroupID != run.GroupID || p.RunID != run.ID || p.ChunkNo != planned.Chunks[i].No || p.Kind != planned.Plans[0].Kind {
			return nil, 0, fmt.Errorf("%s: chunk %d is not the run's: %w", what, p.ChunkNo, reverie.ErrInvalid)
		}
		if err := checkPlan(p); err != nil {
			return nil, 0, fmt.Errorf("%s: %w", what, err)
		}
	}
	err = s.db.Run(ctx, pg.Work{
		What: what,
		Do: func(ctx context.Context, t *pg.Tx) error {
			if err := Fence(ctx, t, lease); err != nil {
				return err
			}
			if err := sameHeads(ctx, t, planned); err != nil {
				return err
			}
			list, pending = nil, 0
			if err := s.beginPlanned(ctx, t, planned); err != nil {
				return err
			}
			for _, p := range planned.Plans {
				changes, err := s.applyPlan(ctx, t, p)
				if err != nil {
					return fmt.Errorf("chunk %d: %w", p.ChunkNo, err)
				}
				list = append(list, changes...)
			}
			return s.endPlanned(ctx, t, run, &pending)
		},
		Committed: CommittedUnder(lease, `select 1 from runs where group_id = $1 and run_id = $2`, run.GroupID, run.ID),
	})
	return list, pending, err
}

// sameHeads refuses a run whose group remembers something else than it was planned for.
func sameHeads(ctx context.Context, t *pg.Tx, planned reverie.PlannedRun) error {
	var ids []string
	if err := t.Select(ctx, &ids, restsOnQuery, planned.Run.GroupID, string(planned.Plans[0].Kind)); err != nil {
		return err
	}
	heads := slices.Sorted(slices.Values(planned.Heads))
	if !slices.Equal(ids, heads) {
		return fmt.Errorf("the group's memories have changed just now: %w: plan again", reverie.ErrConflict)
	}
	return nil
}

// beginPlanned writes the rows of a run and of its chunks.
func (s *Store) beginPlanned(ctx context.Context, t *pg.Tx, planned reverie.PlannedRun) error {
	run := planned.Run
	if err := s.insertRun(ctx, t, &run); err != nil {
		return err
	}
	for _, c := range planned.Chunks {
		_, err := t.Exec(ctx, `insert into run_chunks (`+chunkColumns+`)
				values ($1, $2, $3, $4, $5::text[], $6::uuid[], '{}', $7, 'answered', '[]', $8)`,
			run.GroupID, run.ID, c.No, c.InputSHA256, append(pq.StringArray{}, c.MessageIDs...),
			append(pq.StringArray{}, c.MemoryIDs...), pg.ValidText(c.Answer), s.db.Now())
		if err != nil {
			return err
		}
	}
	return nil
}

// endPlanned ends a run, and counts what its window has left.
func (s *Store) endPlanned(ctx context.Context, t *pg.Tx, run reverie.Run, pending *int) error {
	stats, err := pg.JSONText(run.Stats)
	if err != nil {
		return err
	}
	return t.Get(ctx, pending, finishRunQuery, run.GroupID, run.ID, string(run.Status), stats, "", s.db.Now(),
		run.Model, run.PromptVersion, run.PromptSHA256, run.WindowUntil, true)
}
