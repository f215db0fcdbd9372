package e2e

import (
	"bytes"
	"encoding/json"
	"hash/maphash"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"reverie/internal/llm/llmtest"
	"reverie/internal/text"
)

// quickModel is a model that does what the chat says, after a while. It keeps no
// question, other than llmtest's, and thinks of each but once: groups that ask the same
// get the same answer, so that it takes little of the processors that it shares with
// what is measured.
type quickModel struct {
	*httptest.Server
	b       *testing.B
	latency time.Duration
	calls   atomic.Int64
	seed    maphash.Seed
	known   sync.Map // answers by the sums of questions
}

func newQuickModel(b *testing.B, latency time.Duration) *quickModel {
	m := &quickModel{b: b, latency: latency, seed: maphash.MakeSeed()}
	m.Server = httptest.NewServer(m)
	b.Cleanup(m.Close)
	return m
}

func (m *quickModel) ServeHTTP(out http.ResponseWriter, in *http.Request) {
	if in.Method != http.MethodPost { // what it has is looked up beforehand
		http.NotFound(out, in)
		return
	}
	m.calls.Add(1)
	wait := time.NewTimer(m.latency)
	defer wait.Stop()
	question := bytes.NewBuffer(make([]byte, 0, max(0, in.ContentLength)+bytes.MinRead))
	if _, err := io.Copy(question, in.Body); err != nil {
		return // the client is gone, and has its own complaint
	}
	sum := maphash.Bytes(m.seed, question.Bytes())
	answer, ok := m.known.Load(sum)
	if !ok {
		answer = m.think(in.URL.Path, question.Bytes())
		m.known.Store(sum, answer)
	}
	select {
	case <-wait.C:
	case <-in.Context().Done():
		return
	}
	out.Header().Set("Content-Type", "application/json")
	_, _ = out.Write(answer.([]byte)) // see above
}

// think makes the answer to a question.
func (m *quickModel) think(path string, question []byte) []byte {
	var body struct {
		Messages []struct{ Role, Content string }
		Input    []string
	}
	if err := json.Unmarshal(question, &body); err != nil {
		m.b.Error(err)
	}
	type object = map[string]any
	var reply object
	if strings.HasSuffix(path, "/embeddings") {
		data, tokens := []object{}, 0
		for i, s := range body.Input {
			vector := make([]float32, 1536)
			for at, char := range s {
				vector[(at*31+int(char))%len(vector)]++
			}
			data = append(data, object{"object": "embedding", "index": i, "embedding": vector})
			tokens += text.EstimateTokens(s)
		}
		reply = object{"object": "list", "data": data, "usage": object{"prompt_tokens": tokens, "total_tokens": tokens}}
	} else {
		var r llmtest.Request
		tokens := 0
		for _, part := range body.Messages {
			r.User = part.Content // the last one is the user's
			tokens += text.EstimateTokens(part.Content)
		}
		s := transcribe(m.b, r)
		reply = object{"id": "1", "object": "chat.completion",
			"choices": []object{{"index": 0, "finish_reason": "stop", "message": object{"role": "assistant", "content": s}}},
			"usage":   object{"prompt_tokens": tokens, "completion_tokens": text.EstimateTokens(s)}}
	}
	raw, err := json.Marshal(reply)
	if err != nil {
		m.b.Error(err)
	}
	return raw
}
