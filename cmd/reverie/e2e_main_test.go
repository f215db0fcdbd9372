package main

import (
	"os"
	"testing"

	"reverie/store/pgtest"
)

// envMain makes the test binary be the binary itself: the very main, in a
// process of its own that can be killed, without a second build.
const envMain = "REVERIE_TEST_MAIN"

func TestMain(m *testing.M) {
	if os.Getenv(envMain) != "" {
		main()
		return
	}
	pgtest.Main(m)
}
