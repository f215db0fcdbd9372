package store

import (
	"context"
	"encoding/hex"
	"reverie/store/pg"
	"strings"
	"time"

	"github.com/lib/pq"
)

// scratchLeftover is after how long a schema whose group no process holds is one that a
// process has left which died.
const scratchLeftover = 24 * time.Hour

// A schema that has a comment is kept, as one of `replay --keep` of earlier versions, and one
// that is another user's is left alone.
const scratchesQuery = `select nspname from pg_namespace n
	where nspname like 'reverie\_scratch\_%' and pg_has_role(nspowner, 'usage') and obj_description(oid,
		'pg_namespace') is null`

// sweep removes the schemas of processes that died.
func (s *Store) sweep(ctx context.Context) error {
	var schemas []string
	err := s.db.Run(ctx, pg.Work{What: "look for schemas that were left", ReadOnly: true, Do: func(ctx context.Context,
		t *pg.Tx) error {
		schemas = nil
		return t.Select(ctx, &schemas, scratchesQuery)
	}})
	for _, name := range schemas {
		if made, ok := madeAt(name); err == nil && ok && s.db.Now().Sub(made) > scratchLeftover {
			err = s.db.Run(ctx, pg.Work{What: "remove the schema " + name + ", which was left", Do: func(ctx context.Context,
				t *pg.Tx) error {
				return dropLeftover(ctx, t, name)
			}})
		}
	}
	return err
}

// dropLeftover removes a schema but where a lease in it shows that somebody works there.
func dropLeftover(ctx context.Context, t *pg.Tx, name string) error {
	schema, used := pq.QuoteIdentifier(name), false
	var filled bool
	if err := t.Get(ctx, &filled, `select to_regclass($1) is not null`, schema+".leases"); err != nil {
		return err
	}
	if filled {
		if err := t.Get(ctx, &used, `select exists (select 1 from `+schema+`.leases where group_id <> ''
			and `+leaseLives+`)`); err != nil {
			return err
		}
	}
	if used {
		return nil
	}
	_, err := t.Exec(ctx, `drop schema if exists `+schema+` cascade`)
	return err
}

// madeAt is when a schema was made: the first bits of its id.
func madeAt(name string) (time.Time, bool) {
	id, err := hex.DecodeString(strings.TrimPrefix(name, ScratchPrefix))
	if err != nil || len(id) != 16 {
		return time.Time{}, false
	}
	var ms int64
	for _, b := range id[:6] {
		ms = ms<<8 | int64(b)
	}
	return time.UnixMilli(ms), true
}
