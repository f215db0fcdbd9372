package llmtest

import (
	"io"
	"math"
	"net/http"
	"slices"
	"strings"
	"testing"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const question = `{"model":"m","messages":[{"role":"system","content":"s"},{"role":"user","content":"u"}],"max_tokens":3}`

func post(t *testing.T, s *Server, path, body string) (int, string) {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, s.URL("openai")+path, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Authorization", "Bearer k")
	resp, err := s.Client().Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	return resp.StatusCode, string(text)
}

func TestScriptThenResponder(t *testing.T) {
	s := New(t)
	s.Script(Text("first"), Failure(503, "busy"))
	s.Respond(func(r Request) Answer { return Text("you said " + r.User) })
	for i, want := range []string{"first", "busy", "you said u", "you said u"} {
		if _, got := post(t, s, "/chat/completions", question); !strings.Contains(got, want) {
			t.Errorf("answer %d is %s, want %s", i+1, got, want)
		}
	}
	r := s.Requests()[0]
	if len(s.Requests()) != 4 || r.System != "s" || r.User != "u" || r.MaxTokens != 3 || r.Key != "k" || r.Header.Get("Authorization") != "" {
		t.Errorf("requests are %+v", s.Requests())
	}
}

func TestGateHoldsAnAnswer(t *testing.T) {
	s, gate, asked := New(t), make(chan struct{}), make(chan struct{})
	s.Respond(func(Request) Answer {
		close(asked)
		return Text("late").After(gate)
	})
	answered := make(chan string)
	go func() {
		_, text := post(t, s, "/chat/completions", question)
		answered <- text
	}()
	<-asked
	select {
	case text := <-answered:
		t.Errorf("answered before the gate opened: %s", text)
	default:
	}
	close(gate)
	if text := <-answered; !strings.Contains(text, "late") {
		t.Errorf("answer is %s", text)
	}
}

func TestWrongKeyAndRoute(t *testing.T) {
	s := New(t, WithKey("other"))
	if status, _ := post(t, s, "/chat/completions", question); status != http.StatusUnauthorized {
		t.Errorf("status %d for a wrong key", status)
	}
	if status, _ := post(t, s, "/completions", question); status != http.StatusNotFound {
		t.Errorf("status %d for an unknown route", status)
	}
}

func TestVector(t *testing.T) {
	a, b := Vector("a", 256), Vector("b", 256)
	if !slices.Equal(a, Vector("a", 256)) {
		t.Error("the same text has two vectors")
	}
	dot := func(x, y []float32) (sum float64) {
		for i := range x {
			sum += float64(x[i]) * float64(y[i])
		}
		return sum
	}
	if math.Abs(dot(a, a)-1) > 1e-5 || math.Abs(dot(a, b)) > 0.3 {
		t.Errorf("products are %g and %g", dot(a, a), dot(a, b))
	}
}
