package e2e

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

const others = "../../internal/ingest/memories/testdata/"

// TestImportOthers: what another system remembers becomes memories of a group, with their dates, once however
// often it is imported, and nothing that Reverie would not remember. A page shows them to people.
func TestImportOthers(t *testing.T) {
	s := newStage(t)
	s.run("groups", "add", "g1").want(t, 0)
	own := filepath.Join(t.TempDir(), "g1.jsonl")
	o := s.run("memory", "import", others+"mem0.json", "--group", "g1")
	o.want(t, 1)
	if !strings.Contains(o.stdout, "imported 2 of mem0 4; 0 known already, 1 ended, 1 refused") || !strings.Contains(o.stderr, "results 3") {
		t.Errorf("stdout %s\nstderr %s", o.stdout, o.stderr)
	}
	if strings.Contains(o.stdout+o.stderr, "sk-live-51H8") {
		t.Error("the refused secret is shown")
	}
	if o := s.run("memory", "import", others+"mem0.json", "--group", "g1"); !strings.Contains(o.stdout, "imported 0 of mem0 4; 2 known already") {
		t.Errorf("again: %s", o.stdout)
	}
	if o := s.run("memory", "import", others+"mem0.json", "--group", "g1", "--dry-run"); !strings.Contains(o.stdout, "would import 0 of mem0 4; 2 known already, 1 ended, 1 refused") {
		t.Errorf("compared, and not written: %s", o.stdout)
	}
	if o := s.run("memory", "import", others+"mem0_oss.json", "--group", "g1", "--dry-run").want(t, 0); !strings.Contains(o.stdout, "would import 2 of mem0 3; 0 known already, 1 ended") {
		t.Errorf("what ends later holds: %s", o.stdout)
	}
	s.run("memory", "import", others+"nothing.json", "--group", "g1").want(t, 2, "no memory was found")
	s.run("memory", "import", "memory_import_others_test.go", "--group", "g1").want(t, 2, "no memory was found")
	s.run("memory", "export", "g1", "-o", own).want(t, 0)
	s.run("memory", "import", own, "--group", "g1").want(t, 2, "without, its own")
	s.run("memory", "import", others+"graphiti.json", "--group", "g1", "--dry-run").want(t, 0)
	s.run("memory", "import", others+"graphiti.json", "--group", "g1").want(t, 0)
	s.run("memory", "import", others+"list.md", "--group", "g1").want(t, 0)
	folder := t.TempDir()
	for from, to := range map[string]string{"chatgpt_memory.json": "memory.json", "chatgpt_conversations.json": "conversations.json"} {
		text, err := os.ReadFile(others + from)
		if err == nil {
			err = os.WriteFile(filepath.Join(folder, to), text, 0o600)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	s.run("memory", "import", folder, "--group", "g1").want(t, 0)
	list := s.run("memory", "list", "g1", "--json").want(t, 0).stdout
	for _, want := range []string{"alice: Plays tennis on Mondays", `"said_at": "2025-03-05T17:00:00Z"`, `"strength": 0.3`, `"origin": "model"`,
		`"sports"`, "Lin works at the harbour office", `"said_at": "2025-02-01T00:00:00Z"`, "用户喜欢喝茶", "Never eats fish.", "Is learning Portuguese"} {
		if !strings.Contains(list, want) {
			t.Errorf("%s is missing in %s", want, list)
		}
	}
	if strings.Contains(list, "Genoa") || strings.Contains(list, "Rome") || strings.Contains(list, "Oslo") {
		t.Errorf("what has ended is remembered: %s", list)
	}
	s.run("audit").want(t, 0)
	page := s.run("memory", "export", "g1", "--format", "markdown").want(t, 0).stdout
	if !strings.Contains(page, "## Facts\n\n") || !strings.Contains(page, "- Alice is allergic to nuts (2025-03-04, said once)\n") {
		t.Errorf("the page: %s", page)
	}
	if o := s.run("memory", "import", others+"mem0.json").want(t, 2); !strings.Contains(o.stderr, "--group") {
		t.Errorf("without a group: %s", o.stderr)
	}
	if o := s.run("memory", "import", "memory_import_others_test.go", "--group", "none"); !strings.Contains(o.stderr, "groups add") {
		t.Errorf("no group: %s", o.stderr)
	}
}
