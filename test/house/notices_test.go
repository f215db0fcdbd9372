package house_test

import (
	"os"
	"os/exec"
	"strings"
	"testing"
)

// TestNotices: the notices name each module of the binary, in its version, and no module
// that go.mod does not have. Those that only other systems need may stand there too.
func TestNotices(t *testing.T) {
	notices, err := os.ReadFile("THIRD_PARTY_NOTICES.txt")
	if err != nil {
		t.Fatal(err)
	}
	named := map[string]bool{}
	for line := range strings.Lines(string(notices)) {
		named[strings.TrimSpace(line)] = true
	}
	list := exec.Command("go", "list", "-deps", "-f", "{{with .Module}}{{if not .Main}}{{.Path}} {{.Version}}{{end}}{{end}}", "./cmd/reverie")
	list.Stderr = os.Stderr
	out, err := list.Output()
	if err != nil {
		t.Fatal(err)
	}
	modules := strings.Fields(strings.ReplaceAll(string(out), " ", "@"))
	if len(modules) < 10 {
		t.Fatalf("go list names %d modules of the binary", len(modules))
	}
	for _, module := range modules {
		if name := strings.ReplaceAll(module, "@", " "); !named[name] {
			t.Errorf("THIRD_PARTY_NOTICES.txt does not name %s: run make notices", name)
		}
	}
	required, err := os.ReadFile("go.mod")
	if err != nil {
		t.Fatal(err)
	}
	for line := range named {
		path, version, ok := strings.Cut(line, " ")
		if ok && strings.HasPrefix(version, "v") && strings.Contains(path, "/") && !strings.Contains(string(required), line) {
			t.Errorf("THIRD_PARTY_NOTICES.txt names %s, which go.mod does not: run make notices", line)
		}
	}
}
