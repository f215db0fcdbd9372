package telemetry

import (
	"testing"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// endsClean returns a check that nothing runs or is connected that was not when
// it was asked for.
func endsClean(t *testing.T) (check func()) {
	before := goleak.IgnoreCurrent()
	return func() {
		t.Helper()
		goleak.VerifyNone(t, before)
	}
}
