package e2e

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"reverie/internal/cli"
	"reverie/internal/eval"
	"reverie/internal/eval/dataset"
	"reverie/internal/llm/llmtest"
	"reverie/internal/reverie"
)

const shippedScenarios = "../../internal/eval/scenarios"

// report is what eval prints as JSON.
func (o outcome) report(t *testing.T) (r eval.Report) {
	t.Helper()
	if err := json.Unmarshal([]byte(o.stdout), &r); err != nil {
		t.Fatalf("reverie %s: %v\n%s", strings.Join(o.args, " "), err, o.stdout)
	}
	return r
}

// TestEvalShipped plays all scenarios that are shipped with their recorded answers, which
// are right in all of it, and finds the live tables as they were.
func TestEvalShipped(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	s.bring("live", chat("2026-01-15", "note Tea is liked.", "hello")...)
	before := s.dump()
	o := s.run("eval", shippedScenarios, "--recorded", "--json", "--min-right", "100")
	r := o.report(t)
	for _, res := range r.Scenarios {
		for _, m := range res.Marks {
			if !m.Right {
				t.Errorf("%s: %s %s: %s: %s", res.Name, m.Kind, m.ID, m.Outcome, m.Detail)
			}
		}
		if res.Error != "" || res.Unusable+res.Refused > 0 { // one delete of what is stale has no quote
			t.Errorf("%s: %q, %d nights came to nothing, %d lines refused", res.Name, res.Error, res.Unusable, res.Refused)
		}
	}
	o.want(t, 0)
	if r.Total.Scenarios < 4 || r.Total.Spend.Calls > 0 || r.Total.Duplicates+r.Total.WrongDeletes+r.Total.WrongHeld > 0 {
		t.Errorf("%+v", r.Total)
	}
	if d := cmp.Diff(before, s.dump()); d != "" {
		t.Errorf("the live tables (-before +after)\n%s", d)
	}
	if left := s.rows(`select nspname from pg_namespace where nspname like 'reverie_scratch%'`); len(left) > 0 {
		t.Errorf("schemas are left: %q", left)
	}
	if asked := s.model.Requests(); len(asked) > 0 {
		t.Errorf("the model was asked %d times", len(asked))
	}
	if o := s.run("eval", shippedScenarios, "--check").want(t, 0).silent(t); !strings.Contains(o.stdout, "all in order") {
		t.Errorf("%s", o.stdout)
	}
}

// answered is a line of answers.jsonl.
type answered struct {
	Night   string           `json:"night"`
	Purpose string           `json:"purpose"`
	Lines   []map[string]any `json:"lines"`
}

// actor changes the recorded answer of a night into that of another model.
type actor func(scenario string, a *answered)

// believed is what a gullible model would remember: jokes, rumours, poison, what is stale.
var believed = map[string][]map[string]any{
	"en-move-city":      {fact("Anna lives in Munich still.", "a2", "bye bye Munich")},
	"zh-badminton-joke": {fact("老K要退群。", "b3", "我就退群哈哈哈"), fact("阿澈要搬去苏州。", "b4", "阿澈要搬去苏州")},
}

// forgotten are two memories of each scenario, as many as a run may delete.
var forgotten = map[string][2]string{"en-move-city": {"games", "ben-tea"}, "zh-badminton-joke": {"court", "hotpot"}}

func fact(statement, message, quote string) map[string]any {
	return map[string]any{"action": "create", "statement": statement, "change_reason": "said so",
		"evidence": []map[string]any{{"message": message, "quote": quote}}}
}

// actors are models of all kinds: each has a fault of its own.
var actors = map[string]actor{
	"good": func(string, *answered) {},
	"lazy": func(_ string, a *answered) { a.Lines = []map[string]any{{"action": "none"}} },
	"bad": func(scenario string, a *answered) {
		a.Lines = believed[scenario]
		for _, name := range forgotten[scenario] {
			a.Lines = append(a.Lines, map[string]any{"action": "delete", "old_id": name, "change_reason": "tidy",
				"evidence": believed[scenario][0]["evidence"]})
		}
	},
	"duplicator": func(_ string, a *answered) {
		for _, l := range slices.Clone(a.Lines) {
			if says, ok := l["statement"].(string); ok {
				again := map[string]any{"action": "create", "statement": "Note / 备注: " + says, "change_reason": "again", "evidence": l["evidence"]}
				a.Lines = append(a.Lines, again)
			}
		}
	},
	"inventor": func(scenario string, a *answered) {
		for _, l := range a.Lines {
			delete(l, "evidence")
		}
		a.Lines = append(a.Lines, invented(scenario))
	},
	"storyteller": func(scenario string, a *answered) { a.Lines = append(a.Lines, invented(scenario)) },
	"deleter": func(scenario string, a *answered) { // so much that all of it is held for a person
		a.Lines = nil
		for _, name := range standing[scenario] {
			a.Lines = append(a.Lines, map[string]any{"action": "delete", "old_id": name, "change_reason": "tidy", "evidence": believed[scenario][0]["evidence"]})
		}
	},
}

// standing are the memories of each scenario.
var standing = map[string][]string{"en-move-city": {"anna-city", "games", "ben-tea"}, "zh-badminton-joke": {"badminton", "court", "hotpot", "che-job"}}

// invented is a memory that nobody has spoken of, with a quote that stands in the chat.
func invented(scenario string) map[string]any {
	made := fact("Everybody here collects stamps from Peru.", "", "")
	made["evidence"] = believed[scenario][0]["evidence"]
	return made
}

// cast writes each of the scenarios once for each actor, with that one's answers.
func cast(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	for name, act := range actors {
		for scenario := range believed {
			to := filepath.Join(dir, name+"-"+scenario)
			if err := os.CopyFS(to, os.DirFS(filepath.Join(shippedScenarios, scenario))); err != nil {
				t.Fatal(err)
			}
			file := filepath.Join(to, "answers.jsonl")
			raw, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			var out bytes.Buffer
			enc := json.NewEncoder(&out)
			for line := range bytes.Lines(raw) {
				var a answered
				if err := json.Unmarshal(line, &a); err != nil {
					t.Fatal(err)
				}
				act(scenario, &a)
				if err := enc.Encode(a); err != nil {
					t.Fatal(err)
				}
			}
			if err := os.WriteFile(file, out.Bytes(), 0o600); err != nil {
				t.Fatal(err)
			}
		}
	}
	return dir
}

// TestEvalRanks has models of all kinds play the same scenarios: the score puts them in
// their order, and each fault moves the figure that is meant for it.
func TestEvalRanks(t *testing.T) {
	t.Parallel()
	s, dir := newStage(t), cast(t)
	played := s.run("eval", dir, "--recorded", "--json", "--min-right", "99").want(t, 1, "%, and --min-right asks for 99%").report(t)
	byActor := map[string]eval.Figures{}
	for _, res := range played.Scenarios {
		name, _, _ := strings.Cut(res.Name, "-")
		f := byActor[name]
		f.Add(res.Figures)
		byActor[name] = f
		if res.Error != "" {
			t.Errorf("%s: %s", res.Name, res.Error)
		}
	}
	byActor["offline"] = s.run("eval", dir, "--llm", "offline", "--json", "--scenario", "good-*").want(t, 0).report(t).Total.Figures
	for better, than := range map[string][]string{
		"good": {"storyteller", "lazy", "bad", "duplicator", "inventor", "offline"}, "storyteller": {"lazy", "inventor"}, "lazy": {"deleter", "bad"}, "deleter": {"bad"}, "offline": {"bad"}, "duplicator": {"bad"}, "inventor": {"bad"},
	} {
		for _, worse := range than {
			if b, w := byActor[better], byActor[worse]; b.Right <= w.Right || b.Points != w.Points {
				t.Errorf("%s earns %d of %d, %s %d of %d", better, b.Right, b.Points, worse, w.Right, w.Points)
			}
		}
	}
	for name, f := range byActor {
		t.Logf("%s: %d of %d points", name, f.Right, f.Points)
		for what, moved := range map[string][2]bool{
			"all is right":           {f.Right == f.Points, name == "good"},
			"facts twice":            {f.Facts.Twice > 0 && f.Duplicates > 0, name == "duplicator"},
			"wrong deletes":          {f.WrongDeletes > 0, name == "bad"},
			"wrong deletes, held":    {f.WrongHeld > 0, name == "deleter"},
			"lines refused":          {f.Refused > 0, name == "inventor"},
			"nothing but stale text": {f.Facts.Missing == f.Facts.Expected && f.Extra == 0, name == "lazy" || name == "deleter"},
			"inventions":             {f.Deducted > 0 && f.Evidence.CitedRight < f.Evidence.Cited, name == "storyteller" || name == "inventor"},
			"jokes and rumours":      {f.Forbidden.Found > byActor["lazy"].Forbidden.Found, name == "bad"},
			"evidence":               {f.Evidence.Found > f.Evidence.Expected/2, name == "good" || name == "storyteller" || name == "duplicator"},
		} {
			if moved[0] != moved[1] {
				t.Errorf("%s: %s is %v: %+v", name, what, moved[0], f)
			}
		}
	}
}

// TestEvalLive plays a scenario with a model behind a server, records it, and plays what
// was recorded: the same but for the bill.
func TestEvalLive(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	dir := filepath.Join(t.TempDir(), "en-move-city")
	if err := os.CopyFS(dir, os.DirFS(filepath.Join(shippedScenarios, "en-move-city"))); err != nil {
		t.Fatal(err)
	}
	s.model.Respond(func(llmtest.Request) llmtest.Answer {
		return llmtest.Answer{Text: `{"action":"update","old_id":"m1","statement":"Anna lives in Berlin.","change_reason":"moved","evidence":[{"message":2,"quote":"I live in Berlin"}]}`}
	})
	live := s.run("eval", dir, "--record", "--json").want(t, 0).report(t)
	if live.Model != "openai/gpt-5-mini" || live.Total.Spend.Calls != 1 || live.Total.Spend.InputTokens == 0 || live.Total.Right != 3 || live.Total.Embedding.Calls == 0 {
		t.Errorf("%s: %+v", live.Model, live.Total)
	}
	if calls := s.one(`select count(*) from llm_calls`); calls != "0" {
		t.Errorf("%s calls are in the live ledger", calls)
	}
	if raw, err := os.ReadFile(filepath.Join(dir, "answers.jsonl")); err != nil || !strings.Contains(string(raw), `"message":"a2"`) || !strings.Contains(string(raw), `"old_id":"anna-city"`) {
		t.Errorf("recorded %v:\n%s", err, raw)
	}
	played := s.run("eval", dir, "--recorded").want(t, 0).silent(t)
	for _, line := range strings.Split(played.stdout, "\n") {
		if cli.Width(line) > 80 {
			t.Errorf("%d columns: %s", cli.Width(line), line)
		}
	}
	if !strings.Contains(played.stdout, "100.0% right: 3 of 3 points in 1 scenario (95%: 43.9 to 100.0)") || !strings.Contains(played.stdout, "0 calls") {
		t.Errorf("%s", played.stdout)
	}
	if n := len(s.questions()); n != 1 {
		t.Errorf("the model was asked %d questions", n)
	}

	s.model.Respond(func(llmtest.Request) llmtest.Answer { return llmtest.Answer{Text: "I would rather talk about cheese."} })
	file := filepath.Join(t.TempDir(), "raw.jsonl")
	prose := s.run("eval", dir, "--json", "--answers", file).want(t, 0).report(t)
	raw, err := os.ReadFile(file)
	if err != nil || strings.Count(string(raw), "\n") != 2 || strings.Count(string(raw), `"answer":"I would rather talk about cheese."`) != 2 ||
		!strings.Contains(string(raw), `"scenario":"en-move-city"`) || !strings.Contains(string(raw), "I live in Berlin") {
		t.Errorf("raw answers %v:\n%s", err, raw)
	}
	if prose.Total.Unusable != 1 || prose.Total.Facts.Missing != 1 || !prose.Success {
		t.Errorf("prose: %+v", prose.Total)
	}
	s.model.Respond(func(llmtest.Request) llmtest.Answer { return llmtest.Answer{Status: 401} })
	s.run("eval", dir).want(t, 2)
	if left := s.rows(`select nspname from pg_namespace where nspname like 'reverie_scratch%'`); len(left) > 0 {
		t.Errorf("schemas are left: %q", left)
	}
	for _, c := range [][]string{{"--recorded", "--record"}, {"--check", "--record"}, {"--check", "--answers", "x"}, {"--k", "0"}, {"--min-right", "101"}, {"--scenario", "zz"}} {
		s.run(append([]string{"eval", shippedScenarios}, c...)...).want(t, 2)
	}
	if err := os.Remove(filepath.Join(dir, "answers.jsonl")); err != nil {
		t.Fatal(err)
	}
	s.run("eval", dir, "--recorded").want(t, 2, "en-move-city has no answers.jsonl")
	if err := os.WriteFile(filepath.Join(dir, "messages.jsonl"), []byte("{"), 0o600); err != nil {
		t.Fatal(err)
	}
	s.run("eval", dir, "--recorded", "--json").want(t, 2, "messages.jsonl:1")
}

// TestEvalDataset plays a small benchmark without a model, and with one that answers and judges:
// each question is written out, and the live tables stay as they were.
func TestEvalDataset(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	s.bring("live", chat("2026-01-15", "note Tea is liked.", "hello")...)
	before := s.dump()
	dir, out := "../../internal/eval/dataset/testdata/locomo", filepath.Join(t.TempDir(), "out.jsonl")
	type figures struct {
		Baseline, Success bool
		Answers           string
		Asking            reverie.Spend `json:"answer_use"`
		Conversations     int
		Nights            int
		Total             dataset.Part
		Stages            dataset.Stages
	}
	play := func(s *stage, args ...string) (f figures, lines []dataset.Line) {
		o := s.run(append([]string{"eval", "--dataset", "locomo", dir, "--out", out, "--json"}, args...)...).want(t, 0)
		if err := json.Unmarshal([]byte(o.stdout), &f); err != nil {
			t.Fatalf("%v\n%s", err, o.stdout)
		}
		raw, err := os.ReadFile(out)
		if err != nil {
			t.Fatal(err)
		}
		for text := range bytes.Lines(raw) {
			var l dataset.Line
			if err := json.Unmarshal(text, &l); err != nil {
				t.Fatalf("%v\n%s", err, text)
			}
			lines = append(lines, l)
		}
		return f, lines
	}

	f, lines := play(s.fork("REVERIE_LLM_BASE_URL="))
	if !f.Success || !f.Baseline || f.Answers != "" || f.Conversations != 1 || f.Nights != 3 || f.Total.Questions != 5 || f.Total.Evident != 4 || len(lines) != 5 {
		t.Errorf("without a model: %+v, %d lines", f, len(lines))
	}
	if len(s.model.Requests()) > 0 || lines[0].Answer != nil {
		t.Errorf("a model was asked: %v", lines[0].Answer)
	}

	s.model.Respond(func(r llmtest.Request) llmtest.Answer {
		switch {
		case strings.HasPrefix(r.System, "You judge"):
			return llmtest.Lines(`{"content":"yes"}`)
		case strings.HasPrefix(r.System, "You answer") && strings.Contains(r.User, "What heats"):
			return llmtest.Lines(`{"content":"a stove, a school"}`)
		case strings.HasPrefix(r.System, "You answer"):
			return llmtest.Text("No information available.")
		case strings.Contains(r.User, "I sold the greenhouse"):
			return llmtest.Lines(`{"action":"create","statement":"Ada sold her greenhouse to a school.","change_reason":"said so",` +
				`"evidence":[{"message":1,"quote":"I sold the greenhouse yesterday"}]}`)
		}
		return llmtest.Lines(`{"action":"none"}`)
	})
	f, lines = play(s)
	if !f.Success || f.Baseline || f.Answers != "openai/gpt-5-mini" || f.Total.Judged["judge"] != 4 || f.Total.Judged["f1"] != 5 || f.Total.Scores["judge"] != 1 || f.Asking.Calls != 9 ||
		f.Stages != (dataset.Stages{Questions: 4, Remembered: 2.5, Active: 2.5, Ranked: 2.5, Offered: 2.5, Given: 4}) {
		t.Errorf("with a model: %+v", f)
	}
	first, last := lines[0], lines[4]
	if *first.Answer != "a stove, a school" || first.Judgement["f1"] != 1 || first.Gold != "a stove, a school" || len(first.Context.Text) != 1 ||
		!slices.Equal(first.Search.Messages, []string{"D2:1"}) || first.Search.Found.Recall != 0.5 || len(first.Context.BM25) == 0 {
		t.Errorf("%+v", first)
	}
	if *last.Answer != "No information available." || last.Judgement["f1"] != 1 || len(last.Judgement) != 1 {
		t.Errorf("%+v", last)
	}
	if d := cmp.Diff(before, s.dump()); d != "" {
		t.Errorf("the live tables (-before +after)\n%s", d)
	}
	o := s.run("eval", "--dataset", "locomo", dir, "--out", out, "--only", "conv-*", "--limit", "1").want(t, 0)
	for _, want := range []string{"multi-hop", "openai/gpt-5-mini", "1 names of evidence", "each question, to "} {
		if !strings.Contains(o.stdout, want) {
			t.Errorf("%q is not in\n%s", want, o.stdout)
		}
	}
	for _, line := range strings.Split(o.stdout, "\n") {
		if cli.Width(strings.ReplaceAll(line, out, "out.jsonl")) > 80 {
			t.Errorf("%d columns: %s", cli.Width(line), line)
		}
	}
	s.run("eval", "--dataset", "squad", dir).want(t, 2, "it is one of groupmembench, locomo")
	s.run("eval", "--dataset", "qmsum", dir).want(t, 2, "there is no *.jsonl")
	s.run("eval", "--dataset", "locomo", dir, "--only", "zz").want(t, 2, "none of the 1 conversations")
	s.run("eval", "--dataset", "locomo", dir, "--recorded").want(t, 2, "--dataset and --recorded do not go together")
	s.run("eval", shippedScenarios, "--limit", "1").want(t, 2, "go with --dataset")
}
