package history

import (
	"context"
	"maps"
	"slices"

	"github.com/lib/pq"

	"reverie/internal/reverie"
	"reverie/store"
	"reverie/store/events"
	"reverie/store/pg"
)

const (
	// This also withdraws the evidence of runs undone before that was kept because of this run.
	withdrawClaimEvidenceQuery = `update entity_evidence e set withdrawn_at = $3::timestamptz
		where group_id = $1 and lineage_id = any ($4::uuid[]) and withdrawn_at is null
			and (run_id = $2::uuid or (select r.undone_at from runs r where r.group_id = $1
				and r.run_id = e.run_id) is not null)`

	moveClaimsBackQuery = `update entity_claims c set
			status = case when u.ends then 'deprecated' else c.status end,
			ended_at = case when u.ends then greatest($2::timestamptz, c.updated_at) else c.ended_at end,
			strength = case when u.ends then c.strength else u.strength end,
			last_supported_at = case when u.ends then c.last_supported_at else u.supported_at end
		from unnest($3::uuid[], $4::bool[], $5::float8[], $6::timestamptz[]) as u (id, ends, strength, supported_at)
		where c.group_id = $1 and c.claim_id = u.id and c.status = 'active'`

	// End all remaining claims about a withdrawn entity, and all relations to it.
	endClaimsOfQuery = `update entity_claims set status = 'deprecated', ended_at = greatest($2::timestamptz, updated_at)
		where group_id = $1 and status = 'active' and (entity_id = any ($3::uuid[]) or target_id = any ($3::uuid[]))
		returning claim_id, entity_id, name, value`

	// The evidence of a version also supports the version that brings it back, with its original run. Citus runs the
	// parts one after the other: the version comes first.
	returnClaimsQuery = `with u as (
			select * from unnest($3::uuid[], $4::uuid[], $5::uuid[], $6::float8[], $7::timestamptz[])
				as u (id, head_id, base_id, strength, supported_at)),
		written as (insert into entity_claims (group_id, claim_id, lineage_id, parent_id, version, entity_id, aspect, name, name_key,
			value, target_id, self, content_hash, confidence, strength, status, run_id, created_at, updated_at,
			last_supported_at)
		select b.group_id, u.id, b.lineage_id, h.claim_id, h.version + 1, b.entity_id, b.aspect, b.name, b.name_key,
			b.value, b.target_id, b.self, b.content_hash, b.confidence, u.strength, 'active', b.run_id, b.created_at,
			greatest($2::timestamptz, h.updated_at + interval '1 microsecond'), u.supported_at
		from u
		join entity_claims h on h.group_id = $1 and h.claim_id = u.head_id
		join entity_claims b on b.group_id = $1 and b.claim_id = u.base_id),
		heard as (
			insert into entity_evidence (group_id, evidence_no, entity_id, lineage_id, claim_id, message_id, author_id, author, quote,
				sent_at, local_date, run_id, created_at)
			select e.group_id, ` + events.Number + ` + row_number() over (order by e.evidence_no), e.entity_id, e.lineage_id, u.id, e.message_id, e.author_id, e.author, e.quote, e.sent_at,
				e.local_date, e.run_id, e.created_at
			from u join entity_evidence e on e.group_id = $1 and e.claim_id = u.base_id and e.withdrawn_at is null)
		select 1`

	endNamesQuery = `update entity_names set ended_at = $2::timestamptz
		where group_id = $1 and ended_at is null and (name_id = any ($3::uuid[]) or entity_id = any ($4::uuid[]))`

	withdrawEntitiesQuery = `update entities set status = 'withdrawn', merged_into = null where group_id = $1
		and entity_id = any ($2::uuid[]) returning entity_id, subject`

	// Delete the links of a withdrawn entity in both groups.
	unlinkQuery = `with ends as (delete from entity_links where group_id = $1 and entity_id = any ($2::uuid[]) returning *)
		delete from entity_links l using ends e where l.group_id = e.other_group_id
			and (l.entity_id, l.other_group_id, l.other_entity_id) = (e.other_entity_id, e.group_id, e.entity_id)`

	// The entities that withdrawn entities were merged into.
	partOfQuery = `select merged_into from entities where group_id = $1 and entity_id = any ($2::uuid[])
		and merged_into is not null`

	// Entities that a person had merged into a withdrawn one are separate again.
	partQuery = `update entities p set status = 'active', merged_into = null from entities w
		where p.group_id = $1 and p.merged_into = any ($2::uuid[]) and p.entity_id <> all ($2::uuid[])
			and w.group_id = $1 and w.entity_id = p.merged_into
		returning p.entity_id, 'unmerge' as action, w.entity_id as other_id, w.subject as new_text`

	// Observations that the run left pending expire, unless a later run has settled them. Observations that the run
	// settled are pending again, with two exceptions: a later run has settled their continuation, or the run that
	// observed them is undone.
	unwaitQuery = `update entity_observations set status = 'expired', settled_by = $2::uuid
		where group_id = $1 and run_id = $2::uuid and status = 'waiting'`

	waitAgainQuery = `update entity_observations o set status = 'waiting', settled_by = null
		where group_id = $1 and settled_by = $2::uuid and run_id <> $2::uuid
			and (select r.undone_at from runs r where r.group_id = $1 and r.run_id = o.run_id) is null
			and not exists (select 1 from entity_observations n where n.group_id = $1 and n.run_id = $2::uuid
				and n.settled_by is distinct from $2::uuid
				and n.body->'continues' @> to_jsonb(array[o.observation_id::text]))`

	freeUsesQuery = `update message_uses u set run_id = null from messages m
		where u.group_id = $1 and u.run_id = $2::uuid and u.job = 'impression'
			and m.group_id = $1 and m.message_id = u.message_id and m.pruned_at is null`
)

// requeueObserved makes the messages that a run of the impression job has used pending again, if they still have a
// text. It returns their number.
func requeueObserved(ctx context.Context, t *pg.Tx, run reverie.Run) (int, error) {
	return t.ExecRows(ctx, freeUsesQuery, run.GroupID, run.ID)
}

// write writes what was decided, with a row of the change log for each part.
func (u *entityUndo) write(ctx context.Context, t *pg.Tx) error {
	if err := t.Exec(ctx, withdrawClaimEvidenceQuery, u.groupID, u.runID, u.at, append(pq.StringArray{},
		u.settled...)); err != nil {
		return err
	}
	log, err := u.writeClaims(ctx, t)
	if err != nil {
		return err
	}
	touched := u.touched()
	if log, err = u.writeEntities(ctx, t, log, touched); err != nil {
		return err
	}
	for _, query := range []string{unwaitQuery, waitAgainQuery} {
		if err := t.Exec(ctx, query, u.groupID, u.runID); err != nil {
			return err
		}
	}
	if len(touched) > 0 {
		if err := t.Exec(ctx, store.RaiseEntitiesQuery, u.groupID, u.at,
			pq.StringArray(slices.Sorted(maps.Keys(touched)))); err != nil {
			return err
		}
	}
	for i := range log {
		log[i].UndoneRun, log[i].Reason = &u.runID, u.reason
	}
	return store.InsertEntityChanges(ctx, t, u.groupID, nil, 0, u.at, log)
}

// writeClaims ends claims, brings others back, and sets the strength of the others without the run.
func (u *entityUndo) writeClaims(ctx context.Context, t *pg.Tx) (log []reverie.EntityChange, err error) {
	var moved, back pg.Columns
	for _, r := range u.list {
		moved.Add(r.HeadID, r.ends, r.strength, r.supported)
		change := reverie.EntityChange{EntityID: r.EntityID, Action: reverie.EntityUndo, ClaimID: &r.HeadID,
			OldText: r.words(r.Value)}
		switch {
		case r.newID != "":
			back.Add(r.newID, r.HeadID, r.BaseID, r.strength, r.supported)
			change.ClaimID, change.NewText = &r.newID, r.words(r.BaseValue)
		case !r.ends:
			change.NewText = change.OldText // only its strength changes
		}
		log = append(log, change)
	}
	if err := moved.Exec(ctx, t, moveClaimsBackQuery, u.groupID, u.at); err != nil {
		return nil, err
	}
	err = back.Exec(ctx, t, returnClaimsQuery, u.groupID, u.at)
	return log, err
}

// writeEntities ends names and withdraws entities with their claims. It also logs the other entities that this changes.
func (u *entityUndo) writeEntities(ctx context.Context, t *pg.Tx, log []reverie.EntityChange,
	touched map[string]bool) ([]reverie.EntityChange, error) {
	var names pq.StringArray
	for _, n := range u.names {
		names = append(names, n.ID)
		if !slices.Contains(u.gone, n.EntityID) {
			log = append(log, reverie.EntityChange{EntityID: n.EntityID, Action: reverie.EntityUndo, OldText: n.Name})
		}
	}
	if len(names)+len(u.gone) == 0 {
		return log, nil
	}
	if err := t.Exec(ctx, endNamesQuery, u.groupID, u.at, store.OrEmpty(names), store.OrEmpty(u.gone)); err != nil {
		return nil, err
	}
	if len(u.gone) == 0 {
		return log, nil
	}
	claims, err := pg.Select[reverie.Claim](ctx, t, endClaimsOfQuery, u.groupID, u.at, u.gone)
	if err != nil {
		return nil, err
	}
	for _, c := range claims {
		touched[c.EntityID] = true
		log = append(log, reverie.EntityChange{EntityID: c.EntityID, Action: reverie.EntityUndo, ClaimID: &c.ID,
			OldText: c.Text()})
	}
	parts, err := pg.Select[reverie.EntityChange](ctx, t, partQuery, u.groupID, u.gone)
	if err != nil {
		return nil, err
	}
	for _, p := range parts {
		touched[p.EntityID] = true
		log = append(log, p)
	}
	above, err := pg.Select[string](ctx, t, partOfQuery, u.groupID, u.gone)
	if err != nil {
		return nil, err
	}
	for _, id := range above {
		touched[id] = true
	}
	withdrawn, err := pg.Select[reverie.Entity](ctx, t, withdrawEntitiesQuery, u.groupID, u.gone)
	if err != nil {
		return nil, err
	}
	if err := t.Exec(ctx, unlinkQuery, u.groupID, u.gone); err != nil {
		return nil, err
	}
	for _, e := range withdrawn {
		log = append(log, reverie.EntityChange{EntityID: e.ID, Action: reverie.EntityUndo, OldText: e.Subject})
	}
	return log, nil
}
