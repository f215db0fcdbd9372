package openai

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"mime/multipart"
	"net/http"
	"net/url"
	"time"

	"reverie/internal/llm"
	"reverie/internal/llm/internal/wire"
)

// keyName is the metadata field of a batch that holds our key.
const keyName = "reverie_key"

// BatchLimits implements [llm.Batcher].
func (c *Client) BatchLimits() llm.BatchLimits {
	return llm.BatchLimits{Questions: 50_000, Bytes: 200_000_000}
}

// endpoint is the endpoint of a batch's questions.
const endpoint = "/v1/chat/completions"

// batchLine is a question as a line of a file.
type batchLine struct {
	ID     string      `json:"custom_id"`
	Method string      `json:"method"`
	URL    string      `json:"url"`
	Body   chatRequest `json:"body"`
}

// batch is a batch as OpenAI describes it.
type batch struct {
	ID       string
	Status   string
	Created  int64                                  `json:"created_at"`
	Expires  int64                                  `json:"expires_at"`
	Input    string                                 `json:"input_file_id"`
	Output   string                                 `json:"output_file_id"`
	Failed   string                                 `json:"error_file_id"`
	Counts   struct{ Total, Completed, Failed int } `json:"request_counts"`
	Errors   struct{ Data []json.RawMessage }
	Metadata map[string]string
}

// SubmitBatch implements [llm.Batcher]: it uploads a file of questions, and creates a batch of it.
func (c *Client) SubmitBatch(ctx context.Context, s llm.BatchSubmission, questions []llm.BatchQuestion) (string, error) {
	form, err := c.form(s.Key+".jsonl", questions)
	if err != nil {
		return "", wire.Fail(ctx, Provider, err)
	}
	var file, batch batch // of the file, only the id
	if err := c.api.Send(ctx, http.MethodPost, "/files", form, &file); err != nil {
		return "", err
	}
	if file.ID == "" {
		return "", wire.Fail(ctx, Provider, errors.New("the answer names no file"))
	}
	ask := map[string]any{"input_file_id": file.ID, "endpoint": endpoint, "completion_window": "24h",
		"metadata": map[string]string{keyName: s.Key}}
	if err := c.api.Post(ctx, "/batches", ask, &batch); err != nil {
		// After other errors the batch may exist, and need the file.
		if e, is := errors.AsType[*llm.Error](err); is && e.Status/100 == 4 {
			_ = c.dropFile(ctx, file.ID) // the other error is more important
		}
		return "", err
	}
	if batch.ID == "" {
		return "", wire.Fail(ctx, Provider, errors.New("the answer names no batch"))
	}
	return batch.ID, nil
}

// form returns the upload of a file of questions.
func (c *Client) form(name string, questions []llm.BatchQuestion) (*wire.Stream, error) {
	var frame bytes.Buffer
	parts := multipart.NewWriter(&frame)
	_ = parts.WriteField("purpose", "batch") // writing to memory cannot fail
	_, _ = parts.CreateFormFile("file", name)
	start := frame.Len()
	_ = parts.Close()
	return wire.NewStream(parts.FormDataContentType(), func() io.Reader {
		lines := wire.Joined(questions, "\n", func(q llm.BatchQuestion) any {
			return batchLine{ID: q.ID, Method: http.MethodPost, URL: endpoint, Body: c.body(q.Request)}
		})
		return io.MultiReader(bytes.NewReader(frame.Bytes()[:start]), lines, bytes.NewReader(frame.Bytes()[start:]))
	})
}

// FindBatch implements [llm.Batcher] by the key. Batches are listed newest first. On a server that cannot list
// batches, none can be found.
func (c *Client) FindBatch(ctx context.Context, s llm.BatchSubmission, _, _ func(string) bool) (string, error) {
	for b, err := range wire.List(ctx, &c.api, "/batches", "after", func(b batch) string { return b.ID }) {
		switch {
		case llm.FaultIn(err) == llm.FaultNotFound:
			return "", nil
		case err != nil:
			return "", err
		case b.Metadata[keyName] == s.Key:
			return b.ID, nil
		case b.Created > 0 && b.Created < s.Since().Unix():
			return "", nil
		}
	}
	return "", nil
}

func (c *Client) batch(ctx context.Context, id string) (b batch, err error) {
	err = c.api.Get(ctx, "/batches/"+url.PathEscape(id), &b)
	return b, err
}

// phases are the final states of a batch.
var phases = map[string]llm.BatchPhase{
	"completed": llm.BatchEnded, "expired": llm.BatchExpired, "cancelled": llm.BatchCancelled, "failed": llm.BatchFailed,
}

// BatchState implements [llm.Batcher].
func (c *Client) BatchState(ctx context.Context, id string) (llm.BatchState, error) {
	b, err := c.batch(ctx, id)
	if err != nil {
		return llm.BatchState{}, err
	}
	state := llm.BatchState{Phase: llm.BatchRunning, Done: b.Counts.Completed, Failed: b.Counts.Failed, Total: b.Counts.Total}
	if phase, ended := phases[b.Status]; ended {
		state.Phase = phase
	}
	if b.Expires > 0 {
		state.ExpiresAt = time.Unix(b.Expires, 0)
	}
	if state.Phase == llm.BatchFailed && len(b.Errors.Data) > 0 {
		why := c.api.Refusal(http.StatusBadRequest, fmt.Appendf(nil, `{"error":%s}`, b.Errors.Data[0]))
		state.Err, state.Fault = why.Err.Error(), why.Fault
	}
	return state, nil
}

// BatchAnswers implements [llm.Batcher]. Failed questions are in a separate file.
func (c *Client) BatchAnswers(ctx context.Context, id string, each func(llm.BatchAnswer) error) error {
	b, err := c.batch(ctx, id)
	if err != nil {
		return err
	}
	for _, file := range []string{b.Output, b.Failed} {
		if file == "" {
			continue
		}
		err := c.api.Lines(ctx, "/files/"+url.PathEscape(file)+"/content", func(line []byte) error {
			return each(c.batchAnswer(line))
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// DropBatch implements [llm.Batcher]: OpenAI keeps files until they are deleted.
func (c *Client) DropBatch(ctx context.Context, id string) error {
	b, err := c.batch(ctx, id)
	if err != nil {
		return err
	}
	for _, file := range []string{b.Input, b.Output, b.Failed} {
		if file != "" {
			err = errors.Join(err, c.dropFile(ctx, file))
		}
	}
	return err
}

// dropFile deletes a file if it exists.
func (c *Client) dropFile(ctx context.Context, id string) error {
	err := c.api.Send(ctx, http.MethodDelete, "/files/"+url.PathEscape(id), nil, new(struct{}))
	if llm.FaultIn(err) == llm.FaultNotFound {
		return nil
	}
	return err
}

// batchAnswer parses a line of a file of answers or errors.
func (c *Client) batchAnswer(line []byte) llm.BatchAnswer {
	var in struct {
		ID       string `json:"custom_id"`
		Response struct {
			Status int             `json:"status_code"`
			Body   json.RawMessage `json:"body"`
		} `json:"response"`
		Error json.RawMessage `json:"error"`
	}
	var answer chatAnswer
	out := llm.BatchAnswer{}
	err := wire.Decode(bytes.NewReader(line), &in)
	switch status := in.Response.Status; {
	case err != nil:
		out.Err = wire.Unreadable(Provider, err)
	case len(in.Error) > 0 && string(in.Error) != "null":
		out.Err = c.api.Refusal(status, fmt.Appendf(nil, `{"error":%s}`, in.Error))
	case status >= http.StatusMultipleChoices:
		out.Err = c.api.Refusal(status, in.Response.Body)
	default:
		if err := wire.Decode(bytes.NewReader(in.Response.Body), &answer); err != nil {
			out.Err = wire.Unreadable(Provider, err)
			break
		}
		out.Response, out.Err = answer.response(0)
		out.Response.Tier = llm.TierBatch
	}
	out.ID = in.ID
	return out
}

// CancelBatch implements [llm.Batcher].
func (c *Client) CancelBatch(ctx context.Context, id string) error {
	err := c.api.Send(ctx, http.MethodPost, "/batches/"+url.PathEscape(id)+"/cancel", nil, new(batch))
	return wire.Cancelled(ctx, c, id, err)
}
