package store

import (
	"cmp"
	"context"

	"reverie/internal/reverie"
	"reverie/internal/text"
	"reverie/store/pg"
)

const (
	insertEntitiesQuery = `insert into entities (group_id, run_id, created_at, updated_at, entity_id, kind, subject)
		select $1, $2::uuid, $3::timestamptz, $3::timestamptz, u.* from unnest($4::uuid[], $5::text[], $6::text[]) as u`

	insertNamesQuery = `insert into entity_names (group_id, run_id, created_at, name_id, entity_id, kind, name, name_key)
		select $1, $2::uuid, $3::timestamptz, u.* from unnest($4::uuid[], $5::uuid[], $6::text[], $7::text[],
			$8::text[]) as u`

	// One statement ends replaced versions and strengthens supported ones; it comes
	// before the new versions, since a lineage has one active head. Where the clock has
	// gone back, a version ends just after it began, and the next one begins there.
	moveClaimsQuery = `update entity_claims c set
			status = case when u.ends then 'deprecated' else c.status end,
			ended_at = case when u.ends then greatest($2::timestamptz, c.updated_at + interval '1 microsecond') else c.ended_at
				end,
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
		select $1, $2::uuid, greatest($3::timestamptz, (select p.updated_at + interval '1 microsecond' from entity_claims p
			where p.group_id = $1 and p.claim_id = u.parent_id)), 'active', u.*
		from unnest($4::uuid[], $5::uuid[], $6::uuid[], $7::int[], $8::uuid[], $9::text[], $10::text[], $11::text[],
			$12::text[], $13::uuid[],
			$14::bool[], $15::text[], $16::float8[], $17::float8[], $18::timestamptz[], $19::timestamptz[]) as u (claim_id,
				lineage_id, parent_id)`

	insertClaimEvidenceQuery = `insert into entity_evidence (group_id, run_id, created_at, entity_id, lineage_id,
		claim_id, message_id, author_id,
			author, quote, sent_at, local_date)
		select $1, $2::uuid, $3::timestamptz, u.* from unnest($4::uuid[], $5::uuid[], $6::uuid[], $7::text[], $8::text[],
			$9::text[],
			$10::text[], $11::timestamptz[], $12::date[]) as u`
)

func (b *entityBatch) insertEntities(ctx context.Context, t *pg.Tx) error {
	var rows pg.Columns
	for _, e := range b.Creates {
		rows.Add(e.ID, e.Kind, e.Subject)
	}
	_, err := rows.Exec(ctx, t, insertEntitiesQuery, b.GroupID, b.RunID, b.at)
	return err
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
	_, err := rows.Exec(ctx, t, insertNamesQuery, b.GroupID, b.RunID, b.at)
	return err
}

func (b *entityBatch) moveClaims(ctx context.Context, t *pg.Tx) error {
	var rows pg.Columns
	for _, st := range b.Claims {
		if st.HeadID != "" {
			c := st.Claim
			rows.Add(st.HeadID, st.Action == reverie.ActionUpdate, c.Strength, c.Confidence, c.LastSupportedAt)
		}
	}
	_, err := rows.Exec(ctx, t, moveClaimsQuery, b.GroupID, b.at)
	return err
}

func (b *entityBatch) insertClaims(ctx context.Context, t *pg.Tx) error {
	var rows pg.Columns
	for _, st := range b.Claims {
		if st.Action != reverie.ActionKeep {
			c := b.version(st)
			rows.Add(c.ID, c.LineageID, c.ParentID, c.Version, c.EntityID, c.Aspect, c.Name, text.NameKey(c.Name), c.Value,
				c.TargetID, c.Self, c.ContentHash, c.Confidence, c.Strength, c.CreatedAt, c.LastSupportedAt)
		}
	}
	_, err := rows.Exec(ctx, t, insertClaimsQuery, b.GroupID, b.RunID, b.at)
	return err
}

// version is the claim that a create or update step makes. An update inherits what
// belongs to the lineage: its birth, and the entity that it is about.
func (b *entityBatch) version(st reverie.ClaimStep) reverie.Claim {
	c := st.Claim
	c.ParentID, c.Version, c.CreatedAt = nil, 1, b.at
	if head, ok := b.heads[st.HeadID]; ok {
		c.LineageID, c.EntityID, c.ParentID = head.LineageID, head.EntityID, &head.ID
		c.Version, c.CreatedAt = head.Version+1, head.CreatedAt
	}
	if c.LastSupportedAt.IsZero() {
		c.LastSupportedAt = b.at
	}
	return c
}

func (b *entityBatch) insertEvidence(ctx context.Context, t *pg.Tx) error {
	var rows pg.Columns
	for _, st := range b.Claims {
		c := b.heads[st.HeadID]
		if st.Action != reverie.ActionKeep {
			c = b.version(st)
		}
		for _, e := range st.Evidence {
			rows.Add(c.EntityID, c.LineageID, c.ID, e.MessageID, e.AuthorID, e.Author, e.Quote, e.SentAt, e.LocalDate)
		}
	}
	_, err := rows.Exec(ctx, t, insertClaimEvidenceQuery, b.GroupID, b.RunID, b.at)
	return err
}

// changes are the log's rows of the plan: support is counted, not logged.
func (b *entityBatch) changes() []reverie.EntityChange {
	var list []reverie.EntityChange
	for _, e := range b.Creates {
		list = append(list, reverie.EntityChange{EntityID: e.ID, Action: reverie.EntityCreated, NewText: e.Subject})
	}
	for _, n := range b.Names {
		list = append(list, reverie.EntityChange{EntityID: n.EntityID, Action: reverie.EntityNamed, NewText: n.Name})
	}
	for _, st := range b.Claims {
		if st.Action == reverie.ActionKeep {
			continue
		}
		v := b.version(st)
		c := reverie.EntityChange{EntityID: v.EntityID, Action: reverie.EntityClaimed, ClaimID: &v.ID, NewText: claimText(v),
			Reason: pg.ValidText(st.Reason), Evidence: st.Evidence}
		if head, ok := b.heads[st.HeadID]; ok {
			c.Action, c.OldText = reverie.EntityReplaced, claimText(head)
		}
		list = append(list, c)
	}
	return list
}
