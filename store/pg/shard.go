package pg

import (
	"cmp"
	"context"
	"database/sql"
	_ "embed"
	"errors"
	"fmt"
	"strings"
	"sync"
	"time"

	"github.com/lib/pq/pqerror"

	"reverie/internal/reverie"
)

// shards are the pools of a database that Citus has distributed. There is one for each shard of the groups, connected
// directly to the server that has the shard. That server can cache the plan of a statement. Through Citus, two servers
// plan it each time.
type shards struct {
	mu     sync.Mutex
	groups map[string]place
	pools  map[place]*pool
	opened []*sql.DB // all pools, including unused ones, to be closed at the end
	closed bool
}

func newShards() shards { return shards{groups: map[string]place{}, pools: map[place]*pool{}} }

type pool struct {
	db      *DB       // nil: it is not open
	retryAt time.Time // time of the next attempt to open it
}

// place is the shard of a group, and the server that has it.
type place struct {
	Shard   int64
	Host    string
	Port    uint16
	Version int64  // of the schema
	Path    string // the search path, one schema in each line
}

const (
	maxGroups   = 100_000 // most groups whose places are remembered
	openTimeout = 5 * time.Second
	reopenAfter = 5 * time.Minute

	places = `select p.shardid as shard, n.nodename as host, n.nodeport as port, array_to_string(current_schemas(false), chr(10)) as path,
			(select max(version_id) from goose_db_version) as version
		from pg_dist_placement p join pg_dist_node n on n.groupid = p.groupid and n.noderole = 'primary' where p.shardid `
	placeQuery = places + `= (select get_shard_id_for_distribution_column('groups', $1::text))`
	eachServer = `select distinct on (host, port) * from (` + places + `in (
		select shardid from pg_dist_shard where logicalrelid = 'groups'::regclass)) p`
)

// makeViews creates views of a shard's tables under their own names, in a schema for the shard and the version of the
// tables. Its function here() fails if the shard has moved away. Otherwise it prevents a move until the transaction
// ends.
//
//go:embed shard.sql
var makeViews string

// During a migration no views are created, because a migration cannot change the tables below them. It first waits for
// users of the views.
const (
	beginMigration = `perform lock_shard_metadata(7, own) from (select array_agg(shardid order by shardid) as own
			from pg_dist_shard where logicalrelid = to_regclass('groups')) s where own is not null;
		drop schema if exists reverie_migrates; create schema reverie_migrates;
		for s in select nspname from pg_namespace where nspname ~ '^reverie_[0-9]+_[0-9]+$' loop
			execute format('drop schema %I cascade', s);
		end loop;`
	endMigration = `drop schema if exists reverie_migrates;`
	onAllNodes   = `select coalesce(string_agg(result, '; ') filter (where not success), '') from run_command_on_all_nodes($1)`
)

// WithoutViews runs a migration while no shard has views. They are created again when they are needed.
func WithoutViews(ctx context.Context, db *sql.DB, migrate func() error) error {
	var distributed bool
	if err := db.QueryRowContext(ctx, distributedQuery).Scan(&distributed); err != nil {
		return err
	}
	if !distributed {
		return migrate()
	}
	each := func(ctx context.Context, do string) error {
		var wrong string
		err := db.QueryRowContext(ctx, onAllNodes, `do $do$ declare s name; begin
			perform pg_advisory_xact_lock(hashtext('reverie_shards')), set_config('citus.enable_ddl_propagation', 'off', true);
			`+do+` end $do$`).Scan(&wrong)
		if err == nil && wrong != "" {
			err = errors.New(wrong)
		}
		return err
	}
	if err := each(ctx, beginMigration); err != nil {
		return fmt.Errorf("drop the views of shards: %w", err)
	}
	db.SetMaxOpenConns(1) // the setting is a connection's; with it a migration may change tables, and then distribute one
	_, err := db.ExecContext(ctx, `set citus.multi_shard_modify_mode = 'sequential'`)
	if err == nil {
		err = migrate()
	}
	return errors.Join(err, each(context.WithoutCancel(ctx), endMigration))
}

// Of returns the database for work on one group only; for groupID "" it returns d. If Citus has distributed the
// database, the work goes directly to the server of the group, if this process can reach it.
func (d *DB) Of(ctx context.Context, groupID string) *DB {
	if !d.opts.distributed || groupID == "" {
		return d
	}
	s := &d.shards
	at, known := s.place(groupID, d.Now())
	if !known && d.QueryRow(ctx, fmt.Sprintf("look where group %q is", groupID), &at, placeQuery, groupID) != nil {
		return d // its next statement returns the error
	}
	p, open := s.pool(groupID, at, d.Now())
	if open {
		if p, _ = d.openShard(ctx, at); p != nil {
			s.keep(at, p)
		}
	}
	return cmp.Or(p, d)
}

// TryShards opens a shard on each server. The error says on which servers that fails, and why. Work on their groups
// goes through Citus.
func (d *DB) TryShards(ctx context.Context) error {
	list, err := QueryAll[place](ctx, d, "look which servers have groups", eachServer)
	for _, at := range list {
		if shard, why := d.openShard(ctx, at); why == nil {
			_ = shard.db.Close()
		} else {
			err = errors.Join(err, Translate(ctx, why, fmt.Sprintf("ask %s:%d", at.Host, at.Port)))
		}
	}
	return err
}

// place returns where a group was when it was last looked up. known is false if it must be looked up, also because that
// server cannot be reached.
func (s *shards) place(groupID string, now time.Time) (at place, known bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	at, known = s.groups[groupID]
	p := s.pools[at]
	return at, known && p != nil && (p.db != nil || now.Before(p.retryAt))
}

// pool returns the pool of a place. open means that the caller must open it. Other callers use Citus meanwhile.
func (s *shards) pool(groupID string, at place, now time.Time) (db *DB, open bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.groups) >= maxGroups {
		clear(s.groups)
	}
	s.groups[groupID] = at
	p := s.pools[at]
	if p == nil {
		p = &pool{}
		s.pools[at] = p
	}
	if p.db != nil || now.Before(p.retryAt) {
		return p.db, false
	}
	p.retryAt = now.Add(reopenAfter)
	return nil, true
}

func (s *shards) keep(at place, db *DB) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.pools[at] == nil || s.closed {
		_ = db.db.Close()
		return
	}
	s.pools[at].db, s.opened = db, append(s.opened, db.db)
}

func (d *DB) openShard(ctx context.Context, at place) (*DB, error) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), openTimeout) // other callers will use the pool, too
	defer cancel()
	opts, schema := d.opts, fmt.Sprintf("reverie_%d_%d", at.Shard, at.Version)
	opts.distributed, opts.place, opts.Schema = false, &at, append([]string{schema}, strings.Split(at.Path, "\n")...)
	db, err := Connect(opts)
	if err != nil {
		return nil, err
	}
	for _, query := range []string{fmt.Sprintf(makeViews, schema, at.Shard), `select here()`} {
		if _, err := db.ExecContext(ctx, query); err != nil {
			_ = db.Close()
			return nil, err
		}
	}
	return &DB{db: db, opts: opts, pooled: d.pooled, whole: d, Confine: d.Confine, Reasons: d.Reasons}, nil
}

// needsWhole reports whether work must go to the whole database: its shard cannot be reached, has moved, or has lost
// its views. The next caller looks up its group again.
func (d *DB) needsWhole(err error) bool {
	lost, answer := isUnreachable(err), ServerError(err)
	if answer != nil {
		lost = answer.Code == pqerror.UndefinedTable || answer.Code == pqerror.UndefinedFunction ||
			answer.Code == pqerror.FeatureNotSupported || errors.Is(domainError(answer), reverie.ErrUnavailable)
	}
	if d.whole == nil || !lost {
		return false
	}
	s := &d.whole.shards
	s.mu.Lock()
	defer s.mu.Unlock()
	if p := s.pools[*d.opts.place]; p != nil && p.db == d {
		delete(s.pools, *d.opts.place)
		d.db.SetMaxIdleConns(-1)
	}
	return true
}

func (s *shards) close() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.closed = true
	for _, db := range s.opened {
		_ = db.Close()
	}
}
