package store_test

import (
	"errors"
	"io/fs"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/pressly/goose/v3"

	"reverie/internal/reverie"
	"reverie/store"
	"reverie/store/history"
	"reverie/store/migrations"
	"reverie/store/pg"
	"reverie/store/pgtest"
)

func TestMigrate(t *testing.T) {
	opts := pg.Options{URL: pgtest.NewEmpty(t)}
	s := must(store.Open(t.Context(), opts))(t)
	defer func() { _ = s.Close() }()

	err := s.CheckSchema(t.Context())
	wantErr(t, err, reverie.ErrOutdatedSchema)
	if !strings.Contains(err.Error(), "reverie migrate up") || !strings.Contains(err.Error(), "version 0") {
		t.Errorf("does not say what is there and what to run: %v", err)
	}
	_, err = s.Group(t.Context(), "g")
	wantErr(t, err, reverie.ErrOutdatedSchema)

	before := must(store.MigrationStatuses(t.Context(), opts))(t)
	if len(before) == 0 || before[0].Applied {
		t.Errorf("statuses before: %+v", before)
	}
	applied := must(store.Migrate(t.Context(), opts))(t)
	if len(applied) != len(before) || applied[len(applied)-1].Version != store.WantedVersion() {
		t.Errorf("applied %+v, want %+v", applied, before)
	}
	if again := must(store.Migrate(t.Context(), opts))(t); len(again) != 0 {
		t.Errorf("applied again: %+v", again)
	}
	if after := must(store.MigrationStatuses(t.Context(), opts))(t); !after[0].Applied || after[0].AppliedAt.IsZero() {
		t.Errorf("statuses after: %+v", after)
	}
	check(t, s.CheckSchema(t.Context()))

	db := must(openRaw(opts.URL))(t)
	defer func() { _ = db.Close() }()
	_, err = db.Exec(`insert into goose_db_version (version_id, is_applied) values (99999, true)`)
	check(t, err)
	err = s.CheckSchema(t.Context())
	wantErr(t, err, reverie.ErrOutdatedSchema)
	if !strings.Contains(err.Error(), "newer") {
		t.Errorf("does not say that the schema is newer: %v", err)
	}
}

func TestMigrateConcurrently(t *testing.T) {
	opts := pg.Options{URL: pgtest.NewEmpty(t)}
	var wg sync.WaitGroup
	var mu sync.Mutex
	total := 0
	for range 3 {
		wg.Go(func() {
			applied, err := store.Migrate(t.Context(), opts)
			if err != nil {
				t.Error(err)
			}
			mu.Lock()
			defer mu.Unlock()
			total += len(applied)
		})
	}
	wg.Wait()
	if all := len(must(fs.Glob(migrations.Files(), "*.sql"))(t)); total != all {
		t.Errorf("%d steps applied in all, want each of %d once", total, all)
	}
}

// A database that was in use before decisions and entities keeps what it has, and
// what is new works on it.
func TestMigrateWithData(t *testing.T) {
	opts := pg.Options{URL: pgtest.NewEmpty(t)}
	ctx := t.Context()
	db := must(openRaw(opts.URL))(t)
	defer func() { _ = db.Close() }()
	steps := must(goose.NewProvider(goose.DialectPostgres, db, migrations.Files(), goose.WithDisableGlobalRegistry(true)))(t)
	must(steps.UpTo(ctx, 2))(t)
	run, memory := reverie.NewID(), reverie.NewID()
	_, err := db.ExecContext(ctx, `insert into groups (group_id, time_zone) values ('g1', 'Asia/Shanghai')`)
	check(t, err)
	_, err = db.ExecContext(ctx, `with r as (
			insert into runs (group_id, run_id, job, window_since, window_until, status, attempt, started_at, finished_at)
			values ('g1', $1, 'evolve', '2026-01-14', '2026-01-15', 'succeeded', 1, now(), now())),
		c as (insert into run_chunks (group_id, run_id, chunk_no, status, created_at) values ('g1', $1, 1, 'applied', now())),
		m as (insert into messages (group_id, message_id, role, text, sent_at, run_id, outcome)
			values ('g1', 'old', 'user', 'tea!', '2026-01-14 12:00+00', $1, 'cited'), ('g1', 'new', 'user', 'more tea!', '2026-01-15 12:00+00', null, null)),
		v as (insert into memories (group_id, memory_id, lineage_id, kind, statement, version, status, strength, content_hash, run_id,
				created_at, updated_at, last_supported_at)
			values ('g1', $2, $2, 'group', 'likes tea', 1, 'active', 0.3, 'h', $1, now(), now(), now()))
		insert into memory_change_log (group_id, change_id, run_id, chunk_no, action, memory_id, new_statement, change_summary, version, created_at)
		values ('g1', $2, $1, 1, 'create', $2, 'likes tea', 'said so', 1, now())`, run, memory)
	check(t, err)

	must(store.Migrate(ctx, opts))(t)
	s := must(store.Open(ctx, opts))(t)
	defer func() { _ = s.Close() }()
	check(t, s.CheckSchema(ctx))
	why := must(history.New(s.DB()).Why(ctx, "", memory))(t)
	if len(why.Versions) != 1 || why.Versions[0].Reason != "said so" || why.Versions[0].Run.ID != run || len(why.Versions[0].Decisions) != 0 {
		t.Errorf("the memory from before: %+v", why)
	}
	if g := must(s.Group(ctx, "g1"))(t); g.Impressions != "" {
		t.Errorf("impressions of the group from before are %q", g.Impressions)
	}
	lease := must(s.AcquireLease(ctx, "g1", reverie.LeaseGroup, "h", time.Minute))(t)
	next := must(s.StartRun(ctx, lease, reverie.Run{Job: reverie.JobEvolve}))(t)
	check(t, s.SaveChunk(ctx, lease, reverie.Chunk{RunID: next.ID, No: 1, Status: reverie.ChunkAnswered}))
	must(s.Apply(ctx, lease, reverie.Plan{GroupID: "g1", RunID: next.ID, ChunkNo: 1, Kind: reverie.KindGroup, Impressions: true,
		Outcomes:  map[string]reverie.Outcome{"new": reverie.OutcomeCited},
		Steps:     []reverie.Step{support(why.Memory, "2026-01-15", 0.51)},
		Decisions: []reverie.Decision{decided(1, reverie.DecisionNone, reverie.BasisHash, "likes tea", memory, memory)}}))(t)
	if why = must(history.New(s.DB()).Why(ctx, "", memory))(t); len(why.Versions[0].Decisions) != 1 || why.Memory.Strength != 0.51 {
		t.Errorf("the memory from before, supported: %+v", why)
	}
	if n := count(t, db, `select count(*) from message_uses where message_id = 'new'`); n != 1 {
		t.Errorf("%d of the new message's rows wait", n)
	}
}

// Every key leads with group_id, so that the schema can be distributed by it.
func TestGroupLeadsEveryKey(t *testing.T) {
	pgtest.New(t)
	db := raw(t)
	rows := must(db.Query(`select c.conrelid::regclass::text, c.conname, c.contype::text, a.attname, coalesce(f.attname, '')
		from pg_constraint c
		join pg_attribute a on a.attrelid = c.conrelid and a.attnum = c.conkey[1]
		left join pg_attribute f on f.attrelid = c.confrelid and f.attnum = c.confkey[1]
		where c.connamespace = 'public'::regnamespace and c.contype in ('p', 'u', 'f') and c.conrelid <> 'goose_db_version'::regclass
		union all
		select i.indrelid::regclass::text, i.indexrelid::regclass::text, 'i', a.attname, ''
		from pg_index i join pg_class c on c.oid = i.indrelid
		join pg_attribute a on a.attrelid = i.indrelid and a.attnum = i.indkey[0]
		where i.indisunique and c.relnamespace = 'public'::regnamespace and i.indrelid <> 'goose_db_version'::regclass`))(t)
	defer func() { _ = rows.Close() }()
	kinds := map[string]int{}
	for rows.Next() {
		var table, name, kind, column, target string
		check(t, rows.Scan(&table, &name, &kind, &column, &target))
		kinds[kind]++
		if column != "group_id" || (kind == "f" && target != "group_id") {
			t.Errorf("%s of %s begins with %s (referring to %q), want group_id", name, table, column, target)
		}
	}
	check(t, rows.Err())
	if kinds["p"] < 13 || kinds["f"] < 16 || kinds["i"] < 16 {
		t.Errorf("the catalogue shows too few keys: %v", kinds)
	}
	if n := count(t, db, `select count(*) from pg_class c where relnamespace = 'public'::regnamespace and relkind = 'r' and relname <> 'goose_db_version'
		and not exists (select 1 from pg_attribute a where a.attrelid = c.oid and a.attname = 'group_id' and a.attnotnull)`); n != 0 {
		t.Errorf("%d tables have no group_id", n)
	}
}

// The names that operators' SQL and dashboards read.
func TestColumnsOfTheDesign(t *testing.T) {
	pgtest.New(t)
	db := raw(t)
	for table, columns := range map[string]string{
		"groups":            "group_id, name, time_zone, language, paused, day_boundary, impressions",
		"messages":          "group_id, message_id, author_id, author, role, text, sent_at, session_id, reply_to, run_id, outcome, seq",
		"memories":          "group_id, memory_id, lineage_id, parent_id, kind, session_id, statement, version, status, tags, strength, weight, content_hash, embedding, embedding_model, change_summary, run_id, created_at, updated_at, last_supported_at, ended_at",
		"memory_change_log": "group_id, change_id, run_id, action, memory_id, old_id, old_statement, new_statement, change_summary, version, evidence, created_at",
		"memory_evidence":   "group_id, lineage_id, memory_id, message_id, author_id, author, quote, sent_at, local_date, action, run_id, created_at",
		"runs":              "group_id, run_id, job, window_since, window_until, status, attempt, model, prompt_version, prompt_sha256, stats, error, started_at, finished_at",
		"run_chunks":        "group_id, run_id, chunk_no, input_sha256, message_ids, answer, status, refusals, created_at",
		"held_plans":        "group_id, run_id, chunk_no, plan, heads, status, reason, whole, created_at",
		"answers":           "group_id, run_id, input_sha256, purpose, answer, created_at",
		"decisions":         "group_id, run_id, chunk_no, decision_no, kind, statement, content_hash, action, basis, target_id, memory_id, reason, candidates, model, prompt_version, prompt_sha256, calls, created_at",
		"message_uses":      "group_id, job, message_id, sent_at, run_id",
		"llm_calls":         "group_id, run_id, call_id, purpose, provider, model, input_tokens, output_tokens, cost_usd, latency_ms, outcome, created_at, tier, cached_tokens",
		"past_calendars":    "group_id, time_zone, day_boundary, valid_until",
		"setbacks":          "group_id, job, failures, error, retry_at, parked_at, updated_at",
		"leases":            "group_id, lease_name, holder, fence, expires_at",
		"embedding_cache":   "group_id, model, content_hash, embedding",
	} {
		if _, err := db.Exec(`select ` + columns + ` from ` + table); err != nil {
			t.Errorf("%s: %v", table, err)
		}
	}
}

func TestOpenRefusesWrongSettings(t *testing.T) {
	for name, url := range map[string]string{
		"empty":            "",
		"no url":           "postgres://user:s3cret@host:notaport/db",
		"bad mode":         "postgres://user:s3cret@localhost/db?sslmode=wrong",
		"no such database": strings.Replace(pgtest.URL(t), "reverie_test_", "reverie_gone_", 1),
	} {
		t.Run(name, func(t *testing.T) {
			_, err := store.Open(t.Context(), pg.Options{URL: url})
			wantErr(t, err, reverie.ErrConfiguration)
			if strings.Contains(err.Error(), "s3cret") {
				t.Errorf("the error repeats the password: %v", err)
			}
		})
	}
	_, err := store.Open(t.Context(), pg.Options{URL: "postgres://u@127.0.0.1:1/db"})
	if err == nil || errors.Is(err, reverie.ErrConflict) {
		t.Errorf("nobody listens there, and the error is %v", err)
	}
}

func TestInfo(t *testing.T) {
	w := newWorld(t)
	info := must(w.Info(t.Context()))(t)
	if info.Server == "" || info.Vector == "" || info.SchemaVersion != store.WantedVersion() || info.Clock.IsZero() {
		t.Errorf("info %+v", info)
	}
	if info.Skew != info.Clock.Sub(noon) {
		t.Errorf("skew %v, want the distance of the clocks %v", info.Skew, info.Clock.Sub(noon))
	}
}
