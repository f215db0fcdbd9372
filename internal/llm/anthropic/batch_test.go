package anthropic

import (
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"testing"

	"reverie/internal/llm"
)

// serve answers each route with a body given word for word.
func serve(t *testing.T, bodies map[string]string) *Client {
	t.Helper()
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("X-Api-Key") != "k" || r.Header.Get("Anthropic-Version") == "" {
			t.Errorf("headers are %v", r.Header)
		}
		_, _ = io.WriteString(w, bodies[r.Method+" "+r.URL.Path])
	}))
	t.Cleanup(srv.Close)
	c, err := New(Options{BaseURL: srv.URL, APIKey: "k", Model: "m", HTTPClient: srv.Client()})
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func TestStatesOfBatches(t *testing.T) {
	for inner, want := range map[string]llm.BatchState{
		`"processing_status":"in_progress","request_counts":{"processing":5}`: {Phase: llm.BatchRunning, Total: 5},
		`"processing_status":"canceling","cancel_initiated_at":"2026-01-15T12:00:00Z","request_counts":{"processing":5}`: {
			Phase: llm.BatchRunning, Total: 5},
		`"processing_status":"ended","request_counts":{"succeeded":3,"errored":2}`: {Phase: llm.BatchEnded, Done: 3, Failed: 2, Total: 5},
		`"processing_status":"ended","request_counts":{"succeeded":3,"expired":2}`: {Phase: llm.BatchExpired, Done: 3, Failed: 2, Total: 5},
		`"processing_status":"ended","cancel_initiated_at":"2026-01-15T12:00:00Z","request_counts":{"succeeded":1,"canceled":4}`: {
			Phase: llm.BatchCancelled, Done: 1, Failed: 4, Total: 5},
		`"processing_status":"brand new"`: {Phase: llm.BatchRunning},
	} {
		c := serve(t, map[string]string{"GET /v1/messages/batches/b": `{"id":"b",` + inner + `}`})
		if got, err := c.BatchState(t.Context(), "b"); err != nil || got != want {
			t.Errorf("%s: %+v, %v, want %+v", inner, got, err, want)
		}
	}
}

func TestResultsOfBatches(t *testing.T) {
	errored := func(id, kind, message string) string {
		return `{"custom_id":"` + id + `","result":{"type":"errored","error":{"type":"error","error":{"type":"` + kind + `","message":"` + message + `"}}}}` + "\n"
	}
	c := serve(t, map[string]string{"GET /v1/messages/batches/b/results": errored("bad", "invalid_request_error", "what?") +
		errored("long", "invalid_request_error", "prompt is too long: 9 tokens > 8") + errored("busy", "overloaded_error", "busy") +
		errored("money", "billing_error", "none") + errored("new", "brand_new_error", "hm") + "not a line\n" +
		`{"custom_id":"empty","result":{"type":"succeeded","message":{"content":[]}}}` + "\n" +
		`{"custom_id":"last","result":{"type":"succeeded","message":{"stop_reason":"end_turn","content":[{"type":"text","text":"x"}]}}}`})
	var got []string
	err := c.BatchAnswers(t.Context(), "b", func(a llm.BatchAnswer) error {
		got = append(got, a.ID+" "+a.Response.Text+string(llm.FaultIn(a.Err)))
		return nil
	})
	want := []string{"bad bad_request", "long too_large", "busy server_error", "money unauthorized", "new server_error", " server_error",
		"empty server_error", "last x"}
	if err != nil || !slices.Equal(got, want) {
		t.Errorf("answers are %q, %v", got, err)
	}
}
