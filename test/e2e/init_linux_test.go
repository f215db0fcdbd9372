package e2e

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"reverie/internal/llm/llmtest"
)

// newcomer is a stage on which no model is configured, with a folder for a configuration file,
// and a server that knows one key, and lists models as Ollama does.
func newcomer(t *testing.T, models ...string) (s *stage, server string, file string) {
	t.Helper()
	s = newStage(t)
	model := llmtest.New(t, llmtest.WithKey("sk-good"))
	model.Respond(scribe(t))
	s.set("REVERIE_LLM_BASE_URL=")
	to, err := url.Parse(model.URL("anthropic"))
	if err != nil {
		t.Fatal(err)
	}
	mux := http.NewServeMux()
	mux.Handle("/", httputil.NewSingleHostReverseProxy(to))
	mux.HandleFunc("GET /v1/models", func(w http.ResponseWriter, _ *http.Request) {
		var list []object
		for _, name := range models {
			list = append(list, object{"id": name, "object": "model"})
		}
		writeJSON(t, w, object{"object": "list", "data": list})
	})
	mux.HandleFunc("POST /api/show", func(w http.ResponseWriter, r *http.Request) {
		var asked struct{ Model string }
		can := "completion"
		if json.NewDecoder(r.Body).Decode(&asked) == nil && strings.Contains(asked.Model, "embed") {
			can = "embedding"
		}
		writeJSON(t, w, object{"capabilities": []string{can}})
	})
	front := httptest.NewServer(mux)
	t.Cleanup(front.Close)
	return s, front.URL, filepath.Join(t.TempDir(), "reverie.toml")
}

func writeJSON(t *testing.T, w http.ResponseWriter, doc object) {
	w.Header().Set("Content-Type", "application/json")
	if err := json.NewEncoder(w).Encode(doc); err != nil {
		t.Error(err)
	}
}

// contents is a file that only its owner may read.
func contents(t *testing.T, name string) string {
	t.Helper()
	info, err := os.Stat(name)
	if err != nil {
		t.Fatal(err)
	}
	if info.Mode().Perm() != 0o600 {
		t.Errorf("%s has the mode %v", name, info.Mode())
	}
	raw, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	return string(raw)
}

// TestInitAsks: a wrong key is told in the provider's words and asked for again, what is typed
// of keys is not shown, and what is written is all that the first night needs.
func TestInitAsks(t *testing.T) {
	t.Parallel()
	s, server, file := newcomer(t, "big", "small")
	screen := terminalTalk(t, []reply{{question: "Number", answer: "none"}, {question: "Number", answer: "5"},
		{question: "address", answer: server + "/v1"}, {question: "key", answer: "sk-bad", secret: true},
		{question: "Model [big]", answer: "small"}, {question: "Enter where", answer: "sk-good", secret: true},
		{question: "Time zone", answer: "Mars"}, {question: "Time zone", answer: "Asia/Shanghai"},
		{question: "Language", answer: "zh"}}, func(tty *os.File) {
		if err := run(t.Context(), []string{"--config", file, "init"}, s.env, tty, tty, tty); err != nil {
			t.Error(err)
		}
	})
	for _, want := range []string{"The server has: big, small", "HTTP 401): this key is not known", "it answers",
		"must be an IANA time zone", "Search goes by meaning", "the key is in " + strings.TrimSuffix(file, "toml") + "key",
		"Next:\n  reverie --config " + file + " import FILE\n"} {
		if !strings.Contains(screen, want) {
			t.Errorf("the screen lacks %q:\n%s", want, screen)
		}
	}
	if strings.Contains(screen, "sk-") {
		t.Errorf("a key is on the screen:\n%s", screen)
	}
	want := `# Written by ` + "`reverie init`; `reverie config init`" + ` prints every setting.

[llm]
base_url = "` + server + "/v1" + `"
api_key_file = "reverie.key"
model = "small"

[group]
time_zone = "Asia/Shanghai"
language = "zh"
`
	if got := contents(t, file); got != want {
		t.Errorf("written is\n%s", got)
	}
	if key := contents(t, filepath.Join(filepath.Dir(file), "reverie.key")); key != "sk-good\n" {
		t.Errorf("the key is %q", key)
	}
	s.run("--config", file, "doctor").want(t, 0).silent(t).shows(t, "openai/small answers")
	s.feed(jsonLines(t, chat("2025-03-03", "note Lin drinks tea")), "--config", file, "import", "-", "--group", "g1").want(t, 0).silent(t).
		shows(t, "1 night, about 1 call by openai/small, at a price that is not known ([llm] prices):\n  reverie evolve g1\n")
	s.run("--config", file, "evolve", "g1").want(t, 0).shows(t, "+ Lin drinks tea")

	screen = terminalTalk(t, []reply{{question: "Overwrite?", answer: "n"}}, func(tty *os.File) {
		if err := run(t.Context(), []string{"--config", file, "init"}, s.env, tty, tty, tty); err != nil {
			t.Error(err)
		}
	})
	if !strings.HasSuffix(screen, "nothing is changed\n") || contents(t, file) != want {
		t.Errorf("a file that was there: %s", screen)
	}
}

// TestInitYes asks nothing, and says what it lacks.
func TestInitYes(t *testing.T) {
	t.Parallel()
	s, server, file := newcomer(t, "big", "small")
	good, bad := filepath.Join(s.home, "good.key"), filepath.Join(s.home, "bad.key")
	write(t, good, "sk-good\n")
	write(t, bad, "sk-bad\n")
	init := func(args ...string) outcome { return s.run(append([]string{"--config", file, "init"}, args...)...) }
	init("--provider", "gemini").want(t, 2, "there is none: use --yes")
	init("--yes").want(t, 2, "--provider is needed: one of gemini, openai, anthropic, ollama, compatible")
	init("--yes", "--provider", "chatgpt").want(t, 2, `--provider "chatgpt"`)
	init("--yes", "--provider", "gemini").want(t, 2, "--key-file FILE")
	init("--yes", "--provider", "compatible").want(t, 2, "--base-url is needed")
	init("--yes", "--base-url", server+"/v1", "--key-file", good).want(t, 2, "the server has big, small")
	init("--yes", "--base-url", server+"/v1", "--key-file", bad, "--model", "big").want(t, 2, "access was refused (HTTP 401)")
	init("--yes", "--base-url", server+"/v1", "--key-file", good, "--model", "big", "--language", "fr").want(t, 2, "zh, en")
	if _, err := os.Stat(file); err == nil {
		t.Fatal("a file was written without being tried")
	}
	args := []string{"--yes", "--base-url", server + "/v1", "--key-file", good, "--model", "big", "--time-zone", "UTC"}
	init(args...).want(t, 0).silent(t).shows(t, "import FILE")
	if got := contents(t, file); !strings.Contains(got, `api_key_file = "`+good+`"`) || strings.Contains(got, "sk-") {
		t.Errorf("written is\n%s", got)
	}
	init(args...).want(t, 2, "--force overwrites it")
	s.exec(`drop schema public cascade`)
	s.exec(`create schema public`)
	s.fork("REVERIE_LLM_MODEL=other").run(append([]string{"--config", file, "init", "--force"}, args...)...).want(t, 0).
		shows(t, "REVERIE_LLM_MODEL is set in the environment", "They are up to date", "Next:\n  reverie --config "+file+" import FILE\n")
	if o := s.run("migrate", "up").want(t, 0); strings.Contains(o.stdout, "applied") {
		t.Errorf("init has left out\n%s", o.stdout)
	}
	s.fork("REVERIE_DATABASE_URL=postgres://127.0.0.1:1/none").run(append([]string{"--config", file, "init", "--force"}, args...)...).
		want(t, 1, "connection refused")
}

// TestInitMigrates: an empty database gets its tables, if the person agrees.
func TestInitMigrates(t *testing.T) {
	t.Parallel()
	s, server, file := newcomer(t, "big")
	key := filepath.Join(s.home, "good.key")
	write(t, key, "sk-good\n")
	for _, c := range []struct{ answer, next, then string }{
		{"n", "Next:\n  reverie --config " + file + " migrate up\n", "applied 1 "},
		{"y", "They are up to date\n", "schema is at version"},
	} {
		s.exec(`drop schema public cascade`)
		s.exec(`create schema public`)
		screen := terminalTalk(t, []reply{{question: "Bring them up to date?", answer: c.answer}}, func(tty *os.File) {
			if err := run(t.Context(), []string{"--config", file, "init", "--force", "--base-url", server + "/v1", "--key-file", key,
				"--model", "big", "--time-zone", "UTC", "--language", "en"}, s.env, tty, tty, tty); err != nil {
				t.Error(err)
			}
		})
		if !strings.Contains(screen, c.next) {
			t.Errorf("after %q the screen lacks %q:\n%s", c.answer, c.next, screen)
		}
		if o := s.run("migrate", "up").want(t, 0); !strings.HasPrefix(o.stdout, c.then) {
			t.Errorf("after %q there was left\n%s", c.answer, o.stdout)
		}
	}
}

// TestInitProviders: Ollama says which of its models answer, and which make vectors; a
// provider without embeddings leaves search to words; a key of the environment stays there.
func TestInitProviders(t *testing.T) {
	t.Parallel()
	s, server, file := newcomer(t, "nomic-embed-text", "qwen3:8b")
	s.set("REVERIE_LLM_API_KEY=sk-good")
	init := func(args ...string) outcome {
		return s.run(append([]string{"--config", file, "init", "--yes", "--force", "--time-zone", "UTC"}, args...)...)
	}
	init("--provider", "ollama", "--base-url", server+"/v1").want(t, 0).shows(t, "Search goes by meaning, with nomic-embed-text")
	if got := contents(t, file); !strings.Contains(got, "model = \"qwen3:8b\"\n\n[embed]\nmodel = \"nomic-embed-text\"\n") {
		t.Errorf("written is\n%s", got)
	}
	init("--provider", "anthropic", "--base-url", server).want(t, 0).silent(t).
		shows(t, "Key: that of the environment", "Asking claude-haiku-4-5", "Search goes by words")
	got := contents(t, file)
	for _, want := range []string{`provider = "anthropic"`, `model = "claude-haiku-4-5"`, "[embed]\nprovider = \"offline\"\n"} {
		if !strings.Contains(got, want) {
			t.Errorf("written is\n%s", got)
		}
	}
	if strings.Contains(got, "key") {
		t.Errorf("a key, or its file, is in\n%s", got)
	}
	s.run("--config", file, "doctor").want(t, 0).silent(t).shows(t, "anthropic/claude-haiku-4-5 answers")
}
