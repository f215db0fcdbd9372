package openai

import (
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"

	"reverie/internal/llm"
)

// serve answers each route with a body given word for word; others are not found.
func serve(t *testing.T, bodies map[string]string) *Client {
	t.Helper()
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, known := bodies[r.Method+" "+r.URL.Path]
		if !known {
			w.WriteHeader(http.StatusNotFound)
		}
		_, _ = io.WriteString(w, body)
	}))
	t.Cleanup(srv.Close)
	c, err := New(Options{BaseURL: srv.URL, Model: "m", HTTPClient: srv.Client()})
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func TestStatesOfBatches(t *testing.T) {
	for status, want := range map[string]llm.BatchPhase{
		"validating": llm.BatchRunning, "in_progress": llm.BatchRunning, "finalizing": llm.BatchRunning, "cancelling": llm.BatchRunning,
		"completed": llm.BatchEnded, "expired": llm.BatchExpired, "cancelled": llm.BatchCancelled, "failed": llm.BatchFailed,
		"queued somewhere": llm.BatchRunning, "": llm.BatchRunning,
	} {
		c := serve(t, map[string]string{"GET /batches/b": `{"id":"b","status":"` + status + `","expires_at":1768564800,
			"request_counts":{"total":5,"completed":3,"failed":1}}`})
		got, err := c.BatchState(t.Context(), "b")
		if want := (llm.BatchState{Phase: want, Done: 3, Failed: 1, Total: 5, ExpiresAt: time.Unix(1768564800, 0)}); err != nil || got != want {
			t.Errorf("%s: %+v, %v, want %+v", status, got, err, want)
		}
	}
}

// Servers of this format leave out what they do not know, or write it otherwise.
func TestBatchesOfCompatibleServers(t *testing.T) {
	c := serve(t, map[string]string{
		"POST /files":    `{"id":"f"}`,
		"POST /batches":  `{"id":"b"}`,
		"GET /batches/b": `{"id":"b","status":"completed","output_file_id":"out","error_file_id":"","metadata":null,"request_counts":null}`,
		"GET /files/out/content": strings.Join([]string{
			`{"id":"vllm-1","custom_id":"a","response":{"status_code":200,"request_id":"r","body":{"choices":[{"message":{"content":"x"},"finish_reason":"stop"}],"usage":{"prompt_tokens":7,"completion_tokens":2}}},"error":null}`,
			``,
			`{"custom_id":"no-status","response":{"body":{"choices":[{"message":{"content":"y"}}],"usage":{"prompt_tokens":"7"}}}}`,
			`{"custom_id":"too-long","response":{"status_code":400,"body":{"message":"This model's maximum context length is 8 tokens."}},"error":null}`,
			`{"custom_id":"error","response":{"status_code":404,"body":null},"error":{"message":"The model does not exist.","code":404}}`,
			`{"custom_id":"cancelled","response":null,"error":{"code":"batch_cancelled","message":"It was cancelled."}}`,
			`{"custom_id":"words","error":"the worker died"}`,
			`{"custom_id":"nothing","response":null,"error":null}`,
			`{"custom_id":"cut`,
			`{"custom_id":"no-choice","response":{"status_code":200,"body":{"choices":[]}}}`,
		}, "\r\n"),
	})
	id, err := c.SubmitBatch(t.Context(), llm.BatchSubmission{Key: "k"}, []llm.BatchQuestion{{ID: "a"}})
	if id != "b" || err != nil {
		t.Fatalf("%q, %v", id, err)
	}
	var got []string
	err = c.BatchAnswers(t.Context(), id, func(a llm.BatchAnswer) error {
		got = append(got, a.ID+" "+a.Response.Text+string(llm.FaultIn(a.Err)))
		return nil
	})
	want := []string{"a x", "no-status y", "too-long too_large", "error not_found", "cancelled canceled", "words server_error",
		"nothing server_error", " server_error", "no-choice server_error"}
	if err != nil || !slices.Equal(got, want) {
		t.Errorf("answers are %q, %v", got, err)
	}
	// It lists no batches, so there is none to be found.
	if id, err := c.FindBatch(t.Context(), llm.BatchSubmission{Key: "k"}, nil, nil); id != "" || err != nil {
		t.Errorf("found %q, %v", id, err)
	}
}
