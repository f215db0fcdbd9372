package pgtest

import (
	"context"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"syscall"
	"testing"

	"go.uber.org/goleak"

	"reverie/internal/localdb"
)

// superviseArg makes a test binary the supervisor of the private cluster instead
// of running its tests.
const superviseArg = "supervise-test-cluster"

// Main runs a package's tests, with a private cluster at hand for those that
// ask for a database, and exits. Tests that pass and leave goroutines behind fail the
// package. A package calls it from its TestMain.
func Main(m *testing.M) {
	if len(os.Args) == 3 && os.Args[1] == superviseArg {
		os.Exit(supervise(os.Args[2]))
	}
	code := m.Run()
	if err := closeServer(); err != nil {
		fmt.Fprintf(os.Stderr, "close the test cluster: %v\n", err)
		code = max(code, 1)
	}
	if code == 0 {
		if err := goleak.Find(); err != nil {
			fmt.Fprintf(os.Stderr, "the tests passed, and left goroutines behind: %v\n", err)
			code = 1
		}
	}
	os.Exit(code)
}

func supervise(dir string) int {
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM)
	defer stop()
	if err := localdb.Supervise(ctx, dir); err != nil {
		fmt.Fprintf(os.Stderr, "supervise the test cluster in %s: %v\n", dir, err)
		return 1
	}
	return 0
}

// startCluster starts or joins the cluster that all test binaries of this user
// share. Its data may be lost with the machine: it never syncs.
func startCluster() (string, func() error, error) {
	self, err := os.Executable()
	if err != nil {
		return "", nil, fmt.Errorf("find the test binary: %w", err)
	}
	dir := filepath.Join(place(), fmt.Sprintf("reverie-test-%d", os.Getuid()))
	cluster, err := localdb.Start(context.Background(), localdb.Options{
		Dir:        dir,
		Supervisor: []string{self, superviseArg, dir},
		Settings: map[string]string{"fsync": "off", "synchronous_commit": "off", "full_page_writes": "off",
			"max_connections": "200"},
	})
	if err != nil {
		return "", nil, err
	}
	return cluster.URL("postgres"), cluster.Close, nil
}

// memory is where Linux keeps files in memory, and leastMemory how much must be free
// there for the test cluster.
const (
	memory      = "/dev/shm"
	leastMemory = 4 << 30
)

// place is where the cluster is kept: in memory, where there is room and TMPDIR does
// not say otherwise. A database is hundreds of files, and making those on a disk is
// what tests would wait for most. Benchmarks keep to the disk.
func place() string {
	var fs syscall.Statfs_t
	if os.Getenv("TMPDIR") == "" && flag.Lookup("test.bench").Value.String() == "" &&
		syscall.Statfs(memory, &fs) == nil && fs.Bavail*uint64(fs.Bsize) >= leastMemory {
		return memory
	}
	return os.TempDir()
}

func closeServer() error {
	for _, w := range server.workers {
		_ = w.admin.Close()
	}
	if server.admin != nil {
		_ = server.admin.Close()
	}
	if server.close == nil {
		return nil
	}
	return server.close()
}
