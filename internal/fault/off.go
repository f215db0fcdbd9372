//go:build !torture

package fault

import (
	"time"

	"github.com/jonboulle/clockwork"
)

// Reach says that a step is at a moment. In this build that is nothing.
func Reach(what, moment string) {}

// Off tells whether a guard was taken away. In this build none can be.
func Off(guard string) bool { return false }

// Clock is a process's clock. In this build it is the one that is given.
func Clock(now func() time.Time) func() time.Time { return now }

// Timers is a clock whose timers go by the one that is given. In this build they go by themselves.
func Timers(now func() time.Time) clockwork.Clock { return clockwork.NewRealClock() }
