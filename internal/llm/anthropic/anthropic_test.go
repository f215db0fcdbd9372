package anthropic

import (
	"testing"

	"go.uber.org/goleak"

	"reverie/internal/llm"
	"reverie/internal/llm/llmtest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func open(t *testing.T, srv *llmtest.Server, suffix string) *Client {
	t.Helper()
	c, err := New(Options{BaseURL: srv.URL(Provider) + suffix, APIKey: "k", Model: "claude-haiku-4-5", HTTPClient: srv.Client()})
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func TestBaseURLMayNameTheVersion(t *testing.T) {
	for suffix, want := range map[string]string{"": "/v1/messages", "/": "/v1/messages", "/v1": "/v1/messages", "/v1/": "/v1/messages", "/proxy": "/proxy/v1/messages"} {
		srv := llmtest.New(t)
		srv.Script(llmtest.Text("x"))
		if _, err := open(t, srv, suffix).Generate(t.Context(), llm.Request{User: "u"}); err != nil {
			t.Fatal(err)
		}
		if got := srv.Requests()[0].Path; got != want {
			t.Errorf("base URL ending in %q: path %s", suffix, got)
		}
	}
}

func TestLongAnswersMayBeAskedFor(t *testing.T) {
	for limit, want := range map[int]int{64000: 64000, 0: defaultMaxTokens} {
		srv := llmtest.New(t)
		srv.Script(llmtest.Text("x"))
		if _, err := open(t, srv, "").Generate(t.Context(), llm.Request{User: "u", MaxTokens: limit}); err != nil {
			t.Fatal(err)
		}
		if got := srv.Requests()[0].MaxTokens; got != want {
			t.Errorf("limit %d is sent as %d", limit, got)
		}
	}
}

func TestBlocksAndUsage(t *testing.T) {
	srv := llmtest.New(t)
	srv.Script(llmtest.Body(200, "application/json", `{"type":"message","role":"assistant","stop_reason":"end_turn",
		"content":[{"type":"thinking","thinking":"hm","signature":"s"},{"type":"text","text":"a"},{"type":"text","text":"b"}],
		"usage":{"input_tokens":5,"cache_creation_input_tokens":10,"cache_read_input_tokens":100,"output_tokens":3}}`))
	resp, err := open(t, srv, "").Generate(t.Context(), llm.Request{User: "u"})
	if err != nil || resp.Text != "ab" || resp.Finish != llm.FinishStop || resp.Usage != (llm.Usage{InputTokens: 115, OutputTokens: 3, CachedTokens: 100}) {
		t.Errorf("%+v, %v", resp, err)
	}
}

func TestReasonsOfItsOwn(t *testing.T) {
	for reason, want := range map[string]llm.Finish{
		"stop_sequence": llm.FinishStop, "model_context_window_exceeded": llm.FinishLength, "pause_turn": llm.FinishOther, "": llm.FinishOther,
	} {
		srv := llmtest.New(t)
		srv.Script(llmtest.Body(200, "application/json", `{"type":"message","stop_reason":"`+reason+`","content":[{"type":"text","text":"a"}]}`))
		resp, err := open(t, srv, "").Generate(t.Context(), llm.Request{User: "u"})
		if err != nil || resp.Finish != want {
			t.Errorf("%s: finish %q (%v), want %q", reason, resp.Finish, err, want)
		}
	}
}
