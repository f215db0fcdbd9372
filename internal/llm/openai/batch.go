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

	sdk "github.com/openai/openai-go/v3"
	"github.com/openai/openai-go/v3/option"

	"reverie/internal/llm"
	"reverie/internal/llm/internal/wire"
)

// keyName is what our key is called in a batch's metadata.
const keyName = "reverie_key"

// batchServices are the SDK's, which take nothing from the environment and do not retry.
func batchServices(base, key string, client *http.Client) (sdk.BatchService, sdk.FileService) {
	options := []option.RequestOption{
		option.WithBaseURL(base + "/"), option.WithHTTPClient(client), option.WithMaxRetries(0),
	}
	if key != "" {
		options = append(options, option.WithAPIKey(key))
	}
	return sdk.NewBatchService(options...), sdk.NewFileService(options...)
}

// BatchLimits implements [llm.Batcher].
func (c *Client) BatchLimits() llm.BatchLimits {
	return llm.BatchLimits{Questions: 50_000, Bytes: 200_000_000}
}

const route = sdk.BatchNewParamsEndpointV1ChatCompletions

// batchLine is a question in a file of them.
type batchLine struct {
	ID     string      `json:"custom_id"`
	Method string      `json:"method"`
	URL    string      `json:"url"`
	Body   chatRequest `json:"body"`
}

// SubmitBatch implements [llm.Batcher]: a file of the questions, and a batch of it.
func (c *Client) SubmitBatch(ctx context.Context, s llm.BatchSubmission, questions []llm.BatchQuestion) (string, error) {
	form, kind, err := c.form(s.Key+".jsonl", questions)
	if err != nil {
		return "", wire.Fail(ctx, Provider, err)
	}
	file, err := wire.Ask(ctx, Provider, func() (*sdk.FileObject, error) {
		return c.files.New(ctx, sdk.FileNewParams{}, option.WithRequestBody(kind, form), option.WithMiddleware(form.Send))
	})
	if err != nil {
		return "", err
	}
	batch, err := wire.Ask(ctx, Provider, func() (*sdk.Batch, error) {
		return c.batches.New(ctx, sdk.BatchNewParams{
			InputFileID: file.ID, Endpoint: route, CompletionWindow: sdk.BatchNewParamsCompletionWindow24h,
			Metadata: map[string]string{keyName: s.Key},
		})
	})
	if err != nil {
		if e, is := errors.AsType[*llm.Error](err); is && e.Status/100 == 4 { // else there may be a batch of it
			_ = c.dropFile(ctx, file.ID) // the other error says more
		}
		return "", err
	}
	if batch.ID == "" {
		return "", wire.Fail(ctx, Provider, errors.New("the answer names no batch"))
	}
	return batch.ID, nil
}

// form is the upload of a file of the questions, and its content type. The SDK's own would
// be in memory three times.
func (c *Client) form(name string, questions []llm.BatchQuestion) (wire.Stream, string, error) {
	var frame bytes.Buffer
	parts := multipart.NewWriter(&frame)
	_ = parts.WriteField("purpose", string(sdk.FilePurposeBatch)) // into memory
	_, _ = parts.CreateFormFile("file", name)
	start := frame.Len()
	_ = parts.Close()
	stream, err := wire.NewStream(func() io.Reader {
		lines := wire.Joined(questions, "\n", func(q llm.BatchQuestion) any {
			return batchLine{ID: q.ID, Method: http.MethodPost, URL: string(route), Body: c.body(q.Request)}
		})
		return io.MultiReader(bytes.NewReader(frame.Bytes()[:start]), lines, bytes.NewReader(frame.Bytes()[start:]))
	})
	return stream, parts.FormDataContentType(), err
}

// FindBatch implements [llm.Batcher], by the key. Batches are listed with the newest first.
// A server that lists none has none that could be found.
func (c *Client) FindBatch(ctx context.Context, s llm.BatchSubmission, _, _ func(string) bool) (string, error) {
	id, err := wire.Ask(ctx, Provider, func() (string, error) {
		list := c.batches.ListAutoPaging(ctx, sdk.BatchListParams{Limit: sdk.Int(100)})
		for list.Next() {
			switch b := list.Current(); {
			case b.Metadata[keyName] == s.Key:
				return b.ID, nil
			case b.CreatedAt > 0 && b.CreatedAt < s.Since().Unix():
				return "", nil
			}
		}
		return "", list.Err()
	})
	if llm.FaultIn(err) == llm.FaultNotFound {
		return "", nil
	}
	return id, err
}

func (c *Client) batch(ctx context.Context, id string) (*sdk.Batch, error) {
	return wire.Ask(ctx, Provider, func() (*sdk.Batch, error) { return c.batches.Get(ctx, id) })
}

// phases are the states of a batch that are its end.
var phases = map[sdk.BatchStatus]llm.BatchPhase{
	sdk.BatchStatusCompleted: llm.BatchEnded,
	sdk.BatchStatusExpired:   llm.BatchExpired,
	sdk.BatchStatusCancelled: llm.BatchCancelled,
	sdk.BatchStatusFailed:    llm.BatchFailed,
}

// BatchState implements [llm.Batcher].
func (c *Client) BatchState(ctx context.Context, id string) (llm.BatchState, error) {
	b, err := c.batch(ctx, id)
	if err != nil {
		return llm.BatchState{}, err
	}
	counts := b.RequestCounts
	state := llm.BatchState{Phase: llm.BatchRunning, Done: int(counts.Completed), Failed: int(counts.Failed),
		Total: int(counts.Total)}
	if phase, ended := phases[b.Status]; ended {
		state.Phase = phase
	}
	if b.ExpiresAt > 0 {
		state.ExpiresAt = time.Unix(b.ExpiresAt, 0)
	}
	if state.Phase == llm.BatchFailed && len(b.Errors.Data) > 0 {
		why := c.api.Refusal(http.StatusBadRequest, fmt.Appendf(nil, `{"error":%s}`, b.Errors.Data[0].RawJSON()))
		state.Err, state.Fault = why.Err.Error(), why.Fault
	}
	return state, nil
}

// BatchAnswers implements [llm.Batcher]. What has failed is in a file of its own.
func (c *Client) BatchAnswers(ctx context.Context, id string, each func(llm.BatchAnswer) error) error {
	b, err := c.batch(ctx, id)
	if err != nil {
		return err
	}
	for _, file := range []string{b.OutputFileID, b.ErrorFileID} {
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

// DropBatch implements [llm.Batcher]: OpenAI keeps files until somebody deletes them.
func (c *Client) DropBatch(ctx context.Context, id string) error {
	b, err := c.batch(ctx, id)
	if err != nil {
		return err
	}
	for _, file := range []string{b.InputFileID, b.OutputFileID, b.ErrorFileID} {
		if file != "" {
			err = errors.Join(err, c.dropFile(ctx, file))
		}
	}
	return err
}

// dropFile deletes a file that the server still has.
func (c *Client) dropFile(ctx context.Context, id string) error {
	_, err := wire.Ask(ctx, Provider, func() (*sdk.FileDeleted, error) { return c.files.Delete(ctx, id) })
	if llm.FaultIn(err) == llm.FaultNotFound {
		return nil
	}
	return err
}

// batchAnswer reads a line of a file of answers or errors.
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
	_, err := wire.Ask(ctx, Provider, func() (*sdk.Batch, error) { return c.batches.Cancel(ctx, id) })
	return wire.Cancelled(ctx, c, id, err)
}
