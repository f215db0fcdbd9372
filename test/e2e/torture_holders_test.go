//go:build torture

package e2e

import (
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/google/go-cmp/cmp"

	"reverie/internal/llm/llmtest"
)

// leased is the first step of work under a lease.
const leased = "acquire the lease of group: committed"

// besideNext lets a holder past its lease go on while the next one has the lease and
// stands still half-way. It may neither write, nor give the other's lease back, nor renew
// it: by then a third would be let in, or a fourth kept out.
func (o *ordeal) besideNext(t *testing.T, l labour, s *stage, reached []string, want []string) {
	half := halfWay(reached)
	for _, c := range []struct {
		name          string
		first, second pause
	}{
		{"with nothing done", pause{leased, 1}, half},
		{"half-way", half, pause{leased, 1}},
	} {
		t.Run(c.name, func(t *testing.T) {
			v := l.group(t, s, "beside, "+c.name)
			first := v.stopped(c.first, v.patient())
			v.expire()
			second := v.stopped(c.second, v.patient())
			o.keepsOut(v, first, second, func() {})
			if diff := cmp.Diff(want, l.whole(v)); diff != "" {
				t.Errorf("the end differs from an undisturbed run's (-want +got):\n%s", diff)
			}
			o.trial(t, v.stage, "--group", v.group)
		})
	}
	if !slices.ContainsFunc(reached, func(step string) bool { return strings.HasSuffix(step, ": asked") }) {
		return
	}
	t.Run("waiting for an answer", func(t *testing.T) {
		v := l.group(t, s, "beside, waiting")
		asked, answer := make(chan struct{}, 1), make(chan struct{})
		v.model.Respond(func(r llmtest.Request) llmtest.Answer {
			select {
			case asked <- struct{}{}:
				return llmtest.Text(transcribe(t, r)).After(answer)
			default:
				return llmtest.Text(transcribe(t, r))
			}
		})
		first := startBinary(t, toBreak(t), v.patient(), v.args...)
		until(t, "its question", func() bool { return len(asked) == 1 })
		first.signal(syscall.SIGSTOP)
		if !first.sleeps() {
			t.Fatalf("it has ended without its answer: %s", first.err.String())
		}
		v.expire()
		second := v.stopped(pause{leased, 1}, v.patient())
		o.keepsOut(v, first, second, func() { close(answer) })
		if diff := cmp.Diff(want, l.whole(v)); diff != "" {
			t.Errorf("the end differs from an undisturbed run's (-want +got):\n%s", diff)
		}
		o.trial(t, v.stage, "--group", v.group)
	})
}

// halfWay is a step in the middle of the work under the lease, between transactions.
func halfWay(reached []string) pause {
	var work []int
	for i := slices.Index(reached, leased) + 1; i < len(reached); i++ {
		if _, moment, _ := strings.Cut(reached[i], ": "); slices.Contains([]string{"committed", "asked", "answered"}, moment) && !strings.Contains(reached[i], "the lease of group") {
			work = append(work, i)
		}
	}
	at := pause{step: reached[work[len(work)/2]]}
	for _, step := range reached[:work[len(work)/2]+1] {
		if step == at.step {
			at.nth++
		}
	}
	return at
}

// patient is the environment of a holder that is stopped: its locks go, and its answers are
// waited for.
func (v *victim) patient() []string {
	return append(slices.Clone(v.env), "REVERIE_DATABASE_IDLE_TIMEOUT=1s")
}

// keepsOut lets the first holder go on to its end, which comes with the first renewal that
// is refused, or before. All that while the second stands still, and its lease is as it was;
// then it goes on, too, to an end that is well.
func (o *ordeal) keepsOut(v *victim, first, second *process, over func()) {
	v.t.Helper()
	lease := func() string {
		return v.one(`select holder, fence, expires_at from leases where group_id = $1 and lease_name = 'group'`, v.group)
	}
	had, before, asked := lease(), v.written(), len(v.questions())
	o.strikes(1)
	first.signal(syscall.SIGCONT)
	until(v.t, "the end of a holder past its lease", func() bool {
		select {
		case <-first.done:
			return true
		default:
			return lease() != had
		}
	})
	if has := lease(); has != had {
		v.t.Errorf("a holder past its lease has touched that of the next (holder, fence, until when):\n%s\nwas\n%s", has, had)
	}
	over()
	first.end().clean(v.t)
	if written := rowsChanged(before, v.written()); len(written) > 0 {
		v.t.Errorf("it wrote beside the next holder:\n%s", strings.Join(written, "\n"))
	}
	if n := len(v.questions()) - asked; n > 1 {
		v.t.Errorf("it went on to ask %d questions", n)
	}
	second.signal(syscall.SIGCONT)
	second.end().want(v.t, 0)
}
