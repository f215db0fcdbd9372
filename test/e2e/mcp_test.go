package e2e

import (
	"context"
	"maps"
	"os"
	"os/exec"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"reverie/internal/config"
)

// agent is a client of reverie mcp in a process of its own.
type agent struct {
	*mcp.ClientSession
	t   *testing.T
	log *words
}

func (s *stage) agent(env []string, args ...string) *agent {
	s.t.Helper()
	self, err := os.Executable()
	if err != nil {
		s.t.Fatal(err)
	}
	cmd := exec.Command(self, append([]string{"mcp"}, args...)...)
	cmd.Env = append(slices.Clone(s.env), append(env, envMain+"=1", "GORACE=atexit_sleep_ms=0")...)
	cmd.Dir = s.t.TempDir()
	a := &agent{t: s.t, log: &words{}}
	cmd.Stderr = a.log
	client := mcp.NewClient(&mcp.Implementation{Name: "test", Version: "1"}, nil)
	if a.ClientSession, err = client.Connect(s.t.Context(), &mcp.CommandTransport{Command: cmd}, nil); err != nil {
		s.t.Fatalf("%v\n%s", err, a.log)
	}
	s.t.Cleanup(func() { _ = a.Close() })
	return a
}

// call calls a tool and returns what it says; failed tells that it could not.
func (a *agent) call(tool string, args object) (text string, out object, failed bool) {
	a.t.Helper()
	r, err := a.CallTool(context.Background(), &mcp.CallToolParams{Name: tool, Arguments: args})
	if err != nil {
		a.t.Fatalf("%s: %v\n%s", tool, err, a.log)
	}
	out, _ = r.StructuredContent.(map[string]any)
	return r.Content[0].(*mcp.TextContent).Text, out, r.IsError
}

// groups are those that the agent sees.
func (a *agent) groups() []string {
	a.t.Helper()
	_, out, _ := a.call("list_groups", nil)
	var ids []string
	for _, g := range out["groups"].(list) {
		ids = append(ids, g.(map[string]any)["group_id"].(string))
	}
	return ids
}

// TestMCP: an agent reads over standard input and output what it may, and what it
// proposes waits for a person.
func TestMCP(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	const mine = "a/b%2F 群"
	s.set("REVERIE_EMBED_PROVIDER=offline")
	s.model.Respond(scribe(t))
	s.bring(mine, chat("2025-03-03", "note Lin drinks tea", "note the group meets on Fridays")...)
	s.bring("other", chat("2025-03-03", "note the others keep bees")...)
	s.run("evolve", "--group", mine).want(t, 0)
	s.run("evolve", "--group", "other").want(t, 0)
	a := s.agent(nil, "--write", "--group", mine)
	if diff := cmp.Diff([]string{mine}, a.groups()); diff != "" {
		t.Error(diff)
	}
	if text, _, failed := a.call("get_group_context", object{"group_id": mine, "query": "when does the group meet?"}); failed || !strings.Contains(text, "the group meets on Fridays") {
		t.Errorf("the context is %s", text)
	}
	if text, _, failed := a.call("get_dream", object{"group_id": "other"}); !failed {
		t.Errorf("another group's dream is %s", text)
	}
	head := s.head("Lin drinks tea")
	_, update, failed := a.call("propose_memory", object{"memory_id": head, "statement": "Lin drinks green tea", "reason": "said so",
		"evidence": list{object{"message_id": "2025-03-03-1", "quote": "Lin drinks tea"}}})
	if failed {
		t.Fatal(update)
	}
	_, forget, _ := a.call("forget_memory", object{"memory_id": s.head("the group meets on Fridays"), "reason": "over"})
	run := update["run_id"].(string)
	if o := s.run("runs", "list", "--job", "propose", "--status", "held", "--group", mine).want(t, 0); strings.Count(o.stdout, "held, 1 line  ?1") != 2 {
		t.Errorf("runs list says\n%s", o.stdout)
	}
	shown := s.run("runs", "show", run).want(t, 0).stdout
	for _, word := range []string{"proposed by reverie mcp", "said so", "{+green +}tea", "runs approve " + run, "0 deleted, 1 held"} {
		if !strings.Contains(shown, word) {
			t.Errorf("runs show lacks %q:\n%s", word, shown)
		}
	}
	if due := s.run("evolve", "--group", mine).want(t, 0).stdout; !strings.Contains(due, "no new messages") {
		t.Errorf("proposals made the group due: %s", due)
	}
	s.run("runs", "approve", run).want(t, 0)
	s.run("runs", "approve", run).want(t, 1, "has nothing pending review")
	s.run("runs", "reject", forget["run_id"].(string)).want(t, 0)
	if diff := cmp.Diff([]string{"Lin drinks green tea", "the group meets on Fridays"}, s.active(mine)); diff != "" {
		t.Error(diff)
	}
	if o := s.run("memory", "why", s.head("Lin drinks green tea")).want(t, 0); !strings.Contains(o.stdout, "propose") || !strings.Contains(o.stdout, "2025-03-03") {
		t.Errorf("memory why says\n%s", o.stdout)
	}
	if err := a.Close(); err != nil || a.log.String() != "" {
		t.Errorf("%v\n%s", err, a.log)
	}
	// What waits, and was decided, goes along with the group.
	export := s.run("memory", "export", "--group", mine).want(t, 0).stdout
	s.feed(export, "memory", "import", "-").want(t, 0)
	if n := strings.Count(export, `"job":"propose"`); n != 2 {
		t.Errorf("the export has %d runs of proposals", n)
	}
}

// TestMCPToken: an agent with a token may do what that may, as long as it is good.
func TestMCPToken(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	s.run("groups", "add", "g1").want(t, 0)
	s.run("groups", "add", "g2").want(t, 0)
	made := s.run("token", "create", "--group", "g1", "--scope", "read", "--name", "editor", "--json").want(t, 0).document(t)
	token, env := made["token"].(string), []string{config.EnvToken + "=" + made["token"].(string)}
	a := s.agent(env, "--write")
	if said := a.log.String(); strings.Contains(said, "no effect") {
		t.Errorf("what names the token is taken for no setting: %s", said)
	}
	if diff := cmp.Diff([]string{"g1"}, a.groups()); diff != "" {
		t.Error(diff)
	}
	if text, _, failed := a.call("propose_memory", object{"group_id": "g1", "statement": "likes tea", "reason": "why"}); !failed || !strings.Contains(text, "scope write") {
		t.Error(text)
	}
	s.run("mcp", "--token", token, "--group", "g2").want(t, 1, "not found") // it confines, and does not widen
	everywhere := s.run("token", "create", "--all-groups", "--json").want(t, 0).document(t)["token"].(string)
	if diff := cmp.Diff([]string{"g2"}, s.agent(nil, "--token", everywhere, "--group", "g2").groups()); diff != "" {
		t.Error(diff)
	}
	s.run("token", "revoke", made["token_id"].(string)).want(t, 0)
	if text, _, failed := a.call("list_groups", nil); !failed || !strings.Contains(text, "token") || strings.Contains(text, "g1") {
		t.Error(text)
	}
	o := s.run("mcp", "--token", token).want(t, 1, "reverie token list")
	for _, said := range slices.Collect(maps.Values(map[string]string{"stderr": o.stderr, "stdout": o.stdout, "log": a.log.String()})) {
		if strings.Contains(said, token) {
			t.Errorf("the token stands in %s", said)
		}
	}
	s.run("mcp", "--group", "nobody").want(t, 1, "not found")
	if o := s.run("mcp", "--group", "g1").want(t, 0); o.stdout != "" { // nobody is there
		t.Errorf("stdout is %q", o.stdout)
	}
	if o := s.feed("this is no protocol\n", "mcp", "--group", "g1"); o.code == 0 && o.stdout != "" {
		t.Errorf("%d, stdout is %q, stderr %q", o.code, o.stdout, o.stderr)
	}
}
