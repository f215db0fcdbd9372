package wire

import (
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"
	"unicode/utf8"

	"reverie/internal/llm"
)

// Each job makes a client. Connections that nobody uses any more would heap up.
func TestClientsShareConnections(t *testing.T) {
	var opened atomic.Int64
	srv := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "{}") }))
	srv.Config.ConnState = func(_ net.Conn, state http.ConnState) {
		if state == http.StateNew {
			opened.Add(1)
		}
	}
	srv.Start()
	defer srv.Close()
	for _, provider := range []string{"p", "p", "q"} {
		api := API{Provider: provider, BaseURL: srv.URL, Header: http.Header{}, Client: NewClient(nil, provider, "")}
		if err := api.Get(t.Context(), "/", new(struct{})); err != nil {
			t.Fatal(err)
		}
	}
	if n := opened.Load(); n != 1 {
		t.Errorf("%d connections were opened", n)
	}
}

func TestRetryAfter(t *testing.T) {
	now := time.Date(2026, 1, 15, 12, 0, 0, 0, time.UTC)
	for _, c := range []struct {
		name, value string
		want        time.Duration
	}{
		{"Retry-After", "7", 7 * time.Second},
		{"Retry-After", " 1.5 ", 1500 * time.Millisecond},
		{"Retry-After", "0", 0},
		{"Retry-After", "-3", 0},
		{"Retry-After", "soon", 0},
		{"Retry-After", "NaN", 0},
		{"Retry-After", "+Inf", longestWait},
		{"Retry-After", "1e300", longestWait},
		{"Retry-After", "Thu, 15 Jan 2026 12:01:30 GMT", 90 * time.Second},
		{"Retry-After", "Thu, 15 Jan 2026 11:00:00 GMT", 0},
		{"Retry-After", "Thu, 15 Jan 2099 12:00:00 GMT", longestWait},
		{"Retry-After-Ms", "250", 250 * time.Millisecond},
		{"X-Other", "250", 0},
	} {
		if got := retryAfter(http.Header{c.name: {c.value}}, now); got != c.want {
			t.Errorf("%s: %q is %s, want %s", c.name, c.value, got, c.want)
		}
	}
}

func TestProblems(t *testing.T) {
	for body, want := range map[string]struct {
		status int
		says   string
		fault  llm.Fault
	}{
		`{"error":{"message":"m","type":"t","code":"context_length_exceeded"}}`:                                                             {400, "m", llm.FaultTooLarge},
		`{"error":{"message":"too much","type":"exceed_context_size_error","code":500}}`:                                                    {500, "too much", llm.FaultTooLarge},
		`{"error":{"message":"m","code":"model_not_found"}}`:                                                                                {400, "m", llm.FaultNotFound},
		`{"error":{"code":400,"message":"m","status":"INVALID_ARGUMENT","details":[{"reason":"API_KEY_INVALID"}]}}`:                         {400, "m", llm.FaultUnauthorized},
		`{"error":{"code":400,"message":"The input token count (2) exceeds the maximum number of tokens allowed (1).","status":"INVALID"}}`: {400, "The input token count", llm.FaultTooLarge},
		`{"type":"error","error":{"type":"invalid_request_error","message":"prompt is too long: 9 tokens > 8"}}`:                            {400, "prompt is too long", llm.FaultTooLarge},
		`{"type":"error","error":{"type":"overloaded_error"}}`:                                                                              {529, "overloaded_error", llm.FaultServer},
		`{"error":"no such thing"}`:                {422, "no such thing", llm.FaultBadRequest},
		`{"object":"error","message":"vLLM says"}`: {400, "vLLM says", llm.FaultBadRequest},
		`{"detail":"Not Found"}`:                   {404, "Not Found", llm.FaultNotFound},
		`{"detail":[{"msg":"field required"}]}`:    {422, "", llm.FaultBadRequest},
		`{"error":{"message":7,"type":"t"}}`:       {400, "t", llm.FaultBadRequest},
		`{"error":{"odd":"shape"}}`:                {500, `"odd"`, llm.FaultServer},
		`{"error":{}}`:                             {503, "", llm.FaultServer},
		`plain words`:                              {400, "", llm.FaultBadRequest},
		``:                                         {502, "", llm.FaultServer},
	} {
		p := problemIn([]byte(body))
		if got := classify(want.status, p); got != want.fault || !strings.Contains(p.String(), want.says) {
			t.Errorf("%s with status %d is %q, %q; want %q, %q", body, want.status, got, p, want.fault, want.says)
		}
	}
}

func TestSuccessIsNoProblem(t *testing.T) {
	for _, body := range []string{
		`{"choices":[{"message":{"content":"an \"error\" in a text"}}]}`, `{"error":null,"choices":[]}`, `{"error":"","x":1}`,
		`{"error":{},"x":1}`, `{"type":"message","message":"m","detail":"d"}`,
	} {
		if p := errorIn([]byte(body)); p.isSet() {
			t.Errorf("%s is taken for %q", body, p)
		}
	}
}

func FuzzProblem(f *testing.F) {
	f.Add(400, `{"error":{"message":"m","type":"t","code":"c","details":[{"retryDelay":"1s"}]}}`)
	f.Add(500, `{"error":[]}`)
	f.Add(200, "<html><title>x</title>")
	f.Fuzz(func(t *testing.T, status int, body string) {
		for _, p := range []problem{problemIn([]byte(body)), errorIn([]byte(body))} {
			if classify(status, p) == "" || p.retryDelay() < 0 {
				t.Error("no fault")
			}
		}
		for _, text := range []string{shorten(body), describe([]byte(body))} {
			if n := utf8.RuneCountInString(text); n > maxWords+10 || !utf8.ValidString(text) || strings.ContainsAny(text, "\n\r\x00\x1b") {
				t.Errorf("%d characters: %q", n, text)
			}
		}
	})
}

func TestEndpoint(t *testing.T) {
	const own = "https://api.example.com/v1"
	for base, want := range map[string]string{
		"": own, "http://localhost:11434/v1/": "http://localhost:11434/v1", "https://[::1]:8/": "https://[::1]:8",
		"localhost:1": "", "/v1": "", "ftp://h": "", "http://": "", "http://h/?a=b": "", "http://h/#f": "", "::": "",
	} {
		got, err := Check("p", own, llm.ClientOptions{BaseURL: base, APIKey: "k", Model: "m"}, false)
		if got != want || (err == nil) != (want != "") {
			t.Errorf("%q became %q, %v", base, got, err)
		}
	}
	if _, err := Check("p", own, llm.ClientOptions{BaseURL: "ftp://me:hush@h/?key=hush"}, false); err == nil || strings.Contains(err.Error(), "hush") {
		t.Errorf("error is %v", err)
	}
}
