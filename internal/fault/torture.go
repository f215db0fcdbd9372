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

// plan is what the environment asks for.
type plan struct {
	mu     sync.Mutex
	trace  *os.File
	signal syscall.Signal // 0: none
	step   string
	left   int // how often the step is still reached without harm
	off    []string
	clock  string // a file: how far ahead the clock is
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

// Reach says that a step is at a moment, and does what was asked for there.
func Reach(what, moment string) { theirs().reach(name(what, moment)) }

func (p *plan) reach(step string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.trace != nil {
		if _, err := fmt.Fprintln(p.trace, step); err != nil {
			panic(err) // a trace with holes would prove what it does not show
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

// Off tells whether a guard was taken away.
func Off(guard string) bool { return slices.Contains(theirs().off, guard) }

// ids are the parts of a description that differ between two doings of the same.
var ids = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`\s*("(\\.|[^"\\])*"|\S*\d\S*)`) })

// Clock is a process's clock, put forward or back as the environment says.
func Clock(now func() time.Time) func() time.Time {
	path := theirs().clock
	if path == "" {
		return now
	}
	return func() time.Time {
		text, err := os.ReadFile(path)
		if err != nil {
			panic(err) // a clock that is right would prove what it does not show
		}
		ahead, err := time.ParseDuration(string(text))
		if err != nil {
			panic(err)
		}
		return now().Add(ahead)
	}
}

// Timers is a clock whose timers go by the one that is given, where [Clock] is put forward.
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

// name is what is done, without ids, and the moment.
func name(what, moment string) string {
	return strings.TrimSpace(ids().ReplaceAllString(what, "")) + ": " + moment
}
