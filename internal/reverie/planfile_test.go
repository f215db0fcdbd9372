package reverie

import (
	"bytes"
	"errors"
	"os"
	"strings"
	"testing"
	"time"
)

// aPlan has a line of each type, in both languages.
func aPlan() *PlanFile {
	at := time.Date(2026, 1, 15, 12, 0, 0, 0, time.UTC)
	id := func(n string) string { return strings.Repeat("0", 8) + "-0000-7000-8000-00000000000" + n }
	tea := HeadState{Memory: Memory{Kind: KindGroup, Status: StatusActive, Statement: "Lin drinks tea", Tags: []string{"drinks"}}}
	said := Message{ID: "a1", AuthorID: "lin", Author: "林", Role: RoleUser, Text: "我现在只喝咖啡 <3", SentAt: at}
	f := &PlanFile{PlanHeader: PlanHeader{PlanID: id("1"), GroupID: "g1", Job: JobEvolve, Kind: KindGroup, CreatedAt: at, Since: at.Add(-time.Hour), Until: at.Add(time.Hour),
		Model: "openai/fake", PromptVersion: "2", PromptSHA256: strings.Repeat("ab", 32)},
		Heads:    []PlanHead{{MemoryID: id("2"), LineageID: id("3"), Version: 1, SHA256: tea.SHA256()}},
		Messages: []PlanMessage{{Chunk: 1, MessageID: "a1", Outcome: OutcomeCited, SHA256: said.SHA256()}, {MessageID: "a0", SHA256: Message{ID: "a0"}.SHA256()}}}
	evidence := []Evidence{{MessageID: "a1", Author: "林", Quote: "我现在只喝咖啡"}}
	names := map[string]string{id("2"): id("2")}
	f.Add(PlanChunk{InputSHA256: strings.Repeat("cd", 32), Answer: "{\"action\":\"update\"}\n", Compared: 1}, Plan{ChunkNo: 1, HeldReason: "too much at once",
		Steps: []Step{{Action: ActionUpdate, LineageID: id("3"), MemoryID: id("4"), Head: Head{MemoryID: id("2"), Version: 1}, OldStatement: "Lin drinks tea",
			Statement: "林只喝咖啡", Tags: []string{"drinks"}, Reason: "he said so", Evidence: evidence}},
		Held:      []Step{{Action: ActionCreate, LineageID: id("5"), MemoryID: id("6"), Replaces: id("3"), Statement: "Nobody drinks tea", Evidence: evidence}},
		Refusals:  []Refusal{{Line: 2, Action: "create", Rule: "link", Detail: "it holds a link"}},
		Decisions: []Decision{{No: 1, Statement: "Nobody drinks tea", Action: DecisionReplace, Basis: BasisCompared, TargetID: id("2"), MemoryID: id("6"), Candidates: []Candidate{{MemoryID: id("2"), Version: 1, Score: 0.5}}}},
	}, names)
	return f
}

func written(t testing.TB, f *PlanFile) string {
	t.Helper()
	var b bytes.Buffer
	if err := f.Write(&b); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

// TestPlanFile writes the form that is in the repository, and reads it again as it was.
func TestPlanFile(t *testing.T) {
	const name = "testdata/plan.jsonl"
	text := written(t, aPlan())
	if os.Getenv("REVERIE_TEST_UPDATE") != "" {
		if err := os.WriteFile(name, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	golden, err := os.ReadFile(name)
	if err != nil || text != string(golden) {
		t.Fatalf("%v; written:\n%s\nand in %s:\n%s", err, text, name, golden)
	}
	f, err := ReadPlan(strings.NewReader(text))
	if err != nil || f.Edited || f.Sum != f.SHA256 || written(t, f) != text {
		t.Errorf("read again: %v, edited %v", err, f.Edited)
	}
	for what, same := range map[string]string{
		"saved on Windows":     "\uFEFF" + strings.ReplaceAll(text, "\n", "\r\n") + "\r\n\r\n",
		"with other spaces":    strings.ReplaceAll(text, `","`, `" , "`),
		"without the last end": strings.TrimSuffix(text, "\n"),
	} {
		if f, err := ReadPlan(strings.NewReader(same)); err != nil || f.Edited {
			t.Errorf("%s: %v", what, err)
		}
	}
	for what, other := range map[string]string{
		"a word":   strings.Replace(text, "Nobody drinks", "Somebody drinks", 1),
		"the file": strings.Replace(text, "openai/fake", "openai/other", 1),
		"a line":   strings.Replace(text, `{"type":"refusal"`, "\n"+`{"type":"refusal"`, 1),
	} {
		if f, err := ReadPlan(strings.NewReader(other)); err != nil || f.Edited != (what != "a line") {
			t.Errorf("%s: %v, edited %v", what, err, f != nil && f.Edited)
		}
	}
}

// TestReadPlanRefuses refuses what is not exactly a plan, by the number of the line.
func TestReadPlanRefuses(t *testing.T) {
	text := written(t, aPlan())
	line := func(part string) string {
		for l := range strings.Lines(text) {
			if strings.Contains(l, part) {
				return l
			}
		}
		t.Fatalf("no line with %q", part)
		return ""
	}
	step, head, message := line(`"type":"step"`), line(`"type":"head"`), line(`"type":"message"`)
	for what, c := range map[string]struct{ from, to, says string }{
		"nothing":              {text, "", "the plan is empty"},
		"no header":            {line(`"reverie":"plan"`), "", "line 1 of the plan: it is not the first line"},
		"an export":            {`"reverie":"plan"`, `"reverie":"export"`, "line 1"},
		"a newer format":       {`"format":1`, `"format":2`, "format 2"},
		"days before":          {`"model"`, `"days":-1,"model"`, "days is none"},
		"no id":                {`"plan_id":"0000`, `"plan_id":"x`, "UUIDs"},
		"an id in capitals":    {`"plan_id":"00000000-0000-7000-8000`, `"plan_id":"0000000A-0000-7000-8000`, "UUIDs"},
		"no group":             {`"group_id":"g1"`, `"group_id":""`, "names no group"},
		"no hash":              {`"sha256":"`, `"sha256":"x`, "sha256"},
		"an unknown field":     {`"action":"update"`, `"action":"update","weight":2`, "line 6 of the plan: json: unknown field"},
		"a field twice":        {`"action":"update"`, `"action":"update","action":"delete"`, "said twice"},
		"a field in capitals":  {`"action":"update"`, `"action":"update","Action":"delete"`, "none that a plan has"},
		"a field that folds":   {`"quote":"`, `"quote":"","quoteſ":"`, "none that a plan has"},
		"inside twice":         {`"author":"林"`, `"author":"林","author":"Lin"`, "said twice"},
		"something behind it":  {step, strings.TrimSuffix(step, "\n") + " {}\n", "not one JSON object"},
		"a list":               {step, "[" + strings.TrimSuffix(step, "\n") + "]\n", "not one JSON object"},
		"no JSON":              {step, "drop the tea\n", "line 6 of the plan: it is not one JSON object"},
		"no UTF-8":             {"he said so", "he said \xff", "UTF-8"},
		"an unknown type":      {`"type":"refusal"`, `"type":"remark"`, `"remark" is no type`},
		"an unknown action":    {`"action":"update"`, `"action":"archive"`, `"archive" is no action`},
		"an unknown decision":  {`"action":"DELETE+ADD"`, `"action":"DROP"`, "no decision"},
		"an unknown outcome":   {`"outcome":"cited"`, `"outcome":"read"`, "no outcome"},
		"a create of a memory": {`"action":"create","as"`, `"action":"create","memory_id":"n1","as"`, "a create names no memory_id"},
		"an empty statement":   {`"statement":"林只喝咖啡"`, `"statement":""`, "have a statement"},
		"a name that is none":  {`"as":"n1"`, `"as":"00000000-0000-7000-8000-000000000004"`, "as names"},
		"a name twice":         {`"as":"n2"`, `"as":"n1"`, "stands in line 6 already"},
		"a head twice":         {head, head + head, "already"},
		"a message twice":      {message, message + message, "already"},
		"a message of no chunk": {`"chunk":1,"message_id"`, `"chunk":7,"message_id"`,
			"no such chunk"},
		"another chunk":       {`"type":"step","chunk":1,`, `"type":"step","chunk":2,`, "outside of its chunk"},
		"a chunk before":      {line(`"type":"chunk"`), line(`"type":"chunk"`) + line(`"type":"chunk"`), "count up"},
		"a step before":       {line(`"type":"chunk"`), "", "outside of its chunk"},
		"a cut":               {line(`"type":"end"`), "", "it was cut off"},
		"a cut within a line": {text[len(text)-30:], "", "line 9"},
		"a NUL":               {"he said so", `he said\u0000 so`, "NUL"},
		"a NUL in an id":      {`"message_id":"a0"`, `"message_id":"a\u00000"`, "line 4 of the plan: it has a character NUL"},
		"a question's hash":   {strings.Repeat("cd", 32), "cd", "input_sha256 is"},
		"a huge chunk":        {`"type":"chunk","chunk":1`, `"type":"chunk","chunk":2147483648`, "count up"},
		"less than nothing":   {`"compared":1`, `"compared":-5`, "compared is a count"},
		"a line before all":   {`"line":2`, `"line":-5`, "line is that of an answer"},
		"a huge decision":     {`"decision":1`, `"decision":99999999999`, "no decision"},
		"huge calls":          {`"basis":"compared"`, `"basis":"compared","calls":99999999999`, "no decision"},
		"no window":           {`"until":"2026`, `"until":"1026`, "no window"},
		"more after the end":  {line(`"type":"end"`), line(`"type":"end"`) + head, "comes after its end"},
		"a very long line":    {"he said so", strings.Repeat("o", maxPlanLine), "longer than"},
	} {
		edited := strings.Replace(text, c.from, c.to, 1)
		if edited == text {
			t.Errorf("%s: nothing was changed", what)
		}
		if _, err := ReadPlan(strings.NewReader(edited)); !errors.Is(err, ErrInvalid) || !strings.Contains(err.Error(), c.says) {
			t.Errorf("%s: %v", what, err)
		}
	}
}

// FuzzReadPlan reads nothing that it would write otherwise.
func FuzzReadPlan(f *testing.F) {
	text := written(f, aPlan())
	f.Add(text)
	f.Add("\uFEFF" + strings.ReplaceAll(text, "\n", "\r\n"))
	f.Add(strings.Replace(text, "Nobody", "Somebody", 1))
	f.Add(strings.Replace(text, `"action":"update"`, `"action":"update","action":"delete"`, 1))
	f.Fuzz(func(t *testing.T, in string) {
		plan, err := ReadPlan(strings.NewReader(in))
		if err != nil {
			if !errors.Is(err, ErrInvalid) {
				t.Errorf("an error of another kind: %v", err)
			}
			return
		}
		first := written(t, plan)
		again, err := ReadPlan(strings.NewReader(first))
		if err != nil || again.Edited || written(t, again) != first {
			t.Errorf("written and read again: %v\n%s", err, first)
		}
	})
}
