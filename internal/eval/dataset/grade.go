package dataset

import (
	"cmp"
	"context"
	_ "embed"
	"encoding/json"
	"strings"
	"sync"
	"unicode"

	"github.com/blevesearch/go-porterstemmer"

	"reverie/internal/text"
)

// Ask sends a question to the model, and returns its answer.
type Ask func(ctx context.Context, group, system, user string) (string, error)

// grade implements [Format.Grade] for a benchmark.
type grade func(ctx context.Context, ask Ask, c Conversation, q Question, dataset, answer string) (map[string]float64, error)

//go:embed words.toml
var wordsFile string

// wordings are the instructions for models.
type wordings struct {
	Answer string            `toml:"answer"`
	Judge  string            `toml:"judge"`
	Style  map[string]string `toml:"style"`
	Rules  map[string]string `toml:"judge_rules"` // by kind of question, or by benchmark
}

var readWordings = sync.OnceValue(func() wordings { return text.ReadTOML[wordings](wordsFile) })

// The measures.
const (
	measureF1    = "f1"
	measureJudge = "judge"
)

// Answer lets the model answer from a context.
func (f Format) Answer(ctx context.Context, ask Ask, c Conversation, q Question, found string) (string, error) {
	w := readWordings()
	user := map[string]string{"question": q.Query(), "found": found}
	if !c.AskedAt.IsZero() {
		user["asked_at"] = c.AskedAt.Format("2006-01-02 15:04")
	}
	return put(ctx, ask, c, w.Answer+w.Style[f.Name], user)
}

// Grade compares an answer with the reference answer, by the benchmark's measures from 0 to 1.
func (f Format) Grade(ctx context.Context, ask Ask, c Conversation, q Question, answer string) (map[string]float64, error) {
	return f.grade(ctx, ask, c, q, f.Name, answer)
}

// put asks a question that is a JSON object.
func put(ctx context.Context, ask Ask, c Conversation, system string, user map[string]string) (string, error) {
	raw, err := json.Marshal(user)
	if err != nil {
		return "", err
	}
	return ask(ctx, c.ID, system, string(raw))
}

// byJudge lets the model decide whether an answer is right, by the rule for the kind of question.
func byJudge(ctx context.Context, ask Ask, c Conversation, q Question, dataset, answer string) (map[string]float64, error) {
	w := readWordings()
	rule := cmp.Or(w.Rules[q.Kind], w.Rules[dataset], w.Rules["default"])
	if q.Abstain {
		rule = w.Rules["abstention"]
	}
	said, err := put(ctx, ask, c, w.Judge+rule, map[string]string{"question": q.Query(), "gold": q.Gold, "answer": answer})
	if err != nil {
		return nil, err
	}
	return map[string]float64{measureJudge: oneIf(strings.Contains(strings.ToLower(said), "yes"))}, nil
}

// byWordsAndJudge measures the F1 of LoCoMo's paper, and the judge that later papers use with it. If the reference
// has several facts, each is compared with the parts of the answer. For an open question the first reference answer
// counts. A question about something that was never said must not be answered.
func byWordsAndJudge(ctx context.Context, ask Ask, c Conversation, q Question, dataset, answer string) (map[string]float64, error) {
	lower := strings.ToLower(answer)
	if q.Abstain {
		none := strings.Contains(lower, strings.ToLower(notMentioned)) || strings.Contains(lower, "not mentioned")
		return map[string]float64{measureF1: oneIf(none)}, nil
	}
	scores, err := byJudge(ctx, ask, c, q, dataset, answer)
	if err != nil {
		return nil, err
	}
	switch q.Kind {
	case loCoMoKinds[0]:
		golds := strings.Split(q.Gold, ",")
		for _, gold := range golds {
			best := 0.0
			for _, part := range strings.Split(answer, ",") {
				best = max(best, tokenF1(part, gold))
			}
			scores[measureF1] += best / float64(len(golds))
		}
	case loCoMoKinds[2]:
		first, _, _ := strings.Cut(q.Gold, ";")
		scores[measureF1] = tokenF1(answer, first)
	default:
		scores[measureF1] = tokenF1(answer, q.Gold)
	}
	return scores, nil
}

// byRouge measures QMSum's ROUGE.
func byRouge(_ context.Context, _ Ask, _ Conversation, q Question, _, answer string) (map[string]float64, error) {
	a, b := stems(answer, nil), stems(q.Gold, nil)
	return map[string]float64{"rouge1": overlap(a, b, 1), "rouge2": overlap(a, b, 2),
		"rougeL": f1(longest(a, b), len(a), len(b))}, nil
}

func oneIf(yes bool) float64 {
	if yes {
		return 1
	}
	return 0
}

// articles do not count in LoCoMo's F1.
var articles = map[string]bool{"a": true, "an": true, "the": true, "and": true}

// tokenF1 returns the F1 of the stems of two texts.
func tokenF1(answer, gold string) float64 {
	return overlap(stems(answer, articles), stems(gold, articles), 1)
}

// longestWord bounds a word, in bytes: the stemmer's time grows with the square.
const longestWord = 100

// stems returns the stemmed words of a text. Punctuation is removed, also inside words.
func stems(s string, without map[string]bool) (list []string) {
	s = strings.Map(func(r rune) rune {
		switch {
		case unicode.IsSpace(r), r == '-' && without == nil: // ROUGE splits words there
			return ' '
		case unicode.IsPunct(r) || unicode.IsSymbol(r):
			return -1
		}
		return unicode.ToLower(r)
	}, s)
	for _, w := range strings.Fields(s) {
		if without[w] {
			continue
		}
		if len(w) <= longestWord {
			w = porterstemmer.StemString(w)
		}
		list = append(list, w)
	}
	return list
}

// overlap returns the F1 of the n-grams of two texts.
func overlap(a, b []string, n int) float64 {
	counts := map[string]int{}
	for i := 0; i+n <= len(b); i++ {
		counts[strings.Join(b[i:i+n], " ")]++
	}
	shared := 0
	for i := 0; i+n <= len(a); i++ {
		if run := strings.Join(a[i:i+n], " "); counts[run] > 0 {
			counts[run]--
			shared++
		}
	}
	return f1(shared, len(a)-n+1, len(b)-n+1)
}

func f1(shared, ofA, ofB int) float64 {
	if shared == 0 {
		return 0
	}
	precision, recall := float64(shared)/float64(ofA), float64(shared)/float64(ofB)
	return 2 * precision * recall / (precision + recall)
}

// longest returns the length of the longest common subsequence of words.
func longest(a, b []string) int {
	row := make([]int, len(b)+1)
	for _, w := range a {
		before := 0 // value of the previous row and column
		for j, v := range b {
			above := row[j+1]
			if w == v {
				row[j+1] = before + 1
			} else {
				row[j+1] = max(above, row[j])
			}
			before = above
		}
	}
	return row[len(b)]
}
