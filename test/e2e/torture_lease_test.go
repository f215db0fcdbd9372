//go:build torture

package e2e

import (
	"fmt"
	"math/rand/v2"
	"os"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"

	"github.com/google/go-cmp/cmp"

	"reverie/internal/fault"
)

// holderPastLease stops each labour at its named steps, and at random packets to the
// database. Its lease runs out, another does the work, and then it goes on: it may
// write nothing. Without the fence it does.
var holderPastLease = &ordeal{name: "a holder past its lease", run: func(t *testing.T, o *ordeal) {
	for _, l := range labours {
		t.Run(l.name, func(t *testing.T) { o.oversleep(t, l) })
	}
}}

// pause is where a holder is stopped: at a step, or, without one, at a packet.
type pause struct {
	step string
	nth  int
}

func (p pause) String() string {
	if p.step == "" {
		return fmt.Sprint("packet ", p.nth)
	}
	return fmt.Sprintf("%s#%d", p.step, p.nth)
}

func (o *ordeal) oversleep(t *testing.T, l labour) {
	s := l.stage(t)
	calm := l.group(t, s, "calm")
	reached := calm.steps()
	want := l.whole(calm)
	packets := l.group(t, s, "counted")
	_, sent := packets.through(func(*process, int) verdict { return pass })
	random := rand.New(rand.NewPCG(tortureSeed(t), uint64(len(l.name))))
	t.Run("beside the next", func(t *testing.T) { o.besideNext(t, l, s, reached, want) })
	pauses := pausesOf(reached, sent, random)
	var mu sync.Mutex
	var seen []string // without the fence
	noticed, without := 0, 0
	t.Run("at", func(t *testing.T) {
		for i, at := range pauses {
			t.Run(at.String(), func(t *testing.T) {
				t.Parallel()
				v := l.group(t, s, fmt.Sprint("slept-", i))
				if written := o.oversleeps(v, at, want, l.whole); len(written) > 0 {
					t.Errorf("it wrote over the next holder's work:\n%s", strings.Join(written, "\n"))
				}
				o.trial(t, v.stage, "--group", v.group)
			})
			if at.step == "" || i%3 > 0 || l.unfenced == "" {
				continue
			}
			without++
			t.Run(at.String()+", without the fence", func(t *testing.T) {
				t.Parallel()
				v := l.group(t, s, fmt.Sprint("unfenced-", i))
				written := o.oversleeps(v, at, want, l.whole, "REVERIE_FAULT_OFF="+fault.Fence)
				mu.Lock()
				defer mu.Unlock()
				if seen = append(seen, written...); shows(written, l.unfenced) {
					noticed++
				}
			})
		}
	})
	t.Logf("%s: stopped at %d moments of %d steps (%d distinct); without the fence it was noticed at %d of %d",
		l.name, len(pauses), len(reached), len(slices.Compact(slices.Sorted(slices.Values(reached)))), noticed, without)
	if !testing.Short() && l.unfenced != "" { // a sample may have missed those where it shows
		o.control(t, fmt.Sprintf("the fence of %s (noticed at %d of %d steps)", l.name, noticed, without), l.unfenced, seen...)
	} else if l.name == "evolve" {
		o.control(t, "the fence", l.unfenced, seen...)
	}
}

// pausesOf are the moments at which a labour is stopped: each named step of work under
// the lease where it is reached for the first time and for the last time, and some packets. A sample is a few of them.
func pausesOf(reached []string, packets int, random *rand.Rand) []pause {
	leased := slices.Index(reached, "acquire the lease of group: committed")
	count, before := map[string]int{}, map[string]int{}
	var order []string
	for i, step := range reached {
		if count[step]++; i < leased {
			before[step]++
		}
		if i >= leased && !slices.Contains(order, step) {
			order = append(order, step)
		}
	}
	var all []pause
	for _, step := range order {
		first, last := before[step]+1, count[step]
		for _, n := range slices.Compact([]int{first, last}) {
			all = append(all, pause{step, n})
		}
	}
	if testing.Short() {
		random.Shuffle(len(all), func(i, j int) { all[i], all[j] = all[j], all[i] })
		if i := slices.IndexFunc(all, func(p pause) bool { return strings.HasSuffix(p.step, ": answered") }); i >= 0 {
			all[0], all[i] = all[i], all[0]
		}
		return all[:3]
	}
	for range 6 {
		all = append(all, pause{"", 1 + packets/4 + random.IntN(packets*3/4)})
	}
	return all
}

// oversleeps stops the victim's process, has another do the work, which must come to
// the same as ever, and lets the process go on. It returns the rows that went and came by that.
func (o *ordeal) oversleeps(v *victim, at pause, want []string, end func(*victim) []string, env ...string) []string {
	v.t.Helper()
	env = append(append(slices.Clone(v.env), "REVERIE_DATABASE_IDLE_TIMEOUT=1s"), env...) // its locks go with it
	p := v.stopped(at, env)
	if p == nil {
		return nil
	}
	v.expire()
	v.takesOver(want, end)
	before, asked := v.written(), len(v.questions())
	o.strikes(1)
	p.signal(syscall.SIGCONT)
	p.end().clean(v.t)
	if n := len(v.questions()) - asked; n > 1 && len(env) == len(v.env)+1 {
		v.t.Errorf("it went on to ask %d questions", n)
	}
	return rowsChanged(before, v.written())
}

// stopped starts the victim's process and waits until it stands still at that moment. It is
// nil where the process ended with fewer packets: others were joined than before.
func (v *victim) stopped(at pause, env []string) *process {
	v.t.Helper()
	if at.step != "" {
		p := startBinary(v.t, toBreak(v.t), append(env, fmt.Sprintf("REVERIE_FAULT=stop:%s#%d", at.step, at.nth)), v.args...)
		if !p.sleeps() {
			v.t.Fatalf("it has ended before %s: %s%s", at, p.out.String(), p.err.String())
		}
		return p
	}
	var p *process
	ready := make(chan struct{})
	l := newLink(v.t, v.url, func(n int) verdict {
		<-ready
		if n == at.nth {
			p.signal(syscall.SIGSTOP)
		}
		return pass
	})
	p = startBinary(v.t, toBreak(v.t), append(env, "REVERIE_DATABASE_URL="+l.dsn), v.args...)
	close(ready)
	if !p.sleeps() {
		p.end().want(v.t, 0)
		return nil
	}
	return p
}

// rowsChanged are the rows that went, and those that came.
func rowsChanged(before, after []string) (rows []string) {
	for _, row := range before {
		if !slices.Contains(after, row) {
			rows = append(rows, "- "+row)
		}
	}
	for _, row := range after {
		if !slices.Contains(before, row) {
			rows = append(rows, "+ "+row)
		}
	}
	return rows
}

// takesOver does the work of a victim that stands still or is gone, as soon as its
// locks are.
func (v *victim) takesOver(want []string, end func(*victim) []string) {
	v.t.Helper()
	until(v.t, "the end of the locks of who stands still", func() bool {
		o := v.run(v.args...)
		if o.code != 11 {
			o.want(v.t, 0)
		}
		return o.code == 0
	})
	if diff := cmp.Diff(want, end(v)); diff != "" {
		v.t.Errorf("the end differs from an undisturbed run's (-want +got):\n%s", diff)
	}
}

// sleeps waits until the process is stopped, and tells whether it was, and has not ended.
func (p *process) sleeps() (so bool) {
	p.t.Helper()
	until(p.t, "a process that stands still", func() bool {
		select {
		case <-p.done:
			return true
		default:
		}
		raw, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", p.cmd.Process.Pid))
		_, state, _ := strings.Cut(string(raw), ") ")
		so = err == nil && strings.HasPrefix(state, "T")
		return so
	})
	return so
}
