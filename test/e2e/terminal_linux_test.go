package e2e

import (
	"errors"
	"fmt"
	"io"
	"os"
	"runtime"
	"strings"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"
)

// terminalOutput runs f with a terminal and returns all that appeared on it.
func terminalOutput(t *testing.T, f func(tty *os.File)) string {
	t.Helper()
	return terminalTyped(t, "", f)
}

// terminalTyped is terminalOutput where somebody has typed something.
func terminalTyped(t *testing.T, typed string, f func(tty *os.File)) string {
	t.Helper()
	screen, tty := openTerminal(t)
	if _, err := io.WriteString(screen, typed); err != nil {
		t.Fatal(err)
	}
	shown := make(chan string)
	go func() {
		text, err := io.ReadAll(screen) // ends with EIO when the last writer has gone
		if err != nil && !errors.Is(err, syscall.EIO) {
			t.Errorf("read the terminal: %v", err)
		}
		shown <- string(text)
	}()
	f(tty)
	if err := tty.Close(); err != nil {
		t.Error(err)
	}
	return strings.ReplaceAll(await(t, "the end of the terminal", shown), "\r\n", "\n")
}

// openTerminal returns both sides of a terminal.
func openTerminal(t *testing.T) (screen, tty *os.File) {
	t.Helper()
	screen, err := os.OpenFile("/dev/ptmx", os.O_RDWR|syscall.O_NOCTTY, 0)
	if err != nil {
		t.Skipf("no terminals on this machine: %v", err)
	}
	t.Cleanup(func() { _ = screen.Close() })
	n, err := unix.IoctlGetInt(int(screen.Fd()), unix.TIOCGPTN)
	if err != nil {
		t.Fatal(err)
	}
	if err := unix.IoctlSetPointerInt(int(screen.Fd()), unix.TIOCSPTLCK, 0); err != nil {
		t.Fatal(err)
	}
	tty, err = os.OpenFile(fmt.Sprintf("/dev/pts/%d", n), os.O_RDWR|syscall.O_NOCTTY, 0)
	if err != nil {
		t.Skipf("no terminals on this machine: %v", err)
	}
	return screen, tty
}

// reply is what somebody types when a question has appeared.
type reply struct {
	question, answer string
	secret           bool // it is typed when the terminal shows nothing of it
}

// terminalTalk runs f with a terminal on which somebody answers questions as they appear, and
// returns all that appeared.
func terminalTalk(t *testing.T, replies []reply, f func(tty *os.File)) string {
	t.Helper()
	screen, tty := openTerminal(t)
	shown := make(chan string)
	go func() {
		var all strings.Builder
		read, piece := 0, make([]byte, 4096)
		for {
			n, err := screen.Read(piece)
			all.Write(piece[:n])
			for len(replies) > 0 && strings.Contains(all.String()[read:], replies[0].question) {
				read += strings.Index(all.String()[read:], replies[0].question) + len(replies[0].question)
				for replies[0].secret && echoes(screen) {
					runtime.Gosched()
				}
				_, _ = io.WriteString(screen, replies[0].answer+"\n") // that nobody reads it any more shows below
				replies = replies[1:]
			}
			if err != nil {
				shown <- all.String()
				return
			}
		}
	}()
	f(tty)
	if err := tty.Close(); err != nil {
		t.Error(err)
	}
	said := strings.ReplaceAll(await(t, "the end of the terminal", shown), "\r\n", "\n")
	if len(replies) > 0 {
		t.Errorf("%q was never asked:\n%s", replies[0].question, said)
	}
	return said
}

// echoes tells whether a terminal shows what is typed.
func echoes(screen *os.File) bool {
	state, err := unix.IoctlGetTermios(int(screen.Fd()), unix.TCGETS)
	return err == nil && state.Lflag&unix.ECHO != 0
}

// TestTerminal: a terminal gets colour and progress; NO_COLOR, a dumb terminal,
// a pipe and JSON get neither.
func TestTerminal(t *testing.T) {
	t.Parallel()
	const red, green = "\x1b[31m", "\x1b[32m"
	for _, c := range []struct {
		name        string
		env         []string
		args        []string
		color       bool
		progress    bool
		pipedErrors bool
	}{
		{name: "terminal", color: true, progress: true},
		{name: "NO_COLOR", env: []string{"NO_COLOR=1"}, progress: true},
		{name: "dumb", env: []string{"TERM=dumb"}, progress: true},
		{name: "errors elsewhere", color: true, pipedErrors: true},
		{name: "JSON", args: []string{"--json"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			s := newStage(t)
			s.set("REVERIE_EMBED_PROVIDER=offline", impressionsOn)
			s.set(c.env...)
			s.model.Respond(scribe(t))
			s.bring("g1", chat("2025-03-03", "note Lin drinks tea", "note Mia hosts the \x1b[5mgame nights", "note 小明喜欢喝茶")...)
			s.bring("g1", chat("2025-03-04", "change Lin drinks tea => Lin drinks coffee")...)
			run1 := s.run("evolve", "--group", "g1", "--until", "2025-03-04").want(t, 0)
			if strings.Contains(run1.stdout, "\x1b") {
				t.Errorf("a buffer got an escape sequence: %q", run1.stdout)
			}
			got := terminalOutput(t, func(tty *os.File) {
				var piped strings.Builder
				var errs io.Writer = tty
				if c.pipedErrors {
					errs = &piped
				}
				if err := run(t.Context(), append([]string{"evolve", "--group", "g1"}, c.args...), s.env, strings.NewReader(""), tty, errs); err != nil {
					t.Error(err)
				}
				if piped.Len() > 0 {
					t.Errorf("stderr is %q", piped.String())
				}
			})
			if strings.Contains(got, red) != c.color || strings.Contains(got, green) != c.color {
				t.Errorf("colour should be %v: %q", c.color, got)
			}
			if strings.Contains(got, "evolving") != c.progress || strings.Contains(got, "observing") != c.progress {
				t.Errorf("progress should be %v: %q", c.progress, got)
			}
			if !strings.Contains(got, "coffee") || strings.Contains(got, "\x1b[5m") {
				t.Errorf("the screen shows %q", got)
			}
		})
	}
}
