package evolve

import (
	"flag"
	"testing"

	"reverie/store/storetest"
)

var update = flag.Bool("update", false, "rewrite the golden files")

func TestMain(m *testing.M) { storetest.Main(m) }
