package e2e

import (
	"os"
	"strings"
	"testing"
)

// TestMemoryOnTerminal: clean asks, and takes anything but yes for no; stats draws.
func TestMemoryOnTerminal(t *testing.T) {
	t.Parallel()
	s := untidy(t)
	show := func(typed string, args ...string) string {
		return terminalTyped(t, typed, func(tty *os.File) {
			if err := run(t.Context(), args, s.env, tty, tty, tty); err != nil {
				t.Error(err)
			}
		})
	}
	for _, c := range []struct {
		answer string
		left   int
	}{{"n\n", 6}, {"\n", 6}, {"yes please\n", 6}, {"y\n", 4}} {
		screen := show(c.answer, "memory", "clean", "--group", "g1", "--below", "0.3")
		if !strings.Contains(screen, "delete 2 memories of g1? [y/N]") || !strings.Contains(screen, "Mia is in doubt") {
			t.Errorf("the screen shows %q", screen)
		}
		if got := len(s.active("g1")); got != c.left {
			t.Errorf("after %q %d are active, want %d", c.answer, got, c.left)
		}
	}
	screen := show("", "memory", "stats", "--group", "g1")
	if want := "in 30 days"; !strings.Contains(screen, want) {
		t.Errorf("the screen lacks %s:\n%s", want, screen)
	}
}
