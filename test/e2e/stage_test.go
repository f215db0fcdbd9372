package e2e

import (
	"context"
	"database/sql"
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strings"
	"testing"

	"reverie/cmd/reverie/command"
	"reverie/internal/cli"
	"reverie/internal/llm/llmtest"
	"reverie/store/pgtest"
)

// stage is a world for one end-to-end test: a database of its own, a model
// server that is scripted, and an environment that knows of nothing else.
type stage struct {
	t     *testing.T
	url   string
	model *llmtest.Server
	db    *sql.DB
	home  string
	env   []string
}

// newStage makes a stage whose model is asked once for each answer: what is
// retried, and how patiently, has tests of its own. Its memories do not fade under
// the eyes of a daemon, whose chats are of years ago.
func newStage(t *testing.T) *stage {
	t.Helper()
	s := &stage{t: t, url: pgtest.URL(t), model: llmtest.New(t), home: t.TempDir()}
	s.env = []string{"HOME=" + s.home, "PATH=/usr/local/bin:/usr/bin:/bin", "REVERIE_DATABASE_URL=" + s.url,
		"REVERIE_LLM_BASE_URL=" + s.model.URL("openai"), "REVERIE_LLM_ATTEMPTS=1", "REVERIE_SCHEDULE_EXTRACT=never",
		"REVERIE_SCHEDULE_DREAM=never", "REVERIE_SCHEDULE_MAINTAIN=never"}
	db, err := sql.Open("postgres", s.url)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = db.Close() })
	s.db = db
	return s
}

// set adds to the environment; a later value wins.
func (s *stage) set(env ...string) { s.env = append(s.env, env...) }

// outcome is what an invocation left behind.
type outcome struct {
	args           []string
	code           int
	stdout, stderr string
}

// run is an invocation in this process, without standard input.
func (s *stage) run(args ...string) outcome { return s.feed("", args...) }

// feed is run with standard input.
func (s *stage) feed(stdin string, args ...string) outcome {
	s.t.Helper()
	return invoke(s.t.Context(), s.env, stdin, args...)
}

// wide is how many columns the terminal of an invocation has: enough for every table.
const wide = 200

// run is [command.Run] of an environment and three files.
func run(ctx context.Context, args, env []string, stdin io.Reader, stdout, stderr io.Writer) error {
	return command.Run(ctx, cli.Console{Stdin: stdin, Stdout: stdout, Stderr: stderr, Env: env, Columns: wide}, args...)
}

func invoke(ctx context.Context, env []string, stdin string, args ...string) outcome {
	var out, errs words // the log and what is printed share standard error
	err := run(ctx, args, env, strings.NewReader(stdin), &out, &errs)
	return outcome{args, command.ExitCode(err, ctx.Err() != nil), out.String(), errs.String()}
}

// want fails the test where the exit code is another, or standard error lacks
// one of the words.
func (o outcome) want(t testing.TB, code int, words ...string) outcome {
	t.Helper()
	if o.code != code {
		t.Fatalf("reverie %s: exit code %d, want %d\nstdout: %s\nstderr: %s", strings.Join(o.args, " "), o.code, code, o.stdout, o.stderr)
	}
	for _, w := range words {
		if !strings.Contains(o.stderr, w) {
			t.Errorf("reverie %s: stderr lacks %q:\n%s", strings.Join(o.args, " "), w, o.stderr)
		}
	}
	return o
}

// silent fails the test where anything was said on standard error.
func (o outcome) silent(t *testing.T) outcome {
	t.Helper()
	if o.stderr != "" {
		t.Errorf("reverie %s: stderr is not empty:\n%s", strings.Join(o.args, " "), o.stderr)
	}
	return o
}

// document is standard output as the one JSON document that it must be.
func (o outcome) document(t *testing.T) map[string]any {
	t.Helper()
	dec := json.NewDecoder(strings.NewReader(o.stdout))
	doc := map[string]any{}
	if err := dec.Decode(&doc); err != nil {
		t.Fatalf("reverie %s: stdout is no JSON object: %v\n%s", strings.Join(o.args, " "), err, o.stdout)
	}
	if dec.More() {
		t.Errorf("reverie %s: there is more on stdout than one document:\n%s", strings.Join(o.args, " "), o.stdout)
	}
	return doc
}

// chatLine is a message as an export has it.
type chatLine struct {
	ID       string `json:"id"`
	AuthorID string `json:"author_id,omitempty"`
	Author   string `json:"author"`
	Role     string `json:"role,omitempty"`
	Text     string `json:"text"`
	SentAt   string `json:"sent_at"`

	SessionID string `json:"session_id,omitempty"`
}

// chat numbers texts from 1 on, a minute apart, from 20:00 of a date on in
// Shanghai's evening (12:00 UTC), two people taking turns.
func chat(date string, texts ...string) []chatLine {
	var lines []chatLine
	for i, text := range texts {
		author := []string{"Lin", "Mia"}[i%2]
		lines = append(lines, chatLine{ID: fmt.Sprintf("%s-%d", date, i+1), AuthorID: strings.ToLower(author), Author: author,
			Text: text, SentAt: fmt.Sprintf("%sT20:%02d:00+08:00", date, i)})
	}
	return lines
}

// jsonLines is an export.
func jsonLines(t *testing.T, lines []chatLine) string {
	t.Helper()
	var b strings.Builder
	enc := json.NewEncoder(&b)
	for _, l := range lines {
		if err := enc.Encode(l); err != nil {
			t.Fatal(err)
		}
	}
	return b.String()
}

// bring imports messages.
func (s *stage) bring(group string, lines ...chatLine) {
	s.t.Helper()
	s.feed(jsonLines(s.t, lines), "import", "-", "--group", group, "--time-zone", "Asia/Shanghai").want(s.t, 0)
}

// rows is the result of a query, each row with its columns joined by a bar.
func (s *stage) rows(query string, args ...any) []string {
	s.t.Helper()
	return pgtest.Rows(s.t, s.db, query, args...)
}

// one is the only row of a query.
func (s *stage) one(query string, args ...any) string {
	s.t.Helper()
	rows := s.rows(query, args...)
	if len(rows) != 1 {
		s.t.Fatalf("%s: %d rows, want one: %q", query, len(rows), rows)
	}
	return rows[0]
}

// exec changes the database behind the binary's back.
func (s *stage) exec(query string, args ...any) {
	s.t.Helper()
	if _, err := s.db.ExecContext(s.t.Context(), query, args...); err != nil {
		s.t.Fatalf("%s: %v", query, err)
	}
}

// dump is every row of every table but those named.
func (s *stage) dump(except ...string) []string {
	s.t.Helper()
	var out []string
	for _, table := range s.rows(`select tablename from pg_tables where schemaname = 'public' and tablename <> 'writes' order by 1`) {
		if slices.Contains(except, table) {
			continue
		}
		for _, row := range s.rows(`select t::text from "` + table + `" t order by 1`) {
			out = append(out, table+": "+row)
		}
	}
	return out
}

// questions are what the model was asked, embeddings left out.
func (s *stage) questions() []llmtest.Request {
	var out []llmtest.Request
	for _, r := range s.model.Requests() {
		if !r.Embedding() {
			out = append(out, r)
		}
	}
	return out
}

// active are the statements that the group remembers now.
func (s *stage) active(group string) []string {
	s.t.Helper()
	return s.rows(`select statement from memories where group_id = $1 and status = 'active' order by statement collate "C"`, group)
}

// pending is how many messages wait.
func (s *stage) pending(group string) string {
	s.t.Helper()
	return s.one(`select count(*) from messages where group_id = $1 and run_id is null and outcome is null`, group)
}
