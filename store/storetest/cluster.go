package storetest

import (
	"context"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"syscall"
	"testing"

	"reverie/store/local"
)

// superviseArg makes a test binary the supervisor of the private cluster instead
// of running its tests.
const superviseArg = "supervise-test-cluster"

// Main runs a package's tests, with a private cluster at hand for those that
// ask for a database, and exits. A package calls it from its TestMain.
func Main(m *testing.M) {
	if len(os.Args) == 3 && os.Args[1] == superviseArg {
		os.Exit(supervise(os.Args[2]))
	}
	code := m.Run()
	if err := closeServer(); err != nil {
		fmt.Fprintf(os.Stderr, "close the test cluster: %v\n", err)
		code = max(code, 1)
	}
	os.Exit(code)
}

func supervise(dir string) int {
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM)
	defer stop()
	if err := local.Supervise(ctx, dir); err != nil {
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
	dir := filepath.Join(os.TempDir(), fmt.Sprintf("reverie-test-%d", os.Getuid()))
	cluster, err := local.Start(context.Background(), local.Options{
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

func closeServer() error {
	if server.admin != nil {
		_ = server.admin.Close()
	}
	if server.close == nil {
		return nil
	}
	return server.close()
}
