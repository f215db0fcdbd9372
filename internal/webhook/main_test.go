package webhook_test

import (
	"testing"

	"reverie/store/pgtest"
)

func TestMain(m *testing.M) { pgtest.Main(m) }
