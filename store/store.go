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

// read is [pg.Read] of one group.
func read[T any](ctx context.Context, s *Store, groupID, what string, do func(context.Context, *pg.Tx) (T, error)) (T,
	error) {
	return pg.Read(ctx, s.db.Of(ctx, groupID), what, do)
}

// lookup is [pg.Lookup] of one group.
func lookup[T any](ctx context.Context, s *Store, groupID, what string, do func(context.Context, *pg.Tx) (T, error)) (T,
	error) {
	return pg.Lookup(ctx, s.db.Of(ctx, groupID), what, do)
}

// Ping asks the server for a sign of life.
func (s *Store) Ping(ctx context.Context) error { return s.db.Ping(ctx) }

// Close closes all connections. Statements under way end with an error.
func (s *Store) Close() error { return s.db.Close() }

// constraintReasons says, for each constraint that a caller can run into, what it means
// and what to do.
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

// newestChange is when memories of the group $1 were changed last: the change log has a row
// of whatever makes a version or ends one, memory_values of what changes one in place.
const newestChange = `greatest((select max(created_at) from memory_change_log where group_id = $1),
		(select max(valid_until) from memory_values where group_id = $1))`

// NextTimestamp is the time of what a transaction is about to write to a group's memories: now,
// or, where the clock stands still or has gone back, just after the newest change that is
// written. So the times of versions tell their order, and what was active at an instant
// can be told from them. To be asked once the heads are locked, and in each transaction
// that makes, changes or ends a version.
func NextTimestamp(ctx context.Context, db *pg.DB, t *pg.Tx, groupID string) (time.Time, error) {
	var newest *time.Time
	err := t.Get(ctx, &newest, `select `+newestChange, groupID)
	return after(db.Now(), newest), err
}

// after is now, or, if that is not later, the next instant after what is written.
func after(now time.Time, written *time.Time) time.Time {
	if written == nil || now.After(*written) || fault.Off(fault.Moment) {
		return now
	}
	return written.UTC().Add(time.Microsecond)
}

// InsertValues begins a statement, or a part of one, that keeps what the values of
// versions m of the group $1, which are locked, were until they are changed in place. It goes on with the
// run that changes them, the instant, and what the versions are read from.
const InsertValues = `insert into memory_values (group_id, memory_id, value_no, strength, weight, last_supported_at,
	run_id, valid_until)
		select m.group_id, m.memory_id, greatest(` + events.Number + `, (select max(v.value_no) + 1 from memory_values v
			where v.group_id = $1 and v.memory_id = m.memory_id)), m.strength, m.weight, m.last_supported_at, `

// versionsThen, an instant and asThen are what a query reads of an instant from, in place of
// memories: all versions, with the strength, weight and last support that they had then.
// The first change after the instant tells; what was changed before changes were kept is as
// it was then left.
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

// AtInstant reads versions as of an instant, by which parameters hold it, and whether it is
// one of the time of writing. Else it is of the chat's time, and a version has the values
// that it had when it ended, or has now.
func AtInstant(at, recorded string) (versions, active string) {
	at += "::timestamptz"
	return VersionsThen + `(case when ` + recorded + `::bool then ` + at + ` else 'infinity' end)` + AsThen,
		`case when ` + recorded + `::bool then updated_at <= ` + at + ` and (status = 'active' or ended_at > ` + at + `)
		else said_at <= ` + at + ` and (status = 'active' or said_until > ` + at + `) end
		and statement <> '` + text.Erased + `'`
}

// keepValues keeps what the values of a version, which is locked, were before a person
// changed them.
func keepValues(ctx context.Context, t *pg.Tx, groupID, memoryID string, at time.Time) error {
	return t.Exec(ctx, InsertValues+`null, $3::timestamptz from memories m where m.group_id = $1
		and m.memory_id = $2`, groupID, memoryID, at)
}

// ErrDryRun takes back what a dry run did.
var ErrDryRun = errors.New("dry run")

// OrEmpty copies a list, so that none is an empty array and not NULL.
func OrEmpty(list pq.StringArray) pq.StringArray { return append(pq.StringArray{}, list...) }

// IgnoreNoRows is err, but for sql.ErrNoRows.
func IgnoreNoRows(err error) error {
	if errors.Is(err, sql.ErrNoRows) {
		return nil
	}
	return err
}
