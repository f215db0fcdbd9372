package store

import (
	"context"
	"fmt"

	"github.com/lib/pq"

	"reverie/internal/reverie"
	"reverie/internal/text"
	"reverie/store/pg"
)

const (
	citedQuery = `select ` + messageColumns + ` from messages where group_id = $1 and message_id = any ($2::text[])
		and pruned_at is null`

	waitingProposalsQuery = `select ` + heldColumns + ` from held_plans h
		where group_id = $1 and status = 'waiting' and exists (
			select 1 from runs r where r.group_id = h.group_id and r.run_id = h.run_id and r.job = 'propose')
		order by created_at, run_id`

	proposeRunQuery = `insert into runs (` + runColumns + `)
		values ($1, $2::uuid, 'propose', '', $3::timestamptz, $3::timestamptz, 'held', 1, $4, '', '', $5::jsonb, '',
			$3::timestamptz, $3::timestamptz, null)`

	proposeChunkQuery = `insert into run_chunks (` + chunkColumns + `)
		values ($1, $2::uuid, $3, '', '{}', '{}', '{}', '', 'held', '[]', $4::timestamptz)`
)

// ProposalState reads what a proposal is held against, in one snapshot: the group, or
// that of the memory where none is named; the memory; the active memory that makes the
// statement already; and the messages cited that still have their text. The id of an old
// version is a *reverie.NotHeadError; an unknown group or memory is reverie.ErrNotFound.
func (s *Store) ProposalState(ctx context.Context, p reverie.Proposal) (reverie.ProposalState, error) {
	var state reverie.ProposalState
	err := s.db.Run(ctx, pg.Work{What: "read what is proposed about", ReadOnly: true, Do: func(ctx context.Context,
		t *pg.Tx) error {
		state = reverie.ProposalState{}
		groupID, kind := p.GroupID, reverie.KindGroup
		if p.Action != reverie.ActionCreate {
			head, err := proposedHead(ctx, t, p)
			if err != nil {
				return err
			}
			state.Head, groupID, kind = &head, head.GroupID, head.Kind
		}
		var err error
		if state.Group, err = GetGroup(ctx, t, groupID); err != nil {
			return err
		}
		if p.Statement != "" {
			if state.TwinID, err = twinOf(ctx, t, groupID, kind, text.ContentHash(p.Statement)); err != nil {
				return err
			}
		}
		ids := make(pq.StringArray, len(p.Evidence))
		for i, e := range p.Evidence {
			ids[i] = e.MessageID
		}
		if err = t.Select(ctx, &state.Messages, citedQuery, groupID, ids); err != nil {
			return err
		}
		utcMessages(state.Messages)
		return nil
	}})
	return state, err
}

func proposedHead(ctx context.Context, t *pg.Tx, p reverie.Proposal) (reverie.Memory, error) {
	asked, err := getMemory(ctx, t, p.GroupID, p.MemoryID)
	if err != nil {
		return reverie.Memory{}, err
	}
	head, err := getHead(ctx, t, asked.GroupID, asked.LineageID)
	if err == nil && head.ID != asked.ID {
		err = &reverie.NotHeadError{MemoryID: asked.ID, Head: reverie.Head{MemoryID: head.ID, Version: head.Version}}
	}
	return head.memory(), err
}

// Propose writes a run of proposals that has ended, and what it holds. It takes no lease:
// it touches no memory, and whoever approves it looks at all of them again. Where as
// many proposals wait as may, or one that comes to the same, it is
// reverie.ErrConflict.
func (s *Store) Propose(ctx context.Context, run reverie.Run, plan reverie.Plan) error {
	stats, err := pg.JSONText(run.Stats)
	if err != nil {
		return err
	}
	return s.db.Run(ctx, pg.Work{
		What: fmt.Sprintf("keep a proposal for group %q", plan.GroupID),
		Do: func(ctx context.Context, t *pg.Tx) error {
			if _, err := LockGroup(ctx, t, plan.GroupID); err != nil { // one after another: they are counted
				return err
			}
			if err := roomForProposal(ctx, t, plan); err != nil {
				return err
			}
			at := s.db.Now()
			if _, err := t.Exec(ctx, proposeRunQuery, plan.GroupID, run.ID, at, pg.ValidText(run.Model), stats); err != nil {
				return err
			}
			if _, err := t.Exec(ctx, proposeChunkQuery, plan.GroupID, run.ID, plan.ChunkNo, at); err != nil {
				return err
			}
			return s.hold(ctx, t, plan)
		},
		Committed: func(ctx context.Context, t *pg.Tx) (bool, error) {
			if _, err := LockGroup(ctx, t, plan.GroupID); err != nil {
				return false, err
			}
			var found bool
			err := t.Get(ctx, &found, `select exists (select 1 from runs where group_id = $1
				and run_id = $2)`, plan.GroupID, run.ID)
			return found, err
		},
	})
}

// roomForProposal refuses a proposal beyond those that may wait, and one that waits
// already.
func roomForProposal(ctx context.Context, t *pg.Tx, plan reverie.Plan) error {
	var rows []heldRow
	if err := t.Select(ctx, &rows, waitingProposalsQuery, plan.GroupID); err != nil {
		return err
	}
	for _, r := range rows {
		waiting, err := r.plan()
		if err != nil {
			return err
		}
		if sameProposal(waiting.Steps, plan.Held) {
			return fmt.Errorf("this is proposed already, and waits for a person as run %s: %w", r.RunID, reverie.ErrConflict)
		}
	}
	if len(rows) >= reverie.MaxProposals {
		return fmt.Errorf("%d proposals wait for a person, as many as may: approve or reject some first: %w", len(rows),
			reverie.ErrConflict)
	}
	return nil
}

// sameProposal tells whether two proposals would have the same effect.
func sameProposal(a, b []reverie.Step) bool {
	if len(a) != 1 || len(b) != 1 || a[0].Action != b[0].Action || a[0].ContentHash != b[0].ContentHash {
		return false
	}
	return a[0].Action == reverie.ActionCreate || a[0].LineageID == b[0].LineageID
}
