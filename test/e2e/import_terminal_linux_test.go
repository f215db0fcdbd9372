package e2e

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestImportOnATerminal: a bar shows how far an import is, and is gone when it says what
// came of it.
func TestImportOnATerminal(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	file := filepath.Join(t.TempDir(), "chat.jsonl")
	write(t, file, jsonLines(t, chat("2025-03-03", "one", "two"))+"bad\n")
	screen := terminalOutput(t, func(tty *os.File) {
		if err := run(t.Context(), []string{"import", file, "--group", "g1"}, s.env, tty, tty, tty); err == nil {
			t.Error("the bad line is no error")
		}
	})
	bar, last, found := strings.Cut(screen, "line 3: ")
	if !found || !strings.Contains(screen, "importing") || !strings.Contains(last, "\rg1: 3 records") && !strings.Contains(last, "\ng1: 3 records") {
		t.Errorf("the screen shows %q, then %q", bar, last)
	}
}
