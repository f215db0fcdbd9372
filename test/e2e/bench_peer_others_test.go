package e2e

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"reverie/internal/text"
	"reverie/store/pgtest"
)

// envPeerPython is a folder of Python environments, one a peer: bench/peer/README.md says how to make them.
const envPeerPython = "REVERIE_BENCH_PEER_PYTHON"

// benchmarkPeerOthers gives the night of 20 groups to peers that are packages of Python, each in one add and turn by
// turn, and to Reverie. They start slowly: ms-marginal leaves that out.
func benchmarkPeerOthers(b *testing.B) {
	dir := os.Getenv(envPeerPython)
	if dir == "" {
		b.Skip("not measured:", envPeerPython, "names no folder of Python environments")
	}
	binary, ours := buildBinary(b), openPeer(b, pgtest.URL(b))
	n := newPeerNight(b, ours, 20)
	b.Run("system=reverie", func(b *testing.B) {
		for b.Loop() {
			n.seed(b, ours)
			n.evolve(b, newPeerModel(b, 0), binary, ours)
		}
	})
	for _, p := range []struct{ name, held string }{
		{"mem0", mem0Held},
		{"hindsight", `select bank_id, text from memory_units where fact_type <> 'observation'`},
		{"graphiti", ""},
	} {
		for _, way := range []struct {
			name   string
			perAdd int
		}{{"one-add", 0}, {"turns", 2}} {
			b.Run(fmt.Sprintf("system=%s-%s", p.name, way.name), func(b *testing.B) { n.others(b, dir, p.name, p.held, way.perAdd) })
		}
	}
}

// others gives the night to one peer, which has learnt before what is known of each group.
func (n *peerNight) others(b *testing.B, venvs, system, held string, perAdd int) {
	python, err := filepath.Abs(filepath.Join(venvs, system, "bin", "python"))
	if err != nil {
		b.Fatal(err)
	}
	if _, err := os.Stat(python); err != nil {
		b.Skip("not measured:", err)
	}
	driver := &peerDriver{b, peerSources, b.TempDir(), []string{python, "python/driver.py"}}
	m, theirs := newPeerModel(b, 0), openPeer(b, pgtest.NewEmpty(b))
	job := n.job("remember", m, theirs)
	job.System, job.Groups, job.Messages, job.PerAdd = system, n.groups, n.lines(), perAdd
	if held == "" { // its database is a file
		job.Database = filepath.Join(b.TempDir(), "graph")
	}
	driver.do(job)
	do := func(what string) (peerResult, *toll, time.Duration) {
		job.What = what
		began := pgtest.PostgresTime(theirs.DB)
		r, took := driver.do(job)
		return r, took, pgtest.PostgresTime(theirs.DB) - began
	}
	for b.Loop() {
		_, start, postgres := do("open")
		n.starts = map[string]time.Duration{system: start.own + postgres}
		m.reset()
		r, took, postgres := do("night")
		if held != "" {
			r.Held = peerRows(b, theirs, held)
		}
		n.report(b, system, m, took, postgres, r.Held)
	}
}

// What Hindsight is given to read, and the part of its second question that is new.
const (
	hindsightSaid  = "Extract facts from the following chunk."
	hindsightNew   = "### New facts\n"
	hindsightKnown = "### Existing observations\n"
)

var (
	saidLine  = regexp.MustCompile(`(?m)^(Author \d+): (.*)$`)
	notedLine = regexp.MustCompile(`(?m)^(Author \d+): (?:note|again) (.*)$`)
	newFact   = regexp.MustCompile(`(?m)^\[([0-9a-f-]{36})\] (.*?) \(mentioned_at`)
)

func jsonText(v any) string {
	raw, err := json.Marshal(v)
	if err != nil {
		panic(err) // strings and numbers always encode
	}
	return string(raw)
}

// about is what a fact is about: its first word, or what the benchmark's facts are called.
func about(fact string) string {
	words := strings.Fields(fact)
	if words[0] == "Fact" {
		return strings.Join(words[:3], " ")
	}
	return words[0]
}

// retained answers Hindsight's first question, which shows nothing of what is known: all that is noted or said again is a fact.
func retained(user string) object {
	facts := []object{}
	for _, said := range notedLine.FindAllStringSubmatch(user, -1) {
		facts = append(facts, object{"what": said[2], "when": "N/A", "where": "N/A", "who": "N/A", "why": "N/A", "fact_kind": "conversation",
			"fact_type": "world", "entities": []string{about(said[2])}})
	}
	return object{"facts": facts}
}

// consolidated answers its second one: a fact is an observation, or bears out the one that says the same.
func consolidated(t testing.TB, user string) object {
	_, rest, _ := strings.Cut(user, hindsightNew)
	facts, list, _ := strings.Cut(rest, hindsightKnown)
	var known []struct{ ID, Text string }
	if err := json.NewDecoder(strings.NewReader(list)).Decode(&known); err != nil {
		t.Errorf("Hindsight's prompt has another form: %v\n%s", err, user)
	}
	creates, updates := []object{}, []object{}
	for _, f := range newFact.FindAllStringSubmatch(facts, -1) {
		same := slices.IndexFunc(known, func(k struct{ ID, Text string }) bool { return text.ContentHash(k.Text) == text.ContentHash(f[2]) })
		if same < 0 {
			creates = append(creates, object{"text": f[2], "source_fact_ids": f[1:2]})
		} else {
			updates = append(updates, object{"observation_id": known[same].ID, "text": f[2], "source_fact_ids": f[1:2]})
		}
	}
	return object{"creates": creates, "updates": updates, "deletes": []object{}}
}

// graphAnswers are those to Graphiti's questions, by the schema that it asks for: who speaks and what facts are about
// are entities, and a fact is what somebody says about something. What is called the same is the same.
var graphAnswers = map[string]func(user string) object{
	"ExtractedEntities": func(user string) object {
		names := []string{}
		current := between(user, "CURRENT MESSAGE")
		for _, said := range saidLine.FindAllStringSubmatch(current, -1) {
			names = append(names, said[1])
		}
		for _, said := range notedLine.FindAllStringSubmatch(current, -1) {
			names = append(names, about(said[2]))
		}
		entities := []object{}
		for i, name := range names {
			if slices.Index(names, name) == i {
				entities = append(entities, object{"name": name, "entity_type_id": 0, "episode_indices": []int{0}})
			}
		}
		return object{"extracted_entities": entities}
	},
	"NodeResolutions": func(user string) object {
		var asked, known []struct {
			ID        int
			Candidate int `json:"candidate_id"`
			Name      string
		}
		_ = json.Unmarshal([]byte(between(user, "ENTITIES")), &asked) // none where it is another prompt
		_ = json.Unmarshal([]byte(between(user, "EXISTING ENTITIES")), &known)
		all := []object{}
		for _, a := range asked {
			same := -1
			for _, k := range known {
				if k.Name == a.Name {
					same = k.Candidate
				}
			}
			all = append(all, object{"id": a.ID, "name": a.Name, "duplicate_candidate_id": same})
		}
		return object{"entity_resolutions": all}
	},
	"ExtractedEdges": func(user string) object {
		edges := []object{}
		for _, said := range notedLine.FindAllStringSubmatch(between(user, "CURRENT_MESSAGE"), -1) {
			edges = append(edges, object{"source_entity_name": said[1], "target_entity_name": about(said[2]), "relation_type": "SAID", "fact": said[2],
				"episode_indices": []int{0}})
		}
		return object{"edges": edges}
	},
	"EdgeDuplicate": func(user string) object {
		same := []int{}
		for i, line := range strings.Split(between(user, "EXISTING FACTS"), "{'idx': ")[1:] {
			if strings.Contains(line, "'"+strings.TrimSpace(between(user, "NEW FACT"))+"'") {
				same = append(same, i)
			}
		}
		return object{"duplicate_facts": same, "contradicted_facts": []int{}}
	},
	"EdgeTimestamps":      func(string) object { return object{"valid_at": nil, "invalid_at": nil} },
	"BatchEdgeTimestamps": func(string) object { return object{"timestamps": []object{}} },
	"SummarizedEntities":  func(string) object { return object{"summaries": []object{}} },
}

// between is what stands within a tag of a prompt.
func between(user, tag string) string {
	_, rest, _ := strings.Cut(user, "<"+tag+">")
	within, _, _ := strings.Cut(rest, "</"+tag+">")
	return within
}

// TestPeerOthers: the model that the others ask knows what their prompts show, and no more.
func TestPeerOthers(t *testing.T) {
	const id = "293f1103-8660-4957-98fb-ccd4c9481568"
	for name, c := range map[string]struct {
		got  object
		want string
	}{
		"retain": {retained("Content:\nAuthor 1: note Ann plays chess\nAuthor 2: hello"),
			`{"facts":[{"entities":["Ann"],"fact_kind":"conversation","fact_type":"world","what":"Ann plays chess","when":"N/A","where":"N/A","who":"N/A","why":"N/A"}]}`},
		"consolidate": {consolidated(t, hindsightNew+"\n["+id+"] Ann runs (mentioned_at=1)\n["+id+"] Bo sings (mentioned_at=1)\n\n"+hindsightKnown+"\n[{\"id\":\"o\",\"text\":\"Ann runs.\"}]"),
			`{"creates":[{"source_fact_ids":["` + id + `"],"text":"Bo sings"}],"deletes":[],"updates":[{"observation_id":"o","source_fact_ids":["` + id + `"],"text":"Ann runs"}]}`},
		"entities": {graphAnswers["ExtractedEntities"]("<CURRENT MESSAGE>\nAuthor 1: note Ann runs\nAuthor 1: hello\n</CURRENT MESSAGE>"),
			`{"extracted_entities":[{"entity_type_id":0,"episode_indices":[0],"name":"Author 1"},{"entity_type_id":0,"episode_indices":[0],"name":"Ann"}]}`},
		"same entity": {graphAnswers["NodeResolutions"](`<ENTITIES>[{"id":0,"name":"Ann"}]</ENTITIES><EXISTING ENTITIES>[{"candidate_id":3,"name":"Ann"}]</EXISTING ENTITIES>`),
			`{"entity_resolutions":[{"duplicate_candidate_id":3,"id":0,"name":"Ann"}]}`},
		"same fact": {graphAnswers["EdgeDuplicate"]("<EXISTING FACTS>\n[{'idx': 0, 'fact': 'Bo sings'}, {'idx': 1, 'fact': 'Ann runs'}]\n</EXISTING FACTS><NEW FACT>\nAnn runs\n</NEW FACT>"),
			`{"contradicted_facts":[],"duplicate_facts":[1]}`},
	} {
		t.Run(name, func(t *testing.T) {
			if got := jsonText(c.got); got != c.want {
				t.Errorf("%s, want %s", got, c.want)
			}
		})
	}
}
