package store_test

import (
	"cmp"
	"database/sql"
	"errors"
	"net/url"
	"strings"
	"testing"
	"time"

	"reverie/internal/reverie"
	"reverie/store"
	"reverie/store/pg"
	"reverie/store/pgtest"
)

// likeCitus gives a database what is asked of Citus; what says where groups are comes behind it.
const likeCitus = `
	create function citus_truncate_trigger() returns trigger language plpgsql as 'begin return null; end';
	create trigger distributed after truncate on groups execute function citus_truncate_trigger();
	create table pg_dist_partition as select c.oid::regclass as logicalrelid, 1 as colocationid, 's' as repmodel
		from pg_class c join pg_attribute a on a.attrelid = c.oid and a.attname = 'group_id'
		where c.relnamespace = 'public'::regnamespace and c.relkind = 'r';
	create table pg_dist_node (groupid int, nodename text, nodeport int, noderole text);
	create table pg_dist_local_group as select 1 as groupid;
	create function run_command_on_all_nodes(command text) returns table (success boolean, result text) language plpgsql as
		'begin execute command; return query select true, ''''; exception when others then return query select false, sqlerrm; end';
	create function lock_shard_metadata(int, bigint[]) returns void language sql as '';`

// asIfDistributed is a Citus with a second one of each table, as its shard, 101 for the groups.
const asIfDistributed = likeCitus + `
	create table pg_dist_shard as select logicalrelid, (case logicalrelid::text when 'groups' then 101 else 102 end)::bigint as shardid,
		'0' as shardminvalue from pg_dist_partition;
	create table pg_dist_placement as select distinct shardid, 1 as groupid from pg_dist_shard;
	create function get_shard_id_for_distribution_column(regclass, text) returns bigint language sql as 'select 101::bigint';
	do $$ declare t regclass; begin
		for t in select logicalrelid from pg_dist_partition loop
			execute format('create table %I (like %s including all)', t || case t::text when 'groups' then '_101' else '_102' end, t);
		end loop; end $$`

// addNode adds the server of a test's database, at a port, as the one that has the shards.
func addNode(t *testing.T, db *sql.DB, port string) {
	t.Helper()
	at := must(url.Parse(pgtest.URL(t)))(t)
	host, own := at.Hostname(), at.Port()
	if h := at.Query().Get("host"); h != "" {
		host, own = h, at.Query().Get("port")
	}
	mustExec(t, db, `insert into pg_dist_node values (1, $1, $2::int, 'primary')`, host, cmp.Or(port, own))
}

// Work on one group is done where its shard is; once that is elsewhere, or cannot be reached, through the whole database.
func TestShardOfAGroup(t *testing.T) {
	pgtest.OnOneServer(t, "the test plays Citus itself")
	pgtest.New(t)
	db := raw(t)
	_, err := db.ExecContext(t.Context(), asIfDistributed)
	check(t, err)
	addNode(t, db, "")
	s := openShards(t)
	take := func(name string) {
		t.Helper()
		must(s.AcquireLease(t.Context(), group, name, "a process", time.Minute))(t)
	}
	leases := func(whole, shard int) {
		t.Helper()
		w, s := count(t, db, `select count(*) from leases`), count(t, db, `select count(*) from leases_102`)
		if w != whole || s != shard {
			t.Errorf("%d leases are of the whole database and %d of the shard, want %d and %d", w, s, whole, shard)
		}
	}
	check(t, s.AddGroup(t.Context(), reverie.Group{ID: group})) // its lease is there from the beginning
	_, err = db.ExecContext(t.Context(), `delete from leases`)
	check(t, err)
	take("first")
	leases(0, 1)
	for range 2 { // those that were moved are found anew
		_, err = db.ExecContext(t.Context(), `update pg_dist_placement set groupid = 3 - groupid`)
		check(t, err)
		take("while it is elsewhere")
		_, err = db.ExecContext(t.Context(), `update pg_dist_placement set groupid = 1; delete from leases`)
		check(t, err)
		take("it is back")
		_, err = db.ExecContext(t.Context(), `delete from leases_102 where lease_name = 'it is back'`)
		check(t, err)
	}
	leases(0, 1)
	_, err = db.ExecContext(t.Context(), `drop schema `+strings1(t, db, `select nspname::text from pg_namespace where nspname like 'reverie_101_%'`)[0]+` cascade`)
	check(t, err)
	take("the views were dropped")
	leases(1, 1)
	take("they are made anew")
	leases(1, 2)
	check(t, pg.WithoutViews(t.Context(), db, func() error {
		take("there are none while a migration runs")
		take("nor are they made")
		return nil
	}))
	leases(3, 2)
	s = openShards(t)
	take("it is over")
	leases(3, 3)
	check(t, s.DB().TryShards(t.Context()))

	_, err = db.ExecContext(t.Context(), `delete from pg_dist_node`)
	check(t, err)
	addNode(t, db, "1")
	s = openShards(t)
	take("nobody is there")
	leases(4, 3)
	if err := s.DB().TryShards(t.Context()); !errors.Is(err, reverie.ErrUnavailable) || !strings.Contains(err.Error(), ":1:") {
		t.Errorf("of a server that is not there is said: %v", err)
	}
}

// openShards opens a store whose statements are not recorded: those that ask Citus cannot be looked at elsewhere.
func openShards(t *testing.T) *store.Store {
	s := must(store.Open(t.Context(), pg.Options{URL: pgtest.URL(t)}))(t)
	t.Cleanup(func() { _ = s.Close() })
	return s
}

// Of is the database itself where nothing is distributed.
func TestShardOfOneServer(t *testing.T) {
	pgtest.OnOneServer(t, "there are shards")
	s := pgtest.New(t)
	if s.DB().Of(t.Context(), group) != s.DB() {
		t.Error("a group has a database of its own")
	}
}
