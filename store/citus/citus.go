// Package citus distributes the tables over the servers of a Citus cluster, and reports where they are.
package citus

import (
	"context"
	"fmt"
	"time"

	"github.com/lib/pq"

	"reverie/internal/reverie"
	"reverie/store/pg"
)

// Distribute distributes the tables that are not distributed yet, with each group's rows together, and returns their
// names. It moves existing rows. Nothing else may use the database meanwhile. Without Citus it returns
// reverie.ErrConfiguration.
func Distribute(ctx context.Context, opts pg.Options) (tables []string, err error) {
	const what = "distribute the tables"
	opts.ReadTimeout = max(opts.ReadTimeout, time.Hour)
	db, err := pg.Connect(opts)
	if err != nil {
		return nil, err
	}
	defer func() { _ = db.Close() }()
	var found bool
	if err := pg.ReadRow(ctx, db, &found, `select exists (select from pg_extension where extname = 'citus')`); err != nil {
		return nil, pg.Translate(ctx, err, what)
	}
	if !found {
		return nil, fmt.Errorf("%s: this database has no Citus: %w: run `create extension citus` on all servers, and "+
			"`select citus_add_node(…)` on this one, or stay with one PostgreSQL", what, reverie.ErrConfiguration)
	}
	err = pg.ReadRow(ctx, db, (*pq.StringArray)(&tables), `select coalesce(array_agg(name), '{}') from reverie_distribute(true) name`)
	return tables, pg.Translate(ctx, err, what)
}

// Node is one server, with the number of our shards on it.
type Node struct {
	Name   string
	Shards int
}

// Nodes returns the servers that have the tables, in order; none if the tables are not distributed.
func Nodes(ctx context.Context, db *pg.DB) ([]Node, error) {
	if !db.Distributed() {
		return nil, nil
	}
	return pg.QueryAll[Node](ctx, db, "look where the shards are", `select nodename || ':' || nodeport as name, count(*) as shards
		from citus_shards where table_name in (select oid from pg_class where relnamespace = current_schema()::regnamespace)
		group by 1 order by 1`)
}
