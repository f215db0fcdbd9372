package llm_test

import (
	"context"
	"errors"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"reverie/internal/llm"
	"reverie/internal/llm/anthropic"
	"reverie/internal/llm/gemini"
	"reverie/internal/llm/llmtest"
	"reverie/internal/llm/openai"
	"reverie/internal/reverie"
)

const testKey = "test-key-4f9a1c"

// target is what an adapter is pointed at.
type target struct {
	url         string
	client      *http.Client
	model       string
	temperature *float64
}

type adapter struct {
	provider string
	open     func(to target) (llm.Generator, error)
}

var adapters = []adapter{
	{"openai", func(to target) (llm.Generator, error) {
		return openai.New(openai.Options{BaseURL: to.url, APIKey: testKey, Model: to.model, Temperature: to.temperature, HTTPClient: to.client})
	}},
	{"gemini", func(to target) (llm.Generator, error) {
		return gemini.New(gemini.Options{BaseURL: to.url, APIKey: testKey, Model: to.model, Temperature: to.temperature, HTTPClient: to.client})
	}},
	{"anthropic", func(to target) (llm.Generator, error) {
		return anthropic.New(anthropic.Options{BaseURL: to.url, APIKey: testKey, Model: to.model, Temperature: to.temperature, HTTPClient: to.client})
	}},
}

// dial points an adapter at a server.
func dial(t *testing.T, a adapter, srv *llmtest.Server) llm.Generator {
	t.Helper()
	gen, err := a.open(target{url: srv.URL(a.provider), client: srv.Client(), model: "test-model"})
	if err != nil {
		t.Fatal(err)
	}
	return gen
}

// poison sets every variable that the SDKs would like to read.
func poison(t *testing.T) {
	t.Helper()
	for _, name := range []string{
		"OPENAI_API_KEY", "OPENAI_ADMIN_KEY", "OPENAI_ORG_ID", "OPENAI_PROJECT_ID",
		"ANTHROPIC_API_KEY", "ANTHROPIC_AUTH_TOKEN", "ANTHROPIC_PROFILE",
		"GOOGLE_API_KEY", "GOOGLE_CLOUD_PROJECT", "GOOGLE_CLOUD_LOCATION",
	} {
		t.Setenv(name, "poison")
	}
	for _, name := range []string{"OPENAI_BASE_URL", "ANTHROPIC_BASE_URL", "GOOGLE_GEMINI_BASE_URL", "GOOGLE_VERTEX_BASE_URL"} {
		t.Setenv(name, "http://127.0.0.1:1/poison")
	}
	t.Setenv("OPENAI_CUSTOM_HEADERS", "X-Poison: poison")
	t.Setenv("ANTHROPIC_CUSTOM_HEADERS", "X-Poison: poison")
	t.Setenv("GOOGLE_GENAI_USE_VERTEXAI", "true")
}

func TestAdaptersSendWhatTheyAreTold(t *testing.T) {
	poison(t)
	for _, a := range adapters {
		t.Run(a.provider, func(t *testing.T) {
			srv := llmtest.New(t, llmtest.WithKey(testKey))
			srv.Script(llmtest.Lines(`{"action":"keep","old_id":"m1"}`, `{"action":"none"}`))
			heat := 0.25
			gen, err := a.open(target{url: srv.URL(a.provider), client: srv.Client(), model: "test-model", temperature: &heat})
			if err != nil {
				t.Fatal(err)
			}
			resp, err := gen.Generate(t.Context(), llm.Request{System: "You keep a memory.", User: `{"new_discussions":["你好 <b>"]}`, MaxTokens: 321})
			if err != nil {
				t.Fatal(err)
			}
			want := llm.Response{Text: "{\"action\":\"keep\",\"old_id\":\"m1\"}\n{\"action\":\"none\"}", Finish: llm.FinishStop,
				Usage: llm.Usage{InputTokens: 100, OutputTokens: 20}}
			if resp != want {
				t.Errorf("answer is %+v, want %+v", resp, want)
			}
			requests := srv.Requests()
			if len(requests) != 1 {
				t.Fatalf("%d requests, want 1", len(requests))
			}
			r := requests[0]
			if r.System != "You keep a memory." || r.User != `{"new_discussions":["你好 <b>"]}` || r.Model != "test-model" ||
				r.MaxTokens != 321 || r.Temperature == nil || *r.Temperature != 0.25 || r.Key != testKey {
				t.Errorf("request is %+v", r)
			}
			for name, values := range r.Header {
				if strings.Contains(strings.Join(values, " "), "poison") {
					t.Errorf("header %s comes from the environment: %v", name, values)
				}
			}
			if _, sent := r.Body["response_format"]; sent {
				t.Error("response_format is sent")
			}
		})
	}
}

func TestAdaptersLeaveOutWhatIsNotSet(t *testing.T) {
	for _, a := range adapters {
		t.Run(a.provider, func(t *testing.T) {
			srv := llmtest.New(t)
			srv.Script(llmtest.Text("x"))
			if _, err := dial(t, a, srv).Generate(t.Context(), llm.Request{User: "u"}); err != nil {
				t.Fatal(err)
			}
			if r := srv.Requests()[0]; r.Temperature != nil || r.System != "" {
				t.Errorf("request is %+v", r)
			}
		})
	}
}

func TestAdaptersReadWhyTheModelStopped(t *testing.T) {
	cases := []struct {
		name   string
		answer llmtest.Answer
		finish llm.Finish
		text   string
	}{
		{"stop", llmtest.Text("x"), llm.FinishStop, "x"},
		{"length", llmtest.Truncated(`{"action":"upd`), llm.FinishLength, `{"action":"upd`},
		{"refused", llmtest.Refused(), llm.FinishRefused, ""},
		{"other", llmtest.Answer{Text: "x", Finish: llm.FinishOther}, llm.FinishOther, "x"},
		{"unheard of", llmtest.Answer{Text: "x", Finish: "BRAND_NEW"}, llm.FinishOther, "x"},
		{"no text", llmtest.Text(""), llm.FinishOther, ""},
		{"prose", llmtest.Prose(), llm.FinishStop, llmtest.Prose().Text},
		{"broken lines", llmtest.BrokenLines(), llm.FinishStop, llmtest.BrokenLines().Text},
	}
	for _, a := range adapters {
		for _, c := range cases {
			t.Run(a.provider+"/"+c.name, func(t *testing.T) {
				srv := llmtest.New(t)
				srv.Script(c.answer)
				resp, err := dial(t, a, srv).Generate(t.Context(), llm.Request{User: "u", MaxTokens: 10})
				if err != nil {
					t.Fatal(err)
				}
				if resp.Finish != c.finish || resp.Text != c.text {
					t.Errorf("finish %q and text %q, want %q and %q", resp.Finish, resp.Text, c.finish, c.text)
				}
			})
		}
	}
}

func TestAdaptersSortFaults(t *testing.T) {
	cases := []struct {
		name   string
		answer llmtest.Answer
		fault  llm.Fault
		status int
		after  time.Duration
		says   string // part of the message
	}{
		{"429", llmtest.RateLimited(7 * time.Second), llm.FaultRateLimited, 429, 7 * time.Second, "slow down"},
		{"429 without a wait", llmtest.RateLimited(0), llm.FaultRateLimited, 429, 0, "slow down"},
		{"500", llmtest.Failure(500, "boom"), llm.FaultServer, 500, 0, "boom"},
		{"503", llmtest.Failure(503, "overloaded"), llm.FaultServer, 503, 0, "overloaded"},
		{"503 as a page", llmtest.Body(503, "text/html", "<html><title>Bad gateway</title></html>"), llm.FaultServer, 503, 0, "Bad gateway"},
		{"503 without a body", llmtest.Body(503, "", ""), llm.FaultServer, 503, 0, ""},
		{"529", llmtest.Failure(529, "overloaded"), llm.FaultServer, 529, 0, "overloaded"},
		{"401", llmtest.Failure(401, "wrong key"), llm.FaultUnauthorized, 401, 0, "REVERIE_LLM_API_KEY"},
		{"402", llmtest.Failure(402, "no money"), llm.FaultUnauthorized, 402, 0, "no money"},
		{"403", llmtest.Failure(403, "not for you"), llm.FaultUnauthorized, 403, 0, "not for you"},
		{"404", llmtest.Failure(404, "no such model"), llm.FaultNotFound, 404, 0, "REVERIE_LLM_MODEL"},
		{"405", llmtest.Body(405, "text/plain", "Method Not Allowed"), llm.FaultNotFound, 405, 0, "Not Allowed"},
		{"408", llmtest.Failure(408, "too slow"), llm.FaultTimeout, 408, 0, "too slow"},
		{"409", llmtest.Failure(409, "conflict"), llm.FaultServer, 409, 0, "conflict"},
		{"413", llmtest.Failure(413, "too big"), llm.FaultTooLarge, 413, 0, "REVERIE_EVOLVE_MAX_INPUT_TOKENS"},
		{"400", llmtest.Failure(400, "what is this?"), llm.FaultBadRequest, 400, 0, "what is this"},
		{"context length", llmtest.Failure(400, "This model's maximum context length is 8192 tokens."), llm.FaultTooLarge, 400, 0, "8192"},
		{"wrong key as 400", llmtest.Failure(400, "API key not valid. Please pass a valid API key."), llm.FaultUnauthorized, 400, 0, "API key not valid"},
		{"too large as 429", llmtest.Failure(429, "Request too large for this model"), llm.FaultTooLarge, 429, 0, "too large"},
		{"error with 200", llmtest.Body(200, "application/json", `{"error":{"message":"upstream is down","code":502}}`), llm.FaultServer, 502, 0, "upstream is down"},
		{"error text with 200", llmtest.Body(200, "application/json", `{"error":"model not found"}`), llm.FaultNotFound, 0, 0, "model not found"},
		{"cut off", llmtest.CutOff(), llm.FaultServer, 200, 0, "broke off"},
		{"half a body", llmtest.Body(200, "application/json", `{"choices":[{"mess`), llm.FaultServer, 200, 0, "whole"},
		{"empty body", llmtest.Body(200, "application/json", ""), llm.FaultServer, 200, 0, "empty"},
		{"list", llmtest.Body(200, "application/json", `[]`), llm.FaultServer, 200, 0, "no JSON object"},
		{"other shape", llmtest.Body(200, "application/json", `{"choices":"x","candidates":"x","content":"x"}`), llm.FaultServer, 0, 0, ""},
		{"web page", llmtest.Page(), llm.FaultServer, 200, 0, "Welcome to nginx!"},
		{"no choices", llmtest.NoChoices(), llm.FaultServer, 0, 0, "holds no"},
		{"reset", llmtest.Reset(), llm.FaultNetwork, 0, 0, "reset"},
	}
	for _, a := range adapters {
		for _, c := range cases {
			t.Run(a.provider+"/"+c.name, func(t *testing.T) {
				srv := llmtest.New(t)
				srv.Script(c.answer)
				_, err := dial(t, a, srv).Generate(t.Context(), llm.Request{User: "u", MaxTokens: 10})
				e := wantFault(t, err, c.fault)
				if e.Status != c.status || e.RetryAfter != c.after || e.Provider != a.provider || !strings.Contains(err.Error(), c.says) {
					t.Errorf("error is %+v: %v; want status %d, retry after %s, %q", e, err, c.status, c.after, c.says)
				}
				if n := len(srv.Requests()); n != 1 {
					t.Errorf("%d requests, want 1: the adapter must not retry", n)
				}
			})
		}
	}
}

// wantFault fails unless err is an *llm.Error of the given fault.
func wantFault(t *testing.T, err error, fault llm.Fault) *llm.Error {
	t.Helper()
	var e *llm.Error
	if !errors.As(err, &e) {
		t.Fatalf("error is %T (%v), want an *llm.Error", err, err)
	}
	if e.Fault != fault {
		t.Fatalf("fault is %q (%v), want %q", e.Fault, err, fault)
	}
	return e
}

func TestAdaptersGiveUpWithTheirCaller(t *testing.T) {
	for _, a := range adapters {
		t.Run(a.provider+"/timeout", func(t *testing.T) {
			srv := llmtest.New(t)
			srv.Script(llmtest.Hang())
			ctx, cancel := context.WithTimeout(t.Context(), 30*time.Millisecond)
			defer cancel()
			_, err := dial(t, a, srv).Generate(ctx, llm.Request{User: "u"})
			wantFault(t, err, llm.FaultTimeout)
			if !errors.Is(err, reverie.ErrDeferred) {
				t.Error("a timeout does not defer")
			}
		})
		t.Run(a.provider+"/cancel", func(t *testing.T) {
			srv := llmtest.New(t)
			ctx, cancel := context.WithCancel(t.Context())
			srv.Respond(func(llmtest.Request) llmtest.Answer {
				cancel()
				return llmtest.Hang()
			})
			_, err := dial(t, a, srv).Generate(ctx, llm.Request{User: "u"})
			wantFault(t, err, llm.FaultCanceled)
			if !errors.Is(err, context.Canceled) || errors.Is(err, reverie.ErrDeferred) {
				t.Errorf("error is %v, want a cancellation that does not defer", err)
			}
		})
	}
}

func TestAdaptersKeepTheKey(t *testing.T) {
	for _, a := range adapters {
		t.Run(a.provider+"/redirect", func(t *testing.T) {
			elsewhere := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
				t.Errorf("%s followed the redirect with %v", a.provider, r.Header)
			}))
			defer elsewhere.Close()
			srv := llmtest.New(t)
			srv.Script(llmtest.Redirect(elsewhere.URL + "/v1/x"))
			_, err := dial(t, a, srv).Generate(t.Context(), llm.Request{User: "u"})
			wantFault(t, err, llm.FaultNotFound)
			if !strings.Contains(err.Error(), elsewhere.URL) {
				t.Errorf("error does not say where to: %v", err)
			}
		})
		t.Run(a.provider+"/message", func(t *testing.T) {
			srv := llmtest.New(t)
			srv.Script(llmtest.Failure(401, "no such key: "+testKey+"\n"+strings.Repeat("长", 1000)))
			_, err := dial(t, a, srv).Generate(t.Context(), llm.Request{User: "u"})
			if text := err.Error(); strings.Contains(text, testKey) || strings.Contains(text, "\n") || len([]rune(text)) > 500 {
				t.Errorf("error is %q", text)
			}
		})
	}
}

func TestAdaptersBoundAnswers(t *testing.T) {
	huge := `{"choices":[{"message":{"content":"` + strings.Repeat("x", 33<<20) + `"}}]}`
	srv := llmtest.New(t)
	srv.Script(llmtest.Body(200, "application/json", huge))
	_, err := dial(t, adapters[0], srv).Generate(t.Context(), llm.Request{User: "u"})
	wantFault(t, err, llm.FaultServer)
	if !strings.Contains(err.Error(), "larger than 32 MiB") {
		t.Errorf("error is %v", err)
	}
}

func TestAdaptersRefuseSettings(t *testing.T) {
	for _, a := range adapters {
		for name, to := range map[string]target{
			"no model":     {url: "http://127.0.0.1:1"},
			"no scheme":    {url: "localhost:8080", model: "m"},
			"other scheme": {url: "ftp://127.0.0.1", model: "m"},
			"query":        {url: "http://127.0.0.1/?key=secret", model: "m"},
		} {
			_, err := a.open(to)
			if !errors.Is(err, reverie.ErrConfiguration) {
				t.Errorf("%s, %s: error is %v, want configuration", a.provider, name, err)
			} else if strings.Contains(err.Error(), "secret") {
				t.Errorf("%s, %s: error holds a secret: %v", a.provider, name, err)
			}
		}
	}
	for _, key := range []string{"", "two words", "line\nbreak", "ключ"} {
		for provider, open := range map[string]func() error{
			"openai":    func() error { _, err := openai.New(openai.Options{APIKey: key, Model: "m"}); return err },
			"gemini":    func() error { _, err := gemini.New(gemini.Options{APIKey: key, Model: "m"}); return err },
			"anthropic": func() error { _, err := anthropic.New(anthropic.Options{APIKey: key, Model: "m"}); return err },
		} {
			err := open()
			if !errors.Is(err, reverie.ErrConfiguration) || key != "" && strings.Contains(err.Error(), key) {
				t.Errorf("%s with key %q: error is %v", provider, key, err)
			}
		}
	}
}
