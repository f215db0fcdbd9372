package house_test

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// Bounds of the tree. Each may only fall: who makes a part smaller lowers its bound.
const (
	columns      = 120    // bytes of a line of Go
	longLines    = 0.01   // the share of lines that may be longer
	packageLines = 10_000 // of the largest package
	commandLines = 5_900  // of cmd/reverie
	productLines = 83_311 // of code: neither blank nor a comment
	topFolders   = 16
	command      = "cmd/reverie"
	testSuffix   = "_test.go"
)

// TestSizes: the tree is its own table of contents, and no part of it grows beyond what
// can be read. Tests are not counted.
func TestSizes(t *testing.T) {
	lines, code, long := map[string]int{}, 0, 0
	eachGoFile(t, func(path string, text []byte) {
		if strings.HasSuffix(path, testSuffix) {
			return
		}
		dir := filepath.ToSlash(filepath.Dir(path))
		for line := range bytes.Lines(text) {
			lines[dir]++
			trimmed := bytes.TrimSpace(line)
			if len(trimmed) > 0 && !bytes.HasPrefix(trimmed, []byte("//")) {
				code++
			}
			if len(bytes.TrimRight(line, "\n")) > columns {
				long++
			}
		}
	})
	total, inCommand := 0, 0
	for dir, n := range lines {
		if dir == command || strings.HasPrefix(dir, command+"/") {
			inCommand += n
		}
		if total += n; n > packageLines {
			t.Errorf("%s has %d lines, and a package has at most %d", dir, n, packageLines)
		}
	}
	if n := inCommand; n > commandLines {
		t.Errorf("%s has %d lines, and may have %d: what it does more than flags and printing belongs below", command, n, commandLines)
	}
	if lines["."] > 0 {
		t.Error("there are Go files in the root")
	}
	if code > productLines {
		t.Errorf("there are %d lines of code, and may be %d", code, productLines)
	}
	if float64(long) > longLines*float64(total) {
		t.Errorf("%d of %d lines are longer than %d bytes", long, total, columns)
	}
	entries, err := os.ReadDir(".")
	if err != nil {
		t.Fatal(err)
	}
	folders := 0
	for _, e := range entries {
		if e.IsDir() && e.Name() != ".git" && e.Name() != "bin" && e.Name() != "dist" {
			folders++
		}
	}
	if folders > topFolders {
		t.Errorf("there are %d folders at the top, and may be %d", folders, topFolders)
	}
}
