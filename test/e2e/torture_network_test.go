//go:build torture

package e2e

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"net/url"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// networkCut breaks the connections of each labour, to the database and to the model, at
// random packets, and loses the reply to each commit. Nothing hangs, what fails says so,
// and the next run completes it. Without looking up what became of a commit it shows.
var networkCut = &ordeal{name: "the network cut", run: func(t *testing.T, o *ordeal) {
	all := labours
	if testing.Short() {
		all = labours[:1]
	}
	for _, l := range all {
		t.Run(l.name, func(t *testing.T) { o.cutNetwork(t, l) })
	}
}}

// impatient are limits by which a silent network is noticed soon.
var impatient = []string{"REVERIE_DATABASE_READ_TIMEOUT=3s", "REVERIE_DATABASE_STATEMENT_TIMEOUT=2s", "REVERIE_DATABASE_LOCK_TIMEOUT=1s",
	"REVERIE_DATABASE_IDLE_TIMEOUT=1s", "REVERIE_LLM_TIMEOUT=2s", "REVERIE_LLM_ATTEMPTS=2"}

func (o *ordeal) cutNetwork(t *testing.T, l labour) {
	s := l.stage(t)
	s.set("REVERIE_EVOLVE_HOLD_MIN=1000") // a run that begins anew counts its deletes anew
	counts := map[bool]int{}              // packets to the database, and to the model
	commits := 0
	var whole, gist []string
	for _, toModel := range []bool{false, true} {
		calm := l.group(t, s, fmt.Sprint("calm-", toModel))
		calm.wired(toModel, func(p packet) fate {
			if counts[toModel] = p.n; !toModel && isCommit(p) {
				commits++
			}
			return passes
		}).want(t, 0)
		whole, gist = l.whole(calm), l.gist(calm)
	}
	random := rand.New(rand.NewPCG(tortureSeed(t), uint64(len(l.name))))
	var mu sync.Mutex
	var seen []string // where the outcome was not looked up
	noticed, without := 0, 0
	t.Run("at", func(t *testing.T) {
		for f := vanishes; f <= drips; f++ {
			for _, toModel := range []bool{false, true} {
				if counts[toModel] == 0 { // it asks nobody
					continue
				}
				times := 3
				if testing.Short() {
					times = 1
				}
				for _, n := range random.Perm(counts[toModel])[:min(times, counts[toModel])] {
					at := 1 + n
					where := map[bool]string{false: "database", true: "model"}[toModel]
					name := fmt.Sprintf("%s, %s, packet %d", f, where, at)
					t.Run(name, func(t *testing.T) {
						t.Parallel()
						v := l.group(t, s, name)
						had := v.calls()
						out := v.wired(toModel, func(p packet) fate {
							if p.n == at {
								o.strikes(1)
								return f
							}
							return passes
						}, impatient...)
						out.clean(t)
						o.trial(t, v.stage, "--group", v.group)
						v.expire()
						v.takesOver(gist, l.gist)
						o.trial(t, v.stage, "--group", v.group)
						if asked, rows := len(v.questions()), v.calls()-had; toModel && rows < asked {
							t.Errorf("%d calls were made, %d are written down", asked, rows)
						}
					})
				}
			}
		}
		for at := 1; at <= commits; at++ {
			for _, off := range []string{"", "outcome"} {
				if testing.Short() && off == "" && at%(commits/5) != 0 {
					continue
				}
				name := fmt.Sprintf("reply to commit %d lost%s", at, map[string]string{"outcome": ", and not looked up"}[off])
				t.Run(name, func(t *testing.T) {
					t.Parallel()
					if off != "" {
						mu.Lock()
						enough := testing.Short() && noticed > 0 // one that notices will do for a sample
						mu.Unlock()
						if enough {
							return
						}
					}
					v := l.group(t, s, name)
					n, had := 0, v.calls()
					out := v.wired(false, func(p packet) fate {
						if isCommit(p) {
							if n++; n == at {
								o.strikes(1)
								return unanswered
							}
						}
						return passes
					}, "REVERIE_FAULT_OFF="+off)
					if off != "" {
						mu.Lock()
						defer mu.Unlock()
						without++
						if seen = append(seen, out.stderr); strings.Contains(out.stderr, l.unsure) {
							noticed++
						}
						return
					}
					diff, rows, asked := cmp.Diff(whole, l.whole(v)), v.calls()-had, len(v.questions())
					if out.want(t, 0); diff != "" || rows != asked {
						t.Errorf("%d rows of %d calls; the end differs from an undisturbed run's by (-want +got):\n%s", rows, asked, diff)
					}
					o.trial(t, v.stage, "--group", v.group)
				})
			}
		}
	})
	t.Logf("%s: %d packets to the database, %d commits, %d packets to the model; without the look-up it was noticed at %d of %d commits",
		l.name, counts[false], commits, counts[true], noticed, without)
	if !testing.Short() || l.name == "evolve" {
		o.control(t, fmt.Sprintf("the look-up of lost commits of %s (noticed at %d of %d)", l.name, noticed, without), l.unsure, seen...)
	}
}

// isCommit tells whether a packet asks for a commit, and whoever sent it waits for the reply: of what has only
// read nobody does.
func isCommit(p packet) bool {
	data := p.data
	if unwaited := []byte("\x00COMMIT\x00"); p.up && len(data) > 5 && data[0] == 'P' && bytes.HasPrefix(data[5:], unwaited) {
		data = data[5+len(unwaited):]
	}
	return p.up && bytes.Contains(data, []byte("COMMIT\x00"))
}

// wired runs the victim with a cable to the database or to the model between.
func (v *victim) wired(toModel bool, fate func(p packet) fate, env ...string) outcome {
	v.t.Helper()
	c := newCable(v.t, fate)
	here := c.listener.Addr().String()
	if toModel {
		u, err := url.Parse(v.model.URL("openai"))
		if err != nil {
			v.t.Fatal(err)
		}
		c.open("tcp", u.Host)
		u.Host = here
		env = append(env, "REVERIE_LLM_BASE_URL="+u.String())
	} else {
		network, address, dsn := detour(v.t, v.url, here)
		c.open(network, address)
		env = append(env, "REVERIE_DATABASE_URL="+dsn+"&connect_timeout=3")
	}
	p := startBinary(v.t, toBreak(v.t), slices.Concat(v.env, env), v.args...)
	o := p.end()
	c.cut()
	v.forgotten(p)
	return o
}

// clean fails the test unless a process has ended well, or said what was wrong.
func (o outcome) clean(t testing.TB) {
	t.Helper()
	if strings.Contains(o.stderr, "panic") || strings.Contains(o.stderr, "goroutine ") || o.code < 0 || o.code != 0 && strings.TrimSpace(o.stderr) == "" {
		t.Errorf("reverie %s: exit code %d:\n%s%s", strings.Join(o.args, " "), o.code, o.stdout, o.stderr)
	}
}

// calls is how many of a model are written down, vectors apart.
func (v *victim) calls() int {
	v.t.Helper()
	return len(v.rows(`select 1 from llm_calls where group_id = $1 and provider <> 'offline'`, v.group))
}
