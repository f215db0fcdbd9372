package e2e

import (
	"strings"
	"testing"
)

// TestDemoCommand: the demo shows each kind of change and a refusal, asks nobody, does
// nothing twice, and leaves a group of somebody's own alone.
func TestDemoCommand(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	o := s.run("demo").want(t, 0).silent(t).shows(t, "recorded", "+ Kai is allergic to peanuts", "[-Friday-]{+Saturday+}",
		"- 打团的药水大家自己带", "refused create (instruction)", "Why “Raid night is Saturday", "http://127.0.0.1:8470/ui/")
	if n := strings.Count(o.stdout, "\n"); n > 32 {
		t.Errorf("the demo has %d lines:\n%s", n, o.stdout)
	}
	const spent = `select count(*) || ' ' || sum(cost_usd) from llm_calls`
	before := s.one(spent)
	if again := s.run("demo").want(t, 0); again.stdout != o.stdout || s.one(spent) != before {
		t.Errorf("a second demo has cost %s, %s before, and says\n%s", s.one(spent), before, again.stdout)
	}
	s.run("audit").want(t, 0)
	s.bring("g1", chat("2025-03-03", "hello")...)
	s.run("demo", "g1").want(t, 2, "g1", "choose another id")
}

// TestFields: --json takes the fields that shall be printed, of each thing of a list.
func TestFields(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	s.run("demo").want(t, 0)
	o := s.run("memory", "list", "--json=statement,version").want(t, 0).silent(t)
	if want := "[\n  {\n    \"statement\": \"Kai is allergic to peanuts\",\n    \"version\": 1\n  },\n"; !strings.Contains(o.stdout, "\"version\": 2") ||
		!strings.HasPrefix(o.stdout, "[\n  {\n    \"statement\": ") || strings.Contains(o.stdout, "memory_id") {
		t.Errorf("%s, want such as %s", o.stdout, want)
	}
	s.run("memory", "list", "--json=statement,colour").want(t, 2, "colour", "there are", "statement")
	s.run("memory", "list", "--json=").want(t, 2, "name fields")
	if o := s.run("memory", "stats", "--json=lineages").want(t, 0); !strings.Contains(o.stdout, `"lineages": 3`) {
		t.Errorf("the fields of a whole: %s", o.stdout)
	}
}

// TestGroupAsArgument: a group may stand as the first argument, and the words follow it.
func TestGroupAsArgument(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	s.run("demo").want(t, 0)
	s.run("memory", "list", "demo").want(t, 0).shows(t, "Kai")
	s.run("memory", "search", "demo", "when", "do", "we", "raid").want(t, 0).shows(t, "Raid night")
	s.run("memory", "search", "when", "do", "we", "raid").want(t, 0).shows(t, "Raid night") // the only group
	s.run("context", "demo", "What", "can", "Kai", "not", "eat?").want(t, 0).shows(t, "peanuts")
	s.bring("g1", chat("2025-03-03", "hello")...)
	s.run("memory", "search", "when", "do", "we", "raid").want(t, 2, "demo, g1", "before the words")
	s.run("memory", "list", "demo", "--group", "g1").want(t, 2, "two groups are named")
	s.run("evolve", "demo", "--due").want(t, 2, "--due and --group do not go together")
	s.run("runs", "list", "g1").want(t, 0).shows(t, "no runs")
	s.set("REVERIE_GROUP=g1")
	if o := s.run("runs", "list").want(t, 0); strings.Contains(o.stdout, "succeeded") {
		t.Errorf("REVERIE_GROUP does not narrow: %s", o.stdout)
	}
	s.run("memory", "search", "demo", "when", "do", "we", "raid").want(t, 0).shows(t, "Raid night") // the argument wins
}

// TestCompletion: a shell completes commands and the words of flags, and names of files where one is asked for.
func TestCompletion(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	const files, noFiles = ":0\n", ":4\n"
	for _, c := range []struct {
		words []string
		want  string
	}{
		{[]string{"memory", "list", "--status", "a"}, "archived\n"},
		{[]string{"groups", "set", "demo", "--impressions", ""}, "default\n"},
		{[]string{"memory", "blame"}, "blame\t"},
		{[]string{"init", "--provider", "o"}, "ollama\n"},
		{[]string{"evolve", "--log-level", "d"}, "debug\n"},
		{[]string{"memory", "show", ""}, noFiles},
		{[]string{"groups", "pause", ""}, noFiles},
		{[]string{"plan", ""}, noFiles},
		{[]string{"scan", "--group", ""}, noFiles},
		{[]string{"scan", ""}, files},
		{[]string{"eval", ""}, files},
		{[]string{"evolve", "--config", ""}, files},
		{[]string{"memory", "export", "-o", ""}, files},
	} {
		if o := s.run(append([]string{"__complete"}, c.words...)...).want(t, 0); !strings.Contains(o.stdout, c.want) {
			t.Errorf("%v completes to %q, want %q", c.words, o.stdout, c.want)
		}
	}
	for _, shell := range []string{"bash", "zsh", "fish", "powershell"} {
		s.run("completion", shell).want(t, 0).silent(t).shows(t, "reverie")
	}
}
