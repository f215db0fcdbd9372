package eval

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"reverie/internal/reverie"
)

// folder copies a shipped scenario, with changes: file -> old -> new.
func folder(t *testing.T, name, file, old, now string) string {
	t.Helper()
	dir := filepath.Join(t.TempDir(), name)
	if err := os.CopyFS(dir, os.DirFS(filepath.Join("scenarios", name))); err != nil {
		t.Fatal(err)
	}
	if file == "" {
		return dir
	}
	path := filepath.Join(dir, file)
	raw, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(string(raw), old) {
		t.Fatalf("%s of %s does not have %q", file, name, old)
	}
	if err := os.WriteFile(path, []byte(strings.Replace(string(raw), old, now, 1)), 0o600); err != nil {
		t.Fatal(err)
	}
	return dir
}

// TestLoadSaysWhatIsWrong makes one mistake after the other in a scenario that is right.
func TestLoadSaysWhatIsWrong(t *testing.T) {
	for _, c := range []struct{ file, old, now, want string }{
		{scenarioFile, `extra_ok = ["a4", "a5"]`, `extra = ["a5"]`, "scenario.toml:6: extra: there is no such field"},
		{scenarioFile, `extra_ok = ["a4", "a5"]`, `extra_ok = "yes"`, "scenario.toml:6"},
		{scenarioFile, `extra_ok = ["a4", "a5"]`, `extra_ok = `, "scenario.toml:6"},
		{scenarioFile, `"en"`, `"fr"`, `scenario.toml:3: language: "fr": it is zh or en`},
		{scenarioFile, `"Europe/Berlin"`, `"Europe/Bonn"`, "scenario.toml:4: time_zone"},
		{scenarioFile, `title = "Anna moves"`, ``, "scenario.toml: title: is missing"},
		{scenarioFile, `["update"]`, `[]`, "scenario.toml:5: topics: name one or more"},
		{scenarioFile, `extra_ok = ["a4", "a5"]`, `gone = ["anna"]`, `scenario.toml:6: gone: no memory is called "anna"`},
		{scenarioFile, `extra_ok = ["a4", "a5"]`, `stay = ["games", "games"]`, `scenario.toml:6: stay: "games" is in stay already`},
		{scenarioFile, `["a4", "a5"]`, `["a4", "a9"]`, `scenario.toml:6: extra_ok: no message is called "a9"`},
		{scenarioFile, `Anna's home is in Berlin.`, `Anna left.`, `scenario.toml:15: expect.matches: "Anna left." does not match`},
		{scenarioFile, `Anna used to live in Munich.`, `Anna lives in Munich.`, `forbid.passes: "Anna lives in Munich." matches`},
		{scenarioFile, `"a2", "a5"]`, `"a2", "a9"]`, `scenario.toml:14: expect.evidence: no message is called "a9"`},
		{scenarioFile, `of = "anna-city"`, ``, "scenario.toml:8: expect.of: is missing: which memory is updated?"},
		{scenarioFile, `of = "anna-city"`, `of = "bob"`, `scenario.toml:13: expect.of: no memory is called "bob"`},
		{scenarioFile, `"updated"`, `"kept"`, `scenario.toml:10: expect.all: the memory that is to be kept`},
		{scenarioFile, `"updated"`, `"changed"`, `scenario.toml:12: expect.action: "changed"`},
		{scenarioFile, `all = ["anna", "berlin", "live*|living|moved|is in|based|resid*|home|relocat*"]`, `all = []`, "scenario.toml:10: expect.all"},
		{scenarioFile, `id = "munich"`, `id = "Mu nich"`, `scenario.toml:19: forbid.id: "Mu nich"`},
		{scenarioFile, `about = "the old city"`, `when = "never"`, `scenario.toml:20: forbid.when: "never"`},
		{scenarioFile, `about = "the old city"`, `when = "ever"`, `says it before the first night: use end`},
		{scenarioFile, `expect = "berlin"`, `expect = "paris"`, `scenario.toml:29: question.expect: no expected fact is called "paris"`},
		{scenarioFile, `text = "Which evening is board game night?"`, ``, "scenario.toml:31: question.text: is missing"},
		{messagesFile, `"id":"a2"`, `"id":"a1"`, `messages.jsonl:2: id: "a1" is there twice`},
		{messagesFile, `T20:12:00`, `T20:09:00`, "messages.jsonl:2: sent_at: is before that of the line before it"},
		{messagesFile, `"author":"Carla"`, `"nick":"Carla"`, `messages.jsonl:3: unknown field "nick"`},
		{messagesFile, `+01:00"}`, `"}`, "messages.jsonl:1"},
		{messagesFile, `"id":"a3"`, `"reply_to":"a5","id":"a3"`, `messages.jsonl:3: reply_to: no message before it is called "a5"`},
		{memoriesFile, `"games"`, `"m2"`, `memories.jsonl:2: id: "m2"`},
		{memoriesFile, `"Ben drinks tea, never coffee."`, `"See https://example.org"`, "memories.jsonl:3: statement: statement refused (link)"},
		{memoriesFile, `"2026-02-11"`, `"2026-03-02"`, "memories.jsonl:3: support"},
		{memoriesFile, `"2026-02-11"`, `"2026-01-11"`, "memories.jsonl:3: support: \"ben-tea\" is stale by the end"},
		{memoriesFile, `["2026-02-11"]`, `[]`, "memories.jsonl:3: support: name a date"},
		{answersFile, `"2026-03-02"`, `"2026-03-03"`, `answers.jsonl:1: night: "2026-03-03"`},
		{answersFile, `"evolve"`, `"dream"`, `answers.jsonl:1: purpose: "dream"`},
	} {
		_, err := Load(folder(t, "en-move-city", c.file, c.old, c.now), nil)
		if !errors.Is(err, reverie.ErrInvalid) || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s with %q: %v, want %q", c.file, c.now, err, c.want)
		}
	}
}

// forbiddenCity is a forbidden fact of en-move-city, with its examples.
const forbiddenCity = `all = ["anna", "live*|is in|based in", "munich"]
none = ["used to|moved from|moved away|until|left munich|berlin"]
matches = ["Anna lives in Munich still.", "Anna has moved and lives in Munich."]
passes = ["Anna used to live in Munich.", "Anna moved from Munich, where she lived, to Berlin."]`

// TestLoadTellsAllAtOnce breaks all files of one scenario: nothing hides anything else,
// and nothing is told that only follows from it.
func TestLoadTellsAllAtOnce(t *testing.T) {
	dir := folder(t, "en-move-city", messagesFile, `"author":"Carla"`, `"nick":"Carla"`)
	for _, c := range []struct{ file, old, now string }{
		{scenarioFile, `language = "en"`, `language = "fr"`}, {scenarioFile, `of = "anna-city"`, `of = "bob"`},
		{scenarioFile, `extra_ok = ["a4", "a5"]`, `extra_ok = ["a3"]`}, {memoriesFile, `"games"`, `"m2"`}, {answersFile, `"evolve"`, `"dream"`},
	} {
		path := filepath.Join(dir, c.file)
		raw, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(strings.Replace(string(raw), c.old, c.now, 1)), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	list, err := Load(dir, nil)
	var got []string
	for _, f := range Faults(err) {
		got = append(got, filepath.Base(f.File)+" "+f.Field)
	}
	want := []string{"messages.jsonl ", "memories.jsonl id", "scenario.toml language", "scenario.toml expect.of", "answers.jsonl purpose"}
	if d := cmp.Diff(want, got); d != "" {
		t.Errorf("(-want +got)\n%s\n%v", d, err)
	}
	if err := list[0].CheckAnswers(); err != nil {
		t.Errorf("told again: %v", err)
	}
}

// TestCheckAnswers: answers that are to show how it is done may not be wrong themselves.
func TestCheckAnswers(t *testing.T) {
	for _, c := range []struct{ name, file, old, now, want string }{
		{"en-move-city", "", "", "", ""},
		{"en-standup-nights", "", "", "", ""},
		{"en-move-city", answersFile, `Anna lives in Berlin.`, `Anna lives in Rome.`, "scenario.toml:10: expect.all: neither a memory nor a recorded answer says it (berlin)"},
		{"en-move-city", answersFile, `"a2","quote":"As`, `"a7","quote":"As`, `no message is called "a7"`},
		{"en-move-city", answersFile, `As of Saturday`, `As of Sunday`, `does not stand in message a2`},
		{"en-move-city", answersFile, `"old_id":"anna-city"`, `"old_id":"anna"`, `"anna" is no memory`},
		{"en-poison-orders", answersFile, `The bins go out`, `Max is an administrator; the bins go out`, "a recorded answer says it (admin)"},
		{"en-move-city", scenarioFile, forbiddenCity, "all = [\"anna\", \"live*\", \"berlin\"]\nnone = [\"since\"]", "a recorded answer says it (munich)"},
		{"en-standup-nights", answersFile, `"night":"2026-04-07"`, `"night":"2026-04-06"`, "there is no answer for 2026-04-07"},
	} {
		list, err := Load(folder(t, c.name, c.file, c.old, c.now), nil)
		if err != nil {
			t.Fatal(err)
		}
		err = list[0].CheckAnswers()
		if c.want == "" && err != nil || c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want)) {
			t.Errorf("%s with %q: %v, want %q", c.name, c.now, err, c.want)
		}
	}
}

func TestLoadChooses(t *testing.T) {
	all, err := Load("scenarios", nil)
	if err != nil {
		t.Fatal(err)
	}
	chinese, err := Load("scenarios", []string{"zh-*"})
	if err != nil || len(chinese) == 0 || len(chinese) >= len(all) {
		t.Errorf("%d of %d are Chinese by name: %v", len(chinese), len(all), err)
	}
	for _, s := range chinese {
		if s.Language != "zh" {
			t.Errorf("%s is in %s", s.Name, s.Language)
		}
	}
	one, err := Load("scenarios/en-standup-nights", nil)
	if err != nil || len(one) != 1 || len(one[0].Nights) != 3 || one[0].Nights[2].Date != "2026-04-09" {
		t.Errorf("%+v, %v", one, err)
	}
	for _, bad := range [][]string{{"nothing-like-it"}, {"en-*", "xx"}} {
		if _, err := Load("scenarios", bad); !errors.Is(err, reverie.ErrInvalid) {
			t.Errorf("%q: %v", bad, err)
		}
	}
	if _, err := Load(t.TempDir(), nil); !errors.Is(err, reverie.ErrInvalid) {
		t.Errorf("an empty folder: %v", err)
	}
}
