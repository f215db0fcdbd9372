//go:build torture

package fault

import (
	"os"
	"path/filepath"
	"testing"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func TestName(t *testing.T) {
	for what, want := range map[string]string{
		`save chunk 2 of run 01a1fd26-9b76-702c-b660-420ad461b10d`: "save chunk of run: begun",
		`gather group "a \"b\" 3"`:                                 "gather group: begun",
		`import 200 messages into group "群 7"`:                     "import messages into group: begun",
		`list groups`:                                              "list groups: begun",
	} {
		if got := name(what, Begun); got != want {
			t.Errorf("name(%q) = %q, want %q", what, got, want)
		}
	}
}

func TestRead(t *testing.T) {
	env := func(vars map[string]string) func(string) string {
		return func(name string) string { return vars[name] }
	}
	for _, bad := range []string{"kill", "die:here", "kill:here#0", "stop:here#x"} {
		if _, err := read(env(map[string]string{"REVERIE_FAULT": bad})); err == nil {
			t.Errorf("REVERIE_FAULT=%s is taken", bad)
		}
	}
	path := filepath.Join(t.TempDir(), "trace")
	p, err := read(env(map[string]string{"REVERIE_FAULT": "kill:here: begun#3", "REVERIE_FAULT_TRACE": path, "REVERIE_FAULT_OFF": "fence,lease"}))
	if err != nil {
		t.Fatal(err)
	}
	if p.step != "here: begun" || p.left != 2 || len(p.off) != 2 {
		t.Errorf("the plan is %+v", p)
	}
	p.reach("here: begun")
	p.reach("there: done")
	if raw, err := os.ReadFile(path); err != nil || string(raw) != "here: begun\nthere: done\n" {
		t.Errorf("the trace is %q, %v", raw, err)
	}
}
