//go:build !torture

package fault

import (
	"time"

	"github.com/jonboulle/clockwork"
)

// Reach records that a step has reached a moment. In this build it does nothing.
func Reach(what, moment string) {}

// Off reports whether a guard is disabled. In this build none is.
func Off(guard string) bool { return false }

// Clock returns the process's clock. In this build it is now.
func Clock(now func() time.Time) func() time.Time { return now }

// Timers returns a clock whose timers follow now. In this build it is the real clock.
func Timers(now func() time.Time) clockwork.Clock { return clockwork.NewRealClock() }
