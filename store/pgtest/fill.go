package pgtest

import (
	"database/sql"
	"fmt"
	"math"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/lib/pq"
)

// Full is what [Fill] has made: groups of memories, and what a context reads of a
// group besides.
type Full struct {
	Groups []string
	Sizes  []int  // memories of each group: 30 to 500, more small ones than large ones
	Total  int    // of them
	Model  string // of their vectors
}

// FullSession is the session that each group of a [Full] has.
const FullSession = "s1"

// fullVectors is how many different vectors the memories share: what a search costs
// does not depend on what they say.
const fullVectors = 600

// Fill loads a database with so many memories, for benchmarks: statements of one
// sentence, with vectors of dims dimensions; in each group a session of a summary
// and twelve turns, and twenty entities. It works on the server, so that a million
// memories take minutes.
func Fill(b testing.TB, db *sql.DB, memories, dims int) Full {
	b.Helper()
	var sizes []int
	for r := rand.New(rand.NewPCG(7, 7)); memories > 0; {
		size := min(int(30*math.Pow(500.0/30, math.Pow(r.Float64(), 1.7))), memories)
		sizes, memories = append(sizes, size), memories-size
	}
	return FillGroups(b, db, sizes, dims)
}

// FillGroups is Fill with a group of each of the sizes.
func FillGroups(b testing.TB, db *sql.DB, groupSizes []int, dims int) Full {
	b.Helper()
	began := time.Now()
	full := Full{Model: fmt.Sprintf("bench@%d", dims)}
	for i, size := range groupSizes {
		full.Groups, full.Sizes = append(full.Groups, fmt.Sprintf("bench%05d", i)), append(full.Sizes, size)
		full.Total += size
	}
	exec := func(query string, args ...any) {
		b.Helper()
		if _, err := db.Exec(query, args...); err != nil {
			b.Fatalf("%s: %v", query, err)
		}
	}
	exec(`insert into groups (group_id, language) select g, 'en' from unnest($1::text[]) g`, pq.StringArray(full.Groups))
	makeVectors(exec, dims)
	sizes := make(pq.Int64Array, len(full.Sizes))
	for i, n := range full.Sizes {
		sizes[i] = int64(n)
	}
	const step = 200 // groups of one statement
	for i := 0; i < len(full.Groups); i += step {
		end := min(i+step, len(full.Groups))
		exec(fillMemories, pq.StringArray(full.Groups[i:end]), sizes[i:end], full.Model, fullVectors)
	}
	for _, statement := range fillRest {
		exec(statement)
	}
	exec(`drop table bench_vectors`)
	exec(`vacuum analyze`)
	b.Logf("loaded %d memories of %d groups in %s", full.Total, len(full.Groups), time.Since(began).Round(time.Second))
	return full
}

// makeVectors makes the table of the vectors that memories share: random directions.
func makeVectors(exec func(query string, args ...any), dims int) {
	exec(`create unlogged table bench_vectors (no int primary key, v vector not null)`)
	exec(`insert into bench_vectors
		select n, array(select (random() - 0.5)::real from generate_series(1, $2::int) where n >= 0)::vector
		from (select setseed(0.1)) s, generate_series(0, $1::int - 1) n`, fullVectors, dims)
}

const (
	fillMemories = `insert into memories (group_id, memory_id, lineage_id, kind, statement, version, status, tags,
		strength, weight, content_hash,
			embedding, embedding_model, created_at, updated_at, last_supported_at, said_at)
		select g.id, gen_random_uuid(), gen_random_uuid(), (array['group','group','group','session','dream'])[1 + n % 5],
			'Number ' || n || ' of ' || g.id || ' is what somebody said about the plan for the weekend', 1, 'active',
				'{plan,weekend}',
			0.3 + (n % 7) * 0.1, 0.5 + (n % 15) * 0.1, md5(g.id || n), v.v, $3, at.at, at.at, at.at, at.at
		from unnest($1::text[], $2::int[]) as g (id, size)
		cross join lateral generate_series(1, g.size) n
		cross join lateral (select timestamptz '2026-01-01' - n * interval '7 hours' as at) at
		join bench_vectors v on v.no = (hashtext(g.id || n) & 65535) % $4::int`
)

// fillRest gives each group what a context reads besides memories.
var fillRest = []string{
	`insert into messages (group_id, message_id, author_id, author, role, text, sent_at, session_id, tokens)
		select group_id, 'm' || n, 'u' || n % 3, 'User ' || n % 3, case n % 2 when 0 then 'user' else 'assistant' end,
			'Message ' || n || ' says what is to be done about the weekend, and by whom, in some more words than it needs.',
			timestamptz '2026-01-01' + n * interval '1 minute', '` + FullSession + `', 30
		from groups cross join generate_series(0, 23) n where group_id like 'bench%'`,
	`insert into sessions (group_id, session_id, cut, first_at, last_at, messages, tokens, turns, folded_messages,
		folded_tokens, folded_turns, created_at, updated_at)
		select group_id, '` + FullSession + `', false, timestamptz '2026-01-01', timestamptz '2026-01-01 00:23', 24, 720,
			12, 12, 360, 6, now(), now()
		from groups where group_id like 'bench%'`,
	`insert into runs (group_id, run_id, job, window_since, window_until, status, attempt, started_at, finished_at)
		select group_id, '00000000-0000-7000-8000-000000000000', 'extract', timestamptz '2026-01-01',
			timestamptz '2026-01-02', 'succeeded', 1, now(), now()
		from groups where group_id like 'bench%'`,
	`insert into message_uses (group_id, job, message_id, sent_at, session_id, run_id)
		select group_id, 'summarize', message_id, sent_at, session_id, '00000000-0000-7000-8000-000000000000'
		from messages where group_id like 'bench%' and substr(message_id, 2)::int < 12`,
	`insert into session_summaries
		select group_id, session_id, repeat('They talked about the weekend. ', 20), 12, 6, 360, 'm0', 'm11', first_at,
			first_at + interval '11 minutes',
			'00000000-0000-7000-8000-000000000000', now(), now() from sessions where group_id like 'bench%'`,
	`insert into entities (group_id, entity_id, kind, subject, status, created_at, updated_at)
		select group_id, ('00000000-0000-7000-8000-' || lpad(n::text, 12, '0'))::uuid, 'person', 'Person ' || n, 'active',
			now(), now()
		from groups cross join generate_series(1, 20) n where group_id like 'bench%'`,
	`insert into entity_names (group_id, name_id, entity_id, kind, name, name_key, created_at)
		select group_id, entity_id, entity_id, 'subject', subject, lower(subject), now() from entities
			where group_id like 'bench%'`,
	`insert into entity_claims (group_id, claim_id, lineage_id, version, entity_id, aspect, value, self, content_hash,
		confidence, strength, status,
			created_at, updated_at, last_supported_at)
		select group_id, gen_random_uuid(), gen_random_uuid(), 1, entity_id, 'impression', 'likes thing ' || n, false,
			md5(n::text), 0.9, 0.5, 'active', now(), now(), now()
		from entities cross join generate_series(1, 4) n where group_id like 'bench%'`,
}
