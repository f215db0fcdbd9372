package evolve

import (
	"flag"
	"os"
	"testing"

	"reverie/store/pgtest"
)

var update = flag.Bool("update", false, "rewrite the golden files")

// rounds is how many of n rounds a slow random test plays: half, and all where
// REVERIE_TEST_THOROUGH is set.
func rounds(n int) int {
	if os.Getenv("REVERIE_TEST_THOROUGH") != "" {
		return n
	}
	return (n + 1) / 2
}

func TestMain(m *testing.M) { pgtest.Main(m) }
