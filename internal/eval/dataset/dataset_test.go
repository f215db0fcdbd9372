package dataset

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"reverie/internal/reverie"
)

// told is a conversation as a test writes it.
func told(c Conversation) (lines []string) {
	lines = append(lines, "# "+c.ID)
	for _, m := range c.Messages {
		lines = append(lines, fmt.Sprintf("%s %s %s: %s %s", m.ID, m.SentAt.Format("2006-01-02 15:04:05"), m.Author, m.Text, m.Role))
	}
	for _, q := range c.Questions {
		lines = append(lines, fmt.Sprintf("? %s %s %s = %s %v %d %v", q.ID, q.Kind, q.Query(), q.Gold, q.Evidence, q.Unknown, q.Abstain))
	}
	return lines
}

// TestRead reads a small folder of each format.
func TestRead(t *testing.T) {
	for name, want := range map[string][]string{
		"locomo": {
			"# conv-1",
			"D1:1 2023-05-08 13:56:00 Ada: My greenhouse got a new stove this week. ",
			"D1:2 2023-05-08 13:56:10 Ben: Look at this [picture: a heron on a roof] ",
			"D2:1 2023-05-10 09:05:00 Ada: I sold the greenhouse yesterday, to a school. ",
			"D10:1 2023-08-24 00:24:00 Ben: My heron has come back. ",
			"? conv-1-1 multi-hop What heats Ada's greenhouse, and who bought it? = a stove, a school [D1:1 D2:1] 0 false",
			"? conv-1-2 temporal When did Ada sell the greenhouse? = 2023 [D2:1] 1 false",
			"? conv-1-3 open-domain Does Ben like birds? = Yes; he watches a heron [] 0 false",
			"? conv-1-4 single-hop What sat on the roof? = a heron [D1:2] 0 false",
			"? conv-1-5 adversarial What did Ben sell? = No information available [D2:1] 0 true",
		},
		"longmemeval": {
			"# q1",
			"1/s2/1 2023-05-22 09:10:00 user: A fourth goat came today. user",
			"1/s2/2 2023-05-22 09:10:10 assistant: Good luck with it. assistant",
			"2/s1/1 2023-05-20 02:21:00 user: I keep three goats. user",
			"? q1 knowledge-update How many goats do I keep? = 4 [1/s2/1] 0 false",
			"# q2_abs",
			"1/s1/1 2023-05-20 02:21:00 user: I keep three goats. user",
			"? q2_abs abstention What is my cat called? = A cat was never mentioned. [] 0 true",
		},
		"qmsum": {
			"# test-1",
			"0 2020-01-06 09:00:00 Chair: Which colour for the shed? ",
			"1 2020-01-06 09:00:10 Kim: Green, I say. ",
			"2 2020-01-06 09:00:20 Chair: Green it is. ",
			"? test-1-specific-1 specific Which colour did they choose? = They chose green for the shed. [0 1 2] 1 false",
			"? test-1-general-1 general Sum up the meeting. = The shed will be painted. [] 0 false",
		},
		"groupmembench": {
			"# Garden",
			"Msg_1 2025-07-01 08:00:00 User_1: When does the gravel come? ",
			"Msg_2 2025-07-02 08:00:00 User_2: The gravel comes on Friday. ",
			"Msg_3 2025-07-02 09:00:00 User_1: Mine is the koi pond. ",
			"? Garden-abstention_1 abstention User_2: Who feeds the koi? = This was never said. [] 0 true",
			"? Garden-user_implicit_1 user_implicit User_1: Which pond is mine? = the koi pond [] 0 false",
		},
	} {
		f, err := Named(name)
		if err != nil {
			t.Fatal(err)
		}
		list, err := f.Read(filepath.Join("testdata", name), nil, 0)
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		for _, c := range list {
			got = append(got, told(c)...)
		}
		if !slices.Equal(got, want) {
			t.Errorf("%s\n got %s\nwant %s", name, strings.Join(got, "\n     "), strings.Join(want, "\n     "))
		}
	}
}

// TestReadSome takes conversations by their ids, and the first few.
func TestReadSome(t *testing.T) {
	f, _ := Named("longmemeval")
	dir := filepath.Join("testdata", "longmemeval")
	for _, c := range []struct {
		only  []string
		limit int
		want  []string
	}{{nil, 1, []string{"q1"}}, {[]string{"*_abs"}, 0, []string{"q2_abs"}}, {[]string{"q1", "q2*"}, 5, []string{"q1", "q2_abs"}}} {
		list, err := f.Read(dir, c.only, c.limit)
		var ids []string
		for _, conversation := range list {
			ids = append(ids, conversation.ID)
		}
		if err != nil || !slices.Equal(ids, c.want) {
			t.Errorf("%v, %d: %v, %v", c.only, c.limit, ids, err)
		}
	}
	if _, err := f.Read(dir, []string{"zz*"}, 0); err == nil || !strings.Contains(err.Error(), `none of the 2 conversations`) {
		t.Error(err)
	}
}

// TestReadSaysWhatIsWrong makes one mistake after the other in files that are right.
func TestReadSaysWhatIsWrong(t *testing.T) {
	const (
		locomo = "data/locomo10.json"
		group  = "data/final/Garden/synthetic_domain_channels_rolevariants_Garden.json"
	)
	for _, c := range []struct{ format, file, old, now, want string }{
		{"locomo", locomo, `"sample_id": "conv-1",`, ``, `locomo10.json: record 1: the conversation has no "sample_id"`},
		{"locomo", locomo, `"qa"`, `"questions"`, `the conversation has no "qa"; is this a whole file of the format that --dataset names?: invalid`},
		{"locomo", locomo, `"dia_id": "D2:1", `, ``, `session_2, turn 1 has no "dia_id"`},
		{"locomo", locomo, `1:56 pm on 8 May, 2023`, `8 May`, `session_1_date_time is "8 May", and not like "3:04 pm on 2 January, 2006"`},
		{"locomo", locomo, `"category": 4`, `"category": 6`, `question 4 has no "category"`},
		{"locomo", locomo, `"category": 4`, `"category": "four"`, `locomo10.json: record 1: json: cannot unmarshal string`},
		{"locomo", locomo, "\n]\n", "", `locomo10.json: record 2: EOF`},
		{"locomo", locomo, `"evidence": [],`, `"evidence": [,`, `locomo10.json: record 1: invalid character ','`},
		{"qmsum", "test.jsonl", "Green it is.\"}]}\n", "Gree", `test.jsonl: record 1: unexpected EOF`},
		{"longmemeval", "longmemeval_tiny.json", `"2023/05/22 (Mon) 09:10", `, ``, `record 1: the question has 2 sessions, 1 haystack_dates`},
		{"longmemeval", "longmemeval_tiny.json", `2023/06/01 (Thu) 10:00`, `June`, `question_date is "June", and not like`},
		{"longmemeval", "longmemeval_tiny.json", `"question_type": "single-session-user", `, ``, `record 2: the question has no "question_type"`},
		{"qmsum", "test.jsonl", `["0", "1"]`, `["a", "1"]`, `test.jsonl: record 1: specific query 1: relevant_text_span [a 1] is not a first and a last turn`},
		{"qmsum", "test.jsonl", `"meeting_transcripts"`, `"turns"`, `the meeting has no "meeting_transcripts"`},
		{"groupmembench", group, `"2025-07-01T08:00:00Z"`, `"soon"`, `channel "paths", message 2 has no "timestamp in ISO 8601"`},
		{"groupmembench", "questions/Garden/abstention.jsonl", `"id": "abstention_1", `, ``, `abstention.jsonl: record 1: the question has no "id"`},
	} {
		dir := t.TempDir()
		if err := os.CopyFS(dir, os.DirFS(filepath.Join("testdata", c.format))); err != nil {
			t.Fatal(err)
		}
		raw, err := os.ReadFile(filepath.Join(dir, c.file))
		if err != nil || !strings.Contains(string(raw), c.old) {
			t.Fatalf("%s does not have %q: %v", c.file, c.old, err)
		}
		wants(t, c.format, dir, c.file, "\ufeff"+strings.Replace(string(raw), c.old, c.now, 1), c.want) // a mark is no mistake
		wants(t, c.format, dir, c.file, "version https://git-lfs.github.com/spec/v1\n", "record 1: invalid character")
		wants(t, c.format, dir, c.file, "", "record 1: EOF")
	}
	for _, format := range formats {
		f, err := Named(format.Name)
		if err != nil {
			t.Fatal(err)
		}
		for _, dir := range []string{t.TempDir(), "no-such-folder"} {
			if _, err := f.Read(dir, nil, 0); !errors.Is(err, reverie.ErrInvalid) || !strings.Contains(err.Error(), dir) {
				t.Errorf("%s: %v", f.Name, err)
			}
		}
	}
	if _, err := Named("squad"); err == nil || !strings.Contains(err.Error(), "it is one of groupmembench, locomo, longmemeval, qmsum") {
		t.Error(err)
	}
}

// wants writes a file and reads the folder, which must be refused in these words.
func wants(t *testing.T, format, dir, file, text, want string) {
	t.Helper()
	if err := os.WriteFile(filepath.Join(dir, file), []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	f, err := Named(format)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := f.Read(dir, nil, 0); !errors.Is(err, reverie.ErrInvalid) || !strings.Contains(err.Error(), want) {
		t.Errorf("%s\n got %v\nwant %s", file, err, want)
	}
}

// TestGrade holds answers against gold ones, by the measures of each benchmark.
func TestGrade(t *testing.T) {
	for _, c := range []struct {
		dataset, kind, gold, answer string
		abstain                     bool
		want                        map[string]float64
	}{
		{"locomo", "single-hop", "a new stove", "The stoves, new!", false, map[string]float64{measureF1: 1, measureJudge: 1}},
		{"locomo", "single-hop", "a new stove", "stove", false, map[string]float64{measureF1: 2.0 / 3, measureJudge: 1}},
		{"locomo", "multi-hop", "a stove, a school", "school", false, map[string]float64{measureF1: 0.5, measureJudge: 1}},
		{"locomo", "open-domain", "Yes; he watches a heron", "yes", false, map[string]float64{measureF1: 1, measureJudge: 1}},
		{"locomo", kindAdversarial, notMentioned, "no information available.", true, map[string]float64{measureF1: 1}},
		{"locomo", kindAdversarial, notMentioned, "a greenhouse", true, map[string]float64{measureF1: 0}},
		{"locomo", "temporal", "2023", "", false, map[string]float64{measureF1: 0, measureJudge: 1}},
		{"longmemeval", "knowledge-update", "4", "four", false, map[string]float64{measureJudge: 1}},
		{"qmsum", "specific", "They chose green for the shed", "they chose the green shed", false,
			map[string]float64{"rouge1": 10.0 / 11, "rouge2": 2.0 / 9, "rougeL": 8.0 / 11}},
	} {
		f, err := Named(c.dataset)
		if err != nil {
			t.Fatal(err)
		}
		ask := func(_ context.Context, group, system, user string) (string, error) {
			var shown map[string]string
			if err := json.Unmarshal([]byte(user), &shown); err != nil || shown["gold"] != c.gold || shown["answer"] != c.answer || group != "g" {
				t.Errorf("%s, %v: the judge was shown %s", group, err, user)
			}
			return "Yes.", nil
		}
		got, err := f.Grade(t.Context(), ask, Conversation{ID: "g"}, Question{Kind: c.kind, Gold: c.gold, Abstain: c.abstain}, c.answer)
		if err != nil || len(got) != len(c.want) {
			t.Errorf("%+v: %v, %v", c, got, err)
		}
		for measure, want := range c.want {
			if math.Abs(got[measure]-want) > 1e-9 {
				t.Errorf("%s, %q for %q: %s is %v, and not %v", c.dataset, c.answer, c.gold, measure, got[measure], want)
			}
		}
	}
}

// TestJudgeRules: each kind of question is judged by its own rule, and what cannot be answered by another.
func TestJudgeRules(t *testing.T) {
	f, _ := Named("longmemeval")
	rules := map[string]bool{}
	for _, q := range []Question{{Kind: "multi-session"}, {Kind: "temporal-reasoning"}, {Kind: "knowledge-update"}, {Kind: "single-session-preference"}, {Kind: "abstention", Abstain: true}} {
		got, err := f.Grade(t.Context(), func(_ context.Context, _, system, _ string) (string, error) {
			rules[system] = true
			return "no", nil
		}, Conversation{}, q, "four")
		if err != nil || got[measureJudge] != 0 {
			t.Errorf("%v, %v", got, err)
		}
	}
	if len(rules) != 5 {
		t.Errorf("there are %d rules", len(rules))
	}
}

// TestReport: means are of the questions that have what is counted.
func TestReport(t *testing.T) {
	var r Report
	for i, q := range []Question{{Kind: "a", Evidence: []string{"1", "2"}}, {Kind: "a", Evidence: []string{"3"}}, {Kind: "b"}} {
		l := NewLine(Conversation{ID: "c"}, q)
		l.Search = q.Give(nil, 10, nil, []string{"1", "2", "3"})
		l.Context = q.Give(nil, 20, []string{"2", "9", "3"}, []string{"9"})
		if i == 1 {
			l.Judgement = map[string]float64{measureF1: 0.5}
		}
		r.Add(l)
	}
	p := r.Total
	if p.Questions != 3 || p.Evident != 2 || p.Search.Recall != 0 || p.Search.BM25Recall != 1 || p.Context.Recall != 0.75 ||
		p.Context.Tokens != 20 || p.Scores[measureF1] != 0.5 || p.Judged[measureF1] != 1 {
		t.Errorf("%+v", p)
	}
	if len(r.Kinds) != 2 || r.Kinds[1].Percent(1) != "-" || p.Percent(0.755) != "75.5%" || p.Judgement() != "f1 50.0% of 1" {
		t.Errorf("%+v %q %q", r.Kinds, p.Percent(0.755), p.Judgement())
	}
}

// FuzzStems: no text of a model ends the evaluation.
func FuzzStems(f *testing.F) {
	for _, s := range []string{"", "y", "ies's", "über-naïve 山 ﷽ \x00\xff", "eeed sses ation", strings.Repeat("y", 200_000)} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		if score := tokenF1(s, s); len(stems(s, articles)) > 0 && score != 1 {
			t.Errorf("%q: %v", s, score)
		}
	})
}
