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
	"reverie/internal/text"
	"reverie/store/events"
	"reverie/store/pg"
)

const (
	// The entities of a plan, and those merged into them whose claims the plan writes.
	lockEntitiesQuery = `select ` + entityColumns + ` from entities
		where group_id = $1 and entity_id in (select unnest($2::uuid[])
			union select c.entity_id from entity_claims c where c.group_id = $1 and c.claim_id = any ($3::uuid[]))
		order by entity_id for update`

	claimHeadsQuery = `select claim_id, lineage_id, version, entity_id, aspect, name, value, status, created_at,
			updated_at from entity_claims
		where group_id = $1 and claim_id = any ($2::uuid[])`

	RaiseEntitiesQuery = `update entities set version = version + 1, updated_at = $2::timestamptz
		where group_id = $1 and entity_id = any ($3::uuid[])`
)

// entityBatch is a plan that is being written.
type entityBatch struct {
	reverie.EntityPlan
	at    time.Time
	heads map[string]reverie.Claim // by claim_id: the heads of the claims that the plan writes
	// owners are the known entities that the plan writes to, and those that they are merged into.
	owners map[string]bool
}

// ApplyEntities writes the plan of one chunk of impressions in one transaction. The number of statements does not
// depend on the plan's size. It writes entities, names, claims with their evidence, postponed observations and the
// change log. It also writes the run of each message, the status of the chunk and the stats of the run. It returns the
// changes without support.
//
// After an error nothing is written. A lost lease is reverie.ErrLeaseLost. It is reverie.ErrConflict if an entity or a
// claim has changed, if a message or an observation is no longer pending, or if an account or a claim exists already. A
// plan that breaks a constraint of the schema is reverie.ErrInvalid. For a chunk that was applied before, it returns the changes of
// that time.
func (s *Store) ApplyEntities(ctx context.Context, lease reverie.Lease,
	plan reverie.EntityPlan) ([]reverie.EntityChange, error) {
	what := fmt.Sprintf("apply chunk %d of run %s to the entities of group %q", plan.ChunkNo, plan.RunID, plan.GroupID)
	if plan.GroupID != lease.GroupID {
		return nil, fmt.Errorf("%s: the lease is group %q's: %w", what, lease.GroupID, reverie.ErrInvalid)
	}
	return pg.Run(ctx, s.db.Of(ctx, lease.GroupID), pg.Work{
		What:  what,
		ByKey: true,
		Committed: CommittedUnder(lease, `select 1 from run_chunks
			where group_id = $1 and run_id = $2 and chunk_no = $3
				and status = 'applied'`, plan.GroupID, plan.RunID, plan.ChunkNo),
	}, func(ctx context.Context, t *pg.Tx) ([]reverie.EntityChange, error) {
		if err := Fence(ctx, t, lease); err != nil {
			return nil, err
		}
		return s.applyEntities(ctx, t, plan)
	})
}

func (s *Store) applyEntities(ctx context.Context, t *pg.Tx, plan reverie.EntityPlan) ([]reverie.EntityChange, error) {
	var status struct{ Chunk, Run string }
	if err := t.Get(ctx, &status, lockChunkQuery, plan.GroupID, plan.RunID, plan.ChunkNo); err != nil {
		return nil, pg.NotFoundIfEmpty(err, "chunk %d of run %s: save the chunk first", plan.ChunkNo, plan.RunID)
	}
	if reverie.ChunkStatus(status.Chunk) == reverie.ChunkApplied {
		return pg.Select[reverie.EntityChange](ctx, t, entityRunChangesQuery, plan.GroupID, plan.RunID, plan.ChunkNo, 0)
	}
	if status.Run != string(reverie.RunRunning) {
		return nil, fmt.Errorf("the run has ended as %s: %w", status.Run, reverie.ErrConflict)
	}
	messages := slices.Sorted(maps.Keys(plan.Outcomes)) // all writers lock in this order
	if err := use(ctx, t, plan.GroupID, reverie.JobImpression, plan.RunID, messages); err != nil {
		return nil, err
	}
	b := &entityBatch{EntityPlan: plan, at: s.db.Now(), heads: map[string]reverie.Claim{}, owners: map[string]bool{}}
	b.Claims = slices.Clone(plan.Claims)
	for i := range b.Claims {
		c := &b.Claims[i].Claim
		if c.Version, c.CreatedAt = 1, b.at; c.LastSupportedAt.IsZero() {
			c.LastSupportedAt = b.at
		}
	}
	list, err := b.write(ctx, t)
	if err != nil {
		return nil, err
	}
	if err := postpone(ctx, t, plan, b.at); err != nil {
		return nil, err
	}
	err = t.Exec(ctx, finishChunkQuery, plan.GroupID, plan.RunID, plan.ChunkNo, string(reverie.ChunkApplied),
		refusalsJSON(plan.Refusals))
	if err != nil {
		return nil, err
	}
	return list, t.Exec(ctx, statsQuery, plan.GroupID, plan.RunID, pg.AsJSON(plan.Stats))
}

// write applies the steps of the plan, in the order in which they refer to each other.
func (b *entityBatch) write(ctx context.Context, t *pg.Tx) ([]reverie.EntityChange, error) {
	for _, step := range []func(context.Context, *pg.Tx) error{
		b.lock, b.insertEntities, b.insertNames, b.moveClaims, b.insertClaims, b.insertEvidence, b.raise,
	} {
		if err := step(ctx, t); err != nil {
			return nil, err
		}
	}
	list := b.Changes()
	return list, InsertEntityChanges(ctx, t, b.GroupID, &b.RunID, b.ChunkNo, b.at, list)
}

// lock locks the entities of the plan. It refuses the plan if one of them, or one of the claims, has changed.
func (b *entityBatch) lock(ctx context.Context, t *pg.Tx) error {
	var claimIDs []string
	for _, st := range b.Claims {
		if st.HeadID != "" {
			claimIDs = append(claimIDs, st.HeadID)
		}
	}
	written := b.written()
	if len(b.Heads)+len(claimIDs)+len(written) == 0 {
		return nil
	}
	known := slices.Sorted(maps.Keys(b.Heads))
	rows, err := pg.Select[reverie.Entity](ctx, t, lockEntitiesQuery, b.GroupID,
		OrEmpty(pq.StringArray(append(written, known...))), OrEmpty(pq.StringArray(claimIDs)))
	if err != nil {
		return err
	}
	found := map[string]reverie.Entity{}
	for _, e := range rows {
		found[e.ID] = e
	}
	for _, id := range known {
		switch e, ok := found[id]; {
		case !ok:
			return fmt.Errorf("entity %s: %w", id, reverie.ErrNotFound)
		case e.MergedInto != nil:
			return fmt.Errorf("entity %s is now part of %s; run the job again: %w", id, *e.MergedInto, reverie.ErrConflict)
		case e.Version != b.Heads[id]:
			return fmt.Errorf("entity %s is at version %d and the plan rests on %d; run the job again: %w", id, e.Version,
				b.Heads[id], reverie.ErrConflict)
		}
	}
	merged, err := readMerges(ctx, t, mergesQuery, b.GroupID)
	if err != nil {
		return err
	}
	for _, id := range written {
		if !b.own(merged, id) {
			return fmt.Errorf("entity %s is written, and the plan rests on no version of it: %w", id, reverie.ErrInvalid)
		}
	}
	return b.lockClaims(ctx, t, merged, claimIDs)
}

// written returns the known entities that get names or new claims.
func (b *entityBatch) written() (ids []string) {
	created := map[string]bool{}
	for _, e := range b.Creates {
		created[e.ID] = true
	}
	for _, n := range b.Names {
		ids = append(ids, n.EntityID)
	}
	for _, st := range b.Claims {
		if st.Action == reverie.ActionCreate && !created[st.Claim.EntityID] {
			ids = append(ids, st.Claim.EntityID)
		}
	}
	return ids
}

// own marks an entity, and the one that it is merged into, for a new version. It reports whether the plan expects a
// version of the latter.
func (b *entityBatch) own(merged merges, id string) bool {
	root := merged.root(id)
	b.owners[id], b.owners[root] = true, true
	_, known := b.Heads[root]
	return known
}

// lockClaims reads the heads of the claims that the plan writes; all writers of claims lock the entity first. Claims of
// a merged entity are written under the entity that it is merged into, whose version rises with each merge. It
// completes each step from the lineage: the time of its creation, its entity, and the text that it replaces.
func (b *entityBatch) lockClaims(ctx context.Context, t *pg.Tx, merged merges, ids []string) error {
	var rows []reverie.Claim
	if err := t.Select(ctx, &rows, claimHeadsQuery, b.GroupID, OrEmpty(pq.StringArray(ids))); err != nil {
		return err
	}
	for _, c := range rows {
		b.heads[c.ID], b.at = c, after(b.at, &c.UpdatedAt)
	}
	for i := range b.Claims {
		st := &b.Claims[i]
		if st.HeadID == "" {
			continue
		}
		head, ok := b.heads[st.HeadID]
		switch {
		case !ok:
			return fmt.Errorf("claim %s: %w", st.HeadID, reverie.ErrNotFound)
		case head.Status != reverie.StatusActive:
			return fmt.Errorf("claim %s (version %d) has changed; run the job again: %w", head.ID, head.Version,
				reverie.ErrConflict)
		case !b.own(merged, head.EntityID):
			return fmt.Errorf("claim %s is entity %s's, of which the plan rests on no version: %w", head.ID, head.EntityID,
				reverie.ErrInvalid)
		case st.Action == reverie.ActionUpdate && head.Aspect != st.Claim.Aspect:
			return fmt.Errorf("claim %s: %s %s cannot become another aspect, %s: %w", head.ID, head.Aspect, head.Text(),
				st.Claim.Aspect, reverie.ErrInvalid)
		}
		st.OldText, st.Claim.EntityID, st.Claim.LineageID = head.Text(), head.EntityID, head.LineageID
		st.Claim.ParentID, st.Claim.Version, st.Claim.CreatedAt = &head.ID, head.Version+1, head.CreatedAt
	}
	return nil
}

// raise increments the versions of all known entities that were written.
func (b *entityBatch) raise(ctx context.Context, t *pg.Tx) error {
	if len(b.owners) == 0 {
		return nil
	}
	err := t.Exec(ctx, RaiseEntitiesQuery, b.GroupID, b.at, pq.StringArray(slices.Sorted(maps.Keys(b.owners))))
	return err
}

const (
	insertEntitiesQuery = `insert into entities (group_id, run_id, created_at, updated_at, entity_id, kind, subject)
		select $1, $2::uuid, $3::timestamptz, $3::timestamptz, u.* from unnest($4::uuid[], $5::text[], $6::text[]) as u`

	insertNamesQuery = `insert into entity_names (group_id, run_id, created_at, name_id, entity_id, kind, name, name_key)
		select $1, $2::uuid, $3::timestamptz, u.* from unnest($4::uuid[], $5::uuid[], $6::text[], $7::text[],
			$8::text[]) as u`

	// One statement ends replaced versions and strengthens supported ones. It comes before the new versions, since a
	// lineage has one active head.
	moveClaimsQuery = `update entity_claims c set
			status = case when u.ends then 'deprecated' else c.status end,
			ended_at = case when u.ends then $2::timestamptz else c.ended_at end,
			strength = case when u.ends then c.strength else u.strength end,
			confidence = case when u.ends then c.confidence else greatest(c.confidence, u.confidence) end,
			last_supported_at = case when u.ends then c.last_supported_at else greatest(c.last_supported_at, u.supported_at)
				end
		from unnest($3::uuid[], $4::bool[], $5::float8[], $6::float8[], $7::timestamptz[]) as u (id, ends, strength,
			confidence, supported_at)
		where c.group_id = $1 and c.claim_id = u.id and c.status = 'active'`

	insertClaimsQuery = `insert into entity_claims (group_id, run_id, updated_at, status, claim_id, lineage_id,
		parent_id, version, entity_id, aspect,
			name, name_key, value, target_id, self, content_hash, confidence, strength, created_at, last_supported_at)
		select $1, $2::uuid, $3::timestamptz, 'active', u.*
		from unnest($4::uuid[], $5::uuid[], $6::uuid[], $7::int[], $8::uuid[], $9::text[], $10::text[], $11::text[],
			$12::text[], $13::uuid[],
			$14::bool[], $15::text[], $16::float8[], $17::float8[], $18::timestamptz[], $19::timestamptz[]) as u`

	insertClaimEvidenceQuery = `insert into entity_evidence (group_id, evidence_no, run_id, created_at, entity_id, lineage_id,
		claim_id, message_id, author_id,
			author, quote, sent_at, local_date)
		select $1, ` + events.Number + ` + row_number() over (), $2::uuid, $3::timestamptz, u.* from unnest($4::uuid[], $5::uuid[], $6::uuid[], $7::text[], $8::text[],
			$9::text[],
			$10::text[], $11::timestamptz[], $12::date[]) as u`
)

func (b *entityBatch) insertEntities(ctx context.Context, t *pg.Tx) error {
	var rows pg.Columns
	for _, e := range b.Creates {
		rows.Add(e.ID, e.Kind, e.Subject)
	}
	return rows.Exec(ctx, t, insertEntitiesQuery, b.GroupID, b.RunID, b.at)
}

func (b *entityBatch) insertNames(ctx context.Context, t *pg.Tx) error {
	var rows pg.Columns
	add := func(entityID string, n reverie.EntityName) {
		rows.Add(cmp.Or(n.ID, reverie.NewID()), entityID, n.Kind, n.Name, nameKey(n.Kind, n.Name))
	}
	for _, e := range b.Creates {
		for _, n := range e.Names {
			add(e.ID, n)
		}
	}
	for _, n := range b.Names {
		add(n.EntityID, n)
	}
	return rows.Exec(ctx, t, insertNamesQuery, b.GroupID, b.RunID, b.at)
}

func (b *entityBatch) moveClaims(ctx context.Context, t *pg.Tx) error {
	var rows pg.Columns
	for _, st := range b.Claims {
		if st.HeadID != "" {
			c := st.Claim
			rows.Add(st.HeadID, st.Action == reverie.ActionUpdate, c.Strength, c.Confidence, c.LastSupportedAt)
		}
	}
	return rows.Exec(ctx, t, moveClaimsQuery, b.GroupID, b.at)
}

func (b *entityBatch) insertClaims(ctx context.Context, t *pg.Tx) error {
	var rows pg.Columns
	for _, st := range b.Claims {
		if st.Action != reverie.ActionKeep {
			c := st.Claim
			rows.Add(c.ID, c.LineageID, c.ParentID, c.Version, c.EntityID, c.Aspect, c.Name, text.NameKey(c.Name), c.Value,
				c.TargetID, c.Self, c.ContentHash, c.Confidence, c.Strength, c.CreatedAt, c.LastSupportedAt)
		}
	}
	return rows.Exec(ctx, t, insertClaimsQuery, b.GroupID, b.RunID, b.at)
}

func (b *entityBatch) insertEvidence(ctx context.Context, t *pg.Tx) error {
	var rows pg.Columns
	for _, st := range b.Claims {
		c := st.Claim
		if len(st.Evidence) == 0 {
			return fmt.Errorf("claim %s of entity %s has no evidence: %w", c.ID, c.EntityID, reverie.ErrInvalid)
		}
		for _, e := range st.Evidence {
			rows.Add(c.EntityID, c.LineageID, c.ID, e.MessageID, e.AuthorID, e.Author, e.Quote, e.SentAt, e.LocalDate)
		}
	}
	return rows.Exec(ctx, t, insertClaimEvidenceQuery, b.GroupID, b.RunID, b.at)
}

const (
	entityChangeColumns = `group_id, change_id, run_id, undone_run_id, entity_id, action, other_id, claim_id, old_text,
		new_text, change_reason, evidence, created_at`

	// Changes of one time keep their order by id.
	entityHistoryQuery = `select ` + entityChangeColumns + ` from entity_change_log
		where group_id = $1 and entity_id = any ($2::uuid[]) order by created_at, change_id`

	entityRunChangesQuery = `select ` + entityChangeColumns + ` from entity_change_log
		where group_id = $1 and run_id = $2 and ($3::int = 0 or chunk_no = $3)
		order by created_at, change_id limit nullif($4::int, 0)`

	insertEntityChangesQuery = `insert into entity_change_log (group_id, run_id, chunk_no, created_at, change_id,
		entity_id, action, other_id,
			claim_id, old_text, new_text, change_reason, evidence, undone_run_id)
		select $1, $2::uuid, $3::int, $4::timestamptz, u.*
		from unnest($5::uuid[], $6::uuid[], $7::text[], $8::uuid[], $9::uuid[], $10::text[], $11::text[], $12::text[],
			$13::jsonb[], $14::uuid[]) as u`
)

// InsertEntityChanges writes rows of the change log with one time, and completes them. A nil runID means a person's
// change; chunkNo is ignored then.
func InsertEntityChanges(ctx context.Context, t *pg.Tx, groupID string, runID *string, chunkNo int, at time.Time,
	list []reverie.EntityChange) error {
	var no any
	if runID != nil {
		no = chunkNo
	}
	var rows pg.Columns
	for i := range list {
		c := &list[i]
		c.GroupID, c.ID, c.RunID, c.CreatedAt = groupID, reverie.NewID(), runID, at
		if c.Evidence == nil {
			c.Evidence = []reverie.Evidence{}
		}
		rows.Add(c.ID, c.EntityID, c.Action, c.OtherID, c.ClaimID, c.OldText, c.NewText,
			pg.ValidText(c.Reason), pg.JSON[any]{V: c.Evidence},
			c.UndoneRun)
	}
	return rows.Exec(ctx, t, insertEntityChangesQuery, groupID, runID, no, at)
}
