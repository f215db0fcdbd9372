package store

import (
	"context"
	"fmt"
	"reverie/store/pg"

	"github.com/lib/pq"
)

// rememberVectorsQuery gives the cache of a scratch the vectors that memories have of
// their own, under the hash of the exact text.
const rememberVectorsQuery = `
	insert into %s.embedding_cache (group_id, model, content_hash, embedding, created_at)
	select distinct on (m.embedding_model, m.statement) m.group_id, m.embedding_model,
		encode(sha256(convert_to(m.statement, 'UTF8')), 'hex'), m.embedding, $2
	from memories m where m.group_id = $1 and m.embedding is not null
	on conflict do nothing`

// RememberVectors puts into the cache what the live group's memories have of vectors:
// where the cache was lost, those need not be asked for.
func (x *Scratch) RememberVectors(ctx context.Context, groupID string) error {
	return x.live.db.Run(ctx, pg.Work{What: fmt.Sprintf("copy the vectors of group %q", groupID), Do: func(ctx context.Context, t *pg.Tx) error {
		_, err := t.Exec(ctx, fmt.Sprintf(rememberVectorsQuery, pq.QuoteIdentifier(x.Schema)), groupID, x.live.db.Now())
		return err
	}})
}
