package store

import (
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
	// The entities of a plan, and those merged into them whose claims it writes.
	lockEntitiesQuery = `select ` + entityColumns + ` from entities
		where group_id = $1 and entity_id in (select unnest($2::uuid[])
			union select c.entity_id from entity_claims c where c.group_id = $1 and c.claim_id = any ($3::uuid[]))
		order by entity_id for update`

	claimHeadsQuery = `select claim_id, lineage_id, version, entity_id, aspect, name, value, status, created_at
		from entity_claims
		where group_id = $1 and claim_id = any ($2::uuid[])`

	raiseEntitiesQuery = `update entities set version = version + 1, updated_at = $2::timestamptz
		where group_id = $1 and entity_id = any ($3::uuid[])`
)

// entityBatch is a plan of entities on its way into them.
type entityBatch struct {
	reverie.EntityPlan
	at    time.Time
	heads map[string]reverie.Claim // by claim_id, of the claims that it rests on
	// owners are the known entities that it writes, and those that they are read as.
	owners map[string]bool
}

// ApplyEntities writes what one chunk of impressions came to, in one transaction
// whose number of statements does not depend on the plan's size: entities, names,
// claims with their evidence, what waits, change log, the run of each message, the
// chunk's status and the run's stats. It returns the changes, support not among
// them.
//
// Nothing is written and the error is reverie.ErrLeaseLost when another holder took
// the lease; reverie.ErrConflict when an entity or a claim has moved, a message or
// an observation does not wait any more, an account is another entity's, or a claim
// is there already; reverie.ErrInvalid when the plan contradicts itself. A chunk
// that has been applied already returns its changes.
func (s *Store) ApplyEntities(ctx context.Context, lease reverie.Lease,
	plan reverie.EntityPlan) ([]reverie.EntityChange, error) {
	what := fmt.Sprintf("apply chunk %d of run %s to the entities of group %q", plan.ChunkNo, plan.RunID, plan.GroupID)
	if plan.GroupID != lease.GroupID {
		return nil, fmt.Errorf("%s: the lease is group %q's: %w", what, lease.GroupID, reverie.ErrInvalid)
	}
	if err := checkEntityPlan(plan); err != nil {
		return nil, fmt.Errorf("%s: %w", what, err)
	}
	var list []reverie.EntityChange
	err := s.db.Run(ctx, pg.Work{
		What:  what,
		ByKey: true,
		Do: func(ctx context.Context, t *pg.Tx) error {
			if err := Fence(ctx, t, lease); err != nil {
				return err
			}
			var err error
			list, err = s.applyEntities(ctx, t, plan)
			return err
		},
		Committed: CommittedUnder(lease, `select 1 from run_chunks
			where group_id = $1 and run_id = $2 and chunk_no = $3
				and status = 'applied'`, plan.GroupID, plan.RunID, plan.ChunkNo),
	})
	if err != nil {
		return nil, err
	}
	return list, nil
}

func (s *Store) applyEntities(ctx context.Context, t *pg.Tx, plan reverie.EntityPlan) ([]reverie.EntityChange, error) {
	var status struct{ Chunk, Run string }
	if err := t.Get(ctx, &status, lockChunkQuery, plan.GroupID, plan.RunID, plan.ChunkNo); err != nil {
		return nil, pg.NotFoundIfEmpty(err, "chunk %d of run %s: save the chunk first", plan.ChunkNo, plan.RunID)
	}
	if reverie.ChunkStatus(status.Chunk) == reverie.ChunkApplied {
		return entityChanges(ctx, t, entityRunChangesQuery, plan.GroupID, plan.RunID, plan.ChunkNo, 0)
	}
	if status.Run != string(reverie.RunRunning) {
		return nil, fmt.Errorf("the run has ended as %s: %w", status.Run, reverie.ErrConflict)
	}
	messages := slices.Sorted(maps.Keys(plan.Outcomes)) // one order of locks for everybody
	if err := use(ctx, t, plan.GroupID, reverie.JobImpression, plan.RunID, messages); err != nil {
		return nil, err
	}
	b := &entityBatch{EntityPlan: plan, at: s.db.Now(), heads: map[string]reverie.Claim{}, owners: map[string]bool{}}
	list, err := b.write(ctx, t)
	if err != nil {
		return nil, err
	}
	if err := postpone(ctx, t, plan, b.at); err != nil {
		return nil, err
	}
	refusals, err := refusalsJSON(plan.Refusals)
	if err != nil {
		return nil, err
	}
	_, err = t.Exec(ctx, finishChunkQuery, plan.GroupID, plan.RunID, plan.ChunkNo, string(reverie.ChunkApplied),
		refusals, pg.JSON[any]{V: plan.Stats})
	return list, err
}

// write applies the plan's steps, in the order in which they refer to each other.
func (b *entityBatch) write(ctx context.Context, t *pg.Tx) ([]reverie.EntityChange, error) {
	for _, step := range []func(context.Context, *pg.Tx) error{
		b.lock, b.insertEntities, b.insertNames, b.moveClaims, b.insertClaims, b.insertEvidence, b.raise,
	} {
		if err := step(ctx, t); err != nil {
			return nil, err
		}
	}
	list := b.changes()
	return list, insertEntityChanges(ctx, t, b.GroupID, &b.RunID, b.ChunkNo, b.at, list)
}

// lock locks the entities that the plan rests on and refuses it when one has moved,
// or a claim has.
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
	var rows []reverie.Entity
	if err := t.Select(ctx, &rows, lockEntitiesQuery, b.GroupID, pq.StringArray(append(written, known...)),
		pq.StringArray(claimIDs)); err != nil {
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
			return fmt.Errorf("entity %s is part of %s by now; read the group again: %w", id, *e.MergedInto, reverie.ErrConflict)
		case e.Version != b.Heads[id]:
			return fmt.Errorf("entity %s is at version %d and the plan rests on %d; read the group again: %w", id, e.Version,
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

// written are the known entities that get names or new claims.
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

// own notes that an entity is written, so that its version rises, and that of the one that it
// is read as. It tells whether the plan rests on a version of the latter.
func (b *entityBatch) own(merged merges, id string) bool {
	root := merged.root(id)
	b.owners[id], b.owners[root] = true, true
	_, known := b.Heads[root]
	return known
}

// lockClaims reads the claims that the plan rests on: whoever writes one has locked
// its entity. Those of an entity that is merged are written under the one that it
// is read as, whose version rises with every merge beneath it.
func (b *entityBatch) lockClaims(ctx context.Context, t *pg.Tx, merged merges, ids []string) error {
	var rows []reverie.Claim
	if err := t.Select(ctx, &rows, claimHeadsQuery, b.GroupID, OrEmpty(pq.StringArray(ids))); err != nil {
		return err
	}
	for _, c := range rows {
		b.heads[c.ID] = c
	}
	for _, st := range b.Claims {
		head, ok := b.heads[st.HeadID]
		switch {
		case st.HeadID == "":
		case !ok:
			return fmt.Errorf("claim %s: %w", st.HeadID, reverie.ErrNotFound)
		case head.Status != reverie.StatusActive:
			return fmt.Errorf("claim %s (version %d) has moved; read the group again: %w", head.ID, head.Version,
				reverie.ErrConflict)
		case !b.own(merged, head.EntityID):
			return fmt.Errorf("claim %s is entity %s's, of which the plan rests on no version: %w", head.ID, head.EntityID,
				reverie.ErrInvalid)
		case st.Action == reverie.ActionUpdate && head.Aspect != st.Claim.Aspect:
			return fmt.Errorf("claim %s: %s %s cannot become another aspect, %s: %w", head.ID, head.Aspect, claimText(head),
				st.Claim.Aspect, reverie.ErrInvalid)
		}
	}
	return nil
}

// raise counts up the versions of all known entities that were written.
func (b *entityBatch) raise(ctx context.Context, t *pg.Tx) error {
	if len(b.owners) == 0 {
		return nil
	}
	_, err := t.Exec(ctx, raiseEntitiesQuery, b.GroupID, b.at, pq.StringArray(slices.Sorted(maps.Keys(b.owners))))
	return err
}
