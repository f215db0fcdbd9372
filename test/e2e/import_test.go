package e2e

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// imported makes sure that JSON Lines went into g1, and what was counted of them.
func (o outcome) imported(t *testing.T, records, fresh, known, filtered, bad float64) {
	t.Helper()
	doc := o.document(t)
	got := []any{doc["success"], doc["formats"], doc["records"], doc["new"], doc["known"], doc["bad"]}
	if diff := cmp.Diff([]any{bad == 0, []any{"jsonl"}, records, fresh, known, bad}, got); diff != "" {
		t.Errorf("reverie %s (-want +got):\n%s", strings.Join(o.args, " "), diff)
	}
	groups := doc["groups"].([]any)
	g := groups[0].(object)
	sum := 0.0
	for _, n := range g["filtered"].(object) {
		sum += n.(float64)
	}
	if len(groups) != 1 || g["group_id"] != "g1" || g["records"] != records-bad || sum != filtered {
		t.Errorf("groups are %v, want g1 with %v records, of which %v are filtered", groups, records-bad, filtered)
	}
}

func TestImportTwice(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	file := filepath.Join(t.TempDir(), "chat.jsonl")
	lines := chat("2025-03-03", "one", "two", "三")
	write(t, file, "\ufeff"+strings.ReplaceAll(jsonLines(t, lines), "\n", "\r\n")+"\n\n")
	s.run("import", file, "--group", "g1", "--json").want(t, 0).silent(t).imported(t, 3, 3, 0, 0, 0)
	before := s.dump()
	s.run("import", file, "--group", "g1", "--json").want(t, 0).silent(t).imported(t, 3, 0, 3, 0, 0)
	if diff := cmp.Diff(before, s.dump()); diff != "" {
		t.Errorf("the second import changed something:\n%s", diff)
	}
	lines[0].Text = "one, edited since" // an id that is stored stays as it was
	s.feed(jsonLines(t, append(lines, chatLine{ID: "new", Author: "Bo", Text: "four", SentAt: "2025-03-03T12:04:00.123456789Z"})),
		"import", "-", "--group", "g1", "--json").want(t, 0).imported(t, 4, 1, 3, 0, 0)
	o := s.feed(jsonLines(t, lines), "import", "-", "--group", "g1").want(t, 0)
	if !strings.Contains(o.stdout, "3 known already (1 with another text now, left as they were)") {
		t.Errorf("stdout is %q", o.stdout)
	}
	want := []string{"one|user|lin", "two|user|mia", "三|user|lin", "four|user|Bo"}
	if diff := cmp.Diff(want, s.rows(`select text, role, author_id from messages order by sent_at`)); diff != "" {
		t.Error(diff)
	}
	if o := s.run("import", file, "--group", "g1").want(t, 0); !strings.HasPrefix(o.stdout, "g1: 3 records, 0 new, 3 known already, 0 filtered, 0 bad, 2025-03-03 to 2025-03-03\n") {
		t.Errorf("stdout is %q", o.stdout)
	}
	s.run("import", file, "--group", "g1", "--time-zone", "Europe/Paris").want(t, 0, "warning", "Europe/Paris")
}

// badLine is a line of an export and what is said of it: nothing of a good one.
type badLine struct{ line, bad string }

// badLines are lines, good ones too, in order. They are made where they are asked
// for: long ones are among them, and each process would make them as it starts.
var badLines = sync.OnceValue(func() []badLine {
	return []badLine{
		{`{"id":"1","author":"Lin","text":"fine","sent_at":"2025-03-03T12:00:00Z"}`, ""},
		{`{"id":"2","author":"Lin","text":"no time"}`, "sent_at is missing"},
		{`{"id":"3","author":"Lin","text":"bad time","sent_at":"yesterday"}`, `"yesterday"`},
		{`not json`, "not a message in JSON"},
		{`{"id":"4","author":"Lin","text":"cut`, "not a message in JSON"},
		{`[]`, "a JSON array, not an object"},
		{`{"author":"Lin","text":"no id","sent_at":"2025-03-03T12:00:00Z"}`, "id is missing"},
		{`{"id":"5","text":"no author","sent_at":"2025-03-03T12:00:00Z"}`, "author"},
		{`{"id":"6","author":"Lin","sent_at":"2025-03-03T12:00:00Z"}`, "text is missing"},
		{`{"id":"7","author":"Lin","role":"god","text":"x","sent_at":"2025-03-03T12:00:00Z"}`, `role "god"`},
		{`{"id":"8","author":"Lin","text":"a\u0000b","sent_at":"2025-03-03T12:00:00Z"}`, "NUL"},
		{`{"id":9,"author_id":42,"author":"Lin","text":"numbers as ids","sent_at":"2025-03-03T12:00:09Z","reply_to":1}`, ""},
		{`{"id":"10","author":"Lin","text":"","sent_at":"2025-03-03T12:00:10Z"}`, ""},
		{`{"id":"11","author":"Lin","text":"` + strings.Repeat("x", 1<<20) + `y","sent_at":"2025-03-03T12:00:00Z"}`, "longer than"},
		{`{"id":"12","author":"Lin","text":"` + strings.Repeat("x", 5<<20) + `","sent_at":"2025-03-03T12:00:00Z"}`, "longer than"},
		{`{"id":"` + strings.Repeat("i", 600) + `","author":"Lin","text":"x","sent_at":"2025-03-03T12:00:00Z"}`, "id is longer"},
		{"{\"id\":\"13\",\"author\":\"Lin\",\"text\":\"\x1b[31mred\",\"sent_at\":\"2025-03-03T12:00:00Z\"}", "not a message in JSON"},
		{`{"id":{"x":"` + "\u009b31m" + `"},"author":"Lin","text":"x","sent_at":"2025-03-03T12:00:00Z"}`, "neither a string nor a number"},
		{`{"id":"15","author":"Lin","text":{"html":"x"},"sent_at":"2025-03-03T12:00:00Z"}`, "text is a JSON object"},
		{`{"id":"14","author":"Lin","text":"last, without a line break","sent_at":"2025-03-03T12:00:14Z"}`, ""},
	}
})

func TestImportBadLines(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	var all, want []string
	for i, l := range badLines() {
		all = append(all, l.line)
		if l.bad != "" {
			want = append(want, fmt.Sprintf("line %d: ", i+1)+l.bad)
		}
	}
	o := s.feed(strings.Join(all, "\n"), "import", "-", "--group", "g1", "--json").want(t, 1, "import again")
	said := strings.Split(o.stderr, "\n")
	for i, w := range want {
		prefix, words, _ := strings.Cut(w, ": ")
		if !strings.HasPrefix(said[i], prefix+": ") || !strings.Contains(said[i], words) {
			t.Errorf("stderr line %d is %q, want %q", i+1, said[i], w)
		}
	}
	if strings.ContainsAny(o.stderr, "\x1b\u009b") {
		t.Errorf("an escape sequence came through: %q", o.stderr)
	}
	o.imported(t, float64(len(badLines())), 4, 0, 0, float64(len(want)))
	if diff := cmp.Diff([]string{"1", "10", "14", "9"}, s.rows(`select message_id from messages order by 1`)); diff != "" {
		t.Error(diff)
	}
}

func TestImportStrict(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	doc := badLines()[0].line + "\n" + badLines()[1].line + "\n" + badLines()[11].line + "\n"
	o := s.feed(doc, "import", "-", "--group", "g1", "--strict").want(t, 1, "line 2", "sent_at is missing")
	if n := strings.Count(o.stderr, "line 2"); n > 2 {
		t.Errorf("line 2 is complained about %d times:\n%s", n, o.stderr)
	}
	if diff := cmp.Diff([]string{"1"}, s.rows(`select message_id from messages`)); diff != "" {
		t.Errorf("what came before the bad line should be in, what came after not:\n%s", diff)
	}
	o = s.feed(strings.Repeat(badLines()[1].line+"\n", 30), "import", "-", "--group", "g1").want(t, 1, "line 20:", "and 10 more")
	if strings.Contains(o.stderr, "line 21:") {
		t.Error("more than 20 bad lines are listed")
	}
	s.run("import", t.TempDir(), "--group", "g1").want(t, 1, "not a chat export")
}

// TestImportMany: an export of more than one batch, within one group. Where another message has the id of one
// before, both are kept, and importing it again adds nothing. The same one twice is known.
func TestImportMany(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	var b strings.Builder
	for i := range 2500 {
		fmt.Fprintf(&b, `{"id":"%d","author":"u%d","text":"message %d","sent_at":"2025-03-03T12:00:00Z"}`+"\n", i%2400, i%300, i)
	}
	file := filepath.Join(t.TempDir(), "many.jsonl")
	if err := os.WriteFile(file, []byte(b.String()), 0o600); err != nil {
		t.Fatal(err)
	}
	once := b.String()
	write(t, file, once+once[:strings.IndexByte(once, '\n')+1]+once[strings.LastIndexByte(once[:len(once)-1], '\n')+1:])
	o := s.run("import", file, "--group", "g1", "--json").want(t, 0)
	if o.imported(t, 2502, 2500, 2, 0, 0); o.document(t)["same_id"] != 100.0 {
		t.Errorf("%s", o.stdout)
	}
	if got := s.rows(`select text from messages where message_id like '5~%' or message_id = '5' order by message_id`); !cmp.Equal(got,
		[]string{"message 5", "message 2405"}) {
		t.Errorf("of id 5 are %q", got)
	}
	o = s.run("import", file, "--group", "g1").want(t, 0)
	if !strings.Contains(o.stdout, "0 new, 2502 known already, 0 filtered") ||
		!strings.Contains(o.stdout, "100 records with the id of another message: kept under an id of their own\n") {
		t.Errorf("again: %s", o.stdout)
	}
}

// write puts a file of a test in its place.
func write(t *testing.T, name, text string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(name), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

// TestImportFolderOfChats: logs of two chats in one folder are two groups, or are refused for one; an import of
// it that is interrupted says that, and brings the rest when it is run again.
func TestImportFolderOfChats(t *testing.T) {
	t.Parallel()
	for name, text := range map[string]string{"#%s.log": "2026-01-15 20:01:00 <lin> glaze tonight\n",
		"WhatsApp Chat with %s.txt": "[15/01/2026, 20:01:00] Lin: glaze tonight\n"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newStage(t)
			dir := t.TempDir()
			for _, chat := range []string{"kiln", "tea"} {
				write(t, filepath.Join(dir, fmt.Sprintf(name, chat)), text)
			}
			s.run("import", dir, "--group", "g1").want(t, 2, "several chats", "kiln", "tea", "--chat")
			s.run("groups", "add", "g1").want(t, 0)
			lock, err := s.db.Begin()
			if err == nil {
				_, err = lock.Exec(`lock table messages`)
			}
			if err != nil {
				t.Fatal(err)
			}
			p := s.launch("import", dir)
			for s.one(`select count(*) from pg_locks where not granted and relation = 'messages'::regclass
				and database = (select oid from pg_database where datname = current_database())`) == "0" {
				if p.err.String() != "" {
					t.Fatal(p.err.String())
				}
			}
			p.signal(syscall.SIGINT)
			p.end().want(t, 130)
			if err := lock.Rollback(); err != nil {
				t.Fatal(err)
			}
			s.run("import", dir).want(t, 0)
			if got := s.one(`select count(distinct group_id) || ' groups, ' || count(*) || ' messages' from messages`); got != "2 groups, 2 messages" {
				t.Error(got)
			}
		})
	}
}

// TestLongMessagesAreTold: of a message longer than 32 KB the beginning is read, which the import and the night say.
func TestLongMessagesAreTold(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	s.model.Respond(scribe(t))
	file := filepath.Join(t.TempDir(), "long.jsonl")
	write(t, file, `{"id":"1","author":"Lin","text":"note Lin grows tomatoes","sent_at":"2025-03-03T12:00:00Z"}`+"\n"+
		`{"id":"2","author":"Lin","text":"`+strings.Repeat("word ", 8000)+`","sent_at":"2025-03-03T12:01:00Z"}`+"\n")
	o := s.run("import", file, "--group", "g1").want(t, 0)
	if !strings.Contains(o.stdout, "1 record longer than 32 KB: models read the beginning\n") {
		t.Errorf("import says %s", o.stdout)
	}
	if o := s.run("evolve", "--group", "g1").want(t, 0); !strings.Contains(o.stdout, "2 messages (1 cited, 1 read in part)") {
		t.Errorf("evolve says %s", o.stdout)
	}
	if got := s.rows(`select length(text)::text from messages where message_id = '2'`); !cmp.Equal(got, []string{"40000"}) {
		t.Errorf("%q are kept", got)
	}
}
