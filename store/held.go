package store

import (
	"context"
	"fmt"
	"time"

	"github.com/lib/pq"

	"reverie/internal/reverie"
	"reverie/internal/text"
	"reverie/store/events"
	"reverie/store/pg"
)

const HeldColumns = `group_id, run_id, chunk_no, kind, plan, whole, reason, status, created_at`

func heldPlans(ctx context.Context, t *pg.Tx, groupID, runID string, limit int) ([]reverie.HeldPlan, error) {
	return pg.Select[reverie.HeldPlan](ctx, t, `select `+HeldColumns+` from held_plans where group_id = $1 and run_id = $2
		order by chunk_no limit nullif($3::int, 0)`, groupID, runID, limit)
}

// hold stores the held steps of a plan.
func (s *Store) hold(ctx context.Context, t *pg.Tx, plan reverie.Plan) error {
	if err := checkSteps(plan.Held); err != nil {
		return fmt.Errorf("held: %w", err)
	}
	heads := []reverie.Head{}
	for _, st := range plan.Held {
		if st.Action != reverie.ActionCreate {
			heads = append(heads, st.Head)
		}
	}
	return t.Exec(ctx, `insert into held_plans (`+HeldColumns+`, heads)
		values ($1, $2, $3, $4, $5::jsonb, $6, $7, 'waiting', $8, $9::jsonb)`,
		plan.GroupID, plan.RunID, plan.ChunkNo, plan.Kind, pg.AsJSON(plan.Held), plan.HeldAll,
		plan.HeldReason, s.db.Now(), pg.AsJSON(heads))
}

// ApplyHeld applies the approved steps of a held plan, with the same checks as [Store.Apply], and adds the refused
// lines to its chunk. It marks the plan as approved and sets the resulting versions in its decisions. The run succeeds
// once no plan of it is pending. A plan that is no longer pending is reverie.ErrConflict.
func (s *Store) ApplyHeld(ctx context.Context, lease reverie.Lease, held reverie.HeldPlan, steps []reverie.Step,
	refused []reverie.Refusal) ([]reverie.Change, error) {
	what := fmt.Sprintf("approve what chunk %d of run %s holds", held.ChunkNo, held.RunID)
	if err := checkLease(lease, held.GroupID); err != nil {
		return nil, fmt.Errorf("%s: %w", what, err)
	}
	if err := checkSteps(steps); err != nil {
		return nil, fmt.Errorf("%s: %w", what, err)
	}
	var list []reverie.Change
	err := s.underLease(ctx, lease, pg.Work{
		What:    what,
		Prepare: true,
		Do: func(ctx context.Context, t *pg.Tx) (err error) {
			list, err = s.approve(ctx, t, held, steps, refused)
			return err
		},
		Committed: CommittedUnder(lease, `select 1 from held_plans
			where group_id = $1 and run_id = $2 and chunk_no = $3
				and status = 'approved'`, held.GroupID, held.RunID, held.ChunkNo),
	})
	return list, err
}

func (s *Store) approve(ctx context.Context, t *pg.Tx, held reverie.HeldPlan, steps []reverie.Step,
	refused []reverie.Refusal) ([]reverie.Change, error) {
	run, err := lockStanding(ctx, t, held.GroupID, held.RunID)
	if err != nil {
		return nil, err
	}
	stored, err := pg.Get[reverie.HeldPlan](ctx, t, `select `+HeldColumns+` from held_plans
		where group_id = $1 and run_id = $2 and chunk_no = $3 for update`, held.GroupID, held.RunID, held.ChunkNo)
	if err != nil {
		return nil, pg.NotFoundIfEmpty(err, "the held plan")
	}
	if stored.Status != reverie.HeldWaiting {
		return nil, fmt.Errorf("it is %s already: %w", stored.Status, reverie.ErrConflict)
	}
	at, err := NextTimestamp(ctx, s.db, t, held.GroupID)
	if err != nil {
		return nil, err
	}
	b := &batch{groupID: held.GroupID, runID: held.RunID, chunkNo: held.ChunkNo, kind: stored.Kind, at: at,
		saidBy: &at, steps: steps}
	list, err := s.writeSteps(ctx, t, b, b.lockHeads(ctx, t))
	if err != nil {
		return nil, err
	}
	if err := judged(ctx, t, held.GroupID, held.RunID, steps, nil); err != nil {
		return nil, err
	}
	if _, err := Cascade(ctx, t, held.GroupID, list, steps, b.at); err != nil {
		return nil, err
	}
	if err := setApproved(ctx, t, held, steps, refused, at); err != nil {
		return nil, err
	}
	st := &run.Stats
	st.Held = max(st.Held-writes(stored.Steps), 0)
	st.Refused += len(refused)
	for _, step := range steps {
		kept := st.Kept - 1
		if step.Judged == reverie.StatusHeld || step.Returns { // it was not counted as kept
			kept = st.Kept
		}
		switch step.Action {
		case reverie.ActionCreate:
			st.Created++
		case reverie.ActionUpdate:
			st.Updated, st.Kept = st.Updated+1, max(kept, 0)
		case reverie.ActionDelete:
			st.Deleted, st.Kept = st.Deleted+1, max(kept, 0)
		case reverie.ActionArchive:
			st.Archived, st.Kept = st.Archived+1, max(kept, 0)
		}
	}
	err = t.Exec(ctx, approveRunQuery, run.GroupID, run.ID, pg.AsJSON(run.Stats), at, run.Status)
	return list, err
}

// writes counts the steps that make or end a version. Support was never counted as held.
func writes(steps []reverie.Step) (n int) {
	for _, s := range steps {
		if s.Action != reverie.ActionKeep {
			n++
		}
	}
	return n
}

// approveRunQuery corrects the stats of a run, and ends the held status when no plan is pending.
const approveRunQuery = `with ended as (update runs r set stats = $3::jsonb, status = case when status = 'held' and not exists (
		select 1 from held_plans h where h.group_id = $1 and h.run_id = r.run_id and h.status = 'waiting')
		then 'succeeded' else status end
	where group_id = $1 and run_id = $2
	returning run_id, case when status <> $5 then status end as status, $4::timestamptz as at), ` + events.OfRuns + ` select 1`

// lockStanding locks a run before a decision on its held plans. An undone run is an error.
func lockStanding(ctx context.Context, t *pg.Tx, groupID, runID string) (reverie.Run, error) {
	run, err := pg.Get[reverie.Run](ctx, t, `select `+RunColumns+` from runs where group_id = $1 and run_id = $2
		for update`, groupID, runID)
	if err == nil && run.UndoneAt != nil {
		err = fmt.Errorf("the run was undone at %s, and what it held is rejected: %w",
			run.UndoneAt.Format(time.RFC3339), reverie.ErrConflict)
	}
	return run, pg.NotFoundIfEmpty(err, "run %s", runID)
}

// requeueQuery makes the messages of chunks that are held whole pending again, and counts them by outcome.
const requeueQuery = `with freed as (
		update messages m set run_id = null, outcome = null
		from (select m2.message_id, m2.outcome from held_plans h
			join run_chunks c on c.group_id = $1 and c.run_id = h.run_id and c.chunk_no = h.chunk_no
			join messages m2 on m2.group_id = $1 and m2.message_id = any (c.message_ids)
			where h.group_id = $1 and h.run_id = $2 and h.status = 'waiting' and h.whole and m2.run_id = $2) old
		where m.group_id = $1 and m.message_id = old.message_id and m.run_id = $2
		returning old.outcome)
	select count(*) filter (where outcome = 'cited') as cited, count(*)
		filter (where outcome = 'considered') as considered,
		count(*) filter (where outcome = 'filtered') as filtered from freed`

// RejectHeld rejects all pending plans of a run, and the run with them. With requeue, the messages of chunks that were
// held whole are pending again. The material of a dream is new again if the dream wrote no item. It returns the number
// of messages or memory versions. A run without a pending plan is reverie.ErrConflict.
func (s *Store) RejectHeld(ctx context.Context, lease reverie.Lease, groupID, runID string,
	requeue bool) (requeued int, err error) {
	what := fmt.Sprintf("reject what run %s holds", runID)
	if err := checkLease(lease, groupID); err != nil {
		return 0, fmt.Errorf("%s: %w", what, err)
	}
	if !reverie.IsID(runID) {
		return 0, fmt.Errorf("%s: %w", what, reverie.ErrNotFound)
	}
	err = s.underLease(ctx, lease, pg.Work{
		What: what,
		Do: func(ctx context.Context, t *pg.Tx) (err error) {
			requeued, err = s.reject(ctx, t, groupID, runID, requeue)
			return err
		},
		Committed: CommittedUnder(lease, `select 1 from runs where group_id = $1 and run_id = $2
			and status = 'rejected'`, groupID, runID),
	})
	return requeued, err
}

func (s *Store) reject(ctx context.Context, t *pg.Tx, groupID, runID string, requeue bool) (requeued int, err error) {
	run, err := lockStanding(ctx, t, groupID, runID)
	if err != nil {
		return 0, err
	}
	if requeue {
		if requeued, err = s.giveBack(ctx, t, &run); err != nil {
			return 0, err
		}
	}
	n, err := pg.Get[int](ctx, t, events.RejectPlans, groupID, pq.StringArray{runID}, s.db.Now())
	if err != nil {
		return 0, err
	}
	if n == 0 {
		return 0, fmt.Errorf("nothing of it is pending review: %w", reverie.ErrConflict)
	}
	err = t.Exec(ctx, `with ended as (update runs set status = 'rejected', stats = $3::jsonb where group_id = $1
		and run_id = $2 returning run_id, status, $4::timestamptz as at), `+events.OfRuns+` select 1`, groupID, runID, pg.AsJSON(run.Stats),
		s.db.Now())
	return requeued, err
}

// giveBack makes the messages or the material of a run's held plans new again, and corrects its counts. It returns
// their number.
func (s *Store) giveBack(ctx context.Context, t *pg.Tx, run *reverie.Run) (int, error) {
	if run.Job == reverie.JobDream {
		return requeueDream(ctx, t, run)
	}
	stats := &run.Stats
	var back int
	if run.SessionID != "" {
		var err error
		if back, err = requeueSession(ctx, t, *run, s.db.Now()); err != nil {
			return 0, err
		}
		gone := 0
		for _, n := range []*int{&stats.Considered, &stats.Cited, &stats.Filtered} { // outcomes are not stored
			less := min(*n, back-gone)
			*n, gone = *n-less, gone+less
		}
	}
	var freed struct{ Cited, Considered, Filtered int }
	if err := t.Get(ctx, &freed, requeueQuery, run.GroupID, run.ID); err != nil {
		return 0, err
	}
	// Another chunk will consume their messages, so this one has consumed none.
	if err := t.Exec(ctx, `update run_chunks c set status = 'failed' from held_plans h
		where c.group_id = $1 and c.run_id = $2 and h.group_id = $1 and h.run_id = c.run_id
			and h.chunk_no = c.chunk_no
			and h.status = 'waiting' and h.whole`, run.GroupID, run.ID); err != nil {
		return 0, err
	}
	back += freed.Cited + freed.Considered + freed.Filtered
	stats.Cited, stats.Considered, stats.Filtered = stats.Cited-freed.Cited, stats.Considered-freed.Considered,
		stats.Filtered-freed.Filtered
	stats.Deferred += back
	return back, nil
}

const (
	citedQuery = `select ` + MessageColumns + ` from messages where group_id = $1 and message_id = any ($2::text[])
		and pruned_at is null`

	waitingProposalsQuery = `select ` + HeldColumns + ` from held_plans h
		where group_id = $1 and status = 'waiting' and exists (
			select 1 from runs r where r.group_id = $1 and r.run_id = h.run_id and r.job = 'propose')
		order by created_at, run_id`

	proposeRunQuery = `with ended as (insert into runs (` + RunColumns + `)
		values ($1, $2::uuid, 'propose', '', $3::timestamptz, $3::timestamptz, 'held', 1, $4, '', '', $5::jsonb, '',
			$3::timestamptz, $3::timestamptz, null) returning run_id, status, started_at as at), ` + events.OfRuns + ` select 1`

	proposeChunkQuery = `insert into run_chunks (` + chunkColumns + `)
		values ($1, $2::uuid, $3, '', '{}', '{}', '', 'held', '[]', $4::timestamptz)`
)

// ProposalState reads what a proposal is checked against, in one snapshot. It reads the group, or the memory's group if
// none is named, and the memory. It also reads the active memory that has the statement already, and the cited messages
// that still have a text. The id of an old version is a *reverie.NotHeadError; an unknown group or memory is
// reverie.ErrNotFound.
func (s *Store) ProposalState(ctx context.Context, p reverie.Proposal) (reverie.ProposalState, error) {
	what := "read what is proposed about"
	return read(ctx, s, p.GroupID, what, func(ctx context.Context, t *pg.Tx) (state reverie.ProposalState, err error) {
		groupID, kind := p.GroupID, reverie.KindGroup
		if p.Action != reverie.ActionCreate {
			head, err := proposedHead(ctx, t, p)
			if err != nil {
				return state, err
			}
			state.Head, groupID, kind = &head, head.GroupID, head.Kind
		}
		if state.Group, err = GetGroup(ctx, t, groupID); err != nil {
			return state, err
		}
		if p.Statement != "" {
			if state.TwinID, err = twinOf(ctx, t, groupID, kind, text.ContentHash(p.Statement)); err != nil {
				return state, err
			}
		}
		ids := make(pq.StringArray, len(p.Evidence))
		for i, e := range p.Evidence {
			ids[i] = e.MessageID
		}
		if err = t.Select(ctx, &state.Messages, citedQuery, groupID, ids); err != nil {
			return state, err
		}
		return state, nil
	})
}

func proposedHead(ctx context.Context, t *pg.Tx, p reverie.Proposal) (reverie.Memory, error) {
	asked, err := GetMemory(ctx, t, p.GroupID, p.MemoryID)
	if err != nil {
		return reverie.Memory{}, err
	}
	head, err := getHead(ctx, t, asked.GroupID, asked.LineageID)
	if err == nil && head.ID != asked.ID {
		err = &reverie.NotHeadError{MemoryID: asked.ID, Head: reverie.Head{MemoryID: head.ID, Version: head.Version}}
	}
	return head, err
}

// Propose writes an ended run of proposals with its held plan. It takes no lease: it changes no memory, and approval
// checks everything again. Too many pending proposals, or one with the same effect, are reverie.ErrConflict.
func (s *Store) Propose(ctx context.Context, run reverie.Run, plan reverie.Plan) error {
	return s.db.Run(ctx, pg.Work{
		What: fmt.Sprintf("keep a proposal for group %q", plan.GroupID),
		Do: func(ctx context.Context, t *pg.Tx) error {
			if _, err := LockGroup(ctx, t, plan.GroupID); err != nil { // one at a time, because they are counted
				return err
			}
			if err := roomForProposal(ctx, t, plan); err != nil {
				return err
			}
			at := s.db.Now()
			err := t.Exec(ctx, proposeRunQuery, plan.GroupID, run.ID, at, pg.ValidText(run.Model), pg.AsJSON(run.Stats))
			if err != nil {
				return err
			}
			if err := t.Exec(ctx, proposeChunkQuery, plan.GroupID, run.ID, plan.ChunkNo, at); err != nil {
				return err
			}
			return s.hold(ctx, t, plan)
		},
		Committed: func(ctx context.Context, t *pg.Tx) (bool, error) {
			if _, err := LockGroup(ctx, t, plan.GroupID); err != nil {
				return false, err
			}
			return pg.Get[bool](ctx, t, `select exists (select 1 from runs where group_id = $1
				and run_id = $2)`, plan.GroupID, run.ID)
		},
	})
}

// roomForProposal refuses a proposal if too many are pending, or one with the same effect is.
func roomForProposal(ctx context.Context, t *pg.Tx, plan reverie.Plan) error {
	list, err := pg.Select[reverie.HeldPlan](ctx, t, waitingProposalsQuery, plan.GroupID)
	if err != nil {
		return err
	}
	for _, waiting := range list {
		if sameProposal(waiting.Steps, plan.Held) {
			return fmt.Errorf("this is already proposed, and pending review as run %s: %w", waiting.RunID, reverie.ErrConflict)
		}
	}
	if len(list) >= reverie.MaxProposals {
		return fmt.Errorf("%d proposals are pending review, the most that may be: approve or reject some first: %w", len(list),
			reverie.ErrConflict)
	}
	return nil
}

// sameProposal reports whether two proposals would have the same effect.
func sameProposal(a, b []reverie.Step) bool {
	if len(a) != 1 || len(b) != 1 || a[0].Action != b[0].Action || a[0].ContentHash != b[0].ContentHash {
		return false
	}
	return a[0].Action == reverie.ActionCreate || a[0].LineageID == b[0].LineageID
}
