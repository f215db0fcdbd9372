package pg

import (
	"cmp"
	"context"
	"database/sql"
	_ "embed"
	"fmt"
	"sync"
	"time"

	"github.com/lib/pq"
	"github.com/lib/pq/pqerror"
)

// shards are the pools of a database that Citus has distributed: one for each part of its groups, straight to the server
// that has it. There PostgreSQL plans a statement once; through Citus two servers plan it each time.
type shards struct {
	mu     sync.Mutex
	groups map[string]place
	pools  map[int64]*pool
	opened []*DB
}

type pool struct {
	mu    sync.Mutex
	db    *DB       // nil: it is not open
	again time.Time // when opening it is tried again
}

// place is where a group is.
type place struct {
	Shard   int64
	Host    string
	Port    uint16
	Version int64          // of the schema
	Path    pq.StringArray // of schemas
}

const (
	maxGroups   = 100_000 // of which it is kept where they are
	openTimeout = 20 * time.Second
	reopenAfter = 5 * time.Minute
)

const placeQuery = `select p.shardid as shard, n.nodename as host, n.nodeport as port, current_schemas(false)::text[] as path,
		(select max(version_id) from goose_db_version) as version
	from pg_dist_placement p join pg_dist_node n on n.groupid = p.groupid and n.noderole = 'primary'
	where p.shardid = (select get_shard_id_for_distribution_column('groups', $1::text))`

// makeViews has the tables of a shard be found by their own names: as views, in a schema for the shard and the version of
// the tables. Its here() fails where the shard is no longer, and keeps it there until the transaction ends.
//
//go:embed shard.sql
var makeViews string

const dropViews = `select run_command_on_workers($$ do $do$ declare s name; begin
	for s in select nspname from pg_namespace where nspname ~ '^reverie_[0-9]+_[0-9]+$' loop
		execute format('drop schema %I cascade', s);
	end loop; end $do$ $$)`

// DropViews drops the views of all shards, which are made anew when they are asked for: what they show could not be changed.
func DropViews(ctx context.Context, db *sql.DB) error {
	var distributed bool
	err := db.QueryRowContext(ctx, distributedQuery).Scan(&distributed)
	if err == nil && distributed {
		_, err = db.ExecContext(ctx, dropViews)
	}
	return err
}

// Of is the database for work on one group and nothing else. Where Citus has distributed it, that is asked of the
// server of the group, if this process may.
func (d *DB) Of(ctx context.Context, groupID string) *DB {
	if !d.opts.distributed {
		return d
	}
	s := &d.shards
	s.mu.Lock()
	at, known := s.groups[groupID]
	s.mu.Unlock()
	if !known && d.QueryRow(ctx, fmt.Sprintf("look where group %q is", groupID), &at, placeQuery, groupID) != nil {
		return d // whose next statement tells why
	}
	return cmp.Or(s.pool(groupID, at).open(ctx, d, at), d)
}

func (s *shards) pool(groupID string, at place) *pool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.groups) >= maxGroups {
		clear(s.groups)
	}
	s.groups[groupID] = at
	if s.pools[at.Shard] == nil {
		s.pools[at.Shard] = &pool{}
	}
	return s.pools[at.Shard]
}

// open returns the pool's database, nil where it cannot be opened.
func (p *pool) open(ctx context.Context, whole *DB, at place) *DB {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.db != nil || whole.Now().Before(p.again) {
		return p.db
	}
	p.again = whole.Now().Add(reopenAfter)
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), openTimeout) // it is not only the caller's
	defer cancel()
	opts, schema := whole.opts, fmt.Sprintf("reverie_%d_%d", at.Shard, at.Version)
	opts.distributed, opts.place, opts.Schema = false, &at, append([]string{schema}, at.Path...)
	db, err := Connect(opts)
	if err != nil {
		return nil
	}
	for _, query := range []string{fmt.Sprintf(makeViews, schema, at.Shard), `select here()`} {
		if _, err := db.ExecContext(ctx, query); err != nil {
			_ = db.Close()
			return nil
		}
	}
	p.db = &DB{db: db, opts: opts, pooled: whole.pooled, whole: whole, Confine: whole.Confine, Reasons: whole.Reasons}
	whole.shards.mu.Lock()
	defer whole.shards.mu.Unlock()
	whole.shards.opened = append(whole.shards.opened, p.db)
	return p.db
}

// gone tells whether work is to be done by the whole database, since this part of it is elsewhere by now, or its
// views were dropped. Who asks next looks for it anew.
func (d *DB) gone(err error) bool {
	answer := ServerError(err)
	if d.whole == nil || answer == nil || answer.Code != pqerror.UndefinedTable && answer.Code != pqerror.UndefinedFunction {
		return false
	}
	s := &d.whole.shards
	s.mu.Lock()
	defer s.mu.Unlock()
	clear(s.groups)
	delete(s.pools, d.opts.place.Shard)
	return true
}

func (s *shards) close() {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, d := range s.opened {
		_ = d.db.Close()
	}
}
