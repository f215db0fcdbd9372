package e2e

import (
	"bytes"
	"encoding/base64"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
	collector "go.opentelemetry.io/proto/otlp/collector/trace/v1"
	otlp "go.opentelemetry.io/proto/otlp/trace/v1"
	"google.golang.org/protobuf/proto"

	"reverie/cmd/reverie/command"
	"reverie/internal/llm/llmtest"
)

// watcherSecrets are keys that only their own servers may see.
var watcherSecrets = []string{"sk-lf-5ecret5ecret", "otlp-5ecret5ecret", "5entry5ecret"}

// keepsSecrets fails the test where one of the keys was said or stored.
func (s *stage) keepsSecrets(said ...outcome) {
	s.t.Helper()
	rows := s.dump()
	for _, secret := range watcherSecrets {
		for _, o := range said {
			if strings.Contains(o.stdout+o.stderr, secret) {
				s.t.Errorf("reverie %s shows %s:\n%s%s", strings.Join(o.args, " "), secret, o.stdout, o.stderr)
			}
		}
		if slices.ContainsFunc(rows, func(row string) bool { return strings.Contains(row, secret) }) {
			s.t.Errorf("%s is stored", secret)
		}
	}
}

// post is what a server was sent.
type post struct {
	path   string
	header http.Header
	body   []byte
}

// mailbox is a server that takes whatever it is sent.
type mailbox struct {
	*httptest.Server
	mu    sync.Mutex
	posts []post
}

func newMailbox(t *testing.T) *mailbox {
	t.Helper()
	m := &mailbox{}
	m.Server = httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err != nil {
			t.Error(err)
		}
		m.mu.Lock()
		defer m.mu.Unlock()
		m.posts = append(m.posts, post{r.URL.Path, r.Header, body})
	}))
	t.Cleanup(m.Close)
	return m
}

func (m *mailbox) received() []post {
	m.mu.Lock()
	defer m.mu.Unlock()
	return slices.Clone(m.posts)
}

// TestTraces: the spans of one run arrive before the command ends, as one trace,
// and name the prompt and the call as OpenTelemetry does.
func TestTraces(t *testing.T) {
	t.Parallel()
	s := dueStage(t)
	box := newMailbox(t)
	s.set("REVERIE_TRACES_ENDPOINT="+box.URL, "REVERIE_TRACES_HEADERS=Authorization=Basic "+watcherSecrets[1])
	s.bring("g1", chat(night(3), "note Lin drinks tea")...)
	o := s.run("evolve", "--group", "g1").want(t, 0).silent(t)
	if strings.Contains(o.stdout, "trace") {
		t.Errorf("stdout is %s", o.stdout)
	}
	attributes, names, traces := map[string]string{}, []string{}, map[string]bool{}
	for _, p := range box.received() {
		if p.path != "/v1/traces" || p.header.Get("Authorization") != "Basic "+watcherSecrets[1] {
			t.Errorf("it was sent to %s with %v", p.path, p.header)
		}
		var export collector.ExportTraceServiceRequest
		if err := proto.Unmarshal(p.body, &export); err != nil {
			t.Fatal(err)
		}
		for _, span := range spansOf(&export) {
			names = append(names, span.Name)
			traces[string(span.TraceId)] = true
			for _, a := range span.Attributes {
				if v := a.Value.GetStringValue(); v != "" {
					attributes[span.Name+" "+a.Key] = v
				} else {
					attributes[span.Name+" "+a.Key] = fmt.Sprint(a.Value.GetIntValue())
				}
			}
		}
		if bytes.Contains(p.body, []byte("drinks tea")) {
			t.Error("what people said is in the traces")
		}
	}
	slices.Sort(names)
	want := []string{"apply", "chat gpt-5-mini", "decide", "embeddings offline-ngram-v1", "gather", "gather", "propose", "run evolve"}
	if diff := cmp.Diff(slices.Compact(want), slices.Compact(names)); diff != "" || len(traces) != 1 {
		t.Errorf("%d traces; spans (-want +got):\n%s", len(traces), diff)
	}
	for name, want := range map[string]string{
		"chat gpt-5-mini gen_ai.operation.name":      "chat",
		"chat gpt-5-mini gen_ai.provider.name":       "openai",
		"chat gpt-5-mini gen_ai.request.model":       "gpt-5-mini",
		"chat gpt-5-mini gen_ai.usage.input_tokens":  "100",
		"chat gpt-5-mini gen_ai.usage.output_tokens": "20",
		"chat gpt-5-mini gen_ai.prompt.name":         "memory_evolve.en",
		"run evolve reverie.group_id":                "g1",
		"run evolve reverie.run_id":                  s.one(`select run_id from runs`),
		"run evolve reverie.run.status":              "succeeded",
		"run evolve langfuse.session.id":             "g1",
	} {
		if attributes[name] != want {
			t.Errorf("%s is %q, want %q", name, attributes[name], want)
		}
	}
	s.keepsSecrets(o, s.run("config"), s.run("config", "--json"), s.run("doctor"))
	if t.Failed() {
		t.Log(attributes)
	}
	// Nobody takes them: a warning, and no failure.
	box.Close()
	s.bring("g1", chat(night(4), "note Mia hosts the game nights")...)
	s.keepsSecrets(s.run("evolve", "--group", "g1").want(t, 0, "traces"))
}

func spansOf(export *collector.ExportTraceServiceRequest) []*otlp.Span {
	var all []*otlp.Span
	for _, r := range export.ResourceSpans {
		for _, scope := range r.ScopeSpans {
			all = append(all, scope.Spans...)
		}
	}
	return all
}

// TestSentryHears of failed runs, and of nothing that passes by itself.
func TestSentryHears(t *testing.T) {
	t.Parallel()
	s := dueStage(t)
	box := newMailbox(t)
	s.set("REVERIE_SENTRY_DSN="+strings.Replace(box.URL, "://", "://"+watcherSecrets[2]+"@", 1)+"/42", "REVERIE_SENTRY_ENVIRONMENT=staging")
	for _, text := range []string{"fails", "overloaded", "note well"} {
		s.bring(strings.Fields(text + " x")[0], chat(night(3), text)...)
	}
	answer := scribe(t)
	s.model.Respond(func(r llmtest.Request) llmtest.Answer {
		switch {
		case strings.Contains(r.User, `"fails"`):
			return llmtest.Prose()
		case strings.Contains(r.User, `"overloaded"`):
			return llmtest.Failure(503, "come back later")
		}
		return answer(r)
	})
	o := s.run("evolve", "--due").want(t, 3, `group "fails" failed`, `group "overloaded" deferred`)
	var events []string
	for _, p := range box.received() {
		if p.path != "/api/42/envelope/" {
			t.Errorf("it was sent to %s", p.path)
		}
		if bytes.Contains(p.body, []byte(`"type":"event"`)) {
			events = append(events, string(p.body))
		}
	}
	if len(events) != 1 {
		t.Fatalf("%d events, want one:\n%s", len(events), strings.Join(events, "\n"))
	}
	for _, want := range []string{`"release":"reverie@` + command.Version + `"`, `"environment":"staging"`, `"group_id":"fails"`, `"job":"evolve"`,
		`"run_id":"` + s.one(`select run_id from runs where status = 'failed'`) + `"`, "unusable_answer"} {
		if !strings.Contains(events[0], want) {
			t.Errorf("the event lacks %s:\n%s", want, events[0])
		}
	}
	s.keepsSecrets(o, s.run("config"), s.run("doctor"))
}

// TestLangfusePrompt is used, and pinned on the run; when the server is gone the
// built-in text is, with a warning.
func TestLangfusePrompt(t *testing.T) {
	t.Parallel()
	s := dueStage(t)
	const text = "You keep what matters. At most {{max_creates}} new ones. Keys: `action`, `old_id`, `statement`, `evidence`, `quote`."
	asked := make(chan string, 20)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		user, password, _ := r.BasicAuth()
		asked <- fmt.Sprintf("%s %s %s", r.URL.RequestURI(), user, password)
		if !strings.HasSuffix(r.URL.Path, "/memory_evolve.en") {
			http.NotFound(w, r)
			return
		}
		fmt.Fprintf(w, `{"name":"memory_evolve.en","version":7,"type":"text","prompt":%q,"labels":["production"]}`, text)
	}))
	t.Cleanup(server.Close)
	s.set("REVERIE_PROMPTS_LANGFUSE_BASE_URL="+server.URL, "REVERIE_PROMPTS_LANGFUSE_PUBLIC_KEY=pk-lf-1", "REVERIE_PROMPTS_LANGFUSE_SECRET_KEY="+watcherSecrets[0])
	s.bring("g1", chat(night(3), "note Lin drinks tea")...)
	s.bring("g2", chat(night(3), "note Mia hosts the game nights")...)
	first := s.run("evolve", "--due").want(t, 0, "memory_evolve.zh", "404")
	var got, want []string
	for _, name := range []string{"dream", "impression_observe", "memory_ask", "memory_compare", "memory_evolve", "session_extract", "session_summarize"} {
		for _, language := range []string{"en", "zh"} {
			got = append(got, await(t, "a question to Langfuse", asked))
			want = append(want, fmt.Sprintf("/api/public/v2/prompts/%s.%s?label=production pk-lf-1 %s", name, language, watcherSecrets[0]))
		}
	}
	slices.Sort(got)
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("what Langfuse was asked for (-want +got):\n%s", diff)
	}
	if len(asked) > 0 {
		t.Errorf("Langfuse was asked more than once for each prompt: %s", <-asked)
	}
	if strings.Contains(first.stderr, "memory_compare") || strings.Contains(first.stderr, "impression_observe") {
		t.Errorf("prompts that nobody keeps there are missed:\n%s", first.stderr)
	}
	if q := s.questions()[0]; !strings.HasPrefix(q.System, "You keep what matters. At most 20 new ones.") {
		t.Errorf("the model was given %q", q.System)
	}
	sum := s.one(`select encode(sha256($1::bytea), 'hex')`, text)
	if got := s.rows(`select distinct prompt_version, prompt_sha256 from runs`); len(got) != 1 || got[0] != "langfuse:7|"+sum {
		t.Errorf("pinned are %v, want version 7 and %s", got, sum)
	}
	server.Close()
	s.bring("g1", chat(night(4), "note Bo takes the minutes")...)
	second := s.run("evolve", "--group", "g1").want(t, 0, "prompt from Langfuse not used", "memory_evolve.en", "could not be asked")
	if got := s.one(`select prompt_version like 'langfuse%' from runs order by started_at desc limit 1`); got != "false" {
		t.Error("the last run claims a prompt from Langfuse")
	}
	s.keepsSecrets(first, second, s.run("config"), s.run("config", "--json"), s.run("runs", "list", "--json"))
	if encoded := base64.StdEncoding.EncodeToString([]byte("pk-lf-1:" + watcherSecrets[0])); strings.Contains(first.stderr+second.stderr, encoded) {
		t.Error("the log shows the keys in base64")
	}
}
