package e2e

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"
	"unicode/utf8"

	"reverie/internal/llm/llmtest"
	"reverie/internal/llm/offline"
	"reverie/internal/text"
)

// peerModel is the one model that Reverie and its peer ask, over OpenAI's protocol. It
// answers each in the form that its prompt asks for, and knows no more than the prompt
// tells it: transcribe says what it makes of Reverie's questions, extracted of mem0's.
// It answers after latency; vectors, of the offline model for both, come at once.
type peerModel struct {
	b       *testing.B
	latency time.Duration
	server  *httptest.Server
	vectors *offline.Model
	tokens  sync.Map // of prompts' constant parts, which are long

	calls, chars, fresh, inputTokens atomic.Int64
	written, outputTokens            atomic.Int64
	embeddings, texts, embedded      atomic.Int64
}

func newPeerModel(b *testing.B, latency time.Duration) *peerModel {
	m := &peerModel{b: b, latency: latency, vectors: offline.New(offline.DefaultDims)}
	m.server = httptest.NewServer(http.HandlerFunc(m.answer))
	b.Cleanup(m.server.Close)
	return m
}

func (m *peerModel) url() string { return m.server.URL + "/v1" }

// peerRequest is what either system sends.
type peerRequest struct {
	Messages []struct{ Role, Content string }
	Input    json.RawMessage // a text or a list of them
	Format   struct {
		Schema struct{ Name string } `json:"json_schema"`
	} `json:"response_format"`
}

func (m *peerModel) answer(out http.ResponseWriter, in *http.Request) {
	wait := time.NewTimer(m.latency)
	defer wait.Stop()
	var asked peerRequest
	if err := json.NewDecoder(in.Body).Decode(&asked); err != nil {
		http.Error(out, err.Error(), http.StatusBadRequest)
		return
	}
	out.Header().Set("Content-Type", "application/json")
	if strings.HasSuffix(in.URL.Path, "/embeddings") {
		_ = json.NewEncoder(out).Encode(m.embed(in, asked)) // a client that is gone has its own complaint
		return
	}
	reply := m.generate(asked)
	select {
	case <-wait.C:
	case <-in.Context().Done():
		return
	}
	_ = json.NewEncoder(out).Encode(reply)
}

func (m *peerModel) generate(asked peerRequest) map[string]any {
	type object = map[string]any
	user, tokens := "", 0
	for _, part := range asked.Messages {
		chars := int64(utf8.RuneCountInString(part.Content))
		m.chars.Add(chars)
		if part.Role != "system" { // which hardly changes
			m.fresh.Add(chars)
		}
		tokens += m.estimate(part.Role, part.Content)
		user = part.Content // the last one
	}
	var s string
	switch graph := graphAnswers[asked.Format.Schema.Name]; {
	case graph != nil:
		s = jsonText(graph(user))
	case strings.Contains(user, mem0Known):
		s = extracted(m.b, user)
	case strings.Contains(user, hindsightSaid):
		s = jsonText(retained(user))
	case strings.Contains(user, hindsightNew):
		s = jsonText(consolidated(m.b, user))
	default:
		s = transcribe(m.b, llmtest.Request{User: user})
	}
	answered := text.EstimateTokens(s)
	m.calls.Add(1)
	m.outputTokens.Add(int64(answered))
	m.inputTokens.Add(int64(tokens))
	m.written.Add(int64(utf8.RuneCountInString(s)))
	return object{"id": "1", "object": "chat.completion",
		"choices": []object{{"index": 0, "finish_reason": "stop", "message": object{"role": "assistant", "content": s}}},
		"usage":   object{"prompt_tokens": tokens, "completion_tokens": answered}}
}

func (m *peerModel) estimate(role, s string) int {
	if role != "system" {
		return text.EstimateTokens(s)
	}
	tokens, ok := m.tokens.Load(s)
	if !ok {
		tokens, _ = m.tokens.LoadOrStore(s, text.EstimateTokens(s))
	}
	return tokens.(int)
}

func (m *peerModel) embed(in *http.Request, asked peerRequest) map[string]any {
	type object = map[string]any
	var texts []string
	if err := json.Unmarshal(asked.Input, &texts); err != nil {
		texts = make([]string, 1)
		if err := json.Unmarshal(asked.Input, &texts[0]); err != nil {
			m.b.Errorf("the input is neither a text nor a list: %s", asked.Input)
		}
	}
	vectors, usage, err := m.vectors.Embed(in.Context(), texts)
	if err != nil {
		m.b.Error(err)
	}
	data := []object{}
	for i, v := range vectors {
		m.embedded.Add(int64(utf8.RuneCountInString(texts[i])))
		data = append(data, object{"object": "embedding", "index": i, "embedding": v})
	}
	m.embeddings.Add(1)
	m.texts.Add(int64(len(texts)))
	return object{"object": "list", "data": data, "usage": object{"prompt_tokens": usage.InputTokens, "total_tokens": usage.InputTokens}}
}

// reset forgets what was asked so far.
func (m *peerModel) reset() {
	for _, n := range []*atomic.Int64{&m.calls, &m.chars, &m.fresh, &m.inputTokens, &m.written, &m.outputTokens, &m.embeddings, &m.texts, &m.embedded} {
		n.Store(0)
	}
}

// report gives the benchmark what was asked for each of so many groups.
func (m *peerModel) report(groups int) {
	for unit, n := range map[string]*atomic.Int64{"calls": &m.calls, "input-chars": &m.chars, "fresh-chars": &m.fresh, "input-tokens": &m.inputTokens,
		"output-chars": &m.written, "output-tokens": &m.outputTokens, "embeddings": &m.embeddings, "embedded-texts": &m.texts, "embedded-chars": &m.embedded} {
		m.b.ReportMetric(float64(n.Load())/float64(groups), unit+"/group")
	}
	m.b.ReportMetric(float64(m.inputTokens.Load()+m.outputTokens.Load())/float64(groups), "tokens/group")
}

// The parts of mem0's prompt that are read: a JSON list on the line after the one, and
// a message on each line after the other.
const (
	mem0Known = "\n\n## Existing Memories\n"
	mem0New   = "\n\n## New Messages\n"
	mem0After = "\n\n## Observation Date\n"
)

var mem0Line = regexp.MustCompile(`^user: (?:Author \d+: )?(note|again) (.*)$`)

// extracted answers mem0's prompt as one that follows it to the letter: what users note
// is a fact, and so is what they say again; what an existing memory that is shown says
// already is left out, and so is what the answer has. What is known but not shown cannot
// be left out.
func extracted(t testing.TB, user string) string {
	_, rest, _ := strings.Cut(user, mem0Known)
	list, rest, _ := strings.Cut(rest, mem0New)
	messages, _, whole := strings.Cut(rest, mem0After)
	var shown []struct{ Text string }
	if err := json.Unmarshal([]byte(list), &shown); err != nil || !whole {
		t.Errorf("mem0's prompt has another form: %v\n%s", err, user)
	}
	known := map[string]bool{}
	for _, m := range shown {
		known[text.ContentHash(m.Text)] = true
	}
	type fact struct {
		ID         string `json:"id"`
		Text       string `json:"text"`
		Attributed string `json:"attributed_to"`
	}
	facts := []fact{}
	for line := range strings.SplitSeq(messages, "\n") {
		said := mem0Line.FindStringSubmatch(line)
		if said == nil || known[text.ContentHash(said[2])] {
			continue
		}
		known[text.ContentHash(said[2])] = true
		facts = append(facts, fact{ID: strconv.Itoa(len(facts)), Text: said[2], Attributed: "user"})
	}
	return jsonText(map[string]any{"memory": facts})
}

// TestPeerModel: the model that is asked by mem0 knows what the prompt shows, and no
// more.
func TestPeerModel(t *testing.T) {
	prompt := func(known, said string) string {
		return "## Summary\n" + mem0Known + known + mem0New + said + mem0After + "2026-01-01"
	}
	for name, c := range map[string]struct{ known, said, want string }{
		"nothing to note":      {`[]`, "user: Author 1: good morning", `{"memory":[]}`},
		"new, by two":          {`[]`, "user: Author 1: note Ann plays chess\nuser: Author 2: note 小明喝茶", `{"memory":[{"id":"0","text":"Ann plays chess","attributed_to":"user"},{"id":"1","text":"小明喝茶","attributed_to":"user"}]}`},
		"known and shown":      {`[{"id":"0","text":"Ann plays chess."}]`, "user: Author 1: again Ann plays chess\nuser: note Ann plays chess", `{"memory":[]}`},
		"known, but not shown": {`[{"id":"0","text":"Ben runs"}]`, "user: Author 1: again Ann plays chess", `{"memory":[{"id":"0","text":"Ann plays chess","attributed_to":"user"}]}`},
		"twice in one add":     {`[]`, "user: note Ann plays chess\nuser: again Ann plays chess", `{"memory":[{"id":"0","text":"Ann plays chess","attributed_to":"user"}]}`},
	} {
		t.Run(name, func(t *testing.T) {
			if got := extracted(t, prompt(c.known, c.said)); got != c.want {
				t.Errorf("%s, want %s", got, c.want)
			}
		})
	}
}
