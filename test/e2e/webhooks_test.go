package e2e

import (
	"encoding/json"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
	standardwebhooks "github.com/standard-webhooks/standard-webhooks/libraries/go"
)

// receiver is a webhook. It takes what fails does not refuse, and keeps by group which events it took, in order.
type receiver struct {
	*httptest.Server
	t        *testing.T
	verifier *standardwebhooks.Webhook
	turned   bool // its senders' clock is

	mu    sync.Mutex
	fails func() bool // before an event is taken; nil: never
	took  map[string][]string
	said  map[string]string // by event
	again int               // events that came although they were taken before
}

// receiver adds a webhook of all groups, of which the stage's processes know.
func (s *stage) receiver() *receiver {
	s.t.Helper()
	s.set("REVERIE_WEBHOOKS_ALLOW_PRIVATE=true")
	s.run("webhooks", "add", "http://127.0.0.1:1").want(s.t, 0)
	return s.receives()
}

// receives has a receiver of its own take what the only webhook is sent.
func (s *stage) receives() *receiver {
	s.t.Helper()
	r := &receiver{t: s.t, took: map[string][]string{}, said: map[string]string{}}
	var err error
	if r.verifier, err = standardwebhooks.NewWebhook(s.one(`select secret from webhooks`)); err != nil {
		s.t.Fatal(err)
	}
	r.Server = httptest.NewServer(r)
	s.t.Cleanup(r.Close)
	s.exec(`update webhooks set url = $1`, r.URL+"/t0ken")
	return r
}

func (r *receiver) ServeHTTP(w http.ResponseWriter, req *http.Request) {
	body, _ := io.ReadAll(req.Body)
	verify := r.verifier.Verify
	if r.turned {
		verify = r.verifier.VerifyIgnoringTimestamp
	}
	if err := verify(body, req.Header); err != nil {
		r.t.Errorf("%v: %s", err, body)
	}
	var e struct {
		Type string
		Data struct {
			GroupID  string `json:"group_id"`
			MemoryID string `json:"memory_id"`
			Action   string
			RunID    string `json:"run_id"`
		}
	}
	if err := json.Unmarshal(body, &e); err != nil {
		r.t.Error(err)
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.fails != nil && r.fails() {
		w.WriteHeader(http.StatusServiceUnavailable)
		return
	}
	id := strings.TrimPrefix(req.Header.Get("webhook-id"), "evt_")
	what := e.Type + " " + e.Data.MemoryID + " " + e.Data.Action
	if e.Data.MemoryID == "" {
		what = e.Type + " " + e.Data.RunID + " "
	}
	switch before, had := r.said[id]; {
	case !had:
		r.said[id] = what
		r.took[e.Data.GroupID] = append(r.took[e.Data.GroupID], id)
	case before != what:
		r.t.Errorf("event %s says %q, and %q before", id, what, before)
	default:
		r.again++
	}
}

// flush has everything sent that waits, whatever failed before.
func (s *stage) flush() {
	s.t.Helper()
	for i := 0; s.one(`select count(*) from webhook_events where done_at is null`) != "0"; i++ {
		s.exec(`update webhook_events set due_at = 'epoch' where done_at is null`)
		s.exec(`update webhooks set retry_at = 'epoch'`)
		s.run("groups", "add", fmt.Sprintf("flush-%d", i)).want(s.t, 0) // a command that writes
	}
}

// heardAll compares what a receiver took of a group with what was written of it, after which those began who tell.
func (s *stage) heardAll(t *testing.T, r *receiver, group string, changes int) {
	t.Helper()
	r.mu.Lock()
	defer r.mu.Unlock()
	if diff := cmp.Diff(s.rows(`select event_id from webhook_events where group_id = $1 order by event_no`, group), r.took[group]); diff != "" {
		t.Errorf("%s: events in order (-written +taken):\n%s", group, diff)
	}
	var told []string
	for _, id := range r.took[group] {
		if _, what, _ := strings.Cut(r.said[id], " "); strings.HasPrefix(r.said[id], "memory.") {
			told = append(told, strings.ReplaceAll(what, " ", "|"))
		}
	}
	slices.Sort(told)
	want := s.rows(`select memory_id::text as m, action from (select * from memory_change_log where group_id = $1 order by created_at desc limit $2) c
		order by 1, 2`, group, changes)
	slices.Sort(want)
	if diff := cmp.Diff(want, told); diff != "" {
		t.Errorf("%s: changes (-written +told):\n%s", group, diff)
	}
}

// TestWebhooksOverKills: whatever step an evolve is killed at, sending included, each change and each end of a run is
// told, in order, and what was not written is not.
func TestWebhooksOverKills(t *testing.T) {
	t.Parallel()
	s := killStage(t)
	r := s.receiver()
	args := []string{"--until", "2025-03-06"}
	before := len(s.rows(`select 1 from memory_change_log where group_id = 'template'`))
	v := s.victim(t, "undisturbed", args...)
	o, steps := v.through(func(*process, int) verdict { return pass })
	o.want(t, 0)
	changes := len(s.rows(`select 1 from memory_change_log where group_id = 'undisturbed'`)) - before
	if changes < 5 {
		t.Fatalf("%d changes", changes)
	}
	random := rand.New(rand.NewPCG(3, 4))
	r.mu.Lock()
	r.fails = func() bool { return random.IntN(5) == 0 }
	r.mu.Unlock()
	const kills = 8
	at := rand.New(rand.NewPCG(5, uint64(steps)))
	t.Run("killed", func(t *testing.T) {
		for i := range kills {
			n, last := 1+(steps*i+at.IntN(steps))/kills, []verdict{pass, lose}[i%2]
			t.Run(fmt.Sprintf("step %d of %d", n, steps), func(t *testing.T) {
				t.Parallel()
				v := s.victim(t, fmt.Sprintf("killed-%d", i), args...)
				_, _ = v.through(func(p *process, m int) verdict {
					switch {
					case m == n:
						p.kill()
						return last
					case m > n:
						return lose
					}
					return pass
				})
				v.recover()
			})
		}
	})
	s.flush()
	s.heardAll(t, r, "undisturbed", changes)
	for i := range kills {
		s.heardAll(t, r, fmt.Sprintf("killed-%d", i), changes)
	}
}

// TestWebhooksOverKilledServer: a server that is killed while it sends has not lost the event, nor those after it.
func TestWebhooksOverKilledServer(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	r := s.receiver()
	s.run("groups", "add", "g1").want(t, 0)
	r.fails = func() bool { return true }
	const facts = 12
	for i := range facts {
		s.run("memory", "add", fmt.Sprintf("Fact number %d is kept", i), "--group", "g1", "--reason", "so").want(t, 0)
	}
	requests := 0
	killed := make(chan *process, 1)
	r.mu.Lock()
	r.fails = func() bool {
		if requests++; requests%3 != 0 {
			return false
		}
		select {
		case p := <-killed:
			p.kill() // it hears no answer
		default:
		}
		return requests%2 == 0 // else it is taken, and nobody notes that
	}
	r.mu.Unlock()
	for i := 0; s.one(`select count(*) from webhook_events where done_at is null`) != "0"; i++ {
		if i > 3*facts {
			t.Fatal("it comes to no end")
		}
		s.exec(`update webhook_events set due_at = 'epoch' where done_at is null`)
		s.exec(`update webhooks set retry_at = 'epoch'`)
		p := s.fork(anyPort).launch("serve")
		killed <- p
		until(t, "the end of a server or of what waits", func() bool {
			select {
			case <-p.done:
				return true
			default:
				return s.one(`select count(*) from webhook_events where done_at is null`) == "0"
			}
		})
		select {
		case <-killed:
		default:
		}
		p.kill()
		s.forgotten(p)
	}
	s.heardAll(t, r, "g1", facts)
	if r.again == 0 {
		t.Error("nothing came twice, so that no server was killed while it sent")
	}
}

// TestWebhooksCommands: what the commands say, and what they refuse.
func TestWebhooksCommands(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	says := func(code int, text string, args ...string) {
		t.Helper()
		if o := s.run(args...).want(t, code); !strings.Contains(o.stdout, text) {
			t.Errorf("%q is not in:\n%s", text, o.stdout)
		}
	}
	says(0, "reverie webhooks add", "webhooks", "list")
	s.run("webhooks", "add", "http://bot.example.com").want(t, 2, "https://", "allow_private")
	s.run("webhooks", "add", "https://10.0.0.1/x").want(t, 2, "not public", "allow_private")
	s.run("webhooks", "add", "https://bot.example.com", "--events", "memory.made").want(t, 2, "memory.created")
	s.run("webhooks", "add", "https://bot.example.com", "--group", "nobody").want(t, 1, "not found")
	r := s.receiver()
	id := s.one(`select webhook_id from webhooks`)
	says(0, "HTTP 200", "webhooks", "test", id)
	s.run("groups", "add", "g1").want(t, 0)
	s.run("memory", "add", "The group meets on Fridays", "--group", "g1", "--reason", "so").want(t, 0)
	s.heardAll(t, r, "g1", 1)
	says(0, "1 event to send again", "webhooks", "replay", id, "--from", "1h")
	says(0, "1 event to send again", "webhooks", "replay", id, "--from", "evt_"+s.one(`select event_id from webhook_events`))
	s.run("webhooks", "replay", id).want(t, 2, "--from 24h")
	s.run("webhooks", "replay", id, "--from", "yesterday").want(t, 2, "2026-01-15")
	s.run("webhooks", "replay", "019b8a52-5c3e-7000-8000-000000000001", "--from", "1h").want(t, 1, "not found", "webhooks list")
	r.mu.Lock()
	r.fails = func() bool { return true }
	r.mu.Unlock()
	s.run("webhooks", "test", id).want(t, 1, "HTTP 503")
	s.run("memory", "add", "The group eats on Sundays", "--group", "g1", "--reason", "so").want(t, 0)
	says(0, "failing", "webhooks", "list")
	says(0, "HTTP 503", "webhooks", "list")
	s.set("REVERIE_LLM_PROVIDER=offline")
	says(1, "has failed since", "doctor")
	if o := s.run("webhooks", "list", "--json").want(t, 0); strings.Contains(o.stdout, "whsec_") {
		t.Error(o.stdout)
	}
	says(0, "removed", "webhooks", "remove", id)
	says(0, "no webhooks", "webhooks", "list")
}
