package e2e

import (
	"cmp"
	"encoding/json"
	"os/exec"
	"path/filepath"
	"slices"
	"testing"

	"reverie/internal/eval"
	"reverie/internal/text"
	"reverie/store/pgtest"
)

const peerScenarios = "../../internal/eval/scenarios"

// recallLimit is how many results of a search count.
const recallLimit = 5

// recallPeer is what mem0 is given of a scenario: texts, and which messages each of them speaks of.
type recallPeer struct {
	eval.Scenario
	texts []string
	cites map[string][]string // by the hash of the text
}

func (p *recallPeer) say(statement string, messages ...string) {
	if !slices.Contains(p.texts, statement) {
		p.texts = append(p.texts, statement)
	}
	key := text.ContentHash(statement)
	p.cites[key] = append(p.cites[key], messages...)
}

// benchmarkPeerRecall asks the questions of the scenarios of `reverie eval`, which say what messages answer each. Both
// systems remember the same facts: those of the recorded answers. mem0 is given them as they are ("facts"); in another
// collection it is given each message instead ("messages"). The vectors are the same.
func benchmarkPeerRecall(b *testing.B) {
	driver := newPeerDriver(b)
	binary := buildBinary(b)
	scenarios, err := eval.Load(peerScenarios, nil)
	if err != nil {
		b.Fatal(err)
	}
	b.Run("system=reverie", func(b *testing.B) {
		for b.Loop() {
			recallOfReverie(b, binary)
		}
	})
	for of, all := range map[string][]*recallPeer{"facts": factsOf(b, scenarios), "messages": messagesOf(scenarios)} {
		b.Run("system=mem0-"+of, func(b *testing.B) {
			for b.Loop() {
				recallOfMem0(b, driver, all)
			}
		})
	}
}

// recallOfReverie is what reverie eval says of its recorded answers.
func recallOfReverie(b *testing.B, binary string) {
	b.Helper()
	cmd := exec.CommandContext(b.Context(), binary, "eval", peerScenarios, "--recorded", "--json", "--k", "5")
	cmd.Env = append(cmd.Environ(), "REVERIE_DATABASE_URL="+pgtest.URL(b), "HOME="+b.TempDir())
	out, err := cmd.Output()
	if err != nil {
		b.Fatal(err)
	}
	var report struct {
		Total struct {
			Recall struct {
				Questions, Search, Context, BM25 float64
			}
		}
	}
	if err := json.Unmarshal(out, &report); err != nil {
		b.Fatal(err)
	}
	r := report.Total.Recall
	b.ReportMetric(0, "ns/op")
	b.ReportMetric(r.Questions, "questions")
	b.ReportMetric(100*r.Search/r.Questions, "%search")
	b.ReportMetric(100*r.Context/r.Questions, "%context")
	b.ReportMetric(100*r.BM25/r.Questions, "%bm25")
}

// factsOf are the memories before the first night, and those that the recorded answers make or write anew: mem0 keeps
// what was before beside what is said since.
func factsOf(b *testing.B, scenarios []*eval.Scenario) (all []*recallPeer) {
	b.Helper()
	for _, s := range scenarios {
		p := &recallPeer{*s, nil, map[string][]string{}}
		for _, m := range s.Memories {
			p.say(m.Statement)
		}
		for _, a := range s.Answers {
			if a.Purpose != "evolve" {
				continue
			}
			for _, raw := range a.Lines {
				var line struct {
					Statement string
					OldID     string `json:"old_id"`
					Evidence  []struct{ Message string }
				}
				if err := json.Unmarshal(raw, &line); err != nil {
					b.Fatalf("%s: %v", filepath.Join(s.Dir, "answers.jsonl"), err)
				}
				says := cmp.Or(line.Statement, line.OldID) // which names a memory by its id or its words
				if at := slices.IndexFunc(s.Memories, func(m eval.Memory) bool { return m.ID == says }); at >= 0 {
					says = s.Memories[at].Statement
				}
				for _, e := range line.Evidence {
					p.say(says, e.Message)
				}
			}
		}
		all = append(all, p)
	}
	return all
}

// messagesOf are the messages of each scenario, with the name of who wrote before each.
func messagesOf(scenarios []*eval.Scenario) (all []*recallPeer) {
	for _, s := range scenarios {
		p := &recallPeer{*s, nil, map[string][]string{}}
		for _, m := range s.Messages {
			p.say(m.Author+": "+m.Text, m.ID)
		}
		all = append(all, p)
	}
	return all
}

// recallOfMem0 has mem0 remember the texts of each scenario, and asks it the questions.
func recallOfMem0(b *testing.B, driver *peerDriver, all []*recallPeer) {
	b.Helper()
	theirs := openPeer(b, pgtest.NewEmpty(b))
	m := newPeerModel(b, 0)
	job := peerJob{What: "remember", Database: theirs.url, Collection: "memories", Model: m.url(), Connections: peerConnections, Concurrency: peerConnections}
	for _, p := range all {
		job.Groups = append(job.Groups, peerGroup{p.Name, p.texts})
	}
	driver.do(job)
	ask := peerJob{What: "search", Database: theirs.url, Collection: "memories", Model: m.url(), Connections: 1, Limit: recallLimit}
	var asked []eval.Question
	var of []*recallPeer
	for _, p := range all {
		for _, q := range p.Questions {
			asked, of = append(asked, q), append(of, p)
			ask.Groups, ask.Queries = append(ask.Groups, peerGroup{ID: p.Name}), append(ask.Queries, q.Text)
		}
	}
	r, _ := driver.do(ask)
	if len(r.Shown) != len(asked) {
		b.Fatalf("%d of %d questions were answered", len(r.Shown), len(asked))
	}
	found := 0
	for i, texts := range r.Shown {
		if slices.ContainsFunc(texts, func(shown string) bool { return of[i].answers(asked[i], shown) }) {
			found++
		}
	}
	b.ReportMetric(0, "ns/op")
	b.ReportMetric(float64(len(asked)), "questions")
	b.ReportMetric(100*float64(found)/float64(len(asked)), "%search")
}

// answers is the rule of reverie eval: a text speaks of a message that answers, or says what is expected.
func (p *recallPeer) answers(q eval.Question, shown string) bool {
	cited := p.cites[text.ContentHash(shown)]
	return slices.ContainsFunc(q.Evidence, func(id string) bool { return slices.Contains(cited, id) }) ||
		slices.ContainsFunc(p.Expects, func(e eval.Expect) bool { return e.ID == q.Expect && e.IsSaidBy(shown) })
}
