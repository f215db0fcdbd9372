package gemini

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strconv"
	"strings"

	"google.golang.org/genai"

	"reverie/internal/llm"
	"reverie/internal/llm/internal/wire"
)

// inlineBytes is the maximum size of questions that are sent inside the batch request; more are sent as a file.
// Google's bound is 20 MB, including what the SDK writes around each question.
const inlineBytes = 18_000_000

// BatchLimits implements [llm.Batcher].
func (c *Client) BatchLimits() llm.BatchLimits { return llm.BatchLimits{Bytes: 2_000_000_000} }

// SubmitBatch implements [llm.Batcher].
func (c *Client) SubmitBatch(ctx context.Context, s llm.BatchSubmission, questions []llm.BatchQuestion) (string, error) {
	lines := func() io.Reader { return wire.Joined(questions, "\n", c.line) }
	size, err := io.Copy(io.Discard, io.LimitReader(lines(), c.inline+1))
	if err != nil {
		return "", wire.Fail(ctx, Provider, err)
	}
	var source genai.BatchJobSource
	if size <= c.inline {
		source.InlinedRequests = c.inlined(questions)
	} else {
		ctx := wire.Raw(ctx) // an upload's partial answers have no body
		file, err := wire.Ask(ctx, Provider, func() (*genai.File, error) {
			return c.sdk.Files.Upload(ctx, lines(), &genai.UploadFileConfig{DisplayName: s.Key, MIMEType: "application/jsonl"})
		})
		if err != nil {
			return "", err
		}
		source.FileName = file.Name
	}
	job, err := wire.Ask(ctx, Provider, func() (*genai.BatchJob, error) {
		return c.sdk.Batches.Create(ctx, c.model, &source, &genai.CreateBatchJobConfig{DisplayName: s.Key})
	})
	if err != nil {
		return "", err
	}
	if job.Name == "" {
		return "", wire.Fail(ctx, Provider, errors.New("the answer names no batch"))
	}
	return job.Name, nil
}

// keyName is the metadata field of a question's id.
const keyName = "key"

func (c *Client) inlined(questions []llm.BatchQuestion) []*genai.InlinedRequest {
	requests := make([]*genai.InlinedRequest, len(questions))
	for i, q := range questions {
		requests[i] = &genai.InlinedRequest{Contents: genai.Text(q.Request.User), Config: c.config(q.Request),
			Metadata: map[string]string{keyName: q.ID}}
	}
	return requests
}

// line returns a question as a line of a file.
func (c *Client) line(q llm.BatchQuestion) any {
	type generation struct {
		Temperature     *float32 `json:"temperature,omitempty"`
		MaxOutputTokens int32    `json:"maxOutputTokens,omitempty"`
	}
	type request struct {
		Contents   []*genai.Content `json:"contents"`
		System     *genai.Content   `json:"systemInstruction,omitempty"`
		Generation generation       `json:"generationConfig"`
	}
	config := c.config(q.Request)
	return struct {
		Key     string  `json:"key"`
		Request request `json:"request"`
	}{q.ID, request{genai.Text(q.Request.User), config.SystemInstruction,
		generation{config.Temperature, config.MaxOutputTokens}}}
}

// operation is a batch as Google describes it. The SDK leaves out its counts and its error.
type operation struct {
	Name     string          `json:"name"`
	Error    json.RawMessage `json:"error"`
	Metadata struct {
		DisplayName string `json:"displayName"`
		State       string `json:"state"`
		Stats       struct {
			Total  count `json:"requestCount"`
			Done   count `json:"successfulRequestCount"`
			Failed count `json:"failedRequestCount"`
		} `json:"batchStats"`
		Output output `json:"output"`
	} `json:"metadata"`
	Response output `json:"response"` // some versions use this instead of Metadata.Output
}

// count is a number that Google writes as a string.
type count int

// UnmarshalJSON implements json.Unmarshaler. Invalid numbers become 0.
func (c *count) UnmarshalJSON(data []byte) error {
	n, _ := strconv.Atoi(string(bytes.Trim(data, `"`)))
	*c = count(n)
	return nil
}

type output struct {
	File   string `json:"responsesFile"`
	Inline struct {
		Lines []json.RawMessage `json:"inlinedResponses"`
	} `json:"inlinedResponses"`
}

// operation fetches a batch, which may include the errors of its questions.
func (c *Client) operation(ctx context.Context, id string) (operation, error) {
	var op operation
	if !strings.HasPrefix(id, "batches/") {
		id = "batches/" + id
	}
	err := c.api.Get(wire.Raw(ctx), "/"+id, &op)
	return op, err
}

// FindBatch implements [llm.Batcher], by the key.
func (c *Client) FindBatch(ctx context.Context, s llm.BatchSubmission, _, _ func(string) bool) (string, error) {
	for token := ""; ; {
		var list struct {
			Operations []operation `json:"operations"`
			Next       string      `json:"nextPageToken"`
		}
		query := url.Values{"pageSize": {"50"}}
		if token != "" {
			query.Set("pageToken", token)
		}
		if err := c.api.Get(wire.Raw(ctx), "/batches?"+query.Encode(), &list); err != nil {
			return "", err
		}
		for _, op := range list.Operations {
			if op.Metadata.DisplayName == s.Key {
				return op.Name, nil
			}
		}
		if list.Next == "" || list.Next == token {
			return "", nil
		}
		token = list.Next
	}
}

// phases are the final states of a batch, without JOB_STATE_ or BATCH_STATE_.
var phases = map[string]llm.BatchPhase{
	"SUCCEEDED":           llm.BatchEnded,
	"PARTIALLY_SUCCEEDED": llm.BatchEnded,
	"EXPIRED":             llm.BatchExpired,
	"CANCELLED":           llm.BatchCancelled,
	"FAILED":              llm.BatchFailed,
}

// BatchState implements [llm.Batcher].
func (c *Client) BatchState(ctx context.Context, id string) (llm.BatchState, error) {
	op, err := c.operation(ctx, id)
	if err != nil {
		return llm.BatchState{}, err
	}
	stats := op.Metadata.Stats
	state := llm.BatchState{Phase: llm.BatchRunning, Done: int(stats.Done), Failed: int(stats.Failed),
		Total: int(stats.Total)}
	_, name, _ := strings.Cut(op.Metadata.State, "_STATE_")
	if phase, ended := phases[name]; ended {
		state.Phase = phase
	}
	if state.Phase == llm.BatchFailed {
		why := c.refusal(op.Error)
		state.Err, state.Fault = why.Err.Error(), why.Fault
	}
	return state, nil
}

// BatchAnswers implements [llm.Batcher]. It matches answers to questions by their keys, never by their order.
func (c *Client) BatchAnswers(ctx context.Context, id string, each func(llm.BatchAnswer) error) error {
	op, err := c.operation(ctx, id)
	if err != nil {
		return err
	}
	for _, from := range []output{op.Metadata.Output, op.Response} {
		if from.File != "" {
			return c.api.Lines(ctx, "/"+from.File+":download?alt=media", func(line []byte) error {
				return each(c.batchAnswer(line))
			})
		}
		for _, line := range from.Inline.Lines {
			if err := each(c.batchAnswer(line)); err != nil {
				return err
			}
		}
		if len(from.Inline.Lines) > 0 {
			return nil
		}
	}
	return nil
}

// batchAnswer parses an answer from the batch or a file.
func (c *Client) batchAnswer(line []byte) (out llm.BatchAnswer) {
	var in struct {
		Key      string `json:"key"`
		Metadata struct {
			Key string `json:"key"`
		} `json:"metadata"`
		Response *json.RawMessage `json:"response"`
		Error    json.RawMessage  `json:"error"`
	}
	var answer genai.GenerateContentResponse
	if err := wire.Decode(bytes.NewReader(line), &in); err != nil {
		return llm.BatchAnswer{Err: wire.Unreadable(Provider, err)}
	}
	out.ID = cmp.Or(in.Key, in.Metadata.Key)
	if in.Response == nil {
		out.Err = c.refusal(in.Error)
		return out
	}
	if err := wire.Decode(bytes.NewReader(*in.Response), &answer); err != nil {
		out.Err = wire.Unreadable(Provider, err)
		return out
	}
	out.Response, out.Err = response(&answer)
	out.Response.Tier = llm.TierBatch
	return out
}

// statuses maps gRPC codes to the HTTP statuses with which a call would have failed.
var statuses = map[int]int{
	1: 499, 3: http.StatusBadRequest, 4: http.StatusRequestTimeout, 5: http.StatusNotFound, 7: http.StatusForbidden,
	8: http.StatusTooManyRequests, 9: http.StatusBadRequest, 13: http.StatusInternalServerError,
	14: http.StatusServiceUnavailable, 16: http.StatusUnauthorized,
}

func (c *Client) refusal(why json.RawMessage) *llm.Error {
	var status struct{ Code int }
	_ = json.Unmarshal(why, &status) // a missing field is covered by the message, or unknown
	if len(why) == 0 {
		why = json.RawMessage(`"no reason is given"`)
	}
	return c.api.Refusal(statuses[status.Code], fmt.Appendf(nil, `{"error":%s}`, why))
}

// DropBatch implements [llm.Batcher]. Google deletes files after two days.
func (c *Client) DropBatch(context.Context, string) error { return nil }

// CancelBatch implements [llm.Batcher].
func (c *Client) CancelBatch(ctx context.Context, id string) error {
	_, err := wire.Ask(ctx, Provider, func() (struct{}, error) {
		return struct{}{}, c.sdk.Batches.Cancel(ctx, id, nil)
	})
	return wire.Cancelled(ctx, c, id, err)
}
