package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	_ "github.com/lib/pq" // database/sql finds the driver by its name

	"reverie/internal/localdb"
)

// superviseArg makes the driver the supervisor of its cluster.
const superviseArg = "supervise-bench-cluster"

// envURL names a server to use: that of pgtest.
const envURL = "REVERIE_TEST_DATABASE_URL"

// server is the PostgreSQL that figures are taken on: the one that envURL names, else a
// private one of the driver's that syncs as PostgreSQL does by itself (the tests' own does
// not, and is not the measure).
type server struct {
	url string
	dir string // on the disk that it writes to
	end func() error
}

// buffers hold the tables of the largest cases, 100,000 memories with vectors of 6 KB, so
// that none of the systems waits for the disk to read.
const buffers = "1GB"

func startServer(ctx context.Context, dir string) (*server, error) {
	if url := os.Getenv(envURL); url != "" {
		return &server{url, dir, func() error { return nil }}, nil
	}
	self, err := os.Executable()
	if err != nil {
		return nil, fmt.Errorf("find the driver's own file: %w", err)
	}
	asked := filepath.Join(dir, "cluster")
	if err := remove(ctx, asked); err != nil { // of a run that was killed
		return nil, err
	}
	cluster, err := localdb.Start(ctx, localdb.Options{
		Dir:        asked,
		Supervisor: []string{self, superviseArg, asked},
		Settings:   map[string]string{"max_connections": "200", "shared_buffers": buffers},
		Linger:     -1,
	})
	if err != nil {
		err = fmt.Errorf("start PostgreSQL for the benchmarks (scripts/setup.sh installs it): %w", err)
		return nil, errors.Join(err, remove(ctx, asked))
	}
	return &server{cluster.URL("postgres"), cluster.Location().Dir, func() error {
		return errors.Join(cluster.Close(), remove(ctx, asked))
	}}, nil
}

// leave is how long a server may take to stop.
const leave = time.Minute

// remove takes a cluster away that nobody uses any more, also when ctx has ended.
func remove(ctx context.Context, asked string) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), leave)
	defer cancel()
	place, err := localdb.Locate(asked)
	if err != nil {
		return err
	}
	if _, err := os.Stat(place.Dir); err != nil {
		return nil // there is none
	}
	if err := localdb.AwaitStop(ctx, asked); err != nil {
		return err
	}
	return os.RemoveAll(place.Dir)
}
