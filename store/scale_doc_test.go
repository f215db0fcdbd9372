package store_test

import (
	"database/sql"
	"os"
	"regexp"
	"slices"
	"testing"

	"reverie/store/pgtest"
)

// scaleSQL are the blocks of SQL in docs/scale.md, which tells operators to run them.
func scaleSQL(t *testing.T) (blocks []string) {
	t.Helper()
	text := string(must(os.ReadFile("../docs/scale.md"))(t))
	for _, block := range regexp.MustCompile("(?s)```sql\n(.*?)```").FindAllStringSubmatch(text, -1) {
		blocks = append(blocks, block[1])
	}
	if len(blocks) == 0 {
		t.Fatal("docs/scale.md has no SQL")
	}
	return blocks
}

// strings1 is the first column of a query's rows.
func strings1(t *testing.T, db *sql.DB, query string) []string {
	t.Helper()
	rows := must(db.QueryContext(t.Context(), query))(t)
	defer func() { _ = rows.Close() }()
	var list []string
	for rows.Next() {
		var s string
		check(t, rows.Scan(&s))
		list = append(list, s)
	}
	check(t, rows.Err())
	return list
}

// reverie_distribute distributes each table once, by group_id, beside all others,
// and after those that it refers to. Citus itself is not at hand: functions of
// the same names and parameters take its place and write down what they are told.
func TestDistributeFitsTheSchema(t *testing.T) {
	pgtest.OnOneServer(t, "functions of its own stand for it here")
	pgtest.New(t)
	db := raw(t)
	_, err := db.ExecContext(t.Context(), `
		create table pg_dist_partition (logicalrelid oid, no bigint generated always as identity);
		create schema citus;
		create table citus.told (no bigint generated always as identity, name text, by text, beside text);
		create function create_distributed_table(table_name regclass, distribution_column text, colocate_with text)
			returns void language sql as $$ insert into citus.told (name, by, beside) values (table_name::text, distribution_column, colocate_with);
				insert into pg_dist_partition values (table_name) $$;
		create function create_reference_table(table_name regclass)
			returns void language sql as $$ insert into citus.told (name) values (table_name::text); insert into pg_dist_partition values (table_name) $$;
		create function truncate_local_data_after_distributing_table(table_name regclass) returns void language sql as '';`)
	check(t, err)
	if begun := strings1(t, db, `select reverie_distribute(false)`); len(begun) > 0 {
		t.Errorf("a migration distributed %v", begun)
	}
	said := strings1(t, db, `select reverie_distribute(true)`)
	if again := strings1(t, db, `select reverie_distribute(true)`); len(again) > 0 {
		t.Errorf("once more distributes %v", again)
	}

	const tables = `select c.oid, c.relname::text as name, c.relkind from pg_class c
		where c.relnamespace = 'public'::regnamespace and c.relkind in ('r', 'p') and c.relname not in ('goose_db_version', 'pg_dist_partition')`
	order := strings1(t, db, `select name from citus.told order by no`)
	want := strings1(t, db, `select name from (`+tables+`) t order by name collate "C"`)
	if sorted := slices.Sorted(slices.Values(order)); !slices.Equal(sorted, want) || !slices.Equal(order, said) {
		t.Errorf("distributed are %v, and it says %v, want each of %v once", sorted, said, want)
	}
	for what, query := range map[string]string{
		"not by group_id": `select name from citus.told where by <> 'group_id'`,
		"not beside the first": `select name from citus.told
			where beside <> case when no = (select min(no) from citus.told) then 'none' else (select name from citus.told order by no limit 1) end`,
		"before what it refers to": `select a.name || ' -> ' || b.name from pg_constraint c
			join citus.told a on a.name::regclass = c.conrelid join citus.told b on b.name::regclass = c.confrelid
			where c.contype = 'f' and a.no < b.no`,
		"a foreign key that does not pair group_id with group_id": `select c.conname::text from pg_constraint c join (` + tables + `) t on t.oid = c.conrelid
			where c.contype = 'f' and not exists (
				select 1 from unnest(c.conkey, c.confkey) k (own, other)
				join pg_attribute a on a.attrelid = c.conrelid and a.attnum = k.own and a.attname = 'group_id'
				join pg_attribute f on f.attrelid = c.confrelid and f.attnum = k.other and f.attname = 'group_id')`,
		"a foreign key with an action": `select c.conname::text from pg_constraint c join (` + tables + `) t on t.oid = c.conrelid
			where c.contype = 'f' and (c.confdeltype <> 'a' or c.confupdtype <> 'a')`,
		"a unique index without group_id": `select i.indexrelid::regclass::text from pg_index i join (` + tables + `) t on t.oid = i.indrelid
			where i.indisunique and not exists (
				select 1 from pg_attribute a where a.attrelid = i.indrelid and a.attnum = any (i.indkey::int2[]) and a.attname = 'group_id')`,
		"a group_id of another type or collation": `select t.name from (` + tables + `) t
			left join pg_attribute a on a.attrelid = t.oid and a.attname = 'group_id' and a.attnotnull
				and a.atttypid = 'text'::regtype and a.attcollation = '"C"'::regcollation
			where a.attname is null`,
		"an identity column": `select t.name || '.' || a.attname from (` + tables + `) t join pg_attribute a on a.attrelid = t.oid
			where a.attidentity <> ''`,
		"a policy": `select polname::text from pg_policy`,
		"a sequence that belongs to no identity column": `select s.oid::regclass::text from pg_class s
			where s.relkind = 'S' and s.relnamespace = 'public'::regnamespace and not exists (
				select 1 from pg_depend d where d.objid = s.oid and d.deptype = 'i')
				and s.relname not like 'goose%'`,
		"a trigger":               `select g.tgname::text from pg_trigger g join (` + tables + `) t on t.oid = g.tgrelid where not g.tgisinternal`,
		"an exclusion constraint": `select c.conname::text from pg_constraint c join (` + tables + `) t on t.oid = c.conrelid where c.contype = 'x'`,
		"a table of partitions, or one that inherits": `select name from (` + tables + `) t
			where relkind = 'p' or exists (select 1 from pg_inherits h where h.inhrelid = t.oid or h.inhparent = t.oid)`,
	} {
		if found := strings1(t, db, query); len(found) > 0 {
			t.Errorf("%s: %v", what, found)
		}
	}
	if n := count(t, db, `select count(*) from pg_constraint c join (`+tables+`) t on t.oid = c.conrelid where c.contype = 'f'`); n < 16 {
		t.Errorf("the catalogue shows %d foreign keys, too few", n)
	}
}

// What the page tells operators to run, runs.
func TestScaleSQLRuns(t *testing.T) {
	pgtest.OnOneServer(t, "its workers are sent all commands of a text for each")
	w := newWorld(t)
	w.apply(create("likes tea"))
	db := raw(t)
	for _, block := range scaleSQL(t) {
		tx := must(db.BeginTx(t.Context(), nil))(t)
		if _, err := tx.ExecContext(t.Context(), block); err != nil {
			t.Errorf("%v\n%s", err, block)
		}
		check(t, tx.Rollback())
	}
}
