package gemini

import (
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"

	"reverie/internal/llm"
	"reverie/internal/llm/llmtest"
)

// serve answers each route with a body given word for word.
func serve(t *testing.T, status int, bodies map[string]string) *Client {
	t.Helper()
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.WriteHeader(status)
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
	for name, want := range map[string]llm.BatchPhase{
		"UNSPECIFIED": llm.BatchRunning, "QUEUED": llm.BatchRunning, "PENDING": llm.BatchRunning, "RUNNING": llm.BatchRunning,
		"CANCELLING": llm.BatchRunning, "PAUSED": llm.BatchRunning, "UPDATING": llm.BatchRunning, "": llm.BatchRunning,
		"SUCCEEDED": llm.BatchEnded, "PARTIALLY_SUCCEEDED": llm.BatchEnded, "EXPIRED": llm.BatchExpired, "CANCELLED": llm.BatchCancelled,
	} {
		for _, prefix := range []string{"BATCH_STATE_", "JOB_STATE_"} {
			c := serve(t, 200, map[string]string{"GET /v1beta/batches/b": `{"name":"batches/b","metadata":{"state":"` + prefix + name + `",
				"batchStats":{"requestCount":"5","successfulRequestCount":3,"failedRequestCount":"1","pendingRequestCount":"1"}}}`})
			got, err := c.BatchState(t.Context(), "b")
			if want := (llm.BatchState{Phase: want, Done: 3, Failed: 1, Total: 5}); err != nil || got != want {
				t.Errorf("%s: %+v, %v, want %+v", prefix+name, got, err, want)
			}
		}
	}
	for reason, fault := range map[string]llm.Fault{
		`{"code":8,"message":"quota"}`: llm.FaultRateLimited, `{"code":3,"message":"quota"}`: llm.FaultBadRequest, `null`: llm.FaultServer,
	} {
		c := serve(t, 200, map[string]string{"GET /v1beta/batches/b": `{"error":` + reason + `,"done":true,"metadata":{"state":"BATCH_STATE_FAILED"}}`})
		got, err := c.BatchState(t.Context(), "batches/b")
		if err != nil || got.Phase != llm.BatchFailed || got.Fault != fault || got.Err == "" {
			t.Errorf("%s: %+v, %v, want %s", reason, got, err, fault)
		}
	}
}

// An answer without a key is nobody's, even where its place would tell.
func TestAnswersAreMatchedByKeyOnly(t *testing.T) {
	answer := `"response":{"candidates":[{"content":{"parts":[{"text":"x"}]},"finishReason":"STOP"}],"usageMetadata":{"promptTokenCount":7}}`
	inline := `{"inlinedResponses":{"inlinedResponses":[{` + answer + `,"metadata":{"key":"b"}},{` + answer + `},
		{"error":{"code":13,"message":"m"},"metadata":{"key":"c"}},{"error":{"code":4,"message":"m"},"metadata":{"key":"d"}},
		{"metadata":{"key":"e"}},{"response":{},"metadata":{"key":"f"}},{"response":7,"metadata":{"key":"g"}}]}}`
	want := []string{"b x", " x", "c server_error", "d timeout", "e server_error", "f server_error", "g server_error"}
	for where, body := range map[string]string{
		"metadata": `{"metadata":{"state":"BATCH_STATE_SUCCEEDED","output":` + inline + `}}`,
		"response": `{"metadata":{"state":"BATCH_STATE_SUCCEEDED"},"done":true,"response":` + inline + `}`,
	} {
		c := serve(t, 200, map[string]string{"GET /v1beta/batches/b": body})
		var got []string
		err := c.BatchAnswers(t.Context(), "batches/b", func(a llm.BatchAnswer) error {
			got = append(got, a.ID+" "+a.Response.Text+string(llm.FaultIn(a.Err)))
			return nil
		})
		if err != nil || !slices.Equal(got, want) {
			t.Errorf("%s: answers are %q, %v", where, got, err)
		}
	}
}

// What is too large to be sent with the batch is uploaded in parts, and answered in a file.
func TestLargeBatchesAreFiles(t *testing.T) {
	srv := llmtest.New(t)
	srv.Respond(func(r llmtest.Request) llmtest.Answer { return llmtest.Text(r.System + r.User[:1]) })
	heat := 0.25
	c, err := New(Options{BaseURL: srv.URL(Provider), APIKey: "k", Model: "m", Temperature: &heat, HTTPClient: srv.Client()})
	if err != nil {
		t.Fatal(err)
	}
	c.inline = 1000
	var questions []llm.BatchQuestion
	for id, size := range map[string]int{"a": 100, "b": 9_000_000} { // a part is of 8 MiB
		questions = append(questions, llm.BatchQuestion{ID: id,
			Request: llm.Request{System: "You are ", User: strings.Repeat(id, size), MaxTokens: 9}})
	}
	slices.SortFunc(questions, func(x, y llm.BatchQuestion) int { return strings.Compare(x.ID, y.ID) })
	for n, byFile := range map[int]bool{1: false, 2: true} {
		id, err := c.SubmitBatch(t.Context(), llm.BatchSubmission{Key: "k", Questions: n}, questions[:n])
		if err != nil {
			t.Fatal(err)
		}
		taken := srv.Batches()[len(srv.Batches())-1]
		if r := taken.Questions[0]; taken.Key != "k" || len(taken.Questions) != n || r.MaxTokens != 9 || *r.Temperature != 0.25 {
			t.Errorf("batch is of %d questions with key %q", len(taken.Questions), taken.Key)
		}
		if taken.ByFile != byFile {
			t.Errorf("%d questions: by file: %t", n, taken.ByFile)
		}
		if state, err := c.BatchState(t.Context(), id); err != nil || state.Phase != llm.BatchEnded || state.Done != n {
			t.Errorf("state is %+v, %v", state, err)
		}
		var got []string
		err = c.BatchAnswers(t.Context(), id, func(a llm.BatchAnswer) error {
			got = append(got, a.ID+"="+a.Response.Text)
			return nil
		})
		if want := []string{"a=You are a", "b=You are b"}[:n]; err != nil || !slices.Equal(got, want) {
			t.Errorf("answers are %q, %v", got, err)
		}
	}
}

// The SDK keeps only the words of what an upload fails with.
func TestRefusedUpload(t *testing.T) {
	c := serve(t, http.StatusUnauthorized, map[string]string{"POST /upload/v1beta/files": `{"error":{"code":401,"message":"who are you?"}}`})
	c.inline = 10
	_, err := c.SubmitBatch(t.Context(), llm.BatchSubmission{Key: "k"}, []llm.BatchQuestion{{ID: "a"}})
	var e *llm.Error
	if !errors.As(err, &e) || e.Fault != llm.FaultUnauthorized || e.Status != 401 || !strings.Contains(err.Error(), "who are you?") {
		t.Errorf("error is %v", err)
	}
}
