package erase

import (
	"context"

	"github.com/lib/pq"

	"reverie/internal/text"
)

// Versions of claims that others have spoken for, too, but that say what the author alone
// had said; and those in force for which nobody speaks any more without the author.
const (
	blankClaimsQuery = `select x.claim_id from entity_evidence x where x.group_id = $1
		and x.lineage_id = any ($4::uuid[])
		group by x.claim_id having bool_and(` + byAuthor + `)`

	unspokenClaimsQuery = `select c.claim_id from entity_claims c
		where c.group_id = $1 and c.status = 'active' and c.lineage_id = any ($4::uuid[]) and not exists (select 1
			from entity_evidence x
			where x.group_id = $1 and x.claim_id = c.claim_id and x.withdrawn_at is null and not ` + byAuthor + `)`

	// The name is the lineage's, and stays while another version says something of it.
	blankedName = `case when x.name = '' or exists (select 1 from entity_claims o where o.group_id = $1
		and o.lineage_id = x.lineage_id
		and o.name_key = x.name_key and o.claim_id <> all ($2::uuid[]))`
)

// claimBlankings empty versions $2 of claims, wherever they stand. What is said of them
// instead is $3, with the key $4 and the hash $5. A relation leads back to whom it is said
// of. They come in this order: the log goes by what the versions followed.
var claimBlankings = []struct{ table, set string }{
	{"entity_claims", `value = $3, content_hash = $5, target_id = case when x.target_id is not null then x.entity_id end,
			name = ` + blankedName + ` then x.name else $3 end, name_key = ` + blankedName + ` then x.name_key else $4 end
		where x.group_id = $1 and x.claim_id = any ($2::uuid[])`},
	{"entity_change_log", `change_reason = '', new_text = case when x.new_text <> '' and c.blank then $3 else x.new_text
		end,
			old_text = case when x.old_text <> '' and (c.follows or c.blank and x.new_text in ('', x.old_text)) then $3
				else x.old_text end
		from (select claim_id, claim_id = any ($2::uuid[]) as blank, coalesce(parent_id = any ($2::uuid[]),
			false) as follows
			from entity_claims where group_id = $1 and (claim_id = any ($2::uuid[]) or parent_id = any ($2::uuid[]))) c
		where x.group_id = $1 and x.claim_id = c.claim_id and $4 <> $5`},
}

// blankClaims ends claims in force that others do not make, though they had spoken for what
// was said before, and empties the versions that say what the author alone had said. What
// was said before does not come back by itself.
func (e *eraser) blankClaims(ctx context.Context, mixed pq.StringArray) error {
	var ends, ids pq.StringArray
	if err := e.t.Select(ctx, &ends, unspokenClaimsQuery, e.group, e.query.AuthorID, e.messages, mixed); err != nil {
		return err
	}
	if err := e.t.Select(ctx, &ids, blankClaimsQuery, e.group, e.query.AuthorID, e.messages, mixed); err != nil {
		return err
	}
	if len(ends) > 0 {
		if err := e.changed(ctx, "entity_claims", `status = 'deprecated', ended_at = greatest($2::timestamptz, x.updated_at)
			where x.group_id = $1 and x.claim_id = any ($3::uuid[])`, e.at, ends); err != nil {
			return err
		}
	}
	if len(ids) == 0 {
		return nil
	}
	for _, b := range claimBlankings {
		if err := e.changed(ctx, b.table, b.set, ids, text.Erased, text.NameKey(text.Erased),
			text.ContentHash(text.Erased)); err != nil {
			return err
		}
	}
	return nil
}
