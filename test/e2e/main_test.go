package e2e

import (
	"os"
	"testing"

	"reverie/cmd/reverie/command"
	"reverie/store/pgtest"
)

// envMain makes the test binary be the binary itself: all of it, in a
// process of its own that can be killed, without a second build.
const envMain = "REVERIE_TEST_MAIN"

func TestMain(m *testing.M) {
	if os.Getenv(envMain) != "" {
		command.Main()
		return
	}
	pgtest.Main(m)
}
