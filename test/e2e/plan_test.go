package e2e

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// A plan is written, read by a person and applied, without a further question; one that was
// edited is refused with exit code 2, one that is stale with exit code 1, and each says what
// to do.
func TestPlanAndApply(t *testing.T) {
	t.Parallel()
	s, _ := held(t, "note The dog is called Rex")
	dir := t.TempDir()
	plan, edited := filepath.Join(dir, "plan.json"), filepath.Join(dir, "edited.json")
	s.bring("g1", chat("2025-03-05", "note 每周六跑步", "change Lin drinks tea => Lin drinks coffee")...)
	s.run("plan", "--group", "g1").want(t, 2)
	shown := s.run("plan", "--group", "g1", "-o", plan).want(t, 0).stdout
	for _, want := range []string{"+ 每周六跑步", "~ Lin drinks [-tea-]{+coffee+}", "nothing was written", "2 steps of g1; `reverie apply " + plan} {
		if !strings.Contains(shown, want) {
			t.Errorf("plan lacks %q:\n%s", want, shown)
		}
	}
	if info, err := os.Stat(plan); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("the file is %v, %v", info, err)
	}
	if diff := cmp.Diff(withRex, s.active("g1")); diff != "" {
		t.Errorf("planning has changed something:\n%s", diff)
	}
	if out := s.run("plan", "--group", "g1", "-o", "-").want(t, 0); !strings.HasPrefix(out.stdout, "{\n  \"reverie\": \"plan\"") || !strings.Contains(out.stderr, "每周六跑步") {
		t.Errorf("to standard output:\n%s\n%s", out.stdout, out.stderr)
	}
	text, err := os.ReadFile(plan)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(edited, []byte(strings.Replace(string(text), `"statement": "每周六跑步"`, `"statement": "每周六早上跑步"`, 1)), 0o600); err != nil {
		t.Fatal(err)
	}
	asked := len(s.questions())
	s.run("apply", edited).want(t, 2, "cannot be edited")
	out := s.run("apply", plan).want(t, 0).stdout
	for _, want := range []string{"+ 每周六跑步", "plan of ", "succeeded"} {
		if !strings.Contains(out, want) {
			t.Errorf("apply lacks %q:\n%s", want, out)
		}
	}
	if out := s.run("apply", plan).want(t, 0).stdout; !strings.Contains(out, "was applied before, as run ") {
		t.Errorf("applied again:\n%s", out)
	}
	if out := s.run("runs", "show", s.one(`select run_id from runs where stats ? 'plan'`)).want(t, 0).stdout; !strings.Contains(out, "as it was planned") {
		t.Errorf("runs show:\n%s", out)
	}
	if len(s.questions()) != asked {
		t.Error("applying has asked")
	}

	s.bring("g1", chat("2025-03-06", "note Rex barks")...)
	doc := s.run("plan", "--group", "g1", "-o", plan, "--json").want(t, 0).document(t)
	if doc["file"] != plan || doc["plan_id"] == "" || len(doc["changes"].(list)) != 1 {
		t.Errorf("plan --json: %v", doc)
	}
	s.run("memory", "delete", s.one(`select memory_id from memories where status = 'active' and statement = 'Bo takes the minutes'`)).want(t, 0)
	before := s.active("g1")
	if out := s.run("apply", plan).want(t, 1).stderr; !strings.Contains(out, "has changed since") || !strings.Contains(out, "`reverie plan --group g1 -o FILE`") {
		t.Errorf("stale:\n%s", out)
	}
	if doc := s.run("apply", plan, "--json").want(t, 1).document(t); doc["success"] != false || !strings.Contains(doc["error"].(string), "has changed since") {
		t.Errorf("stale, in JSON: %v", doc)
	}
	s.run("apply", filepath.Join(dir, "nothing")).want(t, 1)
	if diff := cmp.Diff(before, s.active("g1")); diff != "" {
		t.Errorf("a stale plan has changed something:\n%s", diff)
	}
}
