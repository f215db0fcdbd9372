package store

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"time"

	"reverie/internal/reverie"
	"reverie/store/events"
	"reverie/store/pg"
)

const chunkColumns = `group_id, run_id, chunk_no, input_sha256, message_ids, memory_ids, answer, status,
	refusals, created_at`

func chunks(ctx context.Context, t *pg.Tx, groupID, runID string, limit int) ([]reverie.Chunk, error) {
	return pg.Select[reverie.Chunk](ctx, t, `select `+chunkColumns+` from run_chunks where group_id = $1 and run_id = $2
		order by chunk_no limit nullif($3::int, 0)`, groupID, runID, limit)
}

// refusalsJSON encodes refusals as a JSON array, never null. They contain text of a model.
func refusalsJSON(list []reverie.Refusal) any {
	clean := make([]reverie.Refusal, len(list))
	for i, r := range list {
		r.Action, r.Handle, r.Detail = pg.ValidText(r.Action), pg.ValidText(r.Handle), pg.ValidText(r.Detail)
		clean[i] = r
	}
	return pg.AsJSON(clean)
}

const (
	saveChunkQuery = `insert into run_chunks as c (` + chunkColumns + `)
		values ($1, $2, $3, $4, $5::text[], $6::uuid[], $7, $8, $9::jsonb, $10)
		on conflict (group_id, run_id, chunk_no) do update set input_sha256 = excluded.input_sha256,
			message_ids = excluded.message_ids, memory_ids = excluded.memory_ids, answer = excluded.answer,
			status = excluded.status, refusals = excluded.refusals
		where c.status not in ('applied', 'held') returning true`

	limitQuery = `update runs set stats = stats || $3::jsonb where group_id = $1 and run_id = $2`
)

// SaveChunk writes the present state of a chunk over an earlier one, its limit into the run's stats, and the call that
// answered it. In the answer, U+FFFD replaces NUL and invalid UTF-8. A chunk that was applied or held is not changed:
// that is reverie.ErrConflict.
func (s *Store) SaveChunk(ctx context.Context, lease reverie.Lease, c reverie.Chunk) error {
	return s.underLease(ctx, lease, pg.Work{
		What:  fmt.Sprintf("save chunk %d of run %s", c.No, c.RunID),
		ByKey: true,
		Do:    func(ctx context.Context, t *pg.Tx) error { return s.saveChunk(ctx, t, lease, c) },
	})
}

// saveChunk queues the statements of [Store.SaveChunk] in a transaction that holds the lease.
func (s *Store) saveChunk(ctx context.Context, t *pg.Tx, lease reverie.Lease, c reverie.Chunk) error {
	if c.Call != nil {
		if err := InsertCall(ctx, t, *c.Call); err != nil {
			return err
		}
	}
	if c.Limit != 0 {
		limit := pg.AsJSON(map[string]int{"limit": c.Limit})
		if err := t.Exec(ctx, limitQuery, lease.GroupID, c.RunID, limit); err != nil {
			return err
		}
	}
	t.Ask(ctx, new(bool), saveChunkQuery, lease.GroupID, c.RunID, c.No, c.InputSHA256, append([]string{}, c.MessageIDs...),
		append([]string{}, c.MemoryIDs...), // must not be null
		pg.ValidText(c.Answer), c.Status, refusalsJSON(c.Refusals), s.db.Now()).Then(func(err error) error {
		if errors.Is(err, sql.ErrNoRows) {
			return fmt.Errorf("it is applied already: %w", reverie.ErrConflict)
		}
		return err
	})
	return nil
}

const (
	answersQuery = `select input_sha256, answer from answers where group_id = $1 and run_id = $2 and purpose = $3`

	saveAnswerQuery = `insert into answers (group_id, run_id, input_sha256, purpose, answer, created_at)
		values ($1, $2, $3, $4, $5, $6) on conflict (group_id, run_id, input_sha256) do nothing`

	// Once a run has adopted answers, ended runs before it need them no longer. The run itself keeps its own answers
	// until a third run adopts them, which finds the run by its chunk.
	dropAnswersQuery = `delete from answers d using answers a
		where a.group_id = $1 and a.run_id = $2::uuid and d.group_id = $1 and d.input_sha256 = a.input_sha256
			and d.run_id = any (array(select r.run_id from runs f join runs r on r.group_id = $1 and r.job = f.job
				where f.group_id = $1 and f.run_id = $2::uuid and r.run_id not in ($2::uuid, $3::uuid)
					and r.status in ('deferred', 'failed')))`
	adoptAnswersQuery = `insert into answers (group_id, run_id, input_sha256, purpose, answer, created_at)
		select group_id, $3::uuid, input_sha256, purpose, answer, $4 from answers where group_id = $1 and run_id = $2::uuid
		on conflict (group_id, run_id, input_sha256) do nothing`
)

// Answers returns the stored answers of a run for one purpose, by the hash of their question.
func (s *Store) Answers(ctx context.Context, groupID, runID, purpose string) (map[string]string, error) {
	what := fmt.Sprintf("read the answers of run %s", runID)
	rows, err := pg.QueryByKey[struct {
		Input  string `db:"input_sha256"`
		Answer string
	}](ctx, s.db.Of(ctx, groupID), what, answersQuery, groupID, runID, purpose)
	found := make(map[string]string, len(rows))
	for _, r := range rows {
		found[r.Input] = r.Answer
	}
	return found, err
}

// SaveAnswer stores an answer of a model before anything is done with it. Of several answers to one question the first
// stays. U+FFFD replaces NUL and invalid UTF-8. An unknown run is reverie.ErrNotFound. A lost lease is
// reverie.ErrLeaseLost, and nothing is written.
func (s *Store) SaveAnswer(ctx context.Context, lease reverie.Lease, a reverie.Answer) error {
	what := fmt.Sprintf("keep an answer of run %s", a.RunID)
	if err := checkLease(lease, a.GroupID); err != nil {
		return fmt.Errorf("%s: %w", what, err)
	}
	return s.underLease(ctx, lease, pg.Work{
		What:  what,
		ByKey: true,
		Do: func(ctx context.Context, t *pg.Tx) error {
			return t.Exec(ctx, saveAnswerQuery, a.GroupID, a.RunID, a.InputSHA256, a.Purpose, pg.ValidText(a.Text),
				s.db.Now())
		},
	})
}

// AdoptAnswers copies all answers of a run to another run that continues its work, so that a third run can continue the
// second. Answers that the second run has already stay. Earlier runs that were deferred or failed lose the answers that
// the first run has too, so a chain of runs has each answer at most twice. If there are answers but the second run is
// unknown, that is reverie.ErrNotFound. A lost lease is reverie.ErrLeaseLost, and nothing is written.
func (s *Store) AdoptAnswers(ctx context.Context, lease reverie.Lease, groupID, from, to string) error {
	what := fmt.Sprintf("keep the answers of run %s for run %s", from, to)
	if err := checkLease(lease, groupID); err != nil {
		return fmt.Errorf("%s: %w", what, err)
	}
	return s.underLease(ctx, lease, pg.Work{
		What:  what,
		ByKey: true,
		Do:    func(ctx context.Context, t *pg.Tx) error { return s.adoptAnswers(ctx, t, groupID, from, to) },
	})
}

// adoptAnswers is [Store.AdoptAnswers] in a transaction that holds the lease.
func (s *Store) adoptAnswers(ctx context.Context, t *pg.Tx, groupID, from, to string) error {
	if err := t.Exec(ctx, dropAnswersQuery, groupID, from, to); err != nil {
		return err
	}
	return t.Exec(ctx, adoptAnswersQuery, groupID, from, to, s.db.Now())
}

const DecisionColumns = `group_id, run_id, chunk_no, decision_no, kind, statement, content_hash, action, basis,
	target_id, memory_id, reason, candidates, model, prompt_version, prompt_sha256, calls, created_at`

// runDecisions returns the decisions of a run, in order.
func runDecisions(ctx context.Context, t *pg.Tx, groupID, runID string, limit int) ([]reverie.Decision, error) {
	return pg.Select[reverie.Decision](ctx, t, `select `+DecisionColumns+` from decisions where group_id = $1 and run_id = $2
		order by chunk_no, decision_no limit nullif($3::int, 0)`, groupID, runID, limit)
}

const insertDecisionsQuery = `
	insert into decisions (` + DecisionColumns + `, planned_id)
	select $1, $2::uuid, $3::int, u.no, u.kind, u.statement, u.hash, u.action, u.basis, u.target_id, u.memory_id,
		u.reason,
		u.candidates, u.model, u.prompt, u.sha256, u.calls, $4::timestamptz, u.planned_id
	from unnest($5::int[], $6::text[], $7::text[], $8::text[], $9::text[], $10::text[], $11::uuid[], $12::uuid[],
		$13::text[],
			$14::jsonb[], $15::text[], $16::text[], $17::text[], $18::int[], $19::uuid[])
		as u (no, kind, statement, hash, action, basis, target_id, memory_id, reason, candidates, model, prompt, sha256,
			calls, planned_id)`

// checkDecisions refuses invalid decisions before anything is locked.
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

// insertDecisions writes the decisions on the facts of a plan, after the versions that they name. A held version does
// not exist yet, and a plan that is held whole supports none. When such a plan is approved, approvedQuery sets the
// versions.
func insertDecisions(ctx context.Context, t *pg.Tx, plan reverie.Plan, at time.Time) error {
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
	var rows pg.Columns
	for _, d := range plan.Decisions {
		rows.Add(d.No, d.Kind, pg.ValidText(d.Statement), d.ContentHash, d.Action, d.Basis,
			named(d.TargetID, held[d.TargetID]), named(d.MemoryID, plan.HeldAll || held[d.MemoryID]), pg.ValidText(d.Reason),
			candidatesJSON(d.Candidates), d.Model, d.PromptVersion, d.PromptSHA256, d.Calls, named(d.MemoryID, false))
	}
	return rows.Exec(ctx, t, insertDecisionsQuery, plan.GroupID, plan.RunID, plan.ChunkNo, at)
}

// candidatesJSON encodes candidates as a JSON array, never null. They contain text of a model.
func candidatesJSON(list []reverie.Candidate) any {
	clean := make([]reverie.Candidate, len(list))
	for i, c := range list {
		c.Statement, c.Reason, c.Merged = pg.ValidText(c.Statement), pg.ValidText(c.Reason), pg.ValidText(c.Merged)
		clean[i] = c
	}
	return pg.AsJSON(clean)
}

// approvedQuery marks a held plan as approved, adds the refused lines to its chunk, and sets the resulting versions in
// its decisions.
const approvedQuery = `with plans as (
		update held_plans set status = 'approved' where group_id = $1 and run_id = $2 and chunk_no = $3
		returning run_id, chunk_no, plan, status as verdict, $6::text[] as chosen, $7::timestamptz as at),
	` + events.OfReviews + `,
	named as (
		update decisions set memory_id = planned_id
		where group_id = $1 and run_id = $2 and chunk_no = $3 and memory_id is null and planned_id = any ($5::uuid[]))
	update run_chunks set refusals = refusals || $4::jsonb where group_id = $1 and run_id = $2 and chunk_no = $3`

// setApproved runs [approvedQuery] with the steps that were applied.
func setApproved(ctx context.Context, t *pg.Tx, held reverie.HeldPlan, steps []reverie.Step,
	refused []reverie.Refusal, at time.Time) error {
	ids, lineages := []string{}, []string{}
	for _, st := range steps {
		lineages = append(lineages, st.LineageID)
		switch st.Action {
		case reverie.ActionCreate, reverie.ActionUpdate:
			ids = append(ids, st.MemoryID)
		case reverie.ActionKeep:
			ids = append(ids, st.Head.MemoryID)
		}
	}
	return t.Exec(ctx, approvedQuery, held.GroupID, held.RunID, held.ChunkNo, refusalsJSON(refused), ids,
		lineages, at)
}
