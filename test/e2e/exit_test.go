package e2e

import (
	"fmt"
	"os"
	"regexp"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"reverie/internal/llm/llmtest"
	"reverie/store/pgtest"
)

func TestExitUsage(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	s.bring("g1", chat("2025-03-03", "hello")...)
	s.run("groups", "add", "another").want(t, 0) // with one alone no command asks which
	for _, c := range []struct {
		args  []string
		words []string
	}{
		{[]string{"evolv"}, []string{`unknown command "evolv"`, "did you mean"}},
		{[]string{"evolve"}, []string{"a group is needed", "--all", "another, g1"}},
		{[]string{"evolve", "--group", "g1", "--all"}, []string{"--help"}},
		{[]string{"evolve", "--group", "g1", "--dry"}, []string{"unknown flag: --dry", "reverie evolve --help"}},
		{[]string{"evolve", "--group", "g1", "extra"}, []string{"extra"}},
		{[]string{"evolve", "--group", "g1", "--days", "x"}, []string{"--days"}},
		{[]string{"evolve", "--group", "g1", "--days", "-1"}, []string{"--days"}},
		{[]string{"evolve", "--group", "g1", "--since", "yesterday"}, []string{"--since", "yesterday", "2026-01-15"}},
		{[]string{"evolve", "--group", "g1", "--since", "2025-02-30"}, []string{"2025-02-30"}},
		{[]string{"evolve", "--group", "g1", "--since", "2025-03-04", "--until", "2025-03-04"}, []string{"not before"}},
		{[]string{"evolve", "--group", "g1", "--llm", "chatgpt"}, []string{"chatgpt", "openai"}},
		{[]string{"evolve", "--all", "--until", "soon"}, []string{"soon"}},
		{[]string{"evolve", "--group", "g1", "--config", "/no/such.toml"}, []string{"/no/such.toml", "`reverie init` writes one"}},
		{[]string{"memory", "list"}, []string{"a group is needed", "another, g1", "REVERIE_GROUP"}},
		{[]string{"memory", "list", "--group", "g1", "--status", "dead"}, []string{"dead", "deprecated"}},
		{[]string{"memory", "list", "--group", "g1", "--kind", "x"}, []string{"session"}},
		{[]string{"memory", "list", "--group", "g1", "--limit", "0"}, []string{"--limit"}},
		{[]string{"memory", "list", "--group", "g1", "--at", "noon"}, []string{"--at"}},
		{[]string{"memory", "search", "--group", "g1"}, []string{"give the words"}},
		{[]string{"memory", "search", "--group", "g1", ""}, []string{"empty"}},
		{[]string{"memory", "search", "--group", "g1", "x", "--threshold", "2"}, []string{"threshold"}},
		{[]string{"memory", "search", "--group", "g1", "x", "--kind", "x"}, []string{"session"}},
		{[]string{"memory", "changes", "--group", "g1", "--days", "0"}, []string{"--days"}},
		{[]string{"memory", "histroy", "x"}, []string{`unknown command "histroy"`, "did you mean history?"}},
		{[]string{"runs", "list", "--status", "done"}, []string{"succeeded"}},
		{[]string{"runs", "show"}, []string{"0 arguments given"}},
		{[]string{"import", "-"}, []string{"--group"}},
		{[]string{"import", "--group", "g1"}, []string{"0 arguments given; the usage is: reverie import FILE"}},
		{[]string{"import", "-", "--group", ""}, []string{"--group"}},
		{[]string{"import", "-", "--group", "g2", "--time-zone", "Mars/Olympus"}, []string{"Mars/Olympus", "Asia/Shanghai"}},
		{[]string{"import", "-", "--group", "g2", "--language", "fr"}, []string{"zh"}},
		{[]string{"config", "init", "x"}, nil},
		{[]string{"version", "--jsn"}, []string{"unknown flag"}},
	} {
		t.Run(strings.Join(c.args, " "), func(t *testing.T) {
			o := invoke(t.Context(), s.env, "", c.args...).want(t, 2, c.words...)
			if o.stdout != "" {
				t.Errorf("stdout is not empty:\n%s", o.stdout)
			}
		})
	}
	if n := len(s.model.Requests()); n > 0 {
		t.Errorf("the model was asked %d times", n)
	}
}

func TestExitNotFound(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	const nobody = "019a0000-0000-7000-8000-000000000000"
	for _, args := range [][]string{
		{"evolve", "--group", "nobody"}, {"evolve", "--group", "nobody", "--dry-run"}, {"memory", "list", "--group", "nobody"},
		{"memory", "search", "--group", "nobody", "x"}, {"memory", "changes", "--group", "nobody"},
		{"memory", "history", nobody}, {"memory", "history", "no-id"}, {"memory", "delete", nobody}, {"runs", "show", nobody},
		{"runs", "show", "x"}, {"runs", "approve", nobody}, {"runs", "reject", nobody},
	} {
		if o := s.run(args...).want(t, 1, "not found"); o.stdout != "" {
			t.Errorf("%v: stdout is %q", args, o.stdout)
		}
	}
	s.run("import", "/no/such/file", "--group", "g1").want(t, 1, "/no/such/file")
}

// TestExitMissingSettings: without a provider nothing is chosen silently.
func TestExitMissingSettings(t *testing.T) {
	t.Parallel()
	env := []string{"HOME=" + t.TempDir(), "XDG_DATA_HOME=" + t.TempDir()} // no database either: none may be started for this
	for _, c := range []struct {
		env   string
		words []string
	}{
		{"A=b", []string{"no model is configured: `reverie init`", "REVERIE_LLM_PROVIDER", "REVERIE_LLM_API_KEY"}},
		{"REVERIE_LLM_PROVIDER=gemini", []string{"needs a key: `reverie init`", "REVERIE_LLM_API_KEY"}},
		{"REVERIE_LLM_PROVIDER=anthropic", []string{"needs a key: `reverie init`", "REVERIE_LLM_API_KEY"}},
		{"REVERIE_LLM_PROVIDER=openai", []string{"needs a key: `reverie init`", "REVERIE_LLM_API_KEY"}},
	} {
		o := invoke(t.Context(), append(env, c.env), "", "evolve", "--group", "g1", "--json").want(t, 2, c.words...)
		if o.stdout != "" {
			t.Errorf("%s: stdout is %q", c.env, o.stdout)
		}
	}
}

func TestExitOutdatedSchema(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	s.set("REVERIE_DATABASE_URL=" + pgtest.NewEmpty(t))
	for _, args := range [][]string{{"evolve", "--all"}, {"import", "-", "--group", "g1"}, {"memory", "list", "--group", "g1"}, {"runs", "list"}, {"doctor"}} {
		o := s.run(args...)
		if o.code != 2 || !strings.Contains(o.stderr+o.stdout, "reverie migrate up") {
			t.Errorf("%v: code %d\n%s%s", args, o.code, o.stdout, o.stderr)
		}
	}
	s.run("migrate", "status").want(t, 0)
	s.run("migrate", "up").want(t, 0)
	s.run("migrate", "up").want(t, 0)
	s.run("memory", "list", "--group", "g1").want(t, 1, "not found")
}

// TestExitModelFails: what a failing model server means for the exit code, the
// run and the messages.
func TestExitModelFails(t *testing.T) {
	t.Parallel()
	text := func(a llmtest.Answer) []llmtest.Answer { return []llmtest.Answer{a} }
	for _, c := range []struct {
		name    string
		answers []llmtest.Answer
		env     string
		code    int
		status  string
		calls   string // outcomes of the calls
		words   []string
	}{
		{"401", text(llmtest.Failure(401, "bad key")), "", 2, "failed", "unauthorized", []string{"REVERIE_LLM_API_KEY"}},
		{"403", text(llmtest.Failure(403, "not for you")), "", 2, "failed", "unauthorized", []string{"not for you"}},
		{"404", text(llmtest.Failure(404, "no model gpt-9")), "", 2, "failed", "not_found", []string{"REVERIE_LLM_MODEL", "gpt-9"}},
		{"429", text(llmtest.RateLimited(0)), "", 4, "deferred", "rate_limited", []string{"429"}},
		{"429 with a long wait", text(llmtest.RateLimited(time.Hour)), "REVERIE_LLM_ATTEMPTS=4", 4, "deferred", "rate_limited", nil},
		{"500", text(llmtest.Failure(500, "oops")), "", 4, "deferred", "server_error", []string{"oops"}},
		{"503", text(llmtest.Failure(503, "overloaded")), "", 4, "deferred", "server_error", nil},
		{"reset", text(llmtest.Reset()), "", 4, "deferred", "network", nil},
		{"cut off body", text(llmtest.CutOff()), "", 4, "deferred", "server_error", nil},
		{"hang", text(llmtest.Hang()), "REVERIE_LLM_TIMEOUT=50ms", 4, "deferred", "timeout", []string{"REVERIE_LLM_TIMEOUT"}},
		{"400", text(llmtest.Failure(400, "temperature is not supported")), "", 1, "failed", "bad_request", []string{"temperature"}},
		{"web page", text(llmtest.Page()), "", 4, "deferred", "server_error", nil},
		{"no choices", text(llmtest.NoChoices()), "", 4, "deferred", "server_error", nil},
		{"prose twice", []llmtest.Answer{llmtest.Prose(), llmtest.Prose()}, "", 1, "failed", "ok,ok", []string{"stay pending"}},
		{"no line stands, twice", []llmtest.Answer{
			llmtest.Text(`{"action":"update","old_id":"m8","statement":"Lin drinks tea","evidence":[1]}`),
			llmtest.Text(`{"action":"create","statement":"Bo sails","evidence":[{"message":1,"quote":"out on the lake"}]}`)},
			"", 1, "failed", "ok,ok", []string{"no line of the answer stands", "stay pending"}},
		{"empty twice", []llmtest.Answer{llmtest.Text(""), llmtest.Text(" \n")}, "", 1, "failed", "other,ok", []string{"empty"}},
		{"refusal twice", []llmtest.Answer{llmtest.Refused(), llmtest.Refused()}, "", 1, "failed", "refused,refused", []string{"refused"}},
		{"fenced prose", []llmtest.Answer{llmtest.Text("```\nnothing\n```"), llmtest.Text("[]")}, "", 1, "failed", "ok,ok", nil},
		{"truncated to the end", []llmtest.Answer{llmtest.Truncated(`{"action":"none"}`), llmtest.Truncated(`{"action":"none"}`)}, "", 1, "failed",
			"truncated,truncated", []string{"max_output_tokens"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			s := newStage(t)
			s.bring("g1", chat("2025-03-03", "note Lin drinks tea", "note Mia drinks coffee")...)
			s.model.Script(c.answers...)
			s.fork(strings.Fields(c.env)...).run("evolve", "--group", "g1").want(t, c.code, c.words...)
			if got := s.one(`select string_agg(outcome, ',' order by created_at) from llm_calls where group_id = 'g1'`); got != c.calls {
				t.Errorf("calls are %s, want %s", got, c.calls)
			}
			got := s.one(`select status, stats->>'deferred', (finished_at is not null)::text, (error <> '')::text from runs`)
			if want := c.status + "|2|true|true"; got != want {
				t.Errorf("the run is %s, want %s", got, want)
			}
			if got := s.pending("g1") + s.one(`select count(*) from memories`) + s.one(`select count(*) from leases where expires_at > clock_timestamp()`); got != "200" {
				t.Errorf("pending messages, memories and leases are %s, want 200", got)
			}
			s.model.Respond(scribe(t)) // and the next run takes it all in
			s.run("evolve", "--group", "g1").want(t, 0)
			if diff := cmp.Diff([]string{"Lin drinks tea", "Mia drinks coffee"}, s.active("g1")); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// TestRetriesAreCalls: a passing fault is tried again, and each attempt is a row.
func TestRetriesAreCalls(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	s.set("REVERIE_LLM_ATTEMPTS=2")
	s.bring("g1", chat("2025-03-03", "note Lin drinks tea")...)
	s.model.Script(llmtest.Failure(500, "oops"))
	s.model.Respond(scribe(t))
	s.run("evolve", "--group", "g1").want(t, 0)
	if got := s.one(`select string_agg(outcome, ',' order by created_at) from llm_calls where purpose = 'evolve'`); got != "server_error,ok" {
		t.Errorf("calls are %s", got)
	}
}

// TestTruncatedHalves: a cut-off answer is thrown away whole, and the chunk is
// asked about in halves.
func TestTruncatedHalves(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	s.bring("g1", chat("2025-03-03", "note Lin drinks tea", "note Mia drinks coffee", "note Bo drinks water", "note Ann drinks milk")...)
	s.model.Script(llmtest.Truncated(`{"action":"create","statement":"Nobody drinks","evidence":[{"message":1}]}` + "\n" + `{"action":"upd`))
	s.model.Respond(scribe(t))
	s.run("evolve", "--group", "g1").want(t, 0)
	if diff := cmp.Diff([]string{"Ann drinks milk", "Bo drinks water", "Lin drinks tea", "Mia drinks coffee"}, s.active("g1")); diff != "" {
		t.Error(diff)
	}
	var sizes []int
	for _, q := range s.questions() {
		sizes = append(sizes, len(readQuestion(t, q).Messages))
	}
	if diff := cmp.Diff([]int{4, 2, 2}, sizes); diff != "" {
		t.Errorf("messages of the questions (-want +got):\n%s", diff)
	}
}

func TestExitSomeGroupsFailed(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	s.model.Respond(func(r llmtest.Request) llmtest.Answer {
		if strings.Contains(r.User, "cursed") {
			return llmtest.Prose()
		}
		return llmtest.Text(transcribe(t, r))
	})
	for _, g := range []string{"a", "b", "c"} {
		s.bring(g, chat("2025-03-03", "note Lin drinks tea", map[string]string{"b": "cursed"}[g])...)
	}
	s.bring("idle")
	o := s.run("evolve", "--all", "--json").want(t, 3, `group "b"`, "1 group failed")
	if n := strings.Count(o.stdout, "\n"); n != 4 || strings.Count(o.stdout, `"success":true`) != 2 || strings.Count(o.stdout, `"success":false`) != 2 ||
		!strings.Contains(o.stdout, `"summary":{"done":2,"skipped":0,"failed":1,`) {
		t.Errorf("stdout is not one line a run and the summary:\n%s", o.stdout)
	}
	if got := s.pending("a") + s.pending("b") + s.pending("c"); got != "020" {
		t.Errorf("pending are %s, want 020", got)
	}
	s.model.Respond(func(llmtest.Request) llmtest.Answer { return llmtest.Failure(500, "oops") })
	s.run("evolve", "--all").want(t, 4, `group "b"`)
	s.model.Respond(scribe(t))
	o = s.run("evolve", "--all").want(t, 0)
	if !strings.Contains(o.stdout, "1 group done, 0 skipped, 0 deferred, 0 failed; 1 window finished, 0 left") {
		t.Errorf("stdout is\n%s", o.stdout)
	}
	s.run("evolve", "--all", "--json").want(t, 0).silent(t)
}

// stuck starts an evolve that waits for the model's answer, and returns once it
// does.
func stuck(t *testing.T, s *stage) *process {
	t.Helper()
	asked := make(chan struct{}, 1)
	s.model.Respond(func(llmtest.Request) llmtest.Answer {
		asked <- struct{}{}
		return llmtest.Hang()
	})
	p := s.launch("evolve", "--group", "g1", "--json")
	await(t, "the question", asked)
	return p
}

func TestExitBusyAndInterrupted(t *testing.T) {
	t.Parallel()
	for name, signal := range map[string]syscall.Signal{"interrupt": syscall.SIGINT, "terminate": syscall.SIGTERM} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newStage(t)
			s.bring("g1", chat("2025-03-03", "note Lin drinks tea")...)
			p := stuck(t, s)
			before := s.dump("leases")
			host, err := os.Hostname()
			if err != nil {
				t.Fatal(err)
			}
			second := s.run("evolve", "--group", "g1", "--json").want(t, 11, "busy", fmt.Sprintf("%s:%d", host, p.cmd.Process.Pid))
			if !regexp.MustCompile(`until 20\d\d-\d\d-\d\dT\d\d:\d\d:\d\dZ`).MatchString(second.stderr) {
				t.Errorf("stderr does not say until when: %s", second.stderr)
			}
			if doc := second.document(t); doc["success"] != false || doc["group_id"] != "g1" {
				t.Errorf("the busy reply is %v", doc)
			}
			s.run("evolve", "--all").want(t, 0) // busy groups are skipped
			if diff := cmp.Diff(before, s.dump("leases")); diff != "" {
				t.Errorf("the second run changed something:\n%s", diff)
			}
			s.run("evolve", "--group", "g1", "--dry-run", "--llm", "offline").want(t, 0) // a dry run needs no lease
			p.signal(signal)
			if o := p.end().want(t, 130); o.document(t)["success"] != false {
				t.Errorf("the reply of the interrupted run is %s", o.stdout)
			}
			if got := s.one(`select status, (finished_at is not null)::text, stats->>'deferred' from runs`); got != "deferred|true|1" {
				t.Errorf("the run is %s", got)
			}
			if got := s.pending("g1") + s.one(`select count(*) from leases where expires_at > clock_timestamp()`); got != "10" {
				t.Errorf("pending messages and live leases are %s, want 10", got)
			}
			if got := s.one(`select outcome from llm_calls where provider = 'openai'`); got != "canceled" {
				t.Errorf("the call's outcome is %s", got)
			}
			s.model.Respond(scribe(t))
			s.run("evolve", "--group", "g1").want(t, 0)
		})
	}
}

// TestInterruptedAll: a first signal lets no further group begin, a second one
// ends those under way, and all of it stays pending.
func TestInterruptedAll(t *testing.T) {
	t.Parallel()
	for name, signals := range map[string][]syscall.Signal{"no grace": {syscall.SIGTERM}, "twice": {syscall.SIGINT, syscall.SIGTERM}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newStage(t)
			for _, g := range []string{"g1", "g2", "g3"} {
				s.bring(g, chat("2025-03-03", "note Lin drinks tea")...)
			}
			s.set("REVERIE_JOBS_CONCURRENCY=2", "REVERIE_JOBS_GRACE="+map[bool]string{true: "0s", false: "1h"}[len(signals) == 1])
			asked := make(chan struct{}, 3)
			s.model.Respond(func(llmtest.Request) llmtest.Answer {
				asked <- struct{}{}
				return llmtest.Hang()
			})
			p := s.launch("evolve", "--all")
			await(t, "the first question", asked)
			await(t, "the second question", asked)
			for _, sig := range signals {
				p.signal(sig)
			}
			p.end().want(t, 130, "a second signal stops it at once", "stopped before the rest")
			// The third may have waited for one of the two questions to be answered.
			if got := s.one(`select string_agg(distinct status, ' ') from runs`) + " " + s.one(`select count(*) from llm_calls where outcome = 'canceled'`) +
				s.one(`select count(*) from llm_calls`) + s.one(`select count(*) from messages where run_id is null`); got != "deferred 223" {
				t.Errorf("runs, canceled calls, calls and pending messages are %s, want deferred 223", got)
			}
			if got := s.one(`select count(*) from leases where expires_at > clock_timestamp()`) + s.one(`select count(*) from setbacks`); got != "00" {
				t.Errorf("leases and setbacks are %s, want none", got)
			}
		})
	}
}

// TestExitDatabaseUnreachable keeps the password out of what it says.
func TestExitDatabaseUnreachable(t *testing.T) {
	t.Parallel()
	for url, code := range map[string]int{
		"postgres://u:hunter2@127.0.0.1:1/db?sslmode=disable": 1,
		"postgres://u:hunter2%zz@h/db":                        2,
		"mysql://u:hunter2@h/db":                              2,
	} {
		env := []string{"HOME=" + t.TempDir(), "REVERIE_DATABASE_URL=" + url}
		for _, args := range [][]string{{"runs", "list"}, {"evolve", "--all", "--llm", "offline"}, {"migrate", "up"}, {"doctor"}, {"config"}} {
			o := invoke(t.Context(), env, "", args...)
			if o.code != code && args[0] != "config" {
				t.Errorf("%s: %v: exit code %d, want %d", url, args, o.code, code)
			}
			if strings.Contains(o.stdout+o.stderr, "hunter2") {
				t.Errorf("%v shows the password:\n%s%s", args, o.stdout, o.stderr)
			}
		}
	}
}
