package store_test

import (
	"database/sql"
	"testing"
	"time"

	"github.com/lib/pq"

	"reverie/internal/reverie"
)

// dreamer is a world whose memories, and what dreams have made of them, are written
// row by row.
type dreamer struct {
	*world
	db   *sql.DB
	born int // orders the memories of a group
}

func newDreamer(t testing.TB) *dreamer {
	return &dreamer{world: newWorld(t), db: raw(t)}
}

func (d *dreamer) write(statement string, args ...any) {
	d.t.Helper()
	_, err := d.db.Exec(statement, args...)
	check(d.t, err)
}

// quiet brings a session whose only message was sent so many minutes after noon.
func (d *dreamer) quiet(id, session string, minute int) {
	d.t.Helper()
	d.bring(id, line(session+"-1", session, "user", minute))
}

// knows writes an active memory, the first of its lineage, and returns its version.
func (d *dreamer) knows(id string, kind reverie.Kind, session, statement string, tags ...string) reverie.Memory {
	d.t.Helper()
	m := reverie.Memory{GroupID: id, ID: reverie.NewID(), LineageID: reverie.NewID(), Kind: kind, SessionID: session, Statement: statement, Version: 1, Tags: tags}
	d.insert(m)
	return m
}

// becomes writes the next version of a memory.
func (d *dreamer) becomes(m reverie.Memory, statement string) reverie.Memory {
	d.t.Helper()
	d.write(`update memories set status = 'deprecated', ended_at = now() where group_id = $1 and memory_id = $2`, m.GroupID, m.ID)
	parent := m.ID
	m.ID, m.ParentID, m.Statement, m.Version = reverie.NewID(), &parent, statement, m.Version+1
	d.insert(m)
	return m
}

func (d *dreamer) insert(m reverie.Memory) {
	d.t.Helper()
	d.born++
	d.write(`insert into memories (group_id, memory_id, lineage_id, parent_id, kind, session_id, statement, version, status, tags, strength, content_hash,
			created_at, updated_at, last_supported_at)
		values ($1, $2, $3, $4, $5, $6, $7, $8, 'active', $9, 0.5, $10, $11, $11, $11)`,
		m.GroupID, m.ID, m.LineageID, m.ParentID, string(m.Kind), m.SessionID, m.Statement, m.Version, pq.StringArray(append([]string{}, m.Tags...)), hash(m.Statement),
		noon.Add(time.Duration(d.born)*time.Second))
}

// dreamt writes a dream that ended with a status, at that many minutes after noon,
// and the versions that it took in. One that is running has no end.
func (d *dreamer) dreamt(id, status string, minute int, taken ...reverie.Memory) (run string) {
	d.t.Helper()
	run = reverie.NewID()
	var end any
	if status != "running" {
		end = noon.Add(time.Duration(minute) * time.Minute)
	}
	d.write(`insert into runs (group_id, run_id, job, window_since, window_until, status, attempt, started_at, finished_at)
		values ($1, $2, 'dream', 'epoch', 'epoch', $3, 1, $4, $5)`, id, run, status, noon, end)
	for _, m := range taken {
		d.write(`insert into memory_uses values ($1, 'dream', $2, $3)`, id, m.ID, run)
	}
	return run
}

func (d *dreamer) chunkOf(id, run, status string) {
	d.t.Helper()
	d.write(`insert into run_chunks (group_id, run_id, chunk_no, status, created_at) values ($1, $2, 1, $3, now())`, id, run, status)
}

// covers says up to when a session has been dreamt of, counted from its last message.
func (d *dreamer) covers(id, session string, after time.Duration) {
	d.t.Helper()
	d.write(`update sessions set dreamt_until = (select last_at + $3 * interval '1 microsecond') where group_id = $1 and session_id = $2`, id, session, after.Microseconds())
}

// rests writes what a version rests on.
func (d *dreamer) rests(run string, m reverie.Memory, sources ...reverie.Memory) {
	d.t.Helper()
	for i, s := range sources {
		d.write(`insert into memory_sources values ($1, $2, $3, $4, $5, $6)`, m.GroupID, m.ID, i+1, s.ID, s.LineageID, run)
	}
}

// cites writes evidence of a version: a message, sent on a day of January.
func (d *dreamer) cites(m reverie.Memory, action, message string, day int) {
	d.t.Helper()
	at := time.Date(2026, 1, day, 4, 0, 0, 0, time.UTC)
	d.write(`insert into memory_evidence (group_id, lineage_id, memory_id, message_id, author, quote, sent_at, local_date, action, created_at)
		values ($1, $2, $3, $4, '小明', $5, $6, $7, $8, now())`, m.GroupID, m.LineageID, m.ID, message, action+" "+message, at, at.Format(time.DateOnly), action)
}

// gathered is a session as a dream gathered it.
func gathered(id string, messages int, last time.Time) reverie.Session {
	return reverie.Session{ID: id, LastAt: last, Total: reverie.Tally{Messages: messages}}
}

func minutes(n int) time.Time { return noon.Add(time.Duration(n) * time.Minute) }
