package store

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/lib/pq"

	"reverie/internal/reverie"
	"reverie/store/pg"
)

const (
	lockChunkQuery  = `select ` + lockChunk
	lockNewestQuery = `select ` + newestChange + ` as newest, ` + saidBy + ` as said_by, ` + lockChunk
	lockChunk       = `c.status as chunk, r.status as run from run_chunks c
		join runs r on r.group_id = $1 and r.run_id = c.run_id
		where c.group_id = $1 and c.run_id = $2 and c.chunk_no = $3 for update`

	// The time by which the chat had said what a chunk takes in: the end of its window or, for a window without an end,
	// the time of its newest message.
	saidBy = `case when r.stats @> '{"open_ended": true}' then (select max(m.sent_at) from messages m
			where m.group_id = $1 and m.message_id = any (c.message_ids)) else r.window_until end`

	// Shown messages are queued for the impression job, if people and things are observed. A message that is consumed
	// again is not queued again. Sessions with new memories ($6) are new to dreams again. They are locked before
	// messages, as by the import of messages.
	consumeQuery = `with given as (
			select session_id from sessions where group_id = $1 and dreamt_until is not null and session_id = any (array(
				select session_id from messages where group_id = $1 and message_id = any ($6::text[]) and session_id <> ''))
				order by session_id for no key update),
		fresh as (
			update sessions s set dreamt_until = null from given g where s.group_id = $1 and s.session_id = g.session_id
			returning 1),
		consumed as (
			update messages m set run_id = $2::uuid, outcome = u.outcome
			from unnest($3::text[], $4::text[]) as u (id, outcome)
			where m.group_id = $1 and m.message_id = u.id and m.run_id is null and m.outcome is null
				and (select count(*) from fresh) >= 0
			returning m.message_id, m.sent_at, m.role, m.outcome),
		queued as (
			insert into message_uses (group_id, job, message_id, sent_at)
			select $1, 'impression', message_id, sent_at from consumed
			where outcome <> 'filtered' and role <> 'tool' and (
				select g.impressions = 'on' or g.impressions = '' and $5::bool from groups g where g.group_id = $1)
			order by message_id
			on conflict (group_id, job, message_id) do nothing),
		talked as (
			insert into active_nights (group_id, night)
			select distinct $1, (c.sent_at at time zone coalesce(nullif(g.time_zone, ''), 'UTC'))::date
			from consumed c join groups g on g.group_id = $1 where c.outcome <> 'filtered' and c.role = 'user'
			on conflict (group_id, night) do nothing)
		select count(*) from consumed`

	finishChunkQuery = `update run_chunks set status = $4, refusals = $5::jsonb where group_id = $1 and run_id = $2 and chunk_no = $3`
	statsQuery       = `update runs set stats = $3::jsonb where group_id = $1 and run_id = $2`
)

// Apply writes the plan of one chunk in one transaction. The number of statements does not depend on the plan's size.
// It writes versions, the change log, evidence, decisions, the outcomes of messages, held steps, the status of the
// chunk and the stats of the run.
//
// Memories that the plan has judged need no judging any more. Memories made of those that it changes are queued for
// judging. The shown messages are queued for the impression job, if people and things are observed. A plan of a session
// removes its messages from the extraction queue. It does not change their outcomes, which belong to evolve. The
// sessions of the changed memories are new to dreams again. A plan of a dream takes in memory versions and covers
// sessions. With the last chunk the run ends as by [Store.FinishRun], and the lease may be released. Apply returns the
// changes without support.
//
// After an error nothing is written:
//
//   - reverie.ErrLeaseLost: another holder has the lease.
//   - reverie.ErrConflict: a head has changed, another active memory has a statement, a
//     message is no longer pending, a memory version is no longer new, or a source was
//     deleted.
//   - reverie.ErrInvalid: the plan contradicts itself.
//   - reverie.ErrNotFound: the group does not have a source.
//
// For a chunk that was applied before, it returns the changes of that time.
func (s *Store) Apply(ctx context.Context, lease reverie.Lease, plan reverie.Plan) ([]reverie.Change, error) {
	what := fmt.Sprintf("apply chunk %d of run %s to group %q", plan.ChunkNo, plan.RunID, plan.GroupID)
	if err := checkLease(lease, plan.GroupID); err != nil {
		return nil, fmt.Errorf("%s: %w", what, err)
	}
	if err := checkPlan(plan); err != nil {
		return nil, fmt.Errorf("%s: %w", what, err)
	}
	var list []reverie.Change
	var released bool
	err := s.underLease(ctx, lease, pg.Work{
		What:  what,
		ByKey: true,
		Do: func(ctx context.Context, t *pg.Tx) error {
			var err error
			released = false
			if list, err = s.applyPlan(ctx, t, plan); err != nil || plan.End == nil {
				return err
			}
			err = s.finishRun(ctx, t, *plan.End, true, &plan.End.Stats.Deferred)
			if err == nil && lease.GiveBack != nil {
				giveBack(ctx, t, lease, &released)
			}
			return err
		},
		Committed: CommittedUnder(lease, `select 1 from run_chunks
			where group_id = $1 and run_id = $2 and chunk_no = $3 and status in ('applied',
				'held')`, plan.GroupID, plan.RunID, plan.ChunkNo),
	})
	if released && err == nil {
		*lease.GiveBack = true
	}
	return list, err
}

// checkPlan refuses an invalid plan before anything is locked.
func checkPlan(plan reverie.Plan) error {
	if plan.HeldAll && (len(plan.Steps) > 0 || len(plan.Held) == 0) {
		return fmt.Errorf("a plan held whole has held steps and no others: %w", reverie.ErrInvalid)
	}
	if err := checkSteps(plan.Steps); err != nil {
		return err
	}
	if err := checkDecisions(plan.Decisions); err != nil {
		return err
	}
	if (plan.SessionID == "") != (len(plan.Used) == 0) || plan.SessionID != "" && len(plan.Outcomes) > 0 {
		return fmt.Errorf("an extraction has a session and messages that it uses, and gives them no outcome: %w",
			reverie.ErrInvalid)
	}
	if d := plan.Dream; d != nil && (len(d.MemoryIDs) == 0 || plan.SessionID != "" || len(plan.Outcomes) > 0) {
		return fmt.Errorf("a dream takes in memories, and no messages: %w", reverie.ErrInvalid)
	}
	return nil
}

func (s *Store) applyPlan(ctx context.Context, t *pg.Tx, plan reverie.Plan) ([]reverie.Change, error) {
	var status struct {
		Chunk, Run string
		Newest     *time.Time
		SaidBy     *time.Time `db:"said_by"`
	}
	b := &batch{groupID: plan.GroupID, runID: plan.RunID, chunkNo: plan.ChunkNo, kind: plan.Kind, steps: plan.Steps}
	chunk := t.Ask(ctx, &status, lockNewestQuery, plan.GroupID, plan.RunID, plan.ChunkNo)
	heads := b.lockHeads(ctx, t)
	if err := chunk.Read(); err != nil {
		return nil, pg.NotFoundIfEmpty(err, "chunk %d of run %s: save the chunk first", plan.ChunkNo, plan.RunID)
	}
	switch reverie.ChunkStatus(status.Chunk) {
	case reverie.ChunkApplied, reverie.ChunkHeld:
		return runChanges(ctx, t, plan.GroupID, plan.RunID, plan.ChunkNo, 0)
	}
	if status.Run != string(reverie.RunRunning) {
		return nil, fmt.Errorf("the run has ended as %s: %w", status.Run, reverie.ErrConflict)
	}
	b.at, b.saidBy = after(s.db.Now(), status.Newest), status.SaidBy
	list, err := s.writeSteps(ctx, t, b, heads)
	if err != nil {
		return nil, err
	}
	at := b.at
	if err := insertDecisions(ctx, t, plan, at); err != nil {
		return nil, err
	}
	if err := judged(ctx, t, plan.GroupID, plan.RunID, plan.Steps, plan.Judged); err != nil {
		return nil, err
	}
	if _, err := Cascade(ctx, t, plan.GroupID, list, plan.Steps, at); err != nil {
		return nil, err
	}
	switch {
	case plan.Dream != nil:
		err = takeIn(ctx, t, plan)
	case plan.SessionID != "":
		err = extracted(ctx, t, plan, at)
	default:
		consume(ctx, t, plan)
	}
	if err != nil {
		return nil, err
	}
	if len(plan.Held) > 0 {
		if err := s.hold(ctx, t, plan); err != nil {
			return nil, err
		}
	}
	return list, finishChunk(ctx, t, plan)
}

// consume sets the outcome of each message exactly once. A message that is no longer pending fails the whole plan.
func consume(ctx context.Context, t *pg.Tx, plan reverie.Plan) {
	if len(plan.Outcomes) == 0 {
		return
	}
	ids := slices.Sorted(maps.Keys(plan.Outcomes)) // all writers lock in this order
	var outcomes []string
	for _, id := range ids {
		outcomes = append(outcomes, string(plan.Outcomes[id]))
	}
	news := pq.StringArray{}
	for _, st := range plan.Steps {
		for _, e := range st.Evidence {
			if st.Action == reverie.ActionCreate || st.Action == reverie.ActionUpdate {
				news = append(news, e.MessageID)
			}
		}
	}
	var n int
	t.Ask(ctx, &n, consumeQuery, plan.GroupID, plan.RunID, ids, outcomes, plan.Impressions, news).Then(func(err error) error {
		if err == nil && n != len(ids) {
			return fmt.Errorf("%d of the chunk's %d messages are no longer pending: %w", len(ids)-n, len(ids),
				reverie.ErrConflict)
		}
		return err
	})
}

func finishChunk(ctx context.Context, t *pg.Tx, plan reverie.Plan) error {
	status := reverie.ChunkApplied
	if plan.HeldAll {
		status = reverie.ChunkHeld
	}
	err := t.Exec(ctx, finishChunkQuery, plan.GroupID, plan.RunID, plan.ChunkNo, status, refusalsJSON(plan.Refusals))
	if err != nil || plan.End != nil { // the end of the run writes the stats
		return err
	}
	return t.Exec(ctx, statsQuery, plan.GroupID, plan.RunID, pg.AsJSON(plan.Stats))
}

// batch is the steps of one chunk that are being written.
type batch struct {
	groupID string
	runID   string
	chunkNo int
	kind    reverie.Kind // of created memories; updates keep theirs
	at      time.Time    // later than all earlier changes: see NextTimestamp
	saidBy  *time.Time   // latest chat time of the chunk; nil: the chat time is the time of writing
	steps   []reverie.Step
	heads   map[string]reverie.Memory // locked heads, by lineage
}

const (
	// A lineage has at most one version that is active, held or archived.
	lockHeadsQuery = `select ` + MemoryColumns + ` from memories
		where group_id = $1 and lineage_id = any ($2::uuid[]) and status in ('active', 'held', 'archived')
			order by lineage_id, version for update`

	// One statement ends superseded, deleted and archived versions and strengthens supported ones. It comes before the
	// new versions, since a lineage has one active head. A held or archived head has ended before.
	moveHeadsQuery = `with u as (
			select u.*, becomes <> '' as ends
			from unnest($4::uuid[], $5::text[], $6::float8[], $7::timestamptz[], $8::timestamptz[])
				as u (id, becomes, strength, supported_at, said_until)),
		kept as (` + InsertValues + `$3::uuid, $2::timestamptz
			from memories m join u on u.id = m.memory_id where m.group_id = $1 and not u.ends
				and (m.strength <> u.strength or m.last_supported_at < u.supported_at))
		update memories m set
			status = case when u.ends then u.becomes else m.status end,
			ended_at = case when u.ends then coalesce(m.ended_at, $2::timestamptz) else m.ended_at end,
			said_until = case when u.ends then least(m.said_until, u.said_until) else m.said_until end,
			strength = case when u.ends then m.strength else u.strength end,
			last_supported_at = case when u.ends then m.last_supported_at else greatest(m.last_supported_at, u.supported_at)
				end
		from u
		where m.group_id = $1 and m.memory_id = u.id and m.status in ('active', 'held', 'archived')`

	insertVersionsQuery = `insert into memories (group_id, run_id, updated_at, status, memory_id, lineage_id, parent_id,
		kind, session_id,
			statement, version, tags, strength, weight, content_hash, change_summary, embedding_model, created_at,
				last_supported_at, said_at, embedding, type, due_on)
		select $1, $2::uuid, $3::timestamptz, 'active', u.memory_id, u.lineage_id, u.parent_id, u.kind, u.session_id,
			u.statement, u.version, array(select jsonb_array_elements_text(u.tags)), u.strength, u.weight, u.content_hash,
				u.summary,
			u.model, u.created_at, u.supported_at, u.said_at, u.embedding, u.type, u.due_on
		from unnest($4::vector[], $5::uuid[], $6::uuid[], $7::uuid[], $8::text[], $9::text[], $10::text[], $11::int[],
				$12::jsonb[], $13::float8[], $14::float8[], $15::text[], $16::text[], $17::text[], $18::timestamptz[],
				$19::timestamptz[], $20::timestamptz[], $21::text[], $22::date[])
			as u (embedding, memory_id, lineage_id, parent_id, kind, session_id, statement, version, tags, strength,
				weight, content_hash, summary, model, created_at, supported_at, said_at, type, due_on)`
)

// checkSteps refuses invalid steps before anything is locked.
func checkSteps(steps []reverie.Step) error {
	seen := map[string]bool{}
	for i, st := range steps {
		fail := func(why string) error {
			return fmt.Errorf("step %d (%s of lineage %s): %s: %w", i+1, st.Action, st.LineageID, why, reverie.ErrInvalid)
		}
		switch st.Action {
		case reverie.ActionCreate, reverie.ActionUpdate:
			if !reverie.IsID(st.MemoryID) || st.Statement == "" || st.ContentHash == "" {
				return fail("a new version needs an id, a statement and its content hash")
			}
			if len(st.Embedding) > 0 {
				if err := CheckVector(st.EmbeddingModel, st.Embedding); err != nil {
					return fail(err.Error())
				}
			}
		case reverie.ActionDelete, reverie.ActionArchive, reverie.ActionKeep:
		default:
			return fail("a plan can only create, update, delete, archive or keep")
		}
		if !reverie.IsID(st.LineageID) {
			return fail("the lineage has no id")
		}
		if seen[st.LineageID] {
			return fail("another step writes the same lineage")
		}
		if st.Judged == reverie.StatusHeld && st.Action == reverie.ActionKeep {
			return fail("what is held comes back as a new version, or ends")
		}
		if st.Returns && st.Action != reverie.ActionUpdate && st.Action != reverie.ActionDelete {
			return fail("what is archived comes back as a new version, or ends")
		}
		seen[st.LineageID] = true
		if err := checkSources(st); err != nil {
			return fail(err.Error())
		}
	}
	return nil
}

// writeSteps applies steps to heads that have not changed. It ends old versions, writes new ones with their evidence
// and sources, and strengthens supported ones. All but support goes to the change log. If a head has changed, it
// returns reverie.ErrConflict and writes nothing.
func (s *Store) writeSteps(ctx context.Context, t *pg.Tx, b *batch, heads *pg.Asked) ([]reverie.Change, error) {
	if len(b.steps) == 0 {
		return nil, nil
	}
	if err := heads.Read(); err != nil {
		return nil, err
	}
	if err := b.unmoved(); err != nil {
		return nil, err
	}
	for _, head := range b.heads { // a person may have changed a head before the lock
		b.at = after(b.at, &head.UpdatedAt)
	}
	if err := b.moveHeads(ctx, t); err != nil {
		return nil, err
	}
	if err := s.insertVersions(ctx, t, b); err != nil {
		return nil, err
	}
	if err := InsertEvidence(ctx, t, b.groupID, &b.runID, b.at, b.steps, Evidenced); err != nil {
		return nil, err
	}
	if err := insertSources(ctx, t, b); err != nil {
		return nil, err
	}
	list := b.changes()
	return list, InsertChanges(ctx, t, b.groupID, &b.runID, b.chunkNo, b.at, list)
}

// lockHeads queues the query that locks and reads the heads of the steps.
func (b *batch) lockHeads(ctx context.Context, t *pg.Tx) *pg.Asked {
	var lineages []string
	for _, st := range b.steps {
		if st.Action != reverie.ActionCreate {
			lineages = append(lineages, st.LineageID)
		}
	}
	b.heads = make(map[string]reverie.Memory, len(lineages))
	if len(lineages) == 0 {
		return &pg.Asked{}
	}
	var rows []reverie.Memory
	return t.AskAll(ctx, &rows, lockHeadsQuery, b.groupID, lineages).Then(func(err error) error {
		for _, r := range rows {
			b.heads[r.LineageID] = r
		}
		return err
	})
}

// unmoved refuses steps whose heads have changed.
func (b *batch) unmoved() error {
	for _, st := range b.steps {
		if st.Action == reverie.ActionCreate {
			continue
		}
		head, ok := b.heads[st.LineageID]
		archived := head.Status == reverie.StatusArchived
		if held := head.Status == reverie.StatusHeld; ok && (held != (st.Judged == reverie.StatusHeld) || archived != st.Returns) {
			return fmt.Errorf("memory %s (version %d) is now %s: %w", head.ID, head.Version, head.Status, reverie.ErrConflict)
		}
		if !ok {
			return fmt.Errorf("memory %s (version %d) is no longer active: %w", st.Head.MemoryID, st.Head.Version,
				reverie.ErrConflict)
		}
		if head.ID != st.Head.MemoryID || head.Version != st.Head.Version {
			return fmt.Errorf("memory %s (version %d) has moved: the head of its lineage is %s (version %d): %w",
				st.Head.MemoryID, st.Head.Version, head.ID, head.Version, reverie.ErrConflict)
		}
	}
	return nil
}

// becomes is the new status of the version that a step ends.
var becomes = map[reverie.Action]reverie.Status{reverie.ActionUpdate: reverie.StatusSuperseded,
	reverie.ActionDelete: reverie.StatusDeprecated, reverie.ActionArchive: reverie.StatusArchived}

// moveHeads ends or strengthens the locked heads.
func (b *batch) moveHeads(ctx context.Context, t *pg.Tx) error {
	var rows pg.Columns
	for _, st := range b.steps {
		if st.Action != reverie.ActionCreate {
			rows.Add(st.Head.MemoryID, string(becomes[st.Action]), st.Strength, st.LastSupportedAt, b.saidAt(st))
		}
	}
	return rows.Exec(ctx, t, moveHeadsQuery, b.groupID, b.at, b.runID)
}

func (s *Store) insertVersions(ctx context.Context, t *pg.Tx, b *batch) error {
	var rows pg.Columns
	var embeddings [][]float32
	for _, st := range b.steps {
		if st.Action != reverie.ActionCreate && st.Action != reverie.ActionUpdate {
			continue
		}
		m := b.version(st)
		rows.Add(m.ID, m.LineageID, m.ParentID, m.Kind, m.SessionID, m.Statement, m.Version, pg.AsJSON(m.Tags), m.Strength,
			m.Weight, m.ContentHash, m.ChangeSummary, m.EmbeddingModel, m.CreatedAt, m.LastSupportedAt, m.SaidAt, m.Type,
			m.DueOn)
		embeddings = append(embeddings, st.Embedding)
	}
	if rows.Len() == 0 {
		return nil
	}
	vectors, err := t.Vectors(ctx, embeddings)
	if err != nil {
		return err
	}
	return rows.Exec(ctx, t, insertVersionsQuery, b.groupID, b.runID, b.at, vectors)
}

// version returns the memory that a create or an update writes. An update inherits the creation time, kind, session and
// weight of the lineage, and its tags unless the step has its own.
func (b *batch) version(st reverie.Step) reverie.Memory {
	m := reverie.Memory{ID: st.MemoryID, LineageID: st.LineageID, Kind: b.kind, SessionID: st.SessionID,
		Statement: st.Statement, Version: 1,
		CreatedAt: b.at, LastSupportedAt: st.LastSupportedAt, Strength: st.Strength, Weight: reverie.DefaultWeight,
		Tags: st.Tags, Type: st.Type, DueOn: st.DueOn, ContentHash: st.ContentHash, ChangeSummary: st.Reason,
		SaidAt: b.saidAt(st)}
	if len(st.Embedding) > 0 {
		m.EmbeddingModel = st.EmbeddingModel
	}
	if head, ok := b.heads[st.LineageID]; ok {
		parent := head.ID
		m.ParentID, m.Version, m.CreatedAt = &parent, head.Version+1, head.CreatedAt
		m.Kind, m.SessionID, m.Weight = head.Kind, head.SessionID, head.Weight
		if m.Tags == nil {
			m.Tags = head.Tags
		}
		if m.Type == "" {
			m.Type, m.DueOn = head.Type, head.DueOn
		}
	}
	m.Type = cmp.Or(m.Type, reverie.TypeFact)
	if m.LastSupportedAt.IsZero() {
		m.LastSupportedAt = b.at
	}
	if m.Tags == nil {
		m.Tags = []string{}
	}
	return m
}

// saidAt returns the chat time of a version: that of its newest evidence, or the latest chat time of the chunk. It is
// neither later than the time of writing, nor earlier than the lineage's version before. So a lineage has at most one
// version at any chat time.
func (b *batch) saidAt(st reverie.Step) time.Time {
	at := b.at
	if b.saidBy != nil {
		if at = reverie.NewestSent(st.Evidence); at.IsZero() {
			at = *b.saidBy
		}
	}
	if at.After(b.at) {
		at = b.at
	}
	if head := b.heads[st.LineageID]; head.SaidAt.After(at) {
		at = head.SaidAt
	}
	return at
}

// Evidenced returns the version that a step's evidence belongs to.
func Evidenced(st reverie.Step) string {
	if st.MemoryID != "" && (st.Action == reverie.ActionCreate || st.Action == reverie.ActionUpdate) {
		return st.MemoryID
	}
	return st.Head.MemoryID
}

func (b *batch) changes() []reverie.Change {
	var list []reverie.Change
	for _, st := range b.steps {
		if st.Action == reverie.ActionKeep {
			continue
		}
		run := b.runID
		c := reverie.Change{GroupID: b.groupID, ID: reverie.NewID(), RunID: &run, Action: st.Action, MemoryID: Evidenced(st),
			NewStatement: st.Statement, Summary: st.Reason, Version: 1, Evidence: st.Evidence, CreatedAt: b.at}
		if head, ok := b.heads[st.LineageID]; ok {
			old := head.ID
			c.OldID, c.OldStatement, c.Version = &old, head.Statement, head.Version+1
		}
		if st.Action == reverie.ActionDelete || st.Action == reverie.ActionArchive {
			c.NewStatement, c.Version = "", b.heads[st.LineageID].Version
		}
		list = append(list, c)
	}
	return list
}
