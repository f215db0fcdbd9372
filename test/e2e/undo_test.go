package e2e

import (
	"encoding/json"
	"strings"
	"testing"

	"reverie/internal/reverie"
)

// TestRunsUndo takes runs back by name and since a date, as an operator would.
func TestRunsUndo(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	s.set("REVERIE_EMBED_PROVIDER=offline")
	s.model.Respond(scribe(t))
	for _, date := range []string{"2025-03-03", "2025-03-04"} {
		s.bring("g1", chat(date, "note Something happened on "+date, "hello")...)
		s.run("evolve", "--group", "g1").want(t, 0)
	}
	var list reverie.RunsReply
	decode(t, s.run("runs", "list", "--group", "g1", "--json").want(t, 0).stdout, &list)
	newest := list.Runs[0].ID

	for _, c := range []struct {
		args []string
		code int
		says string
	}{
		{[]string{}, 2, "name a run"},
		{[]string{newest, "--since", "2025-03-03"}, 2, "undo one run, or all since a time"},
		{[]string{"--since", "2025-03-03"}, 2, "--since needs --group"},
		{[]string{"--since", "soon", "--group", "g1"}, 2, `--since: "soon" is neither a date`},
		{[]string{"--since", "2025-03-03", "--group", ""}, 2, "--group is empty"},
		{[]string{"--since", "2025-03-03", "--group", "g1", "--job", "decide"}, 2, "give evolve"},
		{[]string{reverie.NewID()}, 1, "`reverie runs list` has the ids"},
		{[]string{newest, "--group", "g2"}, 1, "not found; `reverie runs list --group g2`"},
	} {
		if o := s.run(append([]string{"runs", "undo"}, c.args...)...).want(t, c.code); !strings.Contains(o.stderr, c.says) {
			t.Errorf("%q: %s, want %q", c.args, o.stderr, c.says)
		}
	}

	o := s.run("runs", "undo", newest, "--dry-run").want(t, 0).silent(t)
	for _, want := range []string{"- Something happened on 2025-03-04", "would be undone: 1 memory that it had made", "would remember again exactly", "nothing was written"} {
		if !strings.Contains(o.stdout, want) {
			t.Errorf("no %q in\n%s", want, o.stdout)
		}
	}
	var reply reverie.UndoReply
	decode(t, s.run("runs", "undo", newest, "--json", "--reason", "the wrong model").want(t, 0).stdout, &reply)
	if !reply.Success || len(reply.Runs) != 1 || !reply.Runs[0].Exact || reply.Runs[0].Changes[0].Summary != "the wrong model" {
		t.Errorf("%+v", reply)
	}
	if o := s.run("memory", "changes", "--group", "g1").want(t, 0); !strings.Contains(o.stdout, "undo of run "+newest) {
		t.Errorf("the changes do not say what was taken back:\n%s", o.stdout)
	}
	if o := s.run("runs", "undo", newest).want(t, 1); !strings.Contains(o.stderr, "already undone") {
		t.Errorf("%s", o.stderr)
	}
	if o := s.run("runs", "undo", newest, "--requeue").want(t, 0); !strings.Contains(o.stdout, "2 messages to be read again") {
		t.Errorf("%s", o.stdout)
	}
	reply = reverie.UndoReply{}
	decode(t, s.run("runs", "undo", "--group", "g1", "--since", "2025-03-03", "--dry-run", "--json").want(t, 0).stdout, &reply)
	if len(reply.Runs) != 1 || !reply.DryRun || !reply.Runs[0].UndoneAt.IsZero() {
		t.Errorf("a dry run since a date: %+v", reply)
	}
	s.run("runs", "undo", "--group", "g1", "--since", "2025-03-03").want(t, 0)
	if o := s.run("memory", "list", "--group", "g1").want(t, 0); strings.Contains(o.stdout, "Something") {
		t.Errorf("something is remembered:\n%s", o.stdout)
	}
	if o := s.run("runs", "undo", "--group", "g1", "--since", "2025-03-03").want(t, 0); !strings.Contains(o.stdout, "no run since then") {
		t.Errorf("%s", o.stdout)
	}
}

func decode(t *testing.T, text string, into any) {
	t.Helper()
	if err := json.Unmarshal([]byte(text), into); err != nil {
		t.Fatalf("%v in %s", err, text)
	}
}
