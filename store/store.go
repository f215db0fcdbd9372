package store

import (
	"context"
	"sync"
	"time"

	"reverie/internal/reverie"
	"reverie/store/pg"
)

// Store is Reverie's database. Its methods may be called concurrently.
type Store struct {
	// SessionSilence ends a session of messages that name none, in groups that do
	// not say otherwise. Set it before the first use; reverie.DefaultSessionSilence.
	SessionSilence time.Duration

	db *pg.DB

	mu     sync.Mutex
	reader *Reader // nil until asked
}

// Open connects and pings. It does not look at the schema: see
// [Store.CheckSchema]. Wrong settings are reverie.ErrConfiguration.
func Open(ctx context.Context, opts pg.Options) (*Store, error) {
	db, err := pg.Open(ctx, opts)
	if err != nil {
		return nil, err
	}
	s := &Store{db: db, SessionSilence: reverie.DefaultSessionSilence}
	db.Confine, db.Reasons = s.confinement, constraintReasons
	return s, nil
}

// DB is the pool that the store reads and writes through.
func (s *Store) DB() *pg.DB { return s.db }

// Ping asks the server for a sign of life.
func (s *Store) Ping(ctx context.Context) error { return s.db.Ping(ctx) }

// Close closes all connections. Statements under way end with an error.
func (s *Store) Close() error { return s.db.Close() }
