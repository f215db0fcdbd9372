package erase

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/lib/pq"

	"reverie/internal/reverie"
	"reverie/internal/text"
	"reverie/store"
	"reverie/store/pg"
)

const (
	// The account's entities, those without an account that go by one of the names $4, and
	// those that are known from the author alone and are no other account's.
	erasedEntitiesQuery = authorEntities + `
		select id from account
		union select n.entity_id from entity_names n where n.group_id = $1 and n.kind <> 'id'
			and n.name_key = any ($4::text[])
			and not exists (select 1 from entity_names i where i.group_id = $1 and i.entity_id = n.entity_id and i.kind = 'id')
		union select x.entity_id from entity_evidence x where x.group_id = $1
			and not exists (select 1 from entity_names i where i.group_id = $1 and i.entity_id = x.entity_id and i.kind = 'id')
			group by x.entity_id having bool_and(` + byAuthor + `)`

	// Claims of those, about those, or known from the author alone.
	erasedClaimsQuery = `select lineage_id from entity_claims where group_id = $1 and (entity_id = any ($4::uuid[])
		or target_id = any ($4::uuid[]))
		union select lineage_id from entity_evidence x where group_id = $1 group by lineage_id
			having bool_and(` + byAuthor + `)`

	mixedClaimsQuery = `select lineage_id from entity_evidence x where group_id = $1 and lineage_id <> all ($4::uuid[])
		group by lineage_id having bool_or(` + byAuthor + `)`

	// Claims are as strong as the dates of their evidence make them.
	claimDatesQuery = `select c.claim_id, count(distinct v.local_date) as dates from entity_claims c
		join entity_evidence v on v.group_id = c.group_id and v.lineage_id = c.lineage_id and v.withdrawn_at is null
		where c.group_id = $1 and c.status = 'active' and c.lineage_id = any ($2::uuid[]) group by c.claim_id`

	weakenClaimsQuery = `update entity_claims c set strength = least(c.strength, u.strength) from unnest($2::uuid[],
		$3::float8[]) as u (id, strength)
		where c.group_id = $1 and c.claim_id = u.id`
)

// forgetEntities deletes who the author is to the group, and what only the author has
// said of others, earlier versions of what others say included.
func (e *eraser) forgetEntities(ctx context.Context) error {
	keys := pq.StringArray{}
	for _, n := range e.names {
		keys = append(keys, text.NameKey(n))
	}
	var entities, claims, mixed pq.StringArray
	if err := e.t.Select(ctx, &entities, erasedEntitiesQuery, e.group, e.query.AuthorID, e.messages, keys); err != nil {
		return err
	}
	if err := e.t.Select(ctx, &claims, erasedClaimsQuery, e.group, e.query.AuthorID, e.messages,
		store.OrEmpty(entities)); err != nil {
		return err
	}
	if err := e.t.Select(ctx, &mixed, mixedClaimsQuery, e.group, e.query.AuthorID, e.messages,
		store.OrEmpty(claims)); err != nil {
		return err
	}
	if err := e.forgetObservations(ctx); err != nil {
		return err
	}
	if err := e.forgetTold(ctx, answeredClaims, store.OrEmpty(entities), append(store.OrEmpty(claims),
		mixed...)); err != nil {
		return err
	}
	const both = `$2::uuid[] is not null and $3::uuid[] is not null and `
	for _, d := range []struct{ table, where string }{
		{"entity_change_log", `(entity_id = any ($2::uuid[]) or other_id = any ($2::uuid[])
			or claim_id in (select c.claim_id from entity_claims c where c.group_id = $1
				and c.lineage_id = any ($3::uuid[])))`},
		{"entity_evidence", `(entity_id = any ($2::uuid[]) or lineage_id = any ($3::uuid[]))`},
		{"entity_claims", `(entity_id = any ($2::uuid[]) or lineage_id = any ($3::uuid[]))`},
		{"entity_names", `entity_id = any ($2::uuid[])`},
	} {
		if err := e.deleted(ctx, d.table, both+d.where, store.OrEmpty(entities), store.OrEmpty(claims)); err != nil {
			return err
		}
	}
	if err := e.deleted(ctx, "entities", `entity_id = any ($2::uuid[])`, store.OrEmpty(entities)); err != nil {
		return err
	}
	if err := e.blankClaims(ctx, mixed); err != nil {
		return err
	}
	if err := e.deleted(ctx, "entity_evidence", byAuthor, e.query.AuthorID, e.messages); err != nil {
		return err
	}
	return e.weaken(ctx, mixed)
}

// weaken leaves claims that others make too as strong as those make them.
func (e *eraser) weaken(ctx context.Context, lineages pq.StringArray) error {
	var rows []struct {
		ID    string `db:"claim_id"`
		Dates int
	}
	if err := e.t.Select(ctx, &rows, claimDatesQuery, e.group, lineages); err != nil {
		return err
	}
	var ids pq.StringArray
	var strengths pq.Float64Array
	for _, r := range rows {
		ids, strengths = append(ids, r.ID), append(strengths, reverie.Reinforce(reverie.TentativeStrength, r.Dates-1))
	}
	n, err := e.t.Exec(ctx, weakenClaimsQuery, e.group, ids, strengths)
	if n > 0 {
		e.counts.Changed["entity_claims"] += n
	}
	return err
}

// forgetObservations takes the author out of what waits to be sure whom it is about. What
// is about them, or says nothing without them, goes.
func (e *eraser) forgetObservations(ctx context.Context) error {
	var rows []struct {
		ID   string `db:"observation_id"`
		Body []byte
	}
	if err := e.t.Select(ctx, &rows, `select observation_id, body from entity_observations
		where group_id = $1`, e.group); err != nil {
		return err
	}
	gone := pq.StringArray{}
	for _, r := range rows {
		var o reverie.Observation
		if err := json.Unmarshal(r.Body, &o); err != nil {
			return fmt.Errorf("read observation %s: %w", r.ID, err)
		}
		about := o.Account == e.query.AuthorID || o.Account == "" && e.traces.FindName(o.Subject) != ""
		kept := o.Claims[:0]
		for _, c := range o.Claims {
			evidence := c.Evidence[:0]
			for _, v := range c.Evidence {
				if !e.theirs[v.MessageID] && v.AuthorID != e.query.AuthorID {
					evidence = append(evidence, v)
				}
			}
			if c.Evidence = evidence; len(evidence) > 0 && c.Account != e.query.AuthorID {
				kept = append(kept, c)
			}
		}
		if about || len(kept) == 0 {
			gone = append(gone, r.ID)
			continue
		}
		o.Claims = kept
		body, err := pg.JSONText(o)
		if err != nil {
			return err
		}
		if err := e.changed(ctx, "entity_observations", `body = $3::jsonb where group_id = $1 and observation_id = $2::uuid
			and body <> $3::jsonb`, r.ID, body); err != nil {
			return err
		}
	}
	return e.deleted(ctx, "entity_observations", `observation_id = any ($2::uuid[])`, gone)
}
