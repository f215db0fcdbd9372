package eval

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

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
		{scenarioFile, `"en"`, `"fr"`, `scenario.toml: language: "fr": it is zh or en`},
		{scenarioFile, `"Europe/Berlin"`, `"Europe/Bonn"`, "scenario.toml: time_zone"},
		{scenarioFile, `title = "Anna moves"`, ``, "scenario.toml: title: is missing"},
		{scenarioFile, `["update"]`, `[]`, "scenario.toml: topics: name one or more"},
		{scenarioFile, `extra_ok = ["a4", "a5"]`, `gone = ["anna"]`, `scenario.toml: gone: no memory is called "anna"`},
		{scenarioFile, `extra_ok = ["a4", "a5"]`, `stay = ["games", "games"]`, `scenario.toml: stay: "games" is in stay already`},
		{scenarioFile, `["a4", "a5"]`, `["a4", "a9"]`, `scenario.toml: extra_ok: no message is called "a9"`},
		{scenarioFile, `Anna's home is in Berlin.`, `Anna left.`, `scenario.toml: expect berlin: matches: "Anna left." does not match`},
		{scenarioFile, `Anna used to live in Munich.`, `Anna lives in Munich.`, `forbid munich: passes: "Anna lives in Munich." matches`},
		{scenarioFile, `"a2", "a5"]`, `"a2", "a9"]`, `scenario.toml: expect berlin: no message is called "a9"`},
		{scenarioFile, `of = "anna-city"`, ``, "scenario.toml: expect berlin: of: is missing: which memory is updated?"},
		{scenarioFile, `of = "anna-city"`, `of = "bob"`, `scenario.toml: expect berlin: of: no memory is called "bob"`},
		{scenarioFile, `"updated"`, `"kept"`, `scenario.toml: expect berlin: all: the memory that is to be kept`},
		{scenarioFile, `"updated"`, `"changed"`, `scenario.toml: expect berlin: action: "changed"`},
		{scenarioFile, `all = ["anna", "berlin", "live*|living|moved|is in|based|resid*|home|relocat*"]`, `all = []`, "scenario.toml: expect berlin: all: a term is needed"},
		{scenarioFile, `id = "munich"`, `id = "Mu nich"`, `scenario.toml: forbid: id: "Mu nich"`},
		{scenarioFile, `about = "the old city"`, `when = "never"`, `scenario.toml: forbid munich: when: "never"`},
		{scenarioFile, `about = "the old city"`, `when = "ever"`, `says it before the first night: use end`},
		{scenarioFile, `expect = "berlin"`, `expect = "paris"`, `scenario.toml: question 1: expect: no expected fact is called "paris"`},
		{scenarioFile, `text = "Which evening is board game night?"`, ``, "scenario.toml: question 2: text: is missing"},
		{messagesFile, `"id":"a2"`, `"id":"a1"`, `messages.jsonl: a1: the id is there twice`},
		{messagesFile, `T20:12:00`, `T20:09:00`, "messages.jsonl: a2: sent_at: is before that of the line before it"},
		{messagesFile, `"author":"Carla"`, `"nick":"Carla"`, `messages.jsonl:3: unknown field "nick"`},
		{messagesFile, `+01:00"}`, `"}`, "messages.jsonl:1"},
		{messagesFile, `"id":"a3"`, `"reply_to":"a5","id":"a3"`, `messages.jsonl: a3: reply_to: no message before it is called "a5"`},
		{memoriesFile, `"games"`, `"m2"`, `memories.jsonl: m2: id: `},
		{memoriesFile, `"Ben drinks tea, never coffee."`, `"See https://example.org"`, "memories.jsonl: ben-tea: statement: statement refused (link)"},
		{memoriesFile, `"2026-02-11"`, `"2026-03-02"`, "memories.jsonl: ben-tea: support: "},
		{memoriesFile, `"opinion"`, `"taste"`, `memories.jsonl: ben-tea: type: "taste"`},
		{memoriesFile, `"opinion"`, `"opinion","due":"2026-03-01"`, `memories.jsonl: ben-tea: due: "2026-03-01"`},
		{memoriesFile, `"opinion","support":["2026-02-11"]`, `"habit","support":["2026-01-11"]`, "memories.jsonl: ben-tea: support: it is stale by the end"},
		{memoriesFile, `["2026-02-11"]`, `[]`, "memories.jsonl: ben-tea: support: name a date"},
		{answersFile, `"2026-03-02"`, `"2026-03-03"`, `answers.jsonl: answer 1: night: "2026-03-03"`},
		{answersFile, `"evolve"`, `"dream"`, `answers.jsonl: answer 1: purpose: "dream"`},
	} {
		_, err := Load(folder(t, "en-move-city", c.file, c.old, c.now), nil)
		if !errors.Is(err, reverie.ErrInvalid) || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s with %q: %v, want %q", c.file, c.now, err, c.want)
		}
	}
}

// TestLoadTellsAllAtOnce makes mistakes in all files of one scenario: nothing hides anything
// else, but a file that cannot be read.
func TestLoadTellsAllAtOnce(t *testing.T) {
	dir := folder(t, "en-move-city", scenarioFile, `language = "en"`, `language = "fr"`)
	change := func(file, old, now string) {
		path := filepath.Join(dir, file)
		raw, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(strings.Replace(string(raw), old, now, 1)), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	change(scenarioFile, `of = "anna-city"`, `of = "bob"`)
	change(memoriesFile, `"games"`, `"m2"`)
	change(answersFile, `"evolve"`, `"dream"`)
	_, err := Load(dir, nil)
	for _, want := range []string{"memories.jsonl: m2: id", "scenario.toml: language", "scenario.toml: expect berlin: of", "answers.jsonl: answer 1: purpose"} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v does not tell %q", err, want)
		}
	}
	change(messagesFile, `"author":"Carla"`, `"nick":"Carla"`)
	change(memoriesFile, `"id"`, `"name"`)
	_, err = Load(dir, nil)
	if err == nil || strings.Count(err.Error(), "\n") != 1 || !strings.Contains(err.Error(), "memories.jsonl:1: unknown field") || !strings.Contains(err.Error(), "messages.jsonl:3: unknown field") {
		t.Errorf("files that cannot be read: %v", err)
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
