package store

import (
	"context"

	"github.com/lib/pq"

	"reverie/internal/reverie"
	"reverie/store/pg"
)

const (
	// What is said of a version is what speaks for that version: its value may be
	// another than the one before.
	claimColumns = `c.group_id, c.claim_id, c.lineage_id, c.parent_id, c.version, c.entity_id, c.aspect, c.name, c.value,
		c.target_id,
		c.self, c.content_hash, c.confidence, c.strength, c.status, c.run_id, c.created_at, c.updated_at, c.ended_at,
			c.last_supported_at,
		array(select distinct to_char(e.local_date, 'YYYY-MM-DD') from entity_evidence e where e.group_id = c.group_id
			and e.lineage_id = c.lineage_id and e.claim_id = c.claim_id and e.withdrawn_at is null
				order by 1) as support_dates,
		array(select distinct e.author_id from entity_evidence e where e.group_id = c.group_id
			and e.lineage_id = c.lineage_id and e.claim_id = c.claim_id and e.withdrawn_at is null and e.author_id <> ''
				order by 1) as said_by`

	activeClaimsQuery = `select ` + claimColumns + ` from entity_claims c
		where c.group_id = $1 and c.entity_id = any ($2::uuid[]) and c.status = 'active' order by c.created_at,
			c.lineage_id`

	claimVersionsQuery = `select ` + claimColumns + ` from entity_claims c
		where c.group_id = $1 and c.entity_id = any ($2::uuid[]) order by c.created_at, c.lineage_id, c.version`

	claimEvidenceQuery = `select claim_id, message_id, author_id, author, quote, sent_at, to_char(local_date,
		'YYYY-MM-DD') as local_date
		from entity_evidence where group_id = $1 and lineage_id = any ($2::uuid[]) and withdrawn_at is null
			order by sent_at, evidence_no`
)

// claimRow reads what the domain's struct leaves to us: who said it, and when.
type claimRow struct {
	reverie.Claim
	Dates pq.StringArray `db:"support_dates"`
	Said  pq.StringArray `db:"said_by"`
}

func claims(rows []claimRow) []reverie.Claim {
	list := make([]reverie.Claim, len(rows))
	for i, r := range rows {
		c := r.Claim
		c.SaidBy, c.SupportDates = append([]string{}, r.Said...), append([]string{}, r.Dates...)
		list[i] = c
	}
	return list
}

func activeClaims(ctx context.Context, t *pg.Tx, groupID string, entityIDs []string) ([]reverie.Claim, error) {
	var rows []claimRow
	err := t.Select(ctx, &rows, activeClaimsQuery, groupID, pq.StringArray(entityIDs))
	return claims(rows), err
}

// fillClaimEvidence gives each version what speaks for it, by time.
func fillClaimEvidence(ctx context.Context, t *pg.Tx, groupID string, list []reverie.Claim) error {
	if len(list) == 0 {
		return nil
	}
	at, lineages := map[string]int{}, pq.StringArray{}
	for i, c := range list {
		at[c.ID] = i
		lineages = append(lineages, c.LineageID)
	}
	var rows []struct {
		reverie.Evidence
		ClaimID string `db:"claim_id"`
	}
	if err := t.Select(ctx, &rows, claimEvidenceQuery, groupID, lineages); err != nil {
		return err
	}
	for _, r := range rows {
		if i, ok := at[r.ClaimID]; ok {
			list[i].Evidence = append(list[i].Evidence, r.Evidence)
		}
	}
	return nil
}
