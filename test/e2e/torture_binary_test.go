//go:build torture

package e2e

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"testing"
)

// tortured builds the binary that breaks where it is told to, without the race detector:
// thousands of them are started. It is built once, as `make build` does but for its tag.
var tortured = sync.OnceValues(func() (string, error) {
	dir, err := os.MkdirTemp("", "reverie-torture-")
	if err != nil {
		return "", err
	}
	torturedIn = dir
	binary := filepath.Join(dir, "reverie")
	build := exec.Command("go", "build", "-tags", "torture", "-trimpath", "-buildvcs=false", "-ldflags", "-s -w", "-o", binary, "reverie/cmd/reverie")
	build.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := build.CombinedOutput(); err != nil {
		return "", fmt.Errorf("build the binary that is to be broken: %w\n%s", err, out)
	}
	return binary, nil
})

// torturedIn is where that binary is, as soon as there is one.
var torturedIn string

// scrap removes it.
func scrap() {
	if torturedIn != "" {
		_ = os.RemoveAll(torturedIn) // else it stays with the other temporary files
	}
}

// toBreak is the path of that binary.
func toBreak(t testing.TB) string {
	t.Helper()
	path, err := tortured()
	if err != nil {
		t.Fatal(err)
	}
	return path
}
