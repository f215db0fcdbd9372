package pgtest

import (
	"context"
	"database/sql"
	"fmt"
	"net"
	"net/url"
	"testing"

	"reverie/store/citus"
	"reverie/store/pg"
)

// worker is a server of Citus that the coordinator spreads tables over.
type worker struct {
	url   string
	admin *sql.DB
}

// findWorkers are those of the coordinator that a URL names, and what adds them to a further database of it.
func findWorkers(admin *sql.DB, adminURL string) (list []worker, join []string, err error) {
	var there bool
	if err := admin.QueryRow(`select to_regclass('pg_dist_node') is not null`).Scan(&there); err != nil || !there {
		return nil, nil, err
	}
	base, err := url.Parse(adminURL)
	if err != nil {
		return nil, nil, fmt.Errorf("%s is not a URL", EnvURL)
	}
	rows, err := admin.Query(`select groupid > 0, nodename, nodeport, format(case groupid when 0
		then 'select citus_set_coordinator_host(%L, %s)' else 'select citus_add_node(%L, %s)' end, nodename, nodeport)
		from pg_dist_node order by groupid`)
	if err != nil {
		return nil, nil, err
	}
	defer func() { _ = rows.Close() }()
	for rows.Next() {
		var works bool
		var host, port, add string
		if err := rows.Scan(&works, &host, &port, &add); err != nil {
			return nil, nil, err
		}
		join = append(join, add)
		if !works {
			continue
		}
		u := *base
		u.Host = net.JoinHostPort(host, port)
		db, err := sql.Open("postgres", u.String())
		if err != nil {
			return nil, nil, err
		}
		list = append(list, worker{u.String(), db})
	}
	return list, join, rows.Err()
}

// onServers runs statements on each server that has the databases, the one of the URL last.
func onServers(statements ...string) error {
	for _, query := range statements {
		for _, w := range server.workers {
			if _, err := w.admin.Exec(query); err != nil {
				return err
			}
		}
		if _, err := server.admin.Exec(query); err != nil {
			return err
		}
	}
	return nil
}

// disconnect ends the connections to a database of Citus, which keeps some of its own, and forbids new ones.
func disconnect(name string) error {
	if len(server.workers) == 0 {
		return nil
	}
	return onServers(`alter database `+name+` with allow_connections false`,
		`select pg_terminate_backend(pid, 10000) from pg_stat_activity where datname = '`+name+`'`)
}

// spread gives a database Citus and its workers, and fewer shards than it would have by itself.
func spread(name string) error {
	if len(server.workers) == 0 {
		return nil
	}
	if err := onServers(`alter database ` + name + ` set citus.shard_count = 4`); err != nil {
		return err
	}
	for _, w := range server.workers {
		if err := inDatabase(w.url, name, `create extension citus`); err != nil {
			return err
		}
	}
	return inDatabase(server.url, name, append([]string{`create extension citus`}, server.join...)...)
}

func inDatabase(server, name string, statements ...string) error {
	u, err := withDatabase(server, name)
	if err != nil {
		return err
	}
	db, err := sql.Open("postgres", u)
	if err != nil {
		return err
	}
	defer func() { _ = db.Close() }()
	for _, query := range statements {
		if _, err := db.Exec(query); err != nil {
			return err
		}
	}
	return nil
}

// distribute distributes the tables of a database, where there are workers.
func distribute(ctx context.Context, opts pg.Options) error {
	if len(server.workers) == 0 {
		return nil
	}
	_, err := citus.Distribute(ctx, opts)
	return err
}

// OnOneServer skips a test that Citus cannot run, for the reason that is given.
func OnOneServer(t testing.TB, why string) {
	t.Helper()
	if connect(t); len(server.workers) > 0 {
		t.Skip("not on Citus: " + why)
	}
}
