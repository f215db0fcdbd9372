package gemini

import (
	"errors"
	"math"
	"testing"
	"time"

	"go.uber.org/goleak"

	"reverie/internal/llm"
	"reverie/internal/llm/llmtest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func open(t *testing.T, srv *llmtest.Server, suffix string) *Client {
	t.Helper()
	c, err := New(Options{BaseURL: srv.URL(Provider) + suffix, APIKey: "k", Model: "gemini-2.5-flash", Dims: 4, HTTPClient: srv.Client()})
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func body(json string) llmtest.Answer { return llmtest.Body(200, "application/json", json) }

// The SDK returns all of these without an error.
func TestOnlyOneStoppedCandidateIsAnAnswer(t *testing.T) {
	candidate := func(reason string) string {
		return `{"content":{"parts":[{"text":"x"}]},"finishReason":"` + reason + `"}`
	}
	for name, c := range map[string]struct {
		answer string
		want   llm.Finish
	}{
		"stop":               {`{"candidates":[` + candidate("STOP") + `]}`, llm.FinishStop},
		"max tokens":         {`{"candidates":[` + candidate("MAX_TOKENS") + `]}`, llm.FinishLength},
		"safety":             {`{"candidates":[` + candidate("SAFETY") + `]}`, llm.FinishRefused},
		"prohibited":         {`{"candidates":[` + candidate("PROHIBITED_CONTENT") + `]}`, llm.FinishRefused},
		"personal data":      {`{"candidates":[` + candidate("SPII") + `]}`, llm.FinishRefused},
		"blocklist":          {`{"candidates":[` + candidate("BLOCKLIST") + `]}`, llm.FinishRefused},
		"recitation":         {`{"candidates":[` + candidate("RECITATION") + `]}`, llm.FinishRefused},
		"malformed call":     {`{"candidates":[` + candidate("MALFORMED_FUNCTION_CALL") + `]}`, llm.FinishOther},
		"no reason":          {`{"candidates":[{"content":{"parts":[{"text":"x"}]}}]}`, llm.FinishOther},
		"no content":         {`{"candidates":[{"finishReason":"STOP"}]}`, llm.FinishOther},
		"two candidates":     {`{"candidates":[` + candidate("STOP") + `,` + candidate("STOP") + `]}`, llm.FinishOther},
		"blocked prompt":     {`{"promptFeedback":{"blockReason":"PROHIBITED_CONTENT"}}`, llm.FinishRefused},
		"blocked regardless": {`{"promptFeedback":{"blockReason":"OTHER"},"candidates":[` + candidate("STOP") + `]}`, llm.FinishRefused},
	} {
		srv := llmtest.New(t)
		srv.Script(body(c.answer))
		resp, err := open(t, srv, "").Generate(t.Context(), llm.Request{User: "u"})
		if err != nil || resp.Finish != c.want {
			t.Errorf("%s: finish %q (%v), want %q", name, resp.Finish, err, c.want)
		}
	}
}

func TestThoughtsAreBilledNotRead(t *testing.T) {
	srv := llmtest.New(t)
	srv.Script(body(`{"candidates":[{"content":{"parts":[{"text":"hm","thought":true},{"text":"a"},{"text":"b"}]},"finishReason":"STOP"}],
		"usageMetadata":{"promptTokenCount":7,"candidatesTokenCount":2,"thoughtsTokenCount":30}}`))
	resp, err := open(t, srv, "").Generate(t.Context(), llm.Request{User: "u"})
	if err != nil || resp.Text != "ab" || resp.Usage != (llm.Usage{InputTokens: 7, OutputTokens: 32}) {
		t.Errorf("%+v, %v", resp, err)
	}
}

func TestBaseURLMayNameTheVersion(t *testing.T) {
	for suffix, want := range map[string]string{"": "/v1beta/", "/": "/v1beta/", "/v1beta": "/v1beta/", "/v1/": "/v1/", "/proxy": "/proxy/v1beta/", "/proxy/v1": "/proxy/v1/"} {
		srv := llmtest.New(t)
		srv.Script(llmtest.Text("x"))
		if _, err := open(t, srv, suffix).Generate(t.Context(), llm.Request{User: "u"}); err != nil {
			t.Fatal(err)
		}
		if got := srv.Requests()[0].Path; got != want+"models/gemini-2.5-flash:generateContent" {
			t.Errorf("base URL ending in %q: path %s", suffix, got)
		}
	}
}

func TestWaitAskedForInTheBody(t *testing.T) {
	srv := llmtest.New(t)
	srv.Script(llmtest.Body(429, "application/json", `{"error":{"code":429,"status":"RESOURCE_EXHAUSTED","message":"quota",
		"details":[{"@type":"type.googleapis.com/google.rpc.RetryInfo","retryDelay":"27.5s"}]}}`))
	_, err := open(t, srv, "").Generate(t.Context(), llm.Request{User: "u"})
	var e *llm.Error
	if !errors.As(err, &e) || e.Fault != llm.FaultRateLimited || e.RetryAfter != 27500*time.Millisecond {
		t.Errorf("error is %+v", err)
	}
}

func TestEmbeddingsAreOfLengthOne(t *testing.T) {
	srv := llmtest.New(t)
	srv.ScriptEmbeddings(body(`{"embeddings":[{"values":[3,0,4,0]},{"values":[0,0,0,0]},{}]}`))
	vectors, _, err := open(t, srv, "").Embed(t.Context(), []string{"a", "b", "c"})
	if err != nil {
		t.Fatal(err)
	}
	if v := vectors[0]; math.Abs(float64(v[0])-0.6) > 1e-6 || math.Abs(float64(v[2])-0.8) > 1e-6 {
		t.Errorf("vector is %v", v)
	}
	if vectors[1][0] != 0 || vectors[2] != nil {
		t.Errorf("vectors without a length became %v and %v", vectors[1], vectors[2])
	}
	if r := srv.Requests()[0]; r.Dims != 4 || len(r.Texts) != 3 {
		t.Errorf("request is %+v", r)
	}
}
