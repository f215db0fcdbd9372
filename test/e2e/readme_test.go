package e2e

import (
	"archive/zip"
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"reverie/internal/llm/llmtest"
)

// testedElsewhere begins the lines of the README that other tests run: make is what CI begins
// with, TestCompose has the services, and TestInit answers what init asks.
var testedElsewhere = []string{"make ", "docker ", "printf ", "reverie init", "bin/reverie serve"}

// TestReadme runs the commands of both READMEs, as written and in their order, with a model
// and a server of the test.
func TestReadme(t *testing.T) {
	t.Parallel()
	blocks := regexp.MustCompile("(?ms)^```sh\n(.*?)^```")
	for _, name := range []string{"README.md", "README.zh.md"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			page, err := os.ReadFile(filepath.Join("..", "..", name))
			if err != nil {
				t.Fatal(err)
			}
			s := newStage(t)
			s.model.Respond(func(r llmtest.Request) llmtest.Answer {
				if strings.Contains(r.User, `"question"`) {
					return llmtest.Lines(`{"content":"On Saturday.","sources":["m1"]}`)
				}
				return scribe(t)(r)
			})
			_, base := s.serve(nil, "serve")
			var script strings.Builder
			script.WriteString("set -euo pipefail\n")
			ran := 0
			for _, block := range blocks.FindAllStringSubmatch(string(page), -1) {
				for line := range strings.Lines(block[1]) {
					if slices.ContainsFunc(testedElsewhere, func(begins string) bool { return strings.HasPrefix(line, begins) }) {
						continue
					}
					ran++
					line = strings.Replace(line, "bin/reverie ", "reverie ", 1)
					script.WriteString(strings.ReplaceAll(line, "http://127.0.0.1:8470", base))
				}
			}
			if ran < 8 {
				t.Fatalf("%d commands were found", ran)
			}
			dir := t.TempDir()
			self, err := os.Executable()
			if err != nil {
				t.Fatal(err)
			}
			var export bytes.Buffer
			archive := zip.NewWriter(&export)
			if chat, err := archive.Create("_chat.txt"); err != nil {
				t.Fatal(err)
			} else if _, err := chat.Write([]byte("[15.01.26, 20:01:00] Mia: note raid night is Saturday\n[15.01.26, 20:02:00] Bo: fine\n")); err != nil {
				t.Fatal(err)
			}
			if err := archive.Close(); err != nil {
				t.Fatal(err)
			}
			for file, text := range map[string]string{
				"chat.zip":  export.String(),
				"new.jsonl": `{"id":"n1","author":"Lin","text":"hello","sent_at":"2026-01-16T20:01:00Z","session_id":"s1"}` + "\n",
				"reverie":   "#!/bin/sh\nexec env " + envMain + "=1 GORACE=atexit_sleep_ms=0 '" + self + "' \"$@\"\n",
			} {
				if err := os.WriteFile(filepath.Join(dir, file), []byte(text), 0o700); err != nil {
					t.Fatal(err)
				}
			}
			cmd := exec.Command("bash", "-c", script.String())
			cmd.Dir, cmd.Env = dir, append(slices.Clone(s.env), "PATH="+dir+":"+os.Getenv("PATH"))
			if out, err := cmd.CombinedOutput(); err != nil {
				t.Errorf("%v\n%s\n%s", err, script.String(), out)
			}
		})
	}
}
