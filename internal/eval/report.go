package eval

import (
	"cmp"
	"math"
	"reflect"
	"slices"

	"reverie/internal/eval/dataset"
	"reverie/internal/reverie"
)

// Figures are the counts of one scenario, or of several together.
type Figures struct {
	Right        int           `json:"right"`  // earned points, minus deducted ones
	Points       int           `json:"points"` // possible points
	Nights       int           `json:"nights"`
	Facts        Facts         `json:"facts"`
	Forbidden    Forbidden     `json:"forbidden"`
	Duplicates   int           `json:"duplicates"`    // further memories that state the same expected fact
	WrongDeletes int           `json:"wrong_deletes"` // of memories that were to stay
	WrongHeld    int           `json:"wrong_held"`    // of these, requested and held for a person
	Extra        int           `json:"extra"`         // unexpected memories
	Deducted     int           `json:"deducted"`      // points deducted for them
	Actions      Actions       `json:"actions"`
	Evidence     Evidence      `json:"evidence"`
	Refused      int           `json:"refused"`         // refused lines of answers
	RefusedBy    Tally         `json:"refused_by"`      // of these, by rule
	Held         int           `json:"held"`            // lines held for a person
	Unusable     int           `json:"unusable_nights"` // nights with an unusable answer
	Recall       Recall        `json:"recall"`
	Spend        reverie.Spend `json:"model"`     // calls of the model
	Embedding    reverie.Spend `json:"embedding"` // calls of the embedding model
	Seconds      float64       `json:"seconds"`
}

// Tally counts by name.
type Tally map[string]int

// Facts counts expected facts by outcome.
type Facts struct {
	Expected    int `json:"expected"`
	Right       int `json:"right"`
	Missing     int `json:"missing"`
	Twice       int `json:"twice"`
	WrongAction int `json:"wrong_action"`
}

// Forbidden counts forbidden facts.
type Forbidden struct {
	Forbidden int `json:"forbidden"`
	Found     int `json:"found"`
}

// Actions counts the final and the expected action of memories. If a scenario allows several, the actual one is the
// expected one.
type Actions struct {
	Kept    Count `json:"kept"`
	Updated Count `json:"updated"`
	Created Count `json:"created"`
	Deleted Count `json:"deleted"`
}

// Count is an actual and an expected number.
type Count struct {
	Got  int `json:"got"`
	Want int `json:"want"`
}

// Evidence counts messages that runs cited: for expected facts, and for unexpected memories, where each is wrong.
type Evidence struct {
	Cited      int `json:"cited"`
	CitedRight int `json:"cited_right"` // of them, expected ones
	Expected   int `json:"expected"`
	Found      int `json:"found"` // expected ones that were cited
}

// Recall counts questions with an answer among the first k results.
type Recall struct {
	Questions int `json:"questions"`
	Search    int `json:"search"`
	Context   int `json:"context"`
	BM25      int `json:"bm25"`
	Known     int `json:"known"` // that a memory answers, found or not
	// Questions with an answer anywhere in the context, or among the results of BM25 in as many tokens.
	WholeContext int            `json:"whole_context"`
	AsManyTokens int            `json:"bm25_as_many_tokens"`
	Stages       dataset.Stages `json:"stages"` // of the questions with named evidence
}

// Add adds other figures; all fields are numbers.
func (f *Figures) Add(o Figures) { addNumbers(reflect.ValueOf(f).Elem(), reflect.ValueOf(o)) }

func addNumbers(to, from reflect.Value) {
	switch to.Kind() {
	case reflect.Struct:
		for i := range to.NumField() {
			addNumbers(to.Field(i), from.Field(i))
		}
	case reflect.Map: // a copy of a struct shares its maps
		sums := reflect.MakeMap(to.Type())
		for _, m := range []reflect.Value{to, from} {
			for _, name := range m.MapKeys() {
				sum := reflect.New(to.Type().Elem()).Elem()
				if had := sums.MapIndex(name); had.IsValid() {
					sum.Set(had)
				}
				addNumbers(sum, m.MapIndex(name))
				sums.SetMapIndex(name, sum)
			}
		}
		to.Set(sums)
	case reflect.Int:
		to.SetInt(to.Int() + from.Int())
	default:
		to.SetFloat(to.Float() + from.Float())
	}
}

// Part is the sum over the scenarios of one topic or language, or over all.
type Part struct {
	Name      string `json:"name,omitempty"`
	Scenarios int    `json:"scenarios"`
	Percent   Share  `json:"percent"`
	Figures
}

// Share is a percentage with its 95% confidence interval.
type Share struct {
	Percent float64 `json:"right"`
	Low     float64 `json:"low"`
	High    float64 `json:"high"`
}

// Wilson returns the share of right in n, with Wilson's score interval.
func Wilson(right, n int) Share {
	if n == 0 {
		return Share{High: 100}
	}
	const z = 1.959964 // 95%
	p, m := float64(right)/float64(n), float64(n)
	middle := (p + z*z/(2*m)) / (1 + z*z/m)
	half := z / (1 + z*z/m) * math.Sqrt(p*(1-p)/m+z*z/(4*m*m))
	tenth := func(x float64) float64 { return math.Round(1000*x) / 10 }
	return Share{tenth(p), tenth(max(middle-half, 0)), tenth(min(middle+half, 1))}
}

// Report is the result of an evaluation.
type Report struct {
	Success    bool     `json:"success"`
	Model      string   `json:"model"`    // provider/model, or recorded
	Embedder   string   `json:"embedder"` // provider/model
	K          int      `json:"k"`
	Definition string   `json:"definition"`
	Total      Part     `json:"total"`
	Topics     []Part   `json:"topics"`
	Languages  []Part   `json:"languages"`
	Scenarios  []Result `json:"scenarios"`
}

// Definition explains the score.
const Definition = "points earned of points there are: one for each expected fact (remembered once, by the expected action), each forbidden one (not there), " +
	"each memory that was to go or to stay (held deletes count as done), and the other memories together where there are any; " +
	"each memory that nobody expected takes one of them away, as long as its scenario has any"

// NewReport sums up results. Topics and languages are sorted by name.
func NewReport(model, embedder string, k int, results []Result) Report {
	r := Report{Model: model, Embedder: embedder, K: k, Definition: Definition, Scenarios: results, Success: true}
	r.Total.Percent = Wilson(0, 0)
	topics, languages := map[string]*Part{}, map[string]*Part{}
	for _, res := range results {
		r.Success = r.Success && res.Error == ""
		r.Total.add(res)
		for _, topic := range res.Topics {
			of(topics, topic).add(res)
		}
		of(languages, res.Language).add(res)
	}
	r.Topics, r.Languages = parts(topics), parts(languages)
	return r
}

func of(parts map[string]*Part, name string) *Part {
	if parts[name] == nil {
		parts[name] = &Part{Name: name}
	}
	return parts[name]
}

func (p *Part) add(r Result) {
	p.Scenarios++
	p.Figures.Add(r.Figures)
	p.Percent = Wilson(p.Right, p.Points)
}

func parts(all map[string]*Part) []Part {
	list := []Part{}
	for _, p := range all {
		list = append(list, *p)
	}
	slices.SortFunc(list, func(a, b Part) int { return cmp.Compare(a.Name, b.Name) })
	return list
}
