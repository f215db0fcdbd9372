package e2e

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// samples are exports of each format that the import is tried with.
func samples(t *testing.T) []string {
	t.Helper()
	all, err := filepath.Glob("../../internal/ingest/testdata/*")
	if err != nil {
		t.Fatal(err)
	}
	var list []string
	for _, path := range all {
		if base := filepath.Base(path); filepath.Ext(path) != ".golden" && base != "fuzz" && !strings.HasPrefix(base, "jsonl") {
			list = append(list, path)
		}
	}
	return list
}

// TestImportFormats: each sample becomes the groups that it holds the chats of, and again
// changes nothing.
func TestImportFormats(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	in := func(o object) float64 { // or another sample says that it was deleted
		erased, _ := o["erased"].(float64)
		return o["known"].(float64) + erased
	}
	for _, path := range samples(t) {
		format, _, _ := strings.Cut(strings.TrimSuffix(filepath.Base(path), filepath.Ext(path)), "_")
		before := s.rows(`select count(*) from messages`)
		dry := s.run("import", path, "--dry-run", "--json").document(t)
		if diff := cmp.Diff(before, s.rows(`select count(*) from messages`)); diff != "" {
			t.Errorf("%s: a dry run wrote something:\n%s", path, diff)
		}
		o := s.run("import", path, "--json", "--time-zone", "Asia/Shanghai")
		doc := o.document(t)
		for _, key := range []string{"formats", "records", "filtered", "bad", "bad_by_reason"} {
			if diff := cmp.Diff(dry[key], doc[key]); diff != "" {
				t.Errorf("%s: the dry run counted other %s:\n%s", path, key, diff)
			}
		}
		groups := doc["groups"].([]any)
		if len(groups) == 0 || doc["records"] == doc["bad"] || !cmp.Equal(doc["formats"], []any{format}) || o.code != 0 && doc["bad"].(float64) == 0 {
			t.Errorf("%s: exit code %d\n%s%s", path, o.code, o.stdout, o.stderr)
		}
		for _, g := range groups {
			g := g.(object)
			id := g["group_id"].(string)
			if !strings.HasPrefix(id, format+"-") || g["new"].(float64)+in(g) != g["records"].(float64) {
				t.Errorf("%s: %v", path, g)
			}
			if got := s.one(`select time_zone from groups where group_id = $1`, id); got != "Asia/Shanghai" {
				t.Errorf("group %s is in zone %q", id, got)
			}
		}
		again := s.run("import", path, "--json").document(t)
		if again["new"] != 0.0 || in(again) != doc["records"].(float64)-doc["bad"].(float64) || again["reacted"] != nil {
			t.Errorf("%s: the second import has %v new, %v known, %v with other reactions", path, again["new"], again["known"], again["reacted"])
		}
	}
	s.run("groups", "list").want(t, 0)
	if n := s.one(`select count(*) from messages where (outcome is null) <> (filter = '') or run_id is not null`); n != "0" {
		t.Errorf("%s messages are neither pending nor filtered", n)
	}
}

// TestImportChats: an export of several chats is several groups, or one of them goes into
// a group of one's choice.
func TestImportChats(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	const slack = "../../internal/ingest/testdata/slack"
	o := s.run("import", slack, "--dry-run").want(t, 0)
	for _, words := range []string{"nothing is written", "GROUP", "allotment", "slack-", "filtered: "} {
		if !strings.Contains(o.stdout, words) {
			t.Errorf("the dry run does not say %q:\n%s", words, o.stdout)
		}
	}
	s.run("import", slack, "--group", "g1").want(t, 2, "several chats", "allotment", "--chat")
	s.run("import", slack, "--group", "g1", "--chat", "nobody").want(t, 2, "--chat", "nobody")
	if got := s.one(`select count(*) from messages`); got != "0" {
		t.Errorf("%s messages were stored", got)
	}
	s.run("import", slack, "--group", "g1", "--chat", "allotment", "--name", "Our plot").want(t, 0)
	if got := s.rows(`select group_id, count(*) > 3 from messages group by 1`); !cmp.Equal(got, []string{"g1|t"}) && !cmp.Equal(got, []string{"g1|true"}) {
		t.Errorf("messages are in %q", got)
	}
	whole := s.run("import", slack).want(t, 0).stdout
	if n := strings.Count(whole, "slack-"); n < 2 || !strings.Contains(whole, "slack, ") {
		t.Errorf("%d groups in:\n%s", n, whole)
	}
	s.run("import", filepath.Dir(slack)+"/discord.json", "--group", "g2").want(t, 0)
	for _, group := range []string{"two", "open"} {
		s.run("groups", "add", group).want(t, 0)
	}
	s.run("groups", "set", "open", "--private", "off").want(t, 0)
	for _, group := range []string{"one", "two", "open"} {
		o := s.run("import", filepath.Dir(slack)+"/chatlab_lines.jsonl", "--group", group).want(t, 1)
		if said := strings.Contains(o.stderr, "takes in a private chat"); said != (group != "open") {
			t.Errorf("that %s becomes private is said: %t", group, said)
		}
	}
	if got := strings.Join(s.rows(`select group_id, private from groups where private <> '' order by 1`), " "); got != "one|on open|off slack-D04PAIR|on two|on" {
		t.Errorf("of private chats are %q", got)
	}
	s.run("import", filepath.Dir(slack)+"/discord.json", "--format", "telex").want(t, 2, "--format", "discord")
	s.run("import", "-", "--date-order", "yyy", "--group", "g").want(t, 2, "--date-order")
}

// TestImportFiltered: what no model is to see is stored and counted, and no run has it.
func TestImportFiltered(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	s.model.Respond(scribe(t))
	lines := chat("2025-03-03", "note Lin drinks green tea", "/roll 2d6", "", "hello there", "!help")
	lines[3].Author, lines[3].AuthorID = "Robbie", "bot7"
	o := s.feed(jsonLines(t, lines), "import", "-", "--group", "g1", "--assistant", "Robbie").want(t, 0)
	if !strings.Contains(o.stdout, "5 records, 5 new, 0 known already, 2 filtered, 0 bad") || !strings.Contains(o.stdout, "filtered: 2 command\n") {
		t.Errorf("stdout is %q", o.stdout)
	}
	s.run("evolve", "--group", "g1").want(t, 0)
	want := []string{"|cited|user|", "command|filtered|user|", "|filtered|user|", "|considered|assistant|", "command|filtered|user|"}
	got := s.rows(`select filter, outcome, role, case when filter <> '' then session_id else '' end from messages order by sent_at`)
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

// TestImportTruncated: of an export that was cut off what stood whole is stored, the error
// says where it ends, and importing the whole one brings the rest.
func TestImportTruncated(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	whole, err := os.ReadFile("../../internal/ingest/testdata/discord.json")
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(t.TempDir(), "deck.json")
	write(t, file, string(whole[:len(whole)*2/3]))
	o := s.run("import", file, "--json").want(t, 1, "ends in the middle", "byte ")
	first := o.document(t)
	if first["success"] != false || first["new"].(float64) < 2 {
		t.Errorf("%s", o.stdout)
	}
	write(t, file, string(whole))
	second := s.run("import", file, "--json").want(t, 0).document(t)
	if second["known"] != first["new"] || second["new"].(float64) < 1 {
		t.Errorf("new %v, then %v known and %v new", first["new"], second["known"], second["new"])
	}
	for _, hostile := range []string{strings.Repeat("[", 1<<16), `{"guild":{"id":"1"},"channel":{"id":"2","type":"x"},"messages":[` + strings.Repeat(`{"a":`, 20_000), "\x00\x01\x02", "PK\x03\x04"} {
		write(t, file, hostile)
		if o := s.run("import", file, "--group", "g9"); o.code == 0 || strings.Contains(o.stderr, "panic") {
			t.Errorf("%.20q: exit code %d\n%.300s", hostile, o.code, o.stderr)
		}
	}
	if got := fmt.Sprint(s.rows(`select count(*) from messages where group_id = 'g9'`)); got != "[0]" {
		t.Errorf("%s messages of g9", got)
	}
}

// TestImportReactions: a message has the reactions that the newest import of it says, and an import that says nothing
// new changes nothing.
func TestImportReactions(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	by := func(emoji string, count int, users ...string) string {
		var list []string
		for _, u := range users {
			list = append(list, `{"id":"`+u+`","name":"`+u+`"}`)
		}
		return fmt.Sprintf(`{"emoji":{"id":"","name":%q},"count":%d,"users":[%s]}`, emoji, count, strings.Join(list, ","))
	}
	for i, c := range []struct{ reactions, want, reacted string }{
		{`,"reactions":[` + by("👍", 3, "u1", "u2") + `,` + by("lantern", 1, "u1") + `]`, "👍 u1 1, 👍 u2 1, 👍  1, lantern u1 1", ""},
		{`,"reactions":[` + by("lantern", 1, "u1") + `,` + by("👍", 3, "u2", "u1") + `]`, "👍 u1 1, 👍 u2 1, 👍  1, lantern u1 1", ""},
		{`,"reactions":[` + by("👍", 1, "u2") + `]`, "👍 u2 1", "1"},
		{``, "👍 u2 1", ""},
		{`,"reactions":[]`, "", "1"},
		{`,"reactions":[]`, "", ""},
		{`,"reactions":[` + by("👍", 1, "u1") + `]`, "👍 u1 1", "1"},
		{`,"reactions":[` + by("👍", 2, "u1", "u2") + `]`, "👍 u1 1, 👍 u2 1", "1"},
		{`,"reactions":[` + by("👍", 2, "u1", "u2") + `]`, "👍 [erased] 1, 👍 u1 1", ""}, // u2 is, before it
	} {
		message := func(id, reactions string) string {
			return `{"id":"` + id + `","type":"Default","timestamp":"2026-01-15T20:00:00+00:00","content":"x` + id + `","author":{"id":"u` +
				map[string]string{"7": "1", "8": "2"}[id] + `","name":"Suki ` + id + `"}` + reactions + `}`
		}
		if strings.Contains(c.want, "erased") {
			s.run("erase", "--author", "u2", "--yes").want(t, 0)
		}
		path := filepath.Join(t.TempDir(), "deck.json")
		text := `{"guild":{"id":"1","name":"Ferry"},"channel":{"id":"2","name":"deck"},"messages":[` + message("7", c.reactions) + `,` + message("8", "") + `]}`
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		doc := s.run("import", path, "--json").document(t)
		reacted := ""
		if n := doc["reacted"]; n != nil {
			reacted = fmt.Sprint(n)
		}
		got := s.one(`select coalesce(string_agg(concat_ws(' ', r ->> 'emoji', coalesce(r ->> 'author_id', ''), r ->> 'count'), ', '
			order by r ->> 'emoji' collate "C" desc, r ->> 'author_id'), '')
			from messages cross join jsonb_array_elements(reactions) r where message_id = '7'`)
		if got != c.want || reacted != c.reacted {
			t.Errorf("import %d: %q, %q have other reactions; want %q, %q", i+1, got, reacted, c.want, c.reacted)
		}
	}
}
