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
