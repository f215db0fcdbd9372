package ingest

import (
	"errors"
	"io"
	"strings"
	"testing"
)

// TestLimited: a file of an archive that is larger than what is read of one is an error,
// and not one that ends there.
func TestLimited(t *testing.T) {
	for size, want := range map[int64]error{10: nil, 11: errLargeEntry} {
		got, err := io.ReadAll(&limited{r: strings.NewReader(strings.Repeat("x", int(size))), left: 10})
		if !errors.Is(err, want) || (err == nil) != (want == nil) || want == nil && int64(len(got)) != size {
			t.Errorf("%d bytes: read %d, %v", size, len(got), err)
		}
	}
}

// TestApart: an archive of one name over and over is told apart in one pass. By the square, these take longer than a
// test may.
func TestApart(t *testing.T) {
	names := make([]string, 200_000)
	for i := range names {
		names[i] = "result.json"
	}
	got := apart(names)
	seen := map[string]bool{}
	for _, name := range got {
		seen[name] = true
	}
	if len(seen) != len(names) || got[0] != "result.json" || got[1] != "result (2).json" || !seen["result (200000).json"] {
		t.Errorf("%d of %d names are apart: %q", len(seen), len(names), got[:3])
	}
}
