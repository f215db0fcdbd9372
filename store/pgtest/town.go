package pgtest

import (
	"database/sql"
	"fmt"
	"testing"

	"github.com/lib/pq"
)

// Town is groups of one size, for benchmarks that ask how work grows: what is done
// with one of them depends on what is around it, and on what it has behind it.
type Town struct {
	Prefix   string // of the groups' ids, which end in a number from 1: see Group
	First    int    // number of the first group; 0 is 1
	Groups   int
	Memories int // of each group, of kind group, each with evidence and its line in the change log
	Messages int // of each group, in sessions of 100 each; consumed, and extracted
	Dims     int // of the memories' vectors
}

// TownRun is the run that has made each group's memories, and consumed its messages.
const TownRun = "00000000-0000-7000-8000-000000000001"

// Group is the id of a group of the town.
func (w Town) Group(i int) string { return fmt.Sprintf("%s%06d", w.Prefix, i) }

// Model is that of the memories' vectors.
func (w Town) Model() string { return fmt.Sprintf("bench@%d", w.Dims) }

// Build makes the town, on the server.
func (w Town) Build(b testing.TB, db *sql.DB) {
	b.Helper()
	var ids pq.StringArray
	for i := range w.Groups {
		ids = append(ids, w.Group(max(w.First, 1)+i))
	}
	exec := func(query string, args ...any) {
		b.Helper()
		if _, err := db.Exec(query, args...); err != nil {
			b.Fatalf("%s: %v", query, err)
		}
	}
	exec(`insert into groups (group_id, language, time_zone) select g, 'en', 'UTC' from unnest($1::text[]) g`, ids)
	makeVectors(exec, w.Dims)
	exec(townRuns, ids)
	exec(townMessages, ids, w.Messages)
	exec(townSessions, ids)
	exec(townUses, ids)
	exec(townMemories, ids, w.Memories, w.Model(), fullVectors)
	exec(townEvidence, ids, max(w.Messages, 1))
	exec(townChanges, ids)
	exec(`drop table bench_vectors`)
	exec(`vacuum analyze`)
}

const (
	townRuns = `insert into runs (group_id, run_id, job, window_since, window_until, status, attempt, started_at,
		finished_at)
		select g, '` + TownRun + `', 'evolve', timestamptz '2025-01-01', timestamptz '2025-01-02', 'succeeded', 1,
			timestamptz '2025-01-02', timestamptz '2025-01-02'
		from unnest($1::text[]) g`

	townMessages = `insert into messages (group_id, message_id, author_id, author, role, text, sent_at, session_id,
		tokens, run_id, outcome)
		select g, 'h' || n, 'u' || n % 3, 'User ' || n % 3, case n % 2 when 0 then 'user' else 'assistant' end,
			'Message ' || n || ' says what is to be done about the weekend, and by whom, in some more words than it needs.',
			timestamptz '2025-01-01' + n * interval '1 minute', 's' || (n - 1) / 100, 30, '` + TownRun + `', 'considered'
		from unnest($1::text[]) g cross join generate_series(1, $2::int) n`

	townSessions = `insert into sessions (group_id, session_id, cut, first_at, last_at, messages, tokens, turns,
		created_at, updated_at)
		select group_id, session_id, false, min(sent_at), max(sent_at), count(*), 30 * count(*), count(*) / 2,
			timestamptz '2025-01-02', timestamptz '2025-01-02'
		from messages where group_id = any ($1::text[]) group by group_id, session_id`

	townUses = `insert into message_uses (group_id, job, message_id, sent_at, session_id, run_id)
		select group_id, 'extract', message_id, sent_at, session_id, run_id from messages where group_id = any ($1::text[])`

	townMemories = `insert into memories (group_id, memory_id, lineage_id, kind, statement, version, status, tags,
		strength, content_hash,
			embedding, embedding_model, run_id, created_at, updated_at, last_supported_at, said_at)
		select g, gen_random_uuid(), gen_random_uuid(), 'group',
			'Number ' || n || ' of ' || g || ' is what somebody said about the plan for the weekend',
			1, 'active', '{plan,weekend}', 0.3 + (n % 7) * 0.1, md5(g || n), v.v, $3, '` + TownRun + `', at.at, at.at, at.at, at.at
		from unnest($1::text[]) g
		cross join generate_series(1, $2::int) n
		cross join lateral (select timestamptz '2025-01-02' + n * interval '1 minute' as at) at
		join bench_vectors v on v.no = (hashtext(g || n) & 65535) % $4::int`

	// Each memory rests on a message of its own, as far as there are so many.
	townEvidence = `insert into memory_evidence (group_id, lineage_id, memory_id, message_id, author_id, author, quote,
		sent_at, local_date, action, run_id, created_at)
		select group_id, lineage_id, memory_id, 'h' || 1 + extract(epoch from created_at)::bigint / 60 % $2::int, 'u1',
			'User 1', 'about the weekend',
			timestamptz '2025-01-01', date '2025-01-01', 'create', run_id, created_at
		from memories where group_id = any ($1::text[])`

	townChanges = `insert into memory_change_log (group_id, change_id, run_id, chunk_no, action, memory_id,
		new_statement, version, created_at)
		select group_id, gen_random_uuid(), run_id, 1, 'create', memory_id, statement, 1, created_at from memories
			where group_id = any ($1::text[])`
)
