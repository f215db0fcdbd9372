package store

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"reverie/internal/reverie"
	"reverie/store/pg"
)

type heldRow struct {
	GroupID   string    `db:"group_id"`
	RunID     string    `db:"run_id"`
	ChunkNo   int       `db:"chunk_no"`
	Kind      string    `db:"kind"`
	Plan      []byte    `db:"plan"`
	Whole     bool      `db:"whole"`
	Reason    string    `db:"reason"`
	Status    string    `db:"status"`
	CreatedAt time.Time `db:"created_at"`
}

const heldColumns = `group_id, run_id, chunk_no, kind, plan, whole, reason, status, created_at`

func (r heldRow) plan() (reverie.HeldPlan, error) {
	h := reverie.HeldPlan{GroupID: r.GroupID, RunID: r.RunID, ChunkNo: r.ChunkNo, Kind: reverie.Kind(r.Kind),
		Whole: r.Whole, Reason: r.Reason,
		Status: reverie.HeldStatus(r.Status), CreatedAt: r.CreatedAt.UTC()}
	if err := json.Unmarshal(r.Plan, &h.Steps); err != nil {
		return h, fmt.Errorf("read what chunk %d of run %s holds: %w", r.ChunkNo, r.RunID, err)
	}
	return h, nil
}

func heldPlans(ctx context.Context, t *pg.Tx, groupID, runID string, limit int) ([]reverie.HeldPlan, error) {
	var rows []heldRow
	err := t.Select(ctx, &rows, `select `+heldColumns+` from held_plans where group_id = $1 and run_id = $2
		order by chunk_no limit nullif($3::int, 0)`, groupID, runID, limit)
	if err != nil {
		return nil, err
	}
	list := make([]reverie.HeldPlan, len(rows))
	for i, r := range rows {
		if list[i], err = r.plan(); err != nil {
			return nil, err
		}
	}
	return list, nil
}

// hold keeps the steps of a plan that wait for a person.
func (s *Store) hold(ctx context.Context, t *pg.Tx, plan reverie.Plan) error {
	if err := checkSteps(plan.Held); err != nil {
		return fmt.Errorf("held: %w", err)
	}
	steps, err := pg.JSONText(plan.Held)
	if err != nil {
		return err
	}
	heads := []reverie.Head{}
	for _, st := range plan.Held {
		if st.Action != reverie.ActionCreate {
			heads = append(heads, st.Head)
		}
	}
	headList, err := pg.JSONText(heads)
	if err != nil {
		return err
	}
	_, err = t.Exec(ctx, `insert into held_plans (`+heldColumns+`, heads)
		values ($1, $2, $3, $4, $5::jsonb, $6, $7, 'waiting', $8, $9::jsonb)`,
		plan.GroupID, plan.RunID, plan.ChunkNo, string(plan.Kind), steps, plan.HeldAll, plan.HeldReason, s.db.Now(), headList)
	return err
}

// ApplyHeld applies those steps of a waiting plan that a person approved, under
// the same checks as [Store.Apply], and adds the refused lines to its chunk. The
// plan is approved with it, its decisions name the versions that they led to, and
// the run has succeeded once no plan of it waits.
// A plan that no longer waits is reverie.ErrConflict.
func (s *Store) ApplyHeld(ctx context.Context, lease reverie.Lease, held reverie.HeldPlan, steps []reverie.Step,
	refused []reverie.Refusal) ([]reverie.Change, error) {
	what := fmt.Sprintf("approve what chunk %d of run %s holds", held.ChunkNo, held.RunID)
	if held.GroupID != lease.GroupID {
		return nil, fmt.Errorf("%s: the lease is group %q's: %w", what, lease.GroupID, reverie.ErrInvalid)
	}
	if err := checkSteps(steps); err != nil {
		return nil, fmt.Errorf("%s: %w", what, err)
	}
	var list []reverie.Change
	err := s.db.Run(ctx, pg.Work{
		What:    what,
		Prepare: true,
		Do: func(ctx context.Context, t *pg.Tx) error {
			if err := Fence(ctx, t, lease); err != nil {
				return err
			}
			var err error
			list, err = s.approve(ctx, t, held, steps, refused)
			return err
		},
		Committed: CommittedUnder(lease, `select 1 from held_plans
			where group_id = $1 and run_id = $2 and chunk_no = $3
				and status = 'approved'`, held.GroupID, held.RunID, held.ChunkNo),
	})
	if err != nil {
		return nil, err
	}
	return list, nil
}

func (s *Store) approve(ctx context.Context, t *pg.Tx, held reverie.HeldPlan, steps []reverie.Step,
	refused []reverie.Refusal) ([]reverie.Change, error) {
	if err := standing(ctx, t, held.GroupID, held.RunID); err != nil {
		return nil, err
	}
	var row heldRow
	err := t.Get(ctx, &row, `select `+heldColumns+` from held_plans
		where group_id = $1 and run_id = $2 and chunk_no = $3 for update`, held.GroupID, held.RunID, held.ChunkNo)
	if err != nil {
		return nil, pg.NotFoundIfEmpty(err, "nothing is held there")
	}
	if row.Status != string(reverie.HeldWaiting) {
		return nil, fmt.Errorf("it is %s already: %w", row.Status, reverie.ErrConflict)
	}
	stored, err := row.plan()
	if err != nil {
		return nil, err
	}
	at, err := NextTimestamp(ctx, s.db, t, held.GroupID)
	if err != nil {
		return nil, err
	}
	b := &batch{groupID: held.GroupID, runID: held.RunID, chunkNo: held.ChunkNo, kind: reverie.Kind(row.Kind), at: at,
		steps: steps}
	list, err := s.writeSteps(ctx, t, b)
	if err != nil {
		return nil, err
	}
	if err := judged(ctx, t, held.GroupID, held.RunID, steps, nil); err != nil {
		return nil, err
	}
	if _, err := cascade(ctx, t, held.GroupID, list, steps, b.at); err != nil {
		return nil, err
	}
	if err := setApproved(ctx, t, held, steps, refused); err != nil {
		return nil, err
	}
	return list, approveRun(ctx, t, held, func(st *reverie.Stats) {
		st.Held = max(st.Held-writes(stored.Steps), 0)
		st.Refused += len(refused)
		for _, step := range steps {
			kept := st.Kept - 1
			if step.Judged == reverie.StatusHeld { // it was not among those kept
				kept = st.Kept
			}
			switch step.Action {
			case reverie.ActionCreate:
				st.Created++
			case reverie.ActionUpdate:
				st.Updated, st.Kept = st.Updated+1, max(kept, 0)
			case reverie.ActionDelete:
				st.Deleted, st.Kept = st.Deleted+1, max(kept, 0)
			}
		}
	})
}

// writes counts the steps that make or end a version: support was never counted
// as held.
func writes(steps []reverie.Step) (n int) {
	for _, s := range steps {
		if s.Action != reverie.ActionKeep {
			n++
		}
	}
	return n
}

// approveRun corrects a run's stats, and ends its wait when no plan waits.
func approveRun(ctx context.Context, t *pg.Tx, held reverie.HeldPlan, correct func(*reverie.Stats)) error {
	run, err := lockRun(ctx, t, held.GroupID, held.RunID)
	if err != nil {
		return err
	}
	correct(&run.Stats)
	text, err := pg.JSONText(run.Stats)
	if err != nil {
		return err
	}
	_, err = t.Exec(ctx, `update runs r set stats = $3::jsonb, status = case when status = 'held' and not exists (
			select 1 from held_plans h where h.group_id = r.group_id and h.run_id = r.run_id and h.status = 'waiting')
			then 'succeeded' else status end
		where group_id = $1 and run_id = $2`, held.GroupID, held.RunID, text)
	return err
}

func lockRun(ctx context.Context, t *pg.Tx, groupID, runID string) (reverie.Run, error) {
	var row runRow
	err := t.Get(ctx, &row, `select `+runColumns+` from runs where group_id = $1 and run_id = $2
		for update`, groupID, runID)
	if err != nil {
		return reverie.Run{}, pg.NotFoundIfEmpty(err, "run %s", runID)
	}
	return row.run()
}
