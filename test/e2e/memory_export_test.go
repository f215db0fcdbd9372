package e2e

import (
	"fmt"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"reverie/internal/cli"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// values are what is changed in place. What they were before is not exported.
var values = regexp.MustCompile(`(?m)^ *"(strength|weight|last_supported_at)": .*\n`)

// told is all that a database says of the memories of a group, as programs read it.
func (s *stage) told(t *testing.T, ids, instants []string) map[string]string {
	t.Helper()
	all := map[string]string{}
	tell := func(args ...string) {
		args = append(args, "--json")
		all[strings.Join(args, " ")] = invoke(t.Context(), s.env, "", args...).want(t, 0).stdout
	}
	tell("memory", "list", "--group", "g1", "--status", "all", "--limit", "1000")
	tell("memory", "list", "--group", "g1", "--core")
	tell("memory", "changes", "--group", "g1")
	tell("memory", "stats", "--group", "g1")
	tell("memory", "stats")
	for _, id := range ids {
		tell("memory", "history", id)
		tell("memory", "why", id)
	}
	for _, at := range instants {
		o := invoke(t.Context(), s.env, "", "memory", "list", "--group", "g1", "--recorded-at", at, "--json").want(t, 0)
		all["at "+at] = values.ReplaceAllString(o.stdout, "")
	}
	for _, q := range []string{"what does Lin drink", "green tea", "Saturdays", "会议"} {
		tell("memory", "search", "--group", "g1", "--limit", "10", q)
	}
	return all
}

// busy is an eventful group whose memories were used, too.
func busy(t *testing.T) *stage {
	t.Helper()
	s := eventful(t)
	s.run("memory", "weight", s.head("Lin drinks tea, most of all green tea"), "1.75").want(t, 0)
	s.exec(`insert into memory_usage_log (group_id, usage_id, memory_id, lineage_id, position, score, similarity, weight, strength, recency, was_referenced, judged_at, created_at)
		select group_id, gen_random_uuid(), memory_id, lineage_id, 1, 1, 1, 1, 1, 1, n = 1, now(), now() from memories, generate_series(1, 3) n where version = 1`)
	s.exec(`insert into memory_sources (group_id, memory_id, position, source_id, source_lineage_id, run_id)
		select d.group_id, d.memory_id, 1, s.memory_id, s.lineage_id, s.run_id from memories d join memories s using (group_id)
		where d.version = 2 and s.version = 1 and s.lineage_id <> d.lineage_id and s.run_id is not null limit 1`)
	s.exec(`insert into memory_uses (group_id, job, memory_id, run_id) select group_id, 'dream', memory_id, run_id from memories where run_id is not null`)
	s.exec(`insert into memory_usage_totals select group_id, lineage_id, 10, 4, 5, now() from memories where version = 1 limit 1`)
	return s
}

// TestMemoriesTravel: exported, and imported where nothing was, a group's memories
// are told the same by every command, and are exported as the same again.
func TestMemoriesTravel(t *testing.T) {
	t.Parallel()
	s := busy(t)
	file := filepath.Join(t.TempDir(), "memories.jsonl")
	s.run("memory", "export", "--all", "-o", file).want(t, 0).silent(t)
	ids := s.rows(`select memory_id from memories order by 1`)
	instants := s.rows(`select distinct to_char(updated_at at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"') from memories order by 1`)
	want := s.told(t, ids, instants)
	if len(ids) < 6 || len(instants) < 3 {
		t.Fatalf("%d versions of %d instants are too few to tell", len(ids), len(instants))
	}
	if sources := s.one(`select count(*) || ' ' || (select count(*) from memory_uses) from memory_sources`); strings.Contains(" "+sources+" ", " 0 ") {
		t.Fatalf("%s sources and versions taken in are too few to tell", sources)
	}
	t.Run("elsewhere", func(t *testing.T) {
		here := newStage(t)
		here.set("REVERIE_EMBED_PROVIDER=offline")
		here.run("memory", "import", file, "--dry-run").want(t, 0)
		if n := here.one(`select count(*) from groups`); n != "0" {
			t.Fatalf("a dry run made %s groups", n)
		}
		here.run("memory", "import", file).want(t, 0).silent(t)
		if diff := cmp.Diff(want, here.told(t, ids, instants)); diff != "" {
			t.Errorf("-there +here:\n%s", diff)
		}
		before := here.dump()
		o := here.run("memory", "import", file).want(t, 0).silent(t)
		if diff := cmp.Diff(before, here.dump()); diff != "" || !strings.Contains(o.stdout, "nothing to do") {
			t.Errorf("the second import says %q and changes:\n%s", o.stdout, diff)
		}
		again := here.run("memory", "export", "--all").want(t, 0, "exported 1 group")
		_, lines, _ := strings.Cut(again.stdout, "\n")
		_, wrote, _ := strings.Cut(must(os.ReadFile(file))(t), "\n")
		if diff := cmp.Diff(withoutSum(wrote), withoutSum(lines)); diff != "" {
			t.Errorf("exported again, it differs:\n%s", diff)
		}
		// Life goes on: the next night works on what was imported.
		here.model.Respond(judge(t, nil))
		here.bring("g1", chat("2025-03-07", "note Bo sings")...)
		here.run("evolve", "--group", "g1").want(t, 0)
	})
}

// withoutSum leaves out the checksum, which counts the first line with its time.
func withoutSum(text string) string {
	text, _, _ = strings.Cut(text, `,"sha256"`)
	return text
}

// must unwraps what was read.
func must(b []byte, err error) func(*testing.T) string {
	return func(t *testing.T) string {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		return string(b)
	}
}

// TestMemoryImportRefuses: what is damaged, differs or breaks today's rules, from
// a file and from a pipe, with nothing written.
func TestMemoryImportRefuses(t *testing.T) {
	t.Parallel()
	s := untidy(t)
	whole := s.run("memory", "export", "--group", "g1").want(t, 0, "exported 1 group").stdout
	s.exec(`update memories set statement = 'see https://example.com' where statement = 'Bo is ignored'`)
	linked := s.run("memory", "export", "--group", "g1").want(t, 0).stdout
	before := s.dump()
	s.feed(whole[:len(whole)/2], "memory", "import", "-").want(t, 2, "cut off")
	s.feed(strings.Replace(whole, "tea", "ale", 1), "memory", "import", "-").want(t, 2, "damaged")
	s.feed(`{"id":"1"}`+"\n", "memory", "import", "-").want(t, 2, "not an export of memories")
	s.feed(whole, "memory", "import", "-").want(t, 1, "nothing was written", "other content (statement)")
	s.feed(linked, "memory", "import", "-", "--strict").want(t, 2, "statement refused (link)", "nothing was written")
	o := s.feed(linked, "memory", "import", "-", "--json").want(t, 0, "warning: memory", "statement refused (link)").document(t)
	if o["success"] != true || o["refused_today"] != 1.0 {
		t.Errorf("it is %v", o)
	}
	s.exec(`update groups set name = 'Tea house'`)
	s.feed(linked, "memory", "import", "-").want(t, 0, "keeps its own name")
	s.exec(`update groups set name = ''`)
	if diff := cmp.Diff(before, s.dump()); diff != "" {
		t.Errorf("something was written:\n%s", diff)
	}
	s.run("memory", "import", "nowhere.jsonl").want(t, 1, "nowhere.jsonl")
	s.run("memory", "export").want(t, 2, "--all")
	s.run("memory", "export", "--all", "--json").want(t, 2, "-o")
	s.run("memory", "export", "--group", "nobody").want(t, 1, "groups list")
}

// TestExportFileIsWhole: a file gets its name when all of it is there, and only its
// owner may read it; what had the name before stays until then.
func TestExportFileIsWhole(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	name := filepath.Join(dir, "memories.jsonl")
	write := func(text string, err error) error {
		return cli.WriteWhole(name, func(w io.Writer) error {
			if _, err := io.WriteString(w, text); err != nil {
				return err
			}
			return err
		})
	}
	if err := write("old", nil); err != nil {
		t.Fatal(err)
	}
	if err := write("half", io.ErrUnexpectedEOF); err == nil {
		t.Error("no error")
	}
	info, err := os.Stat(name)
	if got := must(os.ReadFile(name))(t); got != "old" || err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("%q, %v, %v", got, info.Mode(), err)
	}
	if list, err := os.ReadDir(dir); err != nil || len(list) != 1 {
		t.Errorf("%v %v", list, err)
	}
}

// TestExportWritesWhereItIsTold: a link stays one, to a file or to one that is not
// there yet, and what is no file is written to and not replaced.
func TestExportWritesWhereItIsTold(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	path := func(name string) string { return filepath.Join(dir, name) }
	text := func(w io.Writer) error { _, err := io.WriteString(w, "new"); return err }
	if err := os.WriteFile(path("file"), []byte("old"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, l := range [][2]string{{"link", "file"}, {"far", path("link")}, {"early", "later"}, {"null", os.DevNull}, {"round", "round"}} {
		link, target := l[0], l[1]
		if err := os.Symlink(target, path(link)); err != nil {
			t.Fatal(err)
		}
		if err := cli.WriteWhole(path(link), text); (err != nil) != (link == "round") {
			t.Errorf("%s: %v", link, err)
		}
		if info, err := os.Lstat(path(link)); err != nil || info.Mode().Type() != os.ModeSymlink {
			t.Errorf("%s is no link any more: %v", link, err)
		}
	}
	for _, file := range []string{"file", "later"} {
		if got := must(os.ReadFile(path(file)))(t); got != "new" {
			t.Errorf("%s holds %q", file, got)
		}
	}
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cli.WriteWhole(fmt.Sprintf("/dev/fd/%d", w.Fd()), text); err != nil || w.Close() != nil {
		t.Fatal(err)
	}
	if got := must(io.ReadAll(r))(t); got != "new" {
		t.Errorf("the pipe holds %q", got)
	}
}
