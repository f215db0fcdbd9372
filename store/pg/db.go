package pg

import (
	"cmp"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"maps"
	"net"
	"net/netip"
	"net/url"
	"path/filepath"
	"strings"
	"sync/atomic"
	"time"

	"github.com/lib/pq"

	"reverie/internal/fault"
	"reverie/internal/reverie"
)

// Options say where the database is and how long to wait for it. Zero values mean the defaults named below.
type Options struct {
	// URL is a PostgreSQL URL or key=value string. If neither it nor PGSSLMODE has an sslmode, Unix sockets and
	// loopback addresses use disable, and all others require.
	URL              string
	MaxConns         int           // most open connections; 8
	ReadTimeout      time.Duration // longest silence of the server; 60s. Keep it above StatementTimeout
	StatementTimeout time.Duration // for one statement; 30s
	LockTimeout      time.Duration // for one lock; 10s
	IdleTimeout      time.Duration // for an idle transaction, on the server; 15s
	// Unprepared sends statements without preparing them. It is for poolers that do not support prepared statements
	// (PgBouncer before 1.21 in transaction mode).
	Unprepared bool
	Now        func() time.Time // clock for everything but leases; time.Now
	ReaderRole string           // role of confined reads; "" for none; see store.AsReader

	Schema []string // search path; empty for the server's default
	Dial   DialFunc // opens network connections; nil: net.Dialer

	distributed bool   // Citus has distributed the tables over several servers
	place       *place // the shard that this pool belongs to; nil for the whole database
}

// WithDefaults replaces zero values by the defaults.
func (o Options) WithDefaults() Options {
	o.MaxConns = cmp.Or(o.MaxConns, 8)
	o.ReadTimeout = cmp.Or(o.ReadTimeout, 60*time.Second)
	o.StatementTimeout = cmp.Or(o.StatementTimeout, 30*time.Second)
	o.LockTimeout = cmp.Or(o.LockTimeout, 10*time.Second)
	o.IdleTimeout = cmp.Or(o.IdleTimeout, 15*time.Second)
	if o.Now == nil {
		o.Now = fault.Clock(time.Now)
	}
	if o.Dial == nil {
		o.Dial = new(net.Dialer).DialContext
	}
	return o
}

// DB is a pool of connections to one database. It is safe for concurrent use.
type DB struct {
	// Confine returns additional settings of a transaction, such as its role. The default returns none. Set it before
	// the first use.
	Confine func(ctx context.Context, writes bool) (Settings, error)
	// Reasons explains violated constraints to callers, by the constraint's name. Set it before the first use.
	Reasons map[string]string

	db   *sql.DB
	opts Options

	*pooled
	vectorOID atomic.Uint32 // OID of this database's vector type; 0 until asked

	shards shards
	whole  *DB // for a shard: the whole database
}

// pooled is what a database and its shards share.
type pooled struct {
	conns    chan struct{} // one element for each connection in use or held back: see acquireConn
	heldBack atomic.Int64  // how many elements of conns are held back
	wrote    atomic.Bool   // something was committed
}

// Open connects and pings. Invalid settings are reverie.ErrConfiguration.
func Open(ctx context.Context, opts Options) (*DB, error) {
	opts = opts.WithDefaults()
	db, err := Connect(opts)
	if err != nil {
		return nil, err
	}
	d := &DB{db: db, opts: opts, pooled: &pooled{conns: make(chan struct{}, opts.MaxConns)}, shards: newShards(),
		Confine: func(context.Context, bool) (Settings, error) { return nil, nil }}
	d.holdBackConns()
	if err := db.QueryRowContext(ctx, distributedQuery).Scan(&d.opts.distributed); err != nil {
		_ = db.Close()
		return nil, unreachable(ctx, err)
	}
	return d, nil
}

// With returns the database with another Confine, on the same connections.
func (d *DB) With(confine func(ctx context.Context, writes bool) (Settings, error)) *DB {
	return &DB{db: d.db, opts: d.opts, pooled: d.pooled, shards: newShards(), Confine: confine, Reasons: d.Reasons}
}

// Citus adds a trigger to a table that it has distributed.
const distributedQuery = `select exists (select from pg_trigger t join pg_proc p on p.oid = t.tgfoid
	where t.tgrelid = to_regclass('groups') and p.proname = 'citus_truncate_trigger')`

// Distributed reports whether the tables were distributed over several servers when the database was opened.
func (d *DB) Distributed() bool { return d.opts.distributed }

// Connect opens a plain pool with the settings of opts, for migrations and other statements that cannot run in a
// transaction. It does not ping.
func Connect(opts Options) (*sql.DB, error) {
	opts = opts.WithDefaults()
	if opts.URL == "" {
		return nil, fmt.Errorf("no database URL: %w: set REVERIE_DATABASE_URL", reverie.ErrConfiguration)
	}
	cfg, err := pq.NewConfig(opts.URL)
	if err != nil {
		var bad *url.Error // its text contains the URL with the password
		if errors.As(err, &bad) {
			err = bad.Err
		}
		return nil, fmt.Errorf("read the database URL: %w: %w", err, reverie.ErrConfiguration)
	}
	cfg.BinaryParameters = true
	guard := ""
	if at := opts.place; at != nil {
		cfg.Host, cfg.Port, cfg.Hostaddr, cfg.Multi, guard = at.Host, at.Port, netip.Addr{}, nil, ", here()"
	}
	if cfg.SSLMode == "" {
		cfg.SSLMode = defaultSSLMode(cfg)
	}
	if cfg.SSLMode == pq.SSLModeAllow {
		cfg.SSLMode = pq.SSLModePrefer // a refusal of links without TLS comes too late
	}
	if cfg.ApplicationName == "" {
		cfg.ApplicationName = "reverie"
	}
	if cfg.ConnectTimeout == 0 {
		cfg.ConnectTimeout = 10 * time.Second
	}
	if len(opts.Schema) > 0 {
		path := make([]string, len(opts.Schema))
		for i, name := range opts.Schema {
			path[i] = pq.QuoteIdentifier(name)
		}
		cfg.Runtime = maps.Clone(cfg.Runtime)
		if cfg.Runtime == nil {
			cfg.Runtime = map[string]string{}
		}
		cfg.Runtime["search_path"] = strings.Join(path, ", ")
		if opts.place != nil {
			cfg.Runtime["citus.enable_manual_changes_to_shards"] = "on"
		}
	}
	link := &dialer{dial: opts.Dial, timeout: opts.ReadTimeout, cfg: cfg, names: namesOf(cfg)}
	cfg.SSLMode = pq.SSLModeDisable // the dialer does TLS below the link: see encrypt
	pqConnector, err := pq.NewConnectorConfig(cfg)
	if err != nil {
		return nil, fmt.Errorf("read the database URL: %w: %w", err, reverie.ErrConfiguration)
	}
	pqConnector.Dialer(link)
	db := sql.OpenDB(connector{pqConnector, opts.Unprepared, guard})
	db.SetMaxOpenConns(opts.MaxConns)
	db.SetMaxIdleConns(opts.idleConns())
	db.SetConnMaxIdleTime(5 * time.Minute)
	return db, nil
}

// Ping checks that the server answers.
func (d *DB) Ping(ctx context.Context) error { return PingDB(ctx, d.db) }

// PingDB is [DB.Ping] for a plain pool.
func PingDB(ctx context.Context, db *sql.DB) error {
	return unreachable(ctx, db.PingContext(ctx))
}

func unreachable(ctx context.Context, err error) error {
	return Translate(ctx, err, "connect to the database (is REVERIE_DATABASE_URL right, and is it running?)")
}

// Close closes all connections. Statements in progress fail.
func (d *DB) Close() error {
	d.shards.close()
	if err := d.db.Close(); err != nil {
		return fmt.Errorf("close the database: %w", err)
	}
	return nil
}

// Options returns the settings of the pool, with defaults.
func (d *DB) Options() Options { return d.opts }

// Now returns the time of the configured clock, at PostgreSQL's precision.
func (d *DB) Now() time.Time { return d.opts.Now().UTC().Truncate(time.Microsecond) }

// Wrote reports whether anything was committed.
func (d *DB) Wrote() bool { return d.wrote.Load() }

// SetNow replaces the clock. Call it before the first use.
func (d *DB) SetNow(now func() time.Time) { d.opts.Now = now }

// defaultSSLMode is disable only where nobody can read the traffic.
func defaultSSLMode(cfg pq.Config) pq.SSLMode {
	for _, h := range hosts(cfg) {
		if !local(h) {
			return pq.SSLModeRequire
		}
	}
	return pq.SSLModeDisable
}

func local(h pq.ConfigMultihost) bool {
	if h.Hostaddr.IsValid() {
		return h.Hostaddr.IsLoopback()
	}
	if filepath.IsAbs(h.Host) || strings.HasPrefix(h.Host, "@") || h.Host == "localhost" || h.Host == "" {
		return true
	}
	addr, err := netip.ParseAddr(h.Host)
	return err == nil && addr.IsLoopback()
}
