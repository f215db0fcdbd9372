package dataset

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"reverie/internal/reverie"
)

// Line is a question in the output, with everything found for it.
type Line struct {
	Conversation string             `json:"conversation"`
	ID           string             `json:"id"`
	Kind         string             `json:"kind"`
	Question     string             `json:"question"`
	Gold         string             `json:"gold"`
	Evidence     []string           `json:"evidence"` // ids of messages
	Search       Given              `json:"search"`
	Context      Given              `json:"context"`
	Answer       *string            `json:"answer,omitempty"`    // from the context
	Judgement    map[string]float64 `json:"judgement,omitempty"` // by measure, 0 to 1
	Unknown      int                `json:"unknown_evidence,omitempty"`
}

// Given is what a question was given, with the result of BM25 in as many tokens.
type Given struct {
	Text     []string `json:"text"`
	Messages []string `json:"messages"` // the evidence of it
	Tokens   int      `json:"tokens"`
	BM25     []string `json:"bm25"` // messages in as many tokens
	Found    *Found   `json:"found,omitempty"`
}

// Found is the share of the evidence that was found.
type Found struct {
	Recall     float64 `json:"recall"`
	BM25Recall float64 `json:"bm25_recall"`
	Tokens     float64 `json:"tokens"`
}

// NewLine returns a question without results.
func NewLine(c Conversation, q Question) Line {
	return Line{Conversation: c.ID, ID: q.ID, Kind: q.Kind, Question: q.Query(), Gold: q.Gold, Evidence: list(q.Evidence), Unknown: q.Unknown}
}

// Give returns the result for a question.
func (q Question) Give(text []string, tokens int, messages, bm25 []string) Given {
	g := Given{Text: list(text), Messages: list(messages), Tokens: tokens, BM25: list(bm25)}
	share := func(of []string) (found float64) {
		for _, id := range q.Evidence {
			found += oneIf(slices.Contains(of, id))
		}
		return found / float64(len(q.Evidence))
	}
	if len(q.Evidence) > 0 {
		g.Found = &Found{Recall: share(messages), BM25Recall: share(bm25), Tokens: float64(tokens)}
	}
	return g
}

// Stages say at which step evidence is lost on its way into a context. Each field sums up, over questions, the
// share that is left after a step.
type Stages struct {
	Questions  int     `json:"questions"`
	Remembered float64 `json:"remembered"` // cited by any memory ever written
	Active     float64 `json:"active"`     // cited by an active memory
	Ranked     float64 `json:"ranked"`     // cited by a memory that was similar enough to be ranked
	Offered    float64 `json:"offered"`    // cited by a memory in the context
	Given      float64 `json:"given"`      // or quoted in the context
}

// Percent formats the mean of a sum.
func (s Stages) Percent(sum float64) string {
	return fmt.Sprintf("%.1f%%", 100*sum/float64(max(s.Questions, 1)))
}

// list is never nil, for JSON.
func list(ids []string) []string { return append([]string{}, ids...) }

// Report is the result of a benchmark.
type Report struct {
	Success       bool          `json:"success"`
	Dataset       string        `json:"dataset"`
	Model         string        `json:"model"`    // the model of evolve
	Baseline      bool          `json:"baseline"` // no model: the extractive baseline
	Embedder      string        `json:"embedder"`
	Answers       string        `json:"answers,omitempty"` // the model for answers and judgements; "" = none
	K             int           `json:"k"`
	Out           string        `json:"out"` // file with a line per question
	Conversations int           `json:"conversations"`
	Messages      int           `json:"messages"`
	Nights        int           `json:"nights"`
	Unusable      int           `json:"unusable_nights"` // nights with an unusable answer
	Memories      int           `json:"memories"`        // at the end
	Unknown       int           `json:"unknown_evidence"`
	Stages        Stages        `json:"stages"`
	Refused       int           `json:"refused"` // refused lines of answers
	Held          int           `json:"held"`    // lines held for a person
	Total         Part          `json:"total"`
	Kinds         []*Part       `json:"kinds"`
	Failed        []string      `json:"failed"`     // conversations that could not be played, and why
	Spend         reverie.Spend `json:"model_use"`  // of the nights
	Asking        reverie.Spend `json:"answer_use"` // of answers and judgements
	Embedding     reverie.Spend `json:"embedding_use"`
	Seconds       float64       `json:"seconds"`
}

// Part is the mean over the questions of one kind, or over all.
type Part struct {
	Kind      string             `json:"kind"`
	Questions int                `json:"questions"`
	Evident   int                `json:"with_evidence"` // questions with named evidence; only these count for recall
	Search    Found              `json:"search"`
	Context   Found              `json:"context"`
	Judged    map[string]int     `json:"judged,omitempty"` // number of questions, by measure
	Scores    map[string]float64 `json:"scores,omitempty"` // mean, by measure
}

// Add counts a question, and updates the means.
func (r *Report) Add(l Line) {
	i := slices.IndexFunc(r.Kinds, func(p *Part) bool { return p.Kind == l.Kind })
	if i < 0 {
		i = len(r.Kinds)
		r.Kinds = append(r.Kinds, &Part{Kind: l.Kind})
	}
	r.Unknown += l.Unknown
	r.Kinds[i].add(l)
	r.Total.add(l)
	slices.SortStableFunc(r.Kinds, func(a, b *Part) int { return cmp.Compare(a.Kind, b.Kind) })
}

func (p *Part) add(l Line) {
	p.Questions++
	if l.Search.Found != nil && l.Context.Found != nil {
		p.Evident++
		p.Search.mean(*l.Search.Found, p.Evident)
		p.Context.mean(*l.Context.Found, p.Evident)
	}
	for measure, score := range l.Judgement {
		if p.Scores == nil {
			p.Scores, p.Judged = map[string]float64{}, map[string]int{}
		}
		p.Judged[measure]++
		p.Scores[measure] += (score - p.Scores[measure]) / float64(p.Judged[measure])
	}
}

// mean adds the n-th value to a mean.
func (f *Found) mean(o Found, n int) {
	for _, v := range [][2]*float64{{&f.Recall, &o.Recall}, {&f.BM25Recall, &o.BM25Recall},
		{&f.Tokens, &o.Tokens}} {
		*v[0] += (*v[1] - *v[0]) / float64(n)
	}
}

// Percent formats a mean of the part, a dash if no evidence is named.
func (p Part) Percent(mean float64) string {
	if p.Evident == 0 {
		return "-"
	}
	return fmt.Sprintf("%.1f%%", 100*mean)
}

// Judgement formats the scores by measure, "" if there are none.
func (p Part) Judgement() string {
	var parts []string
	for _, m := range slices.Sorted(maps.Keys(p.Scores)) {
		parts = append(parts, fmt.Sprintf("%s %.1f%% of %d", m, 100*p.Scores[m], p.Judged[m]))
	}
	return strings.Join(parts, ", ")
}
