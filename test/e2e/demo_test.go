package e2e

import (
	"bytes"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"slices"
	"strings"
	"testing"

	"reverie/internal/llm"
	"reverie/internal/llm/llmtest"
	"reverie/internal/llm/recorded"
)

// The demo, from this folder.
const (
	demoScript  = "../../test/halfframe/play.sh"
	demoAnswers = "../../test/halfframe/answers.jsonl"
)

// demo runs the demo's script with this test's binary, and returns what it prints.
func (s *stage) demo(env ...string) string {
	s.t.Helper()
	self, err := os.Executable()
	if err != nil {
		s.t.Fatal(err)
	}
	cmd := exec.Command("bash", demoScript)
	cmd.Env = slices.Concat(s.env, []string{"REVERIE=" + self, envMain + "=1", "GORACE=atexit_sleep_ms=0"}, env)
	if testing.CoverMode() != "" {
		cmd.Env = append(cmd.Env, "GOCOVERDIR="+os.TempDir())
	}
	var errs bytes.Buffer
	cmd.Stderr = &errs
	out, err := cmd.Output()
	if err != nil || errs.Len() > 0 {
		s.t.Fatalf("the demo fails: %v\n%s\n%s", err, errs.String(), out)
	}
	return string(out)
}

// TestDemo runs the demo twice: the recording answers all questions of the first run,
// and the second one asks none.
//
// With REVERIE_TEST_UPDATE=1 the recording is written anew, for questions that read
// otherwise than before: the answers stay, in their order.
func TestDemo(t *testing.T) {
	t.Parallel()
	if os.Getenv("REVERIE_TEST_UPDATE") != "" {
		recordDemo(t)
	}
	s := newStage(t)
	s.set("REVERIE_LLM_BASE_URL=")
	out := s.demo()
	for _, words := range []string{"are recorded", "\n3. What the group remembers", "暗房钥匙", "Tomas is allergic to peanuts", "\n9. Looking back", "Themes"} {
		if !strings.Contains(out, words) {
			t.Errorf("the demo lacks %q:\n%s", words, out)
		}
	}
	if strings.Contains(out, "held") {
		t.Errorf("a plan of the demo is held:\n%s", out)
	}
	const calls = `select count(*) from llm_calls`
	before := s.one(calls)
	if out := s.demo(); !strings.Contains(out, "Every message was consumed by an earlier run") || !strings.Contains(out, "dreamt") {
		t.Errorf("the second demo says\n%s", out)
	}
	if after := s.one(calls); after != before {
		t.Errorf("%s calls after the second demo, %s before", after, before)
	}
	s.run("memory", "list", "--group", "demo", "--json").want(t, 0)
	s.run("audit").want(t, 0)
	s.wantChatsTime(t)
	s.wantAnswers(t)
}

// wantAnswers asks the demo's group plain questions with defaults: no search finds nothing, and
// the command line finds what HTTP does.
func (s *stage) wantAnswers(t *testing.T) {
	t.Helper()
	s.set("REVERIE_LLM_BASE_URL=")
	_, base := s.serve(nil, "serve")
	for _, question := range []string{"Where can I pick up the key of the darkroom?", "What can Tomas not eat?",
		"When do we have our weekly meeting?", "Which city does Maya live in?", "how much does it cost to print the zine",
		"谁对花生过敏", "暗房的钥匙在哪里拿", "我们什么时候开周会", "周四晚上有什么活动", "拍照用什么胶卷",
		"暗房钥匙在哪", "peanut snacks at meetups", "周会", "submission deadline"} {
		line := pairs(s.run("memory", "search", "--group", "demo", "--json", question).want(t, 0).silent(t).document(t)["results"].(list))
		reply, err := search(t.Context(), base, "demo", question, nil)
		var byHTTP []string
		for _, r := range reply.Results {
			byHTTP = append(byHTTP, fmt.Sprint(r.MemoryID, r.Score, r.Related))
		}
		if err != nil || len(line) == 0 || !slices.Equal(line, byHTTP) {
			t.Errorf("%s: the command line finds %q, HTTP %q, %v", question, line, byHTTP, err)
		}
	}
}

// wantChatsTime reads the demo's chat, which is evolved today, at dates of its own.
func (s *stage) wantChatsTime(t *testing.T) {
	t.Helper()
	told := func(args ...string) map[string]bool {
		page := s.run(append([]string{"memory", "list", "--group", "demo", "--kind", "group", "--limit", "200", "--json"}, args...)...).want(t, 0).document(t)
		said := map[string]bool{}
		for _, m := range page["memories"].(list) {
			said[m.(object)["statement"].(string)] = true
		}
		return said
	}
	before := told("--at", "2026-01-05")
	early, late, now := told("--at", "2026-01-12"), told("--at", "2026-02-11"), told()
	if len(before) > 0 || len(early) == 0 || len(late) <= len(early) || !maps.Equal(late, now) {
		t.Errorf("of the chat's dates: %d, %d, %d, now %d", len(before), len(early), len(late), len(now))
	}
	if then := told("--recorded-at", "2026-02-09"); len(then) > 0 {
		t.Errorf("%d were written before the chat was imported", len(then))
	}
	d := s.run("memory", "diff", "--group", "demo", "--kind", "group", "--from", "2026-01-12", "--to", "2026-02-11", "--json").want(t, 0).document(t)
	for _, part := range []string{"added", "changed", "gone"} {
		for _, e := range d[part].(list) {
			if v, ok := e.(object)["before"].(object); ok {
				if !early[v["statement"].(string)] {
					t.Errorf("%s %v had not been said", part, v["statement"])
				}
				delete(early, v["statement"].(string))
			}
			if v, ok := e.(object)["after"].(object); ok {
				early[v["statement"].(string)] = true
			}
		}
	}
	if !maps.Equal(early, late) || len(d["added"].(list)) == 0 || len(d["changed"].(list)) == 0 {
		t.Errorf("the difference makes %v of the one date, and there is %v at the other", early, late)
	}
	found := s.run("memory", "search", "--group", "demo", "--kind", "group", "--at", "2026-01-06", "--limit", "200", "--json", "例会").want(t, 0).document(t)
	for _, hit := range found["results"].(list) {
		if statement := hit.(object)["statement"].(string); !told("--at", "2026-01-06")[statement] {
			t.Errorf("found of 2026-01-06: %s", statement)
		}
	}
	for _, args := range [][]string{{"memory", "list", "--group", "demo"}, {"memory", "search", "x", "--group", "demo"},
		{"context", "--group", "demo", "--query", "x"}} {
		o := s.run(append(args, "--at", "2026-01-12", "--recorded-at", "2026-01-12")...).want(t, 2)
		if !strings.Contains(o.stderr, "do not go together") {
			t.Errorf("%v: %s", args, o.stderr)
		}
	}
}

// recordDemo has the demo ask a server that plays the recording, and keeps its answers
// under the questions of now.
func recordDemo(t *testing.T) {
	t.Helper()
	answers, err := recorded.Rekey(demoAnswers)
	if err != nil {
		t.Fatal(err)
	}
	s := newStage(t)
	s.model.Respond(func(r llmtest.Request) llmtest.Answer {
		resp, err := answers.Generate(t.Context(), llm.Request{User: r.User})
		if err != nil {
			t.Error(err)
			return llmtest.Failure(400, "no answer is left")
		}
		return llmtest.Text(resp.Text)
	})
	s.demo("DEMO_LLM=openai", "REVERIE_EMBED_PROVIDER=offline", "REVERIE_JOBS_CONCURRENCY=1")
	if err := answers.Save(); err != nil {
		t.Fatal(err)
	}
}
