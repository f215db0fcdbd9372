package store

import (
	"context"
	"fmt"
	"time"

	"github.com/lib/pq"

	"reverie/internal/reverie"
	"reverie/store/pg"
)

// batch is the steps of one chunk on their way into the memories.
type batch struct {
	groupID string
	runID   string
	chunkNo int
	kind    reverie.Kind // of what it creates; updates keep theirs
	at      time.Time    // later than what is written: see moment
	steps   []reverie.Step
	heads   map[string]MemoryRow // by lineage, locked
}

const (
	// A lineage has one version at most that is active or held.
	lockHeadsQuery = `select ` + MemoryColumns + ` from memories
		where group_id = $1 and lineage_id = any ($2::uuid[]) and status in ('active', 'held') order by lineage_id
			for update`

	// One statement ends superseded and deleted versions and strengthens
	// supported ones; it comes before the new versions, since a lineage has one
	// active head. A held one has ended when it was held.
	moveHeadsQuery = `with u as (
			select * from unnest($3::uuid[], $4::bool[], $5::float8[], $6::timestamptz[]) as u (id, ends, strength,
				supported_at)),
		kept as (` + insertValues + `$7::uuid, $2::timestamptz
			from memories m join u on u.id = m.memory_id where m.group_id = $1 and not u.ends
				and (m.strength <> u.strength or m.last_supported_at < u.supported_at))
		update memories m set
			status = case when u.ends then 'deprecated' else m.status end,
			ended_at = case when u.ends then coalesce(m.ended_at, $2::timestamptz) else m.ended_at end,
			strength = case when u.ends then m.strength else u.strength end,
			last_supported_at = case when u.ends then m.last_supported_at else greatest(m.last_supported_at, u.supported_at)
				end
		from u
		where m.group_id = $1 and m.memory_id = u.id and m.status in ('active', 'held')`

	// Up to when strength has been lowered is the lineage's: late evidence may leave
	// its last support before that.
	insertVersionsQuery = `insert into memories (group_id, run_id, updated_at, status, memory_id, lineage_id, parent_id,
		kind, session_id,
			statement, version, tags, strength, weight, content_hash, change_summary, embedding_model, created_at,
				last_supported_at, embedding, decayed_at)
		select $1, $2::uuid, $3::timestamptz, 'active', u.memory_id, u.lineage_id, u.parent_id, u.kind, u.session_id,
			u.statement, u.version, array(select jsonb_array_elements_text(u.tags)), u.strength, u.weight, u.content_hash,
				u.summary,
			u.model, u.created_at, u.supported_at, u.embedding,
			(select p.decayed_at from memories p where p.group_id = $1 and p.memory_id = u.parent_id)
		from unnest($4::uuid[], $5::uuid[], $6::uuid[], $7::text[], $8::text[], $9::text[], $10::int[], $11::jsonb[],
			$12::float8[],
				$13::float8[], $14::text[], $15::text[], $16::text[], $17::timestamptz[], $18::timestamptz[], $19::vector[])
			as u (memory_id, lineage_id, parent_id, kind, session_id, statement, version, tags, strength,
				weight, content_hash, summary, model, created_at, supported_at, embedding)`
)

// checkSteps refuses steps that no plan may hold, before anything is locked.
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
		case reverie.ActionDelete, reverie.ActionKeep:
		default:
			return fail("a plan can only create, update, delete or keep")
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
		seen[st.LineageID] = true
		if err := checkSources(st); err != nil {
			return fail(err.Error())
		}
	}
	return nil
}

// writeSteps applies steps whose heads have not moved: old versions end, new
// ones begin, supported ones are strengthened, each with its evidence, new ones with
// the memories that they rest on, and all but support goes to the change log. A head
// that has moved is reverie.ErrConflict, and nothing is written.
func (s *Store) writeSteps(ctx context.Context, t *pg.Tx, b *batch) ([]reverie.Change, error) {
	if len(b.steps) == 0 {
		return nil, nil
	}
	if err := b.lockHeads(ctx, t); err != nil {
		return nil, err
	}
	for _, head := range b.heads { // a person may have changed one while it was waited for
		b.at = after(b.at, &head.UpdatedAt)
	}
	if err := b.moveHeads(ctx, t); err != nil {
		return nil, err
	}
	if err := s.insertVersions(ctx, t, b); err != nil {
		return nil, err
	}
	if err := insertEvidence(ctx, t, b.groupID, &b.runID, b.at, b.steps, evidenced); err != nil {
		return nil, err
	}
	if err := insertSources(ctx, t, b); err != nil {
		return nil, err
	}
	list := b.changes()
	return list, insertChanges(ctx, t, b.groupID, &b.runID, b.chunkNo, b.at, list)
}

func (b *batch) lockHeads(ctx context.Context, t *pg.Tx) error {
	var lineages pq.StringArray
	for _, st := range b.steps {
		if st.Action != reverie.ActionCreate {
			lineages = append(lineages, st.LineageID)
		}
	}
	b.heads = make(map[string]MemoryRow, len(lineages))
	if len(lineages) == 0 {
		return nil
	}
	var rows []MemoryRow
	if err := t.Select(ctx, &rows, lockHeadsQuery, b.groupID, lineages); err != nil {
		return err
	}
	for _, r := range rows {
		b.heads[r.LineageID] = r
	}
	for _, st := range b.steps {
		if st.Action == reverie.ActionCreate {
			continue
		}
		head, ok := b.heads[st.LineageID]
		if held := head.Status == reverie.StatusHeld; ok && held != (st.Judged == reverie.StatusHeld) {
			return fmt.Errorf("memory %s (version %d) is %s by now: %w", head.ID, head.Version, head.Status, reverie.ErrConflict)
		}
		if !ok {
			return fmt.Errorf("memory %s (version %d) has no active head any more: %w", st.Head.MemoryID, st.Head.Version,
				reverie.ErrConflict)
		}
		if head.ID != st.Head.MemoryID || head.Version != st.Head.Version {
			return fmt.Errorf("memory %s (version %d) has moved: the head of its lineage is %s (version %d): %w",
				st.Head.MemoryID, st.Head.Version, head.ID, head.Version, reverie.ErrConflict)
		}
	}
	return nil
}

func (b *batch) moveHeads(ctx context.Context, t *pg.Tx) error {
	var ids, supported pq.StringArray
	var ends pq.BoolArray
	var strengths pq.Float64Array
	for _, st := range b.steps {
		if st.Action == reverie.ActionCreate {
			continue
		}
		ids, ends = append(ids, st.Head.MemoryID), append(ends, st.Action != reverie.ActionKeep)
		strengths, supported = append(strengths, st.Strength), append(supported, pg.Timestamp(st.LastSupportedAt))
	}
	if len(ids) == 0 {
		return nil
	}
	n, err := t.Exec(ctx, moveHeadsQuery, b.groupID, b.at, ids, ends, strengths, supported, b.runID)
	if err == nil && n != len(ids) {
		return fmt.Errorf("%d of %d heads were written: %w", n, len(ids), reverie.ErrConflict)
	}
	return err
}

func (s *Store) insertVersions(ctx context.Context, t *pg.Tx, b *batch) error {
	var ids, lineages, kinds, sessions, statements, tags, hashes, summaries, models, births, supported pq.StringArray
	var parents []*string
	var versions pq.Int64Array
	var strengths, weights pq.Float64Array
	var embeddings [][]float32
	for _, st := range b.steps {
		if st.Action != reverie.ActionCreate && st.Action != reverie.ActionUpdate {
			continue
		}
		m := b.version(st)
		tagList, err := pg.JSONText(m.Tags)
		if err != nil {
			return err
		}
		ids, lineages, parents = append(ids, m.ID), append(lineages, m.LineageID), append(parents, m.ParentID)
		kinds, sessions, statements = append(kinds, string(m.Kind)), append(sessions, m.SessionID), append(statements,
			m.Statement)
		versions, tags = append(versions, int64(m.Version)), append(tags, tagList)
		strengths, weights = append(strengths, m.Strength), append(weights, m.Weight)
		hashes, summaries, models = append(hashes, m.ContentHash), append(summaries, m.ChangeSummary), append(models,
			m.EmbeddingModel)
		births, supported = append(births, pg.Timestamp(m.CreatedAt)), append(supported, pg.Timestamp(m.LastSupportedAt))
		embeddings = append(embeddings, st.Embedding)
	}
	if len(ids) == 0 {
		return nil
	}
	array, err := s.db.Vectors(ctx, t, embeddings)
	if err != nil {
		return err
	}
	_, err = t.Exec(ctx, insertVersionsQuery, b.groupID, b.runID, b.at, ids, lineages, pq.Array(parents), kinds, sessions,
		statements, versions, tags, strengths, weights, hashes, summaries, models, births, supported, array)
	return err
}

// version is the memory that a create or update step makes. An update inherits
// what belongs to the lineage: its birth, kind, session and weight, and its tags
// unless the step names others.
func (b *batch) version(st reverie.Step) reverie.Memory {
	m := reverie.Memory{ID: st.MemoryID, LineageID: st.LineageID, Kind: b.kind, SessionID: st.SessionID,
		Statement: st.Statement, Version: 1,
		CreatedAt: b.at, LastSupportedAt: st.LastSupportedAt, Strength: st.Strength, Weight: reverie.DefaultWeight,
		Tags: st.Tags, ContentHash: st.ContentHash, ChangeSummary: st.Reason}
	if len(st.Embedding) > 0 {
		m.EmbeddingModel = st.EmbeddingModel
	}
	if head, ok := b.heads[st.LineageID]; ok {
		parent := head.ID
		m.ParentID, m.Version, m.CreatedAt = &parent, head.Version+1, head.CreatedAt
		m.Kind, m.SessionID, m.Weight = head.Kind, head.SessionID, head.Weight
		if m.Tags == nil {
			m.Tags = head.TagList
		}
	}
	if m.LastSupportedAt.IsZero() {
		m.LastSupportedAt = b.at
	}
	if m.Tags == nil {
		m.Tags = []string{}
	}
	return m
}

// evidenced names the version that a step's evidence belongs to.
func evidenced(st reverie.Step) string {
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
		c := reverie.Change{GroupID: b.groupID, ID: reverie.NewID(), RunID: &run, Action: st.Action, MemoryID: evidenced(st),
			NewStatement: st.Statement, Summary: st.Reason, Version: 1, Evidence: st.Evidence, CreatedAt: b.at}
		if head, ok := b.heads[st.LineageID]; ok {
			old := head.ID
			c.OldID, c.OldStatement, c.Version = &old, head.Statement, head.Version+1
		}
		if st.Action == reverie.ActionDelete {
			c.NewStatement, c.Version = "", b.heads[st.LineageID].Version
		}
		list = append(list, c)
	}
	return list
}
