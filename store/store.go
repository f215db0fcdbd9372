package store

import (
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
	"sync"
	"sync/atomic"
	"time"

	"github.com/jmoiron/sqlx"
	"github.com/lib/pq"

	"reverie/internal/fault"
	"reverie/internal/reverie"
)

// Options say where the database is and how long to wait for it. Zero values
// take the defaults named below.
type Options struct {
	// URL is a PostgreSQL URL or key=value string. Where it names no sslmode
	// (nor does PGSSLMODE), Unix sockets and loopback addresses use disable and
	// everything else require.
	URL              string
	MaxConns         int           // open connections at most; 8
	ReadTimeout      time.Duration // for the server to say anything at all; 60s. Keep it above StatementTimeout
	StatementTimeout time.Duration // for one statement; 30s
	LockTimeout      time.Duration // for one lock; 10s
	IdleTimeout      time.Duration // for a transaction that stands still, on the server; 15s
	// Unprepared sends statements without preparing them, for poolers that
	// cannot carry prepared statements (PgBouncer before 1.21 in transaction mode).
	Unprepared bool
	Now        func() time.Time // the clock of everything but leases; time.Now
	// SessionSilence ends a session of messages that name none, in groups that do
	// not say otherwise; reverie.DefaultSessionSilence.
	SessionSilence time.Duration
	// ReaderRole is the role that reads under [AsReader]; "" for none.
	ReaderRole string

	dial   dialFunc // tests replace the network here; nil is net.Dialer
	schema []string // where tables are looked for, instead of where the server says: see Scratch
}

func (o Options) withDefaults() Options {
	o.MaxConns = or(o.MaxConns, 8)
	o.ReadTimeout = or(o.ReadTimeout, 60*time.Second)
	o.StatementTimeout = or(o.StatementTimeout, 30*time.Second)
	o.LockTimeout = or(o.LockTimeout, 10*time.Second)
	o.IdleTimeout = or(o.IdleTimeout, 15*time.Second)
	o.SessionSilence = or(o.SessionSilence, reverie.DefaultSessionSilence)
	if o.Now == nil {
		o.Now = fault.Clock(time.Now)
	}
	if o.dial == nil {
		o.dial = new(net.Dialer).DialContext
	}
	return o
}

func or[T int | time.Duration](v, fallback T) T {
	if v > 0 {
		return v
	}
	return fallback
}

// Store is Reverie's database. Its methods may be called concurrently.
type Store struct {
	db   *sqlx.DB
	from *connector // of the connections
	opts Options

	mu       sync.Mutex
	prepared map[string]*sqlx.Stmt
	reader   *Reader // nil until asked

	turns chan struct{} // of those who have a connection, or are about to: see turn
	spare atomic.Int64  // those of turns that nobody has had yet

	vectorOID atomic.Uint32 // of this database's vector type; 0 until asked
}

// Open connects and pings. It does not look at the schema: see
// [Store.CheckSchema]. Wrong settings are reverie.ErrConfiguration.
func Open(ctx context.Context, opts Options) (*Store, error) {
	opts = opts.withDefaults()
	db, from, err := connect(opts)
	if err != nil {
		return nil, err
	}
	s := &Store{db: db, from: from, opts: opts, prepared: map[string]*sqlx.Stmt{}, turns: make(chan struct{}, opts.MaxConns)}
	s.saveTurns()
	if err := s.Ping(ctx); err != nil {
		_ = db.Close()
		return nil, err
	}
	return s, nil
}

// Ping asks the server for a sign of life.
func (s *Store) Ping(ctx context.Context) error {
	if err := s.db.PingContext(ctx); err != nil {
		return translate(ctx, err, "connect to the database (is REVERIE_DATABASE_URL right, and is it running?)")
	}
	return nil
}

// Close closes all connections. Statements under way end with an error.
func (s *Store) Close() error {
	s.from.closing.Store(true)
	if err := s.db.Close(); err != nil {
		return fmt.Errorf("close the database: %w", err)
	}
	return nil
}

// now is the store's clock, at the precision that PostgreSQL keeps.
func (s *Store) now() time.Time { return s.opts.Now().UTC().Truncate(time.Microsecond) }

func connect(opts Options) (*sqlx.DB, *connector, error) {
	if opts.URL == "" {
		return nil, nil, fmt.Errorf("no database URL: %w: set REVERIE_DATABASE_URL", reverie.ErrConfiguration)
	}
	cfg, err := pq.NewConfig(opts.URL)
	if err != nil {
		var bad *url.Error // its text repeats the URL, password and all
		if errors.As(err, &bad) {
			err = bad.Err
		}
		return nil, nil, fmt.Errorf("read the database URL: %w: %w", err, reverie.ErrConfiguration)
	}
	cfg.BinaryParameters = true
	if cfg.SSLMode == "" {
		cfg.SSLMode = defaultSSLMode(cfg)
	}
	if cfg.ApplicationName == "" {
		cfg.ApplicationName = "reverie"
	}
	if cfg.ConnectTimeout == 0 {
		cfg.ConnectTimeout = 10 * time.Second
	}
	if len(opts.schema) > 0 {
		path := make([]string, len(opts.schema))
		for i, name := range opts.schema {
			path[i] = pq.QuoteIdentifier(name)
		}
		cfg.Runtime = maps.Clone(cfg.Runtime)
		if cfg.Runtime == nil {
			cfg.Runtime = map[string]string{}
		}
		cfg.Runtime["search_path"] = strings.Join(path, ", ")
	}
	pqConnector, err := pq.NewConnectorConfig(cfg)
	if err != nil {
		return nil, nil, fmt.Errorf("read the database URL: %w: %w", err, reverie.ErrConfiguration)
	}
	pqConnector.Dialer(&dialer{dial: opts.dial, timeout: opts.ReadTimeout})
	from := &connector{Connector: pqConnector}
	db := sqlx.NewDb(sql.OpenDB(from), "postgres")
	db.SetMaxOpenConns(opts.MaxConns)
	db.SetMaxIdleConns(opts.MaxConns)
	db.SetConnMaxIdleTime(5 * time.Minute)
	return db, from, nil
}

// defaultSSLMode is disable only where nobody can listen in.
func defaultSSLMode(cfg pq.Config) pq.SSLMode {
	hosts := []pq.ConfigMultihost{{Host: cfg.Host, Hostaddr: cfg.Hostaddr}}
	for _, h := range append(hosts, cfg.Multi...) {
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
