//go:build torture

package fault

import (
	"fmt"
	"os"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/jonboulle/clockwork"
)

// plan is what the environment requests.
type plan struct {
	mu     sync.Mutex
	trace  *os.File
	signal syscall.Signal // 0: none
	step   string
	left   int // how often the step may still be reached before the signal
	off    []string
	clock  string // a file with the offset of the clock
}

var theirs = sync.OnceValue(func() *plan {
	p, err := read(os.Getenv)
	if err != nil {
		fmt.Fprintln(os.Stderr, "reverie:", err)
		os.Exit(2)
	}
	return p
})

func read(getenv func(string) string) (*plan, error) {
	p := &plan{clock: getenv("REVERIE_FAULT_CLOCK")}
	if text := getenv("REVERIE_FAULT_OFF"); text != "" {
		p.off = strings.Split(text, ",")
	}
	if path := getenv("REVERIE_FAULT_TRACE"); path != "" {
		file, err := os.OpenFile(path, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
		if err != nil {
			return nil, fmt.Errorf("REVERIE_FAULT_TRACE: %w", err)
		}
		p.trace = file
	}
	text := getenv("REVERIE_FAULT")
	if text == "" {
		return p, nil
	}
	verb, step, ok := strings.Cut(text, ":")
	p.signal = map[string]syscall.Signal{"kill": syscall.SIGKILL, "stop": syscall.SIGSTOP}[verb]
	if !ok || p.signal == 0 {
		return nil, fmt.Errorf("REVERIE_FAULT=%q: write kill:STEP#N or stop:STEP#N", text)
	}
	times := 1
	if at := strings.LastIndexByte(step, '#'); at >= 0 {
		n, err := strconv.Atoi(step[at+1:])
		if err != nil || n < 1 {
			return nil, fmt.Errorf("REVERIE_FAULT=%q: which time is %q?", text, step[at+1:])
		}
		step, times = step[:at], n
	}
	p.step, p.left = step, times-1
	return p, nil
}

// Reach records that a step has reached a moment, and sends the signal if it was requested there.
func Reach(what, moment string) { theirs().reach(name(what, moment)) }

func (p *plan) reach(step string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.trace != nil {
		if _, err := fmt.Fprintln(p.trace, step); err != nil {
			panic(err) // an incomplete trace would prove nothing
		}
	}
	if p.signal == 0 || step != p.step {
		return
	}
	if p.left--; p.left == -1 {
		if err := syscall.Kill(os.Getpid(), p.signal); err != nil {
			panic(err)
		}
	}
}

// Off reports whether a guard is disabled.
func Off(guard string) bool { return slices.Contains(theirs().off, guard) }

// ids matches the parts of a description that differ between two runs of the same step.
var ids = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`\s*("(\\.|[^"\\])*"|\S*\d\S*)`) })

// Clock returns the process's clock, moved as the environment says.
func Clock(now func() time.Time) func() time.Time {
	path := theirs().clock
	if path == "" {
		return now
	}
	return func() time.Time {
		text, err := os.ReadFile(path)
		if err != nil {
			panic(err) // an unmoved clock would prove nothing
		}
		ahead, err := time.ParseDuration(string(text))
		if err != nil {
			panic(err)
		}
		return now().Add(ahead)
	}
}

// Timers returns a clock whose timers follow now if [Clock] is moved; otherwise the real clock.
func Timers(now func() time.Time) clockwork.Clock {
	if theirs().clock == "" {
		return clockwork.NewRealClock()
	}
	c := clockwork.NewFakeClockAt(now())
	go func() {
		for range time.Tick(10 * time.Millisecond) {
			c.Advance(max(0, now().Sub(c.Now())))
		}
	}()
	return c
}

// name returns the name of a step: the description without ids, and the moment.
func name(what, moment string) string {
	return strings.TrimSpace(ids().ReplaceAllString(what, "")) + ": " + moment
}
