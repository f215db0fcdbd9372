package store

import (
	"context"
	"database/sql"
	"errors"
	"sync"
	"time"

	"github.com/lib/pq"

	"reverie/internal/fault"
	"reverie/internal/reverie"
	"reverie/internal/text"
	"reverie/store/events"
	"reverie/store/pg"
)

// Store is Reverie's database. It is safe for concurrent use.
type Store struct {
	// SessionSilence is the silence after which a session without an id ends, for groups without their own. Set it
	// before the first use. The default is reverie.DefaultSessionSilence.
	SessionSilence time.Duration

	db *pg.DB

	mu     sync.Mutex
	reader *Reader // nil until the first check
}

// Open connects to the server and pings it. It does not check the schema: see [Store.CheckSchema]. Invalid settings are
// reverie.ErrConfiguration.
func Open(ctx context.Context, opts pg.Options) (*Store, error) {
	db, err := pg.Open(ctx, opts)
	if err != nil {
		return nil, err
	}
	s := &Store{db: db, SessionSilence: reverie.DefaultSessionSilence}
	db.Confine, db.Reasons = s.confinement, constraintReasons
	return s, nil
}

// Watched returns the store with a function that is called before each transaction, and whose error fails it. Tests
// end a process there.
func (s *Store) Watched(before func() error) *Store {
	w := &Store{SessionSilence: s.SessionSilence}
	w.db = s.db.With(func(ctx context.Context, writes bool) (pg.Settings, error) {
		if err := before(); err != nil {
			return nil, err
		}
		return w.confinement(ctx, writes)
	})
	return w
}

// DB returns the connection pool of the store.
func (s *Store) DB() *pg.DB { return s.db }

// read is [pg.Read] for one group.
func read[T any](ctx context.Context, s *Store, groupID, what string, do func(context.Context, *pg.Tx) (T, error)) (T,
	error) {
	return pg.Read(ctx, s.db.Of(ctx, groupID), what, do)
}

// lookup is [pg.Lookup] for one group.
func lookup[T any](ctx context.Context, s *Store, groupID, what string, do func(context.Context, *pg.Tx) (T, error)) (T,
	error) {
	return pg.Lookup(ctx, s.db.Of(ctx, groupID), what, do)
}

// Ping checks that the server answers.
func (s *Store) Ping(ctx context.Context) error { return s.db.Ping(ctx) }

// Close closes all connections. Statements in progress fail.
func (s *Store) Close() error { return s.db.Close() }

// constraintReasons explains each constraint that a caller may violate, and what to do.
var constraintReasons = map[string]string{
	"memories_one_text":                    "another active memory of that kind already says this; read the group again",
	"memories_one_head":                    "its lineage has an active head already; read the group again",
	"memories_group_id_lineage_id_version": "its lineage got that version in the meantime; read the group again",
	"memories_strength":                    "strength must be within 0..1",
	"memories_weight":                      "weight must be within 0..2",
	"memories_statement":                   "a statement has 1 to 500 characters",
	"memories_embedding":                   "an embedding needs its model, as name@dims",
	"entity_names_account":                 "that account is another entity's already; read the group again",
	"entity_names_once":                    "the entity bears that name already; read the group again",
	"entity_claims_one_text":               "the entity has that claim already; read the group again",
	"entity_claims_one_head":               "that claim has an active version already; read the group again",
	"decisions_group_id_memory_id_fkey":    "a decision names a memory that its plan does not make and the group does not have",
	"decisions_group_id_target_id_fkey":    "a decision acts on a memory that the group does not have",
}

// newestChange is the time of the last change to memories of group $1. The change log has each version that was made or
// ended; memory_values has the changes in place.
const newestChange = `greatest((select max(created_at) from memory_change_log where group_id = $1),
		(select max(valid_until) from memory_values where group_id = $1))`

// NextTimestamp returns the time for the next change to a group's memories: now or, if the clock stands still or was
// set back, just after the newest change. So the times of versions give their order, and the versions that were active
// at an instant. Each transaction that makes, changes or ends a version must call it once the heads are locked.
func NextTimestamp(ctx context.Context, db *pg.DB, t *pg.Tx, groupID string) (time.Time, error) {
	var newest *time.Time
	err := t.Get(ctx, &newest, `select `+newestChange, groupID)
	return after(db.Now(), newest), err
}

// after returns now or, if that is not later, the next microsecond after the written time.
func after(now time.Time, written *time.Time) time.Time {
	if written == nil || now.After(*written) || fault.Off(fault.Moment) {
		return now
	}
	return written.UTC().Add(time.Microsecond)
}

// InsertValues begins an insert that stores the values of locked versions m of group $1 before they change in place.
// The caller appends the run that changes them, the time, and the source of the versions.
const InsertValues = `insert into memory_values (group_id, memory_id, value_no, strength, weight, last_supported_at,
	run_id, valid_until)
		select m.group_id, m.memory_id, greatest(` + events.Number + `, (select max(v.value_no) + 1 from memory_values v
			where v.group_id = $1 and v.memory_id = m.memory_id)), m.strength, m.weight, m.last_supported_at, `

// VersionsThen, an instant and AsThen together replace the table memories in a query: all versions, with their
// strength, weight and last support at that instant. These are the values before the first change after the instant.
// Changes before changes were stored are not undone.
const (
	VersionsThen = `(select m.group_id, m.memory_id, m.lineage_id, m.parent_id, m.kind, m.session_id, m.statement,
		m.version, m.status, m.tags,
			coalesce(v.strength, m.strength) as strength, coalesce(v.weight, m.weight) as weight, m.content_hash, m.embedding,
				m.embedding_model,
			m.change_summary, m.run_id, m.created_at, m.updated_at, m.ended_at, coalesce(v.last_supported_at,
				m.last_supported_at) as last_supported_at, m.type, m.due_on, m.said_at, m.said_until, m.author, m.words
		from memories m left join lateral (select v.strength, v.weight, v.last_supported_at from memory_values v
			where v.group_id = $1 and v.memory_id = m.memory_id and v.valid_until > `
	AsThen = `::timestamptz order by v.valid_until, v.value_no limit 1) v on true where m.group_id = $1) memories`
)

// AtInstant returns SQL to read versions as of an instant. Parameters give the instant, and whether it is in recorded
// time. In chat time, a version has the values that it had when it ended, or has now.
func AtInstant(at, recorded string) (versions, active string) {
	at += "::timestamptz"
	return VersionsThen + `(case when ` + recorded + `::bool then ` + at + ` else 'infinity' end)` + AsThen,
		`case when ` + recorded + `::bool then updated_at <= ` + at + ` and (status = 'active' or ended_at > ` + at + `)
		else said_at <= ` + at + ` and (status = 'active' or said_until > ` + at + `) end
		and statement <> '` + text.Erased + `'`
}

// keepValues stores the values of a locked version before a person changes them.
func keepValues(ctx context.Context, t *pg.Tx, groupID, memoryID string, at time.Time) error {
	return t.Exec(ctx, InsertValues+`null, $3::timestamptz from memories m where m.group_id = $1
		and m.memory_id = $2`, groupID, memoryID, at)
}

// ErrDryRun rolls back the transaction of a dry run.
var ErrDryRun = errors.New("dry run")

// OrEmpty copies a list. A nil list becomes an empty array instead of NULL.
func OrEmpty(list pq.StringArray) pq.StringArray { return append(pq.StringArray{}, list...) }

// IgnoreNoRows returns err, or nil for sql.ErrNoRows.
func IgnoreNoRows(err error) error {
	if errors.Is(err, sql.ErrNoRows) {
		return nil
	}
	return err
}
