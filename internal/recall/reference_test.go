package recall_test

import (
	"bufio"
	"encoding/json"
	"os"
	"slices"
	"strings"
	"testing"

	"reverie/internal/recall"
)

// labelledAnswer is an answer of an assistant, with the memories that it was
// offered and which of them it used, as a person judges it.
type labelledAnswer struct {
	Language string `json:"language"` // en, zh, mixed
	Kind     string `json:"kind"`
	Query    string `json:"query"`
	Response string `json:"response"`
	Memories []struct {
		Text string `json:"text"`
		Used bool   `json:"used"`
	} `json:"memories"`
}

func (a labelledAnswer) scores() []float64 {
	var statements []string
	for _, m := range a.Memories {
		statements = append(statements, m.Text)
	}
	return recall.References(a.Query, a.Response, statements)
}

func labelledAnswers(t testing.TB, path string) []labelledAnswer {
	t.Helper()
	f, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	var out []labelledAnswer
	lines := bufio.NewScanner(f)
	for lines.Scan() {
		var a labelledAnswer
		if err := json.Unmarshal(lines.Bytes(), &a); err != nil {
			t.Fatalf("%s: %v", path, err)
		}
		out = append(out, a)
	}
	if err := lines.Err(); err != nil || len(out) == 0 {
		t.Fatalf("%s: %d answers, %v", path, len(out), err)
	}
	return out
}

// hits counts memories: used and found, found but not used, used but not found.
type hits struct{ right, wrong, missed int }

func (h *hits) add(used, found bool) {
	switch {
	case used && found:
		h.right++
	case found:
		h.wrong++
	case used:
		h.missed++
	}
}

func (h hits) precision() float64 { return float64(h.right) / float64(max(h.right+h.wrong, 1)) }
func (h hits) recall() float64    { return float64(h.right) / float64(max(h.right+h.missed, 1)) }
func (h hits) f1() float64 {
	return 2 * float64(h.right) / float64(max(2*h.right+h.wrong+h.missed, 1))
}

// threshold is the default of [feedback].
const threshold = 0.5

// TestReferencesOfLabelledAnswers reports how many references are found by
// language, and wants no fewer than when this was written. The constants were
// fitted on references.jsonl, and so was what is read; references_heldout.jsonl was
// written before, and looked at after.
func TestReferencesOfLabelledAnswers(t *testing.T) {
	type floor struct{ precision, recall float64 }
	for path, floors := range map[string]map[string]floor{
		"testdata/references.jsonl": {"all": {0.9, 0.91}, "en": {0.9, 0.91}, "zh": {0.9, 0.9}, "mixed": {0.9, 0.85}},
		"testdata/references_heldout.jsonl": {"all": {0.92, 0.85}, "en": {0.9, 0.85}, "zh": {0.93, 0.81},
			"mixed": {0.9, 0.9}},
	} {
		counts := map[string]*hits{}
		for _, a := range labelledAnswers(t, path) {
			for i, score := range a.scores() {
				for _, of := range []string{"all", a.Language} {
					if counts[of] == nil {
						counts[of] = &hits{}
					}
					counts[of].add(a.Memories[i].Used, score >= threshold)
				}
			}
		}
		for of, want := range floors {
			h := counts[of]
			t.Logf("%s %-5s precision %.3f recall %.3f: %d right, %d wrong, %d missed",
				path, of, h.precision(), h.recall(), h.right, h.wrong, h.missed)
			if h.precision() < want.precision || h.recall() < want.recall {
				t.Errorf("%s %s: precision %.3f, want %.2f; recall %.3f, want %.2f",
					path, of, h.precision(), want.precision, h.recall(), want.recall)
			}
		}
	}
}

// TestReferencesAreCalibrated finds no threshold that is clearly better than the
// default.
func TestReferencesAreCalibrated(t *testing.T) {
	answers := append(labelledAnswers(t, "testdata/references.jsonl"), labelledAnswers(t, "testdata/references_heldout.jsonl")...)
	at := func(threshold float64) (h hits) {
		for _, a := range answers {
			for i, score := range a.scores() {
				h.add(a.Memories[i].Used, score >= threshold)
			}
		}
		return h
	}
	best := at(threshold).f1()
	for _, other := range []float64{0.3, 0.4, 0.6, 0.7} {
		if f1 := at(other).f1(); f1 > best+0.01 {
			t.Errorf("threshold %.1f has F1 %.3f, the default %.3f", other, f1, best)
		}
	}
}

func TestReferences(t *testing.T) {
	const (
		badminton   = "The group plays badminton every Friday evening at the riverside gym"
		badmintonZh = "群里每周五晚上在滨江体育馆打羽毛球"
		pork        = "Lin does not eat pork"
		porkZh      = "小林不吃猪肉"
	)
	for _, c := range []struct {
		name, query, response string
		used                  []string // statements that the response used
		unused                []string // and those that it did not
	}{
		{"used", "When do we play?", "Every Friday evening, at the riverside gym.", []string{badminton}, []string{pork}},
		{"used, Chinese", "什么时候打球？", "每周五晚上，滨江体育馆见。", []string{badmintonZh}, []string{porkZh}},
		{"another day", "When do we play?", "Every Saturday evening, as far as I can see.", nil, []string{badminton, pork}},
		{"another day, same place", "When do we play?", "The group plays every Saturday evening at the riverside gym.", nil, []string{badminton}},
		{"another day, Chinese", "什么时候打球？", "每周六晚上，滨江体育馆见。", nil, []string{badmintonZh}},
		{"the day in both", "When do we play?", "Badminton is on Friday evening, not on Saturday, at the riverside gym.", []string{badminton}, nil},
		{"another number", "What does it cost?", "The ticket costs 45 euros at the door.", nil, []string{"The ticket costs 40 euros at the door"}},
		{"another amount of money", "How much is left?", "The project budget is $20,000.", nil, []string{"The project budget is $50,000"}},
		{"a phrase of common words", "Which theme?", "Any one with a dark mode will do.", []string{"Sam prefers dark mode in all editors"}, nil},
		{"figures in Chinese", "门票多少钱？", "门票是40块。", []string{"门票四十元一张，在门口买"}, nil},
		{"another hour", "几点开会？", "晚上八点，在语音频道。", nil, []string{"周会晚上九点在语音频道开"}},
		{"traditional characters", "什麼時候打球？", "每週五晚上，濱江體育館見。", []string{badmintonZh}, nil},
		{"only what was asked", "Tell me about badminton at the riverside gym", "Badminton at the riverside gym is fun for everybody!", nil, []string{badminton}},
		{"something known after all", "When do we play, and with whom?", "I don't know with whom, but it is on Friday evening at the riverside gym.", []string{badminton}, nil},
		{"avoided in both", "What shall I cook?", "A risotto, as Lin eats no pork.", []string{pork}, nil},
		{"a suggestion", "What now?", "Why not take the kayak down the river?", []string{"Tom owns a kayak"}, []string{pork}},
		{"a suggestion, and you", "What now?", "Why don't you take the kayak?", []string{"Tom owns a kayak"}, nil},
		{"a question", "Where to?", "Isn't Mina in Rome?", []string{"Mina lives in Rome"}, nil},
		{"a suggestion, Chinese", "做什么？", "何不去划皮划艇", []string{"阿杰有一艘皮划艇"}, []string{porkZh}},
		{"a suggestion and a particle", "做什么？", "为什么不带上皮划艇呢", []string{"阿杰有一艘皮划艇"}, nil},
		{"to do or not", "做什么？", "要不要带上皮划艇", []string{"阿杰有一艘皮划艇"}, nil},
		{"a question, Chinese", "住哪儿？", "小美不是住在罗马吗", []string{"小美住在罗马"}, nil},
		{"all but what is avoided", "Which snack?", "Anything but peanuts.", []string{"Lin is allergic to peanuts"}, nil},
		{"thousands", "What is the budget?", "€40k", []string{"The budget is 40,000 euros"}, nil},
		{"other thousands", "What is the budget?", "40 000 euros", nil, []string{"The budget is 50,000 euros"}},
		{"an age without years", "How old is Mina?", "She's 7.", []string{"Mina is seven years old"}, []string{"Lin is nine years old"}},
		{"a short weekday", "When?", "Thu.", []string{"The group meets on Thursday"}, []string{"Lin cooks on Tuesday"}},
		{"a day alone", "When is the launch?", "On the 12th.", []string{"The launch is on March 12"}, []string{"The retro is on March 20"}},
		{"a name alone", "Who can help me?", "Ask Okonkwo.", []string{"The backups are run by Okonkwo"}, []string{badminton}},
		{"empty answer", "When do we play?", "", nil, []string{badminton}},
		{"statements of nothing", "When?", "On Friday.", nil, []string{"", "。", "the"}},
	} {
		statements := slices.Concat(c.used, c.unused)
		for i, score := range recall.References(c.query, c.response, statements) {
			if used := i < len(c.used); used != (score >= threshold) {
				t.Errorf("%s: %q used: %v, score %.2f", c.name, statements[i], used, score)
			}
		}
	}
}

// TestLongAnswersReferenceNothingByChance scatters the words of memories over an
// essay, and then puts one memory into it.
func TestLongAnswersReferenceNothingByChance(t *testing.T) {
	statements := []string{"Maya moved to Lisbon and works as a translator", "Lin's thesis on tidal mills is due in November", "The zine is printed by Kepler Press in Leeds"}
	words := strings.Fields("moved translator Lisbon thesis tidal November zine printed Kepler mills works Leeds")
	var essay strings.Builder
	for i, w := range words {
		essay.WriteString("There is a lot to be told about " + w + ". Nothing of it fits in a line or two. ")
		if i == 6 {
			essay.WriteString("It takes some patience to get through all that follows here. ")
		}
	}
	for i, score := range recall.References("Write an essay.", essay.String(), statements) {
		if score >= threshold {
			t.Errorf("%q: %.2f", statements[i], score)
		}
	}
	essay.WriteString("Lin's thesis about tidal mills must be handed in by November.")
	if scores := recall.References("Write an essay.", essay.String(), statements); scores[1] < threshold || scores[0] >= threshold || scores[2] >= threshold {
		t.Errorf("%.2f, want the second alone", scores)
	}
}

// FuzzReferences wants a score from 0 to 1 for each statement, the same every time.
func FuzzReferences(f *testing.F) {
	f.Add("When do we play?", "On Friday at 7:30 pm, 20 February.", "每周五晚上七点半", "The group plays on Fridays")
	f.Add("", "1. 二十万元\n2) 12:75:99 \xff", "一一万万千 周 星期", "May 3, don't 5")
	f.Fuzz(func(t *testing.T, query, response, first, second string) {
		statements := []string{first, second, first}
		scores := recall.References(query, response, statements)
		if len(scores) != len(statements) || scores[0] != scores[2] || !slices.Equal(scores, recall.References(query, response, statements)) {
			t.Fatalf("%v", scores)
		}
		for _, s := range scores {
			if !(s >= 0 && s <= 1) {
				t.Fatalf("%v", scores)
			}
		}
	})
}

// BenchmarkReferences judges an answer of 2,000 characters by 8 memories.
func BenchmarkReferences(b *testing.B) {
	for _, language := range []string{"en", "zh"} {
		var response []rune
		var statements []string
		for _, a := range labelledAnswers(b, "testdata/references.jsonl") {
			if a.Language != language {
				continue
			}
			response = append(response, []rune(a.Response+"\n")...)
			if text := a.Memories[0].Text; len(statements) < 8 && !slices.Contains(statements, text) {
				statements = append(statements, text)
			}
		}
		answer := string(response[:2000])
		b.Run(language, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				recall.References("What shall we do on Friday? 周五做什么？", answer, statements)
			}
		})
	}
}
