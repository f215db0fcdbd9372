package e2e

import (
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"reverie/internal/llm/llmtest"
)

var listening = regexp.MustCompile(`"http":"(127\.0\.0\.1:\d+)"`)

// daemon starts one that logs JSON, and waits until it says where it listens.
func (s *stage) daemon(env ...string) (p *process, address string) {
	s.t.Helper()
	p = s.fork(append([]string{anyPort, newYear, "REVERIE_LOG_FORMAT=json"}, env...)...).launch("run")
	p.says(`"msg":"running"`, 1)
	m := listening.FindStringSubmatch(p.err.String())
	if m == nil || strings.HasSuffix(m[1], ":0") {
		s.t.Fatalf("it does not say where it listens:\n%s", p.err.String())
	}
	return p, "http://" + m[1]
}

// get is one request to a daemon.
func get(t *testing.T, url string) (int, string) {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, url, nil)
	if err != nil {
		t.Fatal(err)
	}
	client := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
	resp, err := client.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	return resp.StatusCode, string(body)
}

// logOf reads standard error as one JSON object a line.
func (o outcome) logOf(t *testing.T) []object {
	t.Helper()
	return outcome{args: o.args, stdout: o.stderr}.jsonLinesOf(t)
}

// TestDaemon makes up what was missed when it starts, and tells of it: to probes,
// to Prometheus, in its log.
func TestDaemon(t *testing.T) {
	t.Parallel()
	s := dueStage(t)
	s.set("REVERIE_LLM_PRICES=gpt-5-mini=10000/20000", "REVERIE_BUDGET_USD_PER_DAY=0", "REVERIE_JOBS_PARK_AFTER=1", "REVERIE_JOBS_MISSED_NIGHTS=4")
	s.nightsOf("g1", 3, 7)
	s.bring("held", chat(night(3), "note Lin drinks tea", "note The key is sk-proj-Abc123Def456Ghi789Jkl012Mno345Pqr678")...)
	s.bring("held", chat(night(4), "drop Lin drinks tea")...)
	s.bring("story", chat(night(3), "tell me a story")...)
	s.exec(`update leases set holder = 'gone:1', fence = 3, expires_at = 'epoch' where group_id = 'g1'`)
	answer := scribe(t)
	s.model.Respond(func(r llmtest.Request) llmtest.Answer {
		if strings.Contains(r.User, "tell me a story") {
			return llmtest.Prose()
		}
		return answer(r)
	})
	p, address := s.daemon()
	p.says(`"msg":"task ended with an error`, 1) // of the group that fails
	for path, want := range map[string]string{"/healthz": "200 ok", "/readyz": "200 ready", "/": "404 404 page not found"} {
		code, text := get(t, address+path)
		if got := fmt.Sprintf("%d %s", code, strings.TrimSpace(text)); got != want {
			t.Errorf("%s answers %s, want %s", path, got, want)
		}
	}
	_, metrics := get(t, address+"/metrics")
	for _, want := range []string{
		`reverie_runs_total{job="evolve",outcome="succeeded"} 5`,
		`reverie_runs_total{job="evolve",outcome="held"} 1`,
		`reverie_runs_total{job="evolve",outcome="failed"} 1`,
		`reverie_runs_total{job="evolve",outcome="deferred"} 0`,
		`reverie_groups_total{job="evolve",outcome="done"} 2`,
		`reverie_groups_total{job="evolve",outcome="failed"} 1`,
		`reverie_windows_behind{job="evolve"} 2`, // one beyond the cap, one that failed
		`reverie_groups_parked{job="evolve"} 1`,
		`reverie_lease_takeovers_total 1`,
		`reverie_lines_refused_total{job="evolve"} 1`,
		`reverie_changes_held_total{job="evolve"} 1`,
		`reverie_changes_total{action="create",job="evolve"} 5`,
		`reverie_messages_total{job="evolve",outcome="cited"} `,
		`reverie_phase_seconds_count{job="evolve",phase="apply"} 6`,
		`reverie_phase_seconds_count{job="evolve",phase="run"} 7`,
		`reverie_fan_out_seconds_count{job="evolve"} 1`,
		`reverie_llm_tokens_total{direction="input",model="gpt-5-mini",provider="openai",purpose="evolve"} 800`,
		`reverie_llm_tokens_total{direction="output",model="gpt-5-mini",provider="openai",purpose="evolve"} 160`,
		`reverie_llm_cost_usd_total{model="gpt-5-mini",provider="openai",purpose="evolve",tier="standard"} 11.2`,
		`reverie_llm_calls_total{model="gpt-5-mini",outcome="ok",provider="openai",purpose="evolve",tier="standard"} 8`,
		`reverie_build_info{version="`,
	} {
		if !strings.Contains(metrics, "\n"+want) {
			t.Errorf("/metrics lacks %s", want)
		}
	}
	for _, id := range []string{"g1", "story", "run_id"} {
		if strings.Contains(metrics, `"`+id+`"`) {
			t.Errorf("the series grow with the groups: %q is in them", id)
		}
	}
	if t.Failed() {
		t.Log(metrics)
	}
	ended := map[string]int{}
	for _, line := range p.stop().logOf(t) {
		if line["msg"] == "run ended" {
			if len(fmt.Sprint(line["run_id"])) != 36 || line["job"] != "evolve" {
				t.Errorf("a line of the log is %v", line)
			}
			ended[fmt.Sprint(line["group_id"], " ", line["level"])]++
		}
	}
	if diff := cmp.Diff(map[string]int{"g1 INFO": 4, "held INFO": 2, "story WARN": 1}, ended); diff != "" {
		t.Errorf("runs in the log (-want +got):\n%s", diff)
	}
	if got := s.pending("g1") + s.pending("held") + s.pending("story"); got != "101" {
		t.Errorf("pending messages are %s, want 1, 0 and 1", got)
	}
}

// TestDaemonStops: it finishes what is under way and says that it is going; when
// the grace is over, or at a second signal, what is under way is cut.
func TestDaemonStops(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name    string
		grace   string
		signals int
		finish  bool
		status  string
		says    string
	}{
		{"in peace", "1h", 1, true, "succeeded", `"msg":"task`},
		{"without grace", "0s", 1, false, "deferred", "work under way had not ended 0s after the signal"},
		{"at a second signal", "1h", 2, false, "deferred", "a second signal"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			s := dueStage(t)
			s.set("REVERIE_JOBS_CONCURRENCY=1", "REVERIE_JOBS_GRACE="+c.grace)
			s.nightsOf("g1", 3, 4)
			s.nightsOf("g2", 3, 4)
			asked, gate := make(chan struct{}, 10), make(chan struct{})
			s.model.Respond(func(r llmtest.Request) llmtest.Answer {
				asked <- struct{}{}
				return llmtest.Text(transcribe(t, r)).After(gate)
			})
			p, address := s.daemon()
			await(t, "the question", asked)
			for i := range c.signals {
				p.signal(sigterm)
				if i == 0 && c.grace != "0s" {
					until(t, "not ready any more", func() bool { code, _ := get(t, address+"/readyz"); return code == 503 })
					if code, text := get(t, address+"/healthz"); code != 200 {
						t.Errorf("/healthz answers %d %s", code, text)
					}
				}
			}
			if c.finish {
				close(gate)
			}
			p.end().want(t, 0, c.says, `"msg":"stopped"`)
			if diff := cmp.Diff([]string{"g1|" + c.status}, s.rows(`select group_id, status from runs`)); diff != "" {
				t.Errorf("runs (-want +got):\n%s", diff)
			}
			if got, want := s.one(`select count(*) from messages where run_id is null`), map[bool]string{true: "3", false: "4"}[c.finish]; got != want {
				t.Errorf("%s messages are pending, want %s", got, want)
			}
			if got := s.one(`select count(*) from leases where expires_at > clock_timestamp()`) + s.one(`select count(*) from setbacks`); got != "00" {
				t.Errorf("leases and setbacks are %s, want none", got)
			}
		})
	}
}

// refuses waits for the end of a daemon that should not even begin.
func (p *process) refuses() outcome {
	p.t.Helper()
	until(p.t, "it neither runs nor ends", func() bool {
		select {
		case <-p.done:
			return true
		default:
		}
		if strings.Contains(p.err.String(), "msg=running") {
			p.signal(sigterm)
		}
		return false
	})
	return p.end()
}

// TestDaemonRefuses to start with what cannot work, and says what to do.
func TestDaemonRefuses(t *testing.T) {
	t.Parallel()
	taken, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer taken.Close()
	s := newStage(t)
	for _, c := range []struct {
		env  string
		says []string
	}{
		{"REVERIE_SCHEDULE_EVOLVE=TZ=0", []string{"schedule.evolve", "UTC"}},
		{"REVERIE_SCHEDULE_EVOLVE=@every -1h", []string{"schedule.evolve", "@every"}},
		{"REVERIE_SCHEDULE_EVOLVE=0 0 31 2 *", []string{"schedule.evolve", "never"}},
		{"REVERIE_HTTP_LISTEN=nowhere", []string{`[http] listen "nowhere"`, "127.0.0.1:8470"}},
		{"REVERIE_HTTP_LISTEN=127.0.0.1:99999", []string{"[http] listen", "127.0.0.1:8470"}},
		{"REVERIE_HTTP_LISTEN=" + taken.Addr().String(), []string{"another process has it", "choose another port"}},
		{"REVERIE_HTTP_LISTEN=192.0.2.1:8470", []string{"no interface of this machine"}},
		{"REVERIE_LLM_BASE_URL=", []string{"no model is configured", "REVERIE_LLM_PROVIDER"}},
		{"REVERIE_JOBS_CONCURRENCY=0", []string{"jobs.concurrency", "1 to 1000"}},
		{"REVERIE_SENTRY_DSN=nonsense", []string{"[sentry] dsn"}},
		{"REVERIE_TRACES_HEADERS=Authorization", []string{"[traces] headers", "name=value"}},
	} {
		env := append([]string{"REVERIE_HTTP_LISTEN=127.0.0.1:0"}, c.env)
		t.Run(c.env, func(t *testing.T) {
			o := start(t, s.fork(env...).env, "run").refuses().want(t, 2, c.says...)
			if o.stdout != "" {
				t.Errorf("stdout is %s", o.stdout)
			}
		})
	}
}

// TestDaemonWithoutJobs has nothing to stay for.
func TestDaemonWithoutJobs(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	file := filepath.Join(t.TempDir(), "reverie.toml")
	if err := os.WriteFile(file, []byte("[schedule]\nevolve = \"\"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	start(t, s.fork(anyPort).env, "run", "--config", file).refuses().want(t, 2, "no job of [schedule] has a time", "17 * * * *")
}

// TestDaemonWithoutServer runs where nothing is to be listened on.
func TestDaemonWithoutServer(t *testing.T) {
	t.Parallel()
	s := dueStage(t)
	s.nightsOf("g1", 3, 3)
	p := s.fork("REVERIE_HTTP_LISTEN=", newYear).launch("run")
	p.says("task done", 1)
	o := p.stop()
	if s.pending("g1") != "0" {
		t.Error("it did nothing")
	}
	var last object
	if err := json.Unmarshal([]byte(o.stderr), &last); err == nil {
		t.Errorf("the log is JSON unless told otherwise: %s", o.stderr)
	}
}
