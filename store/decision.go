package store

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"github.com/lib/pq"

	"reverie/internal/reverie"
	"reverie/store/pg"
)

const decisionColumns = `group_id, run_id, chunk_no, decision_no, kind, statement, content_hash, action, basis,
	target_id, memory_id, reason, candidates, model, prompt_version, prompt_sha256, calls, created_at`

type decisionRow struct {
	GroupID       string    `db:"group_id"`
	RunID         string    `db:"run_id"`
	ChunkNo       int       `db:"chunk_no"`
	No            int       `db:"decision_no"`
	Kind          string    `db:"kind"`
	Statement     string    `db:"statement"`
	ContentHash   string    `db:"content_hash"`
	Action        string    `db:"action"`
	Basis         string    `db:"basis"`
	TargetID      *string   `db:"target_id"`
	MemoryID      *string   `db:"memory_id"`
	Reason        string    `db:"reason"`
	Candidates    []byte    `db:"candidates"`
	Model         string    `db:"model"`
	PromptVersion string    `db:"prompt_version"`
	PromptSHA256  string    `db:"prompt_sha256"`
	Calls         int       `db:"calls"`
	CreatedAt     time.Time `db:"created_at"`
}

func (r decisionRow) decision() (reverie.Decision, error) {
	d := reverie.Decision{GroupID: r.GroupID, RunID: r.RunID, ChunkNo: r.ChunkNo, No: r.No, Kind: reverie.Kind(r.Kind),
		Statement: r.Statement, ContentHash: r.ContentHash, Action: reverie.DecisionAction(r.Action),
		Basis:  reverie.Basis(r.Basis),
		Reason: r.Reason, Model: r.Model, PromptVersion: r.PromptVersion, PromptSHA256: r.PromptSHA256, Calls: r.Calls,
		CreatedAt: r.CreatedAt.UTC()}
	if r.TargetID != nil {
		d.TargetID = *r.TargetID
	}
	if r.MemoryID != nil {
		d.MemoryID = *r.MemoryID
	}
	if err := json.Unmarshal(r.Candidates, &d.Candidates); err != nil {
		return d, fmt.Errorf("read the candidates of decision %d in chunk %d of run %s: %w", r.No, r.ChunkNo, r.RunID, err)
	}
	return d, nil
}

// runDecisions returns what a run decided on, in order.
func runDecisions(ctx context.Context, t *pg.Tx, groupID, runID string, limit int) ([]reverie.Decision, error) {
	var rows []decisionRow
	err := t.Select(ctx, &rows, `select `+decisionColumns+` from decisions where group_id = $1 and run_id = $2
		order by chunk_no, decision_no limit nullif($3::int, 0)`, groupID, runID, limit)
	if err != nil {
		return nil, err
	}
	list := make([]reverie.Decision, len(rows))
	for i, r := range rows {
		if list[i], err = r.decision(); err != nil {
			return nil, err
		}
	}
	return list, nil
}

const insertDecisionsQuery = `
	insert into decisions (` + decisionColumns + `, planned_id)
	select $1, $2::uuid, $3::int, u.no, u.kind, u.statement, u.hash, u.action, u.basis, u.target_id, u.memory_id,
		u.reason,
		u.candidates, u.model, u.prompt, u.sha256, u.calls, $4::timestamptz, u.planned_id
	from unnest($5::int[], $6::text[], $7::text[], $8::text[], $9::text[], $10::text[], $11::uuid[], $12::uuid[],
		$13::text[],
			$14::jsonb[], $15::text[], $16::text[], $17::text[], $18::int[], $19::uuid[])
		as u (no, kind, statement, hash, action, basis, target_id, memory_id, reason, candidates, model, prompt, sha256,
			calls, planned_id)`

// checkDecisions refuses decisions that no plan may hold, before anything is
// locked.
func checkDecisions(list []reverie.Decision) error {
	seen := map[int]bool{}
	for _, d := range list {
		if d.No < 1 || seen[d.No] {
			return fmt.Errorf("decision %d (%s): the decisions of a chunk count from 1, each once: %w", d.No, d.Action,
				reverie.ErrInvalid)
		}
		seen[d.No] = true
	}
	return nil
}

// insertDecisions writes why each fact of a plan became what it is, after the
// versions that the decisions name. A version that is held is none yet, nor does a
// plan that is held whole support any: approving it names it, see approvedQuery.
func insertDecisions(ctx context.Context, t *pg.Tx, plan reverie.Plan, at time.Time) error {
	if len(plan.Decisions) == 0 {
		return nil
	}
	held := map[string]bool{}
	for _, st := range plan.Held {
		held[st.MemoryID] = true
	}
	named := func(id string, not bool) *string {
		if id == "" || not {
			return nil
		}
		return &id
	}
	var numbers, calls pq.Int64Array
	var targets, ids, planned []*string
	texts := make([]pq.StringArray, 10)
	for _, d := range plan.Decisions {
		candidates, err := candidatesJSON(d.Candidates)
		if err != nil {
			return err
		}
		numbers, calls = append(numbers, int64(d.No)), append(calls, int64(d.Calls))
		targets, planned = append(targets, named(d.TargetID, held[d.TargetID])), append(planned, named(d.MemoryID, false))
		ids = append(ids, named(d.MemoryID, plan.HeldAll || held[d.MemoryID]))
		for i, v := range []string{string(d.Kind), pg.ValidText(d.Statement), d.ContentHash, string(d.Action),
			string(d.Basis),
			pg.ValidText(d.Reason), candidates, d.Model, d.PromptVersion, d.PromptSHA256} {
			texts[i] = append(texts[i], v)
		}
	}
	_, err := t.Exec(ctx, insertDecisionsQuery, plan.GroupID, plan.RunID, plan.ChunkNo, at, numbers, texts[0], texts[1],
		texts[2],
		texts[3], texts[4], pq.Array(targets), pq.Array(ids), texts[5], texts[6], texts[7], texts[8], texts[9], calls,
		pq.Array(planned))
	return err
}

// candidatesJSON writes candidates as a JSON array, never null. They repeat what a
// model wrote.
func candidatesJSON(list []reverie.Candidate) (string, error) {
	clean := make([]reverie.Candidate, len(list))
	for i, c := range list {
		c.Statement, c.Reason, c.Merged = pg.ValidText(c.Statement), pg.ValidText(c.Reason), pg.ValidText(c.Merged)
		clean[i] = c
	}
	return pg.JSONText(clean)
}

// approvedQuery marks a held plan as approved, adds the refused lines to its
// chunk, and lets its decisions name the versions that they led to in the end.
const approvedQuery = `with plan as (
		update held_plans set status = 'approved' where group_id = $1 and run_id = $2 and chunk_no = $3),
	named as (
		update decisions set memory_id = planned_id
		where group_id = $1 and run_id = $2 and chunk_no = $3 and memory_id is null and planned_id = any ($5::uuid[]))
	update run_chunks set refusals = refusals || $4::jsonb where group_id = $1 and run_id = $2 and chunk_no = $3`

// setApproved is [approvedQuery] for the steps that were applied.
func setApproved(ctx context.Context, t *pg.Tx, held reverie.HeldPlan, steps []reverie.Step,
	refused []reverie.Refusal) error {
	refusals, err := refusalsJSON(refused)
	if err != nil {
		return err
	}
	ids := pq.StringArray{}
	for _, st := range steps {
		switch st.Action {
		case reverie.ActionCreate, reverie.ActionUpdate:
			ids = append(ids, st.MemoryID)
		case reverie.ActionKeep:
			ids = append(ids, st.Head.MemoryID)
		}
	}
	_, err = t.Exec(ctx, approvedQuery, held.GroupID, held.RunID, held.ChunkNo, refusals, ids)
	return err
}
