package llmtest

import (
	"io"
	"strings"
	"testing"

	"github.com/anthropics/anthropic-sdk-go"
	anthropicoption "github.com/anthropics/anthropic-sdk-go/option"
	"github.com/openai/openai-go/v3"
	"github.com/openai/openai-go/v3/option"
)

// The adapters speak to this server without the providers' SDKs, and it may not be wrong in the same way as they: the
// SDKs understand its batches, and it theirs.

func TestOpenAIsSDKUnderstands(t *testing.T) {
	s := New(t, WithKey("key"))
	s.Respond(func(Request) Answer { return Text("y") })
	s.ScriptBatches(Plan{Looks: 9}, Plan{}, HalfFailed())
	client := openai.NewClient(option.WithBaseURL(s.URL("openai")), option.WithAPIKey("key"), option.WithMaxRetries(0))
	var last *openai.Batch
	for _, key := range []string{"one", "two", "three"} {
		text := ""
		for _, id := range []string{"a", "b"} {
			text += `{"custom_id":"` + id + `","method":"POST","url":"/v1/chat/completions","body":{"model":"m","messages":[{"role":"user","content":"x"}]}}` + "\n"
		}
		file, err := client.Files.New(t.Context(), openai.FileNewParams{File: strings.NewReader(text), Purpose: openai.FilePurposeBatch})
		if err != nil {
			t.Fatal(err)
		}
		last, err = client.Batches.New(t.Context(), openai.BatchNewParams{InputFileID: file.ID, Metadata: map[string]string{"key": key},
			Endpoint: openai.BatchNewParamsEndpointV1ChatCompletions, CompletionWindow: openai.BatchNewParamsCompletionWindow24h})
		if err != nil {
			t.Fatal(err)
		}
	}
	last, err := client.Batches.Get(t.Context(), last.ID)
	if err != nil || last.Status != openai.BatchStatusCompleted || last.RequestCounts.Failed != 1 || last.ErrorFileID == "" {
		t.Fatalf("%+v, %v", last, err)
	}
	answers, err := client.Files.Content(t.Context(), last.OutputFileID)
	if err != nil {
		t.Fatal(err)
	}
	defer answers.Body.Close()
	if text, err := io.ReadAll(answers.Body); err != nil || !strings.Contains(string(text), `"custom_id":"a"`) {
		t.Errorf("answers are %s, %v", text, err)
	}
	if gone, err := client.Files.Delete(t.Context(), last.InputFileID); err != nil || !gone.Deleted {
		t.Errorf("%+v, %v", gone, err)
	}
	var listed []string
	list := client.Batches.ListAutoPaging(t.Context(), openai.BatchListParams{})
	for list.Next() {
		listed = append(listed, list.Current().ID)
	}
	if list.Err() != nil || len(listed) != 3 || listed[0] != last.ID {
		t.Fatalf("listed are %q, %v", listed, list.Err())
	}
	if b, err := client.Batches.Cancel(t.Context(), listed[2]); err != nil || b.Status != openai.BatchStatusCancelled {
		t.Errorf("%+v, %v", b, err)
	}
}

func TestAnthropicsSDKUnderstands(t *testing.T) {
	s := New(t, WithKey("key"))
	s.Respond(func(Request) Answer { return Text("y") })
	s.ScriptBatches(Plan{Looks: 9}, Plan{}, HalfFailed())
	batches := anthropic.NewMessageBatchService(anthropicoption.WithBaseURL(s.URL("anthropic")), anthropicoption.WithAPIKey("key"),
		anthropicoption.WithMaxRetries(0))
	var last *anthropic.MessageBatch
	for range 3 {
		var ask anthropic.MessageBatchNewParams
		for _, id := range []string{"a", "b"} {
			ask.Requests = append(ask.Requests, anthropic.MessageBatchNewParamsRequest{CustomID: id,
				Params: anthropic.MessageBatchNewParamsRequestParams{Model: "m", MaxTokens: 7,
					Messages: []anthropic.MessageParam{anthropic.NewUserMessage(anthropic.NewTextBlock("x"))}}})
		}
		var err error
		if last, err = batches.New(t.Context(), ask); err != nil {
			t.Fatal(err)
		}
	}
	last, err := batches.Get(t.Context(), last.ID, anthropic.MessageBatchGetParams{})
	if err != nil || last.ProcessingStatus != anthropic.MessageBatchProcessingStatusEnded || last.RequestCounts.Errored != 1 {
		t.Fatalf("%+v, %v", last, err)
	}
	var answers []string
	results := batches.ResultsStreaming(t.Context(), last.ID, anthropic.MessageBatchResultsParams{})
	for results.Next() {
		answers = append(answers, results.Current().CustomID+" "+results.Current().Result.Type)
	}
	if err := results.Err(); err != nil || strings.Join(answers, ", ") != "a succeeded, b errored" {
		t.Errorf("answers are %q, %v", answers, err)
	}
	var listed []string
	list := batches.ListAutoPaging(t.Context(), anthropic.MessageBatchListParams{})
	for list.Next() {
		listed = append(listed, list.Current().ID)
	}
	if list.Err() != nil || len(listed) != 3 || listed[0] != last.ID {
		t.Fatalf("listed are %q, %v", listed, list.Err())
	}
	if b, err := batches.Cancel(t.Context(), listed[2], anthropic.MessageBatchCancelParams{}); err != nil || b.CancelInitiatedAt.IsZero() {
		t.Errorf("%+v, %v", b, err)
	}
}
