package openai

import (
	"fmt"
	"strings"
	"testing"

	"go.uber.org/goleak"

	"reverie/internal/llm"
	"reverie/internal/llm/llmtest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func open(t *testing.T, srv *llmtest.Server, o Options) *Client {
	t.Helper()
	o.BaseURL, o.HTTPClient = srv.URL(Provider), srv.Client()
	c, err := New(o)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func TestNameOfTheLimit(t *testing.T) {
	for _, c := range []struct {
		base, model string
		want        bool
	}{
		{DefaultBaseURL, "gpt-4o-mini", true},
		{DefaultBaseURL, "gpt-5-mini", true},
		{"https://eu.api.openai.com/v1", "gpt-4.1", true},
		{"https://me.openai.azure.com/openai/v1", "my-deployment", true},
		{"http://localhost:11434/v1", "llama3.2", false},
		{"http://localhost:8000/v1", "openai/gpt-oss-20b", false},
		{"https://api.deepseek.com", "deepseek-chat", false},
		{"https://openrouter.ai/api/v1", "openai/gpt-5-mini", true},
		{"https://gateway.example.com/v1", "o3-mini", true},
		{"https://gateway.example.com/v1", "gpt-5.1", true},
		{"https://gateway.example.com/v1", "o1x-home-made", false},
		{"https://api.openai.com.example.com/v1", "x", false},
	} {
		if got := namesNewTokens(c.base, c.model); got != c.want {
			t.Errorf("%s, %s: %t, want %t", c.base, c.model, got, c.want)
		}
	}
}

func TestLimitIsSentOnce(t *testing.T) {
	for model, want := range map[string]string{"llama3": "max_tokens", "gpt-5-mini": "max_completion_tokens"} {
		srv := llmtest.New(t)
		srv.Script(llmtest.Text("x"))
		if _, err := open(t, srv, Options{Model: model}).Generate(t.Context(), llm.Request{User: "u", MaxTokens: 7}); err != nil {
			t.Fatal(err)
		}
		r := srv.Requests()[0]
		_, old := r.Body["max_tokens"]
		_, now := r.Body["max_completion_tokens"]
		if old == now || r.Body[want] != 7.0 {
			t.Errorf("%s: body is %v", model, r.Body)
		}
	}
}

func TestNoKeyNoHeader(t *testing.T) {
	t.Setenv("OPENAI_API_KEY", "poison")
	srv := llmtest.New(t)
	srv.Script(llmtest.Text("x"))
	if _, err := open(t, srv, Options{Model: "llama3"}).Generate(t.Context(), llm.Request{User: "u"}); err != nil {
		t.Fatal(err)
	}
	if r := srv.Requests()[0]; r.Key != "" {
		t.Errorf("key %q is sent", r.Key)
	}
}

// choice is an answer with one choice, as a server may write it.
func choice(inner string, tokens int) llmtest.Answer {
	return llmtest.Body(200, "text/plain", fmt.Sprintf(`{"choices":[{"index":0,%s}],"usage":{"prompt_tokens":1,"completion_tokens":%d}}`, inner, tokens))
}

func TestFinishOfCompatibleServers(t *testing.T) {
	for name, c := range map[string]struct {
		answer llmtest.Answer
		want   llm.Finish
	}{
		"reason left out":                   {choice(`"message":{"content":"x"}`, 3), llm.FinishStop},
		"reason null":                       {choice(`"finish_reason":null,"message":{"content":"x"}`, 3), llm.FinishStop},
		"reason empty":                      {choice(`"finish_reason":"","message":{"content":"x"}`, 3), llm.FinishStop},
		"eos":                               {choice(`"finish_reason":"eos","message":{"content":"x"}`, 3), llm.FinishStop},
		"reason left out, limit used up":    {choice(`"message":{"content":"x"}`, 50), llm.FinishLength},
		"reason left out, no text":          {choice(`"message":{"content":null}`, 3), llm.FinishOther},
		"stop at the limit is still a stop": {choice(`"finish_reason":"stop","message":{"content":"x"}`, 50), llm.FinishStop},
		"max_tokens":                        {choice(`"finish_reason":"max_tokens","message":{"content":"x"}`, 3), llm.FinishLength},
		"content filter":                    {choice(`"finish_reason":"content_filter","message":{"content":"x"}`, 3), llm.FinishRefused},
		"refusal":                           {choice(`"finish_reason":"stop","message":{"content":null,"refusal":"no"}`, 3), llm.FinishRefused},
		"tool calls":                        {choice(`"finish_reason":"tool_calls","message":{"content":"x"}`, 3), llm.FinishOther},
		"two choices": {llmtest.Body(200, "application/json",
			`{"choices":[{"finish_reason":"stop","message":{"content":"x"}},{"finish_reason":"stop","message":{"content":"y"}}]}`), llm.FinishOther},
	} {
		srv := llmtest.New(t)
		srv.Script(c.answer)
		resp, err := open(t, srv, Options{Model: "m"}).Generate(t.Context(), llm.Request{User: "u", MaxTokens: 50})
		if err != nil || resp.Finish != c.want {
			t.Errorf("%s: finish %q (%v), want %q", name, resp.Finish, err, c.want)
		}
	}
}

func TestDimensionsOnlyWhereKnown(t *testing.T) {
	for model, want := range map[string]int{"text-embedding-3-large": 256, "openai/text-embedding-3-small": 256, "nomic-embed-text": 0, "text-embedding-ada-002": 0} {
		srv := llmtest.New(t, llmtest.WithDims(16))
		if _, _, err := open(t, srv, Options{Model: model, Dims: 256}).Embed(t.Context(), []string{"a"}); err != nil {
			t.Fatal(err)
		}
		if r := srv.Requests()[0]; r.Dims != want || r.Body["encoding_format"] != "float" {
			t.Errorf("%s: body is %v", model, r.Body)
		}
	}
}

func TestEmbeddingsAreOrdered(t *testing.T) {
	entry := func(index string, value float64) string { return fmt.Sprintf(`{%s"embedding":[%g,0.5]}`, index, value) }
	for name, c := range map[string]struct {
		data []string
		want string // first values, or part of the error
	}{
		"in order":       {[]string{entry(`"index":0,`, 1), entry(`"index":1,`, 2)}, "1 2"},
		"shuffled":       {[]string{entry(`"index":1,`, 2), entry(`"index":0,`, 1)}, "1 2"},
		"index left out": {[]string{entry("", 1), entry("", 2)}, "1 2"},
		"index repeated": {[]string{entry(`"index":1,`, 1), entry(`"index":1,`, 2)}, "numbered 1"},
		"index beyond":   {[]string{entry(`"index":0,`, 1), entry(`"index":2,`, 2)}, "numbered 2"},
		"index negative": {[]string{entry(`"index":0,`, 1), entry(`"index":-1,`, 2)}, "numbered -1"},
		"too few":        {[]string{entry("", 1)}, "1 embeddings for 2 texts"},
		"too many":       {[]string{entry("", 1), entry("", 1), entry("", 1)}, "3 embeddings for 2 texts"},
	} {
		srv := llmtest.New(t)
		srv.ScriptEmbeddings(llmtest.Body(200, "application/json", `{"data":[`+strings.Join(c.data, ",")+`]}`))
		vectors, _, err := open(t, srv, Options{Model: "m"}).Embed(t.Context(), []string{"a", "b"})
		got := fmt.Sprint(err)
		if err == nil {
			got = fmt.Sprint(vectors[0][0], vectors[1][0])
		}
		if !strings.Contains(got, c.want) {
			t.Errorf("%s: %s, want %s", name, got, c.want)
		}
	}
}
