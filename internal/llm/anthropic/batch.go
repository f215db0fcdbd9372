package anthropic

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
	"strings"
	"time"

	"reverie/internal/llm"
	"reverie/internal/llm/internal/wire"
)

// BatchLimits implements [llm.Batcher].
func (c *Client) BatchLimits() llm.BatchLimits {
	return llm.BatchLimits{Questions: 100_000, Bytes: 256_000_000}
}

// batchRequest is a question of a batch.
type batchRequest struct {
	ID     string         `json:"custom_id"`
	Params messageRequest `json:"params"`
}

const batches = "/v1/messages/batches"

// messageBatch is a batch as Anthropic describes it.
type messageBatch struct {
	ID          string
	Status      string                                                          `json:"processing_status"`
	Counts      struct{ Processing, Succeeded, Errored, Canceled, Expired int } `json:"request_counts"`
	CreatedAt   moment                                                          `json:"created_at"`
	ExpiresAt   moment                                                          `json:"expires_at"`
	CancelledAt moment                                                          `json:"cancel_initiated_at"`
}

// moment is a time; one in an odd form is the zero time.
type moment struct{ time.Time }

// UnmarshalJSON implements json.Unmarshaler.
func (m *moment) UnmarshalJSON(b []byte) error {
	_ = m.Time.UnmarshalJSON(b)
	return nil
}

func (b *messageBatch) questions() int {
	n := b.Counts
	return n.Processing + n.Succeeded + n.Errored + n.Canceled + n.Expired
}

func route(id string) string { return batches + "/" + url.PathEscape(id) }

// SubmitBatch implements [llm.Batcher]. Only its questions identify a batch later.
func (c *Client) SubmitBatch(ctx context.Context, _ llm.BatchSubmission, questions []llm.BatchQuestion) (string, error) {
	body, err := wire.NewStream("application/json", func() io.Reader {
		requests := wire.Joined(questions, ",", func(q llm.BatchQuestion) any { return batchRequest{q.ID, c.body(q.Request)} })
		return io.MultiReader(strings.NewReader(`{"requests":[`), requests, strings.NewReader(`]}`))
	})
	if err != nil {
		return "", wire.Fail(ctx, Provider, err)
	}
	var batch messageBatch
	if err := c.api.Send(ctx, http.MethodPost, batches, body, &batch); err != nil {
		return "", err
	}
	if batch.ID == "" {
		return "", wire.Fail(ctx, Provider, errors.New("the answer names no batch"))
	}
	return batch.ID, nil
}

// FindBatch implements [llm.Batcher]. It lists the batches created since, newest first, and checks those with a
// possible number of questions. Ours is the one with answers to our questions. A batch does not reveal its
// questions before it has ended.
func (c *Client) FindBatch(ctx context.Context, s llm.BatchSubmission, mine, known func(string) bool) (string, error) {
	var pending error
	for b, err := range wire.List(ctx, &c.api, batches, "after_id", func(b messageBatch) string { return b.ID }) {
		n := b.questions()
		switch {
		case err != nil:
			return "", err
		case !b.CreatedAt.IsZero() && b.CreatedAt.Time.Before(s.Since()):
			return "", pending
		case n < cmp.Or(s.Least, s.Questions) || n > s.Questions || known(b.ID):
		case b.Status != "ended":
			pending = wire.Fail(ctx, Provider, fmt.Errorf("batch %s may be the one that was submitted, which can be told when it "+
				"has ended", b.ID))
		default:
			if ours, err := c.hasAnswered(ctx, b.ID, mine); err != nil || ours {
				return b.ID, err
			}
		}
	}
	return "", pending
}

var errSeen = errors.New("an answer of ours has been seen")

// hasAnswered reports whether a batch has an answer to a question for which mine is true.
func (c *Client) hasAnswered(ctx context.Context, id string, mine func(string) bool) (ours bool, err error) {
	err = c.BatchAnswers(ctx, id, func(a llm.BatchAnswer) error {
		if ours = mine(a.ID); ours {
			return errSeen
		}
		return nil
	})
	if errors.Is(err, errSeen) || llm.FaultIn(err) == llm.FaultNotFound { // results that were deleted are not ours
		err = nil
	}
	return ours, err
}

// BatchState implements [llm.Batcher]. The counts are only available for an ended batch.
func (c *Client) BatchState(ctx context.Context, id string) (llm.BatchState, error) {
	var b messageBatch
	if err := c.api.Get(ctx, route(id), &b); err != nil {
		return llm.BatchState{}, err
	}
	n := b.Counts
	state := llm.BatchState{Phase: llm.BatchRunning, Done: n.Succeeded, Failed: n.Errored + n.Canceled + n.Expired,
		Total: b.questions(), ExpiresAt: b.ExpiresAt.Time}
	switch {
	case b.Status != "ended":
	case n.Expired > 0:
		state.Phase = llm.BatchExpired
	case !b.CancelledAt.IsZero():
		state.Phase = llm.BatchCancelled
	default:
		state.Phase = llm.BatchEnded
	}
	return state, nil
}

// BatchAnswers implements [llm.Batcher].
func (c *Client) BatchAnswers(ctx context.Context, id string, each func(llm.BatchAnswer) error) error {
	return c.api.Lines(ctx, route(id)+"/results", func(line []byte) error {
		return each(c.batchAnswer(line))
	})
}

// statuses maps types of errors to the HTTP statuses with which a call would have failed.
var statuses = map[string]int{
	"invalid_request_error": http.StatusBadRequest, "authentication_error": http.StatusUnauthorized,
	"billing_error": http.StatusPaymentRequired, "permission_error": http.StatusForbidden,
	"not_found_error": http.StatusNotFound, "request_too_large": http.StatusRequestEntityTooLarge,
	"rate_limit_error": http.StatusTooManyRequests, "timeout_error": http.StatusGatewayTimeout,
	"api_error": http.StatusInternalServerError, "overloaded_error": 529,
}

// batchAnswer parses a line of results.
func (c *Client) batchAnswer(line []byte) (out llm.BatchAnswer) {
	var in struct {
		ID     string `json:"custom_id"`
		Result struct {
			Type    string          `json:"type"`
			Message messageAnswer   `json:"message"`
			Error   json.RawMessage `json:"error"`
		} `json:"result"`
	}
	var failed struct{ Error struct{ Type string } }
	if err := wire.Decode(bytes.NewReader(line), &in); err != nil {
		return llm.BatchAnswer{Err: wire.Unreadable(Provider, err)}
	}
	out.ID = in.ID
	switch in.Result.Type {
	case "succeeded":
		out.Response, out.Err = in.Result.Message.response()
		out.Response.Tier = llm.TierBatch
	case "expired":
		out.Err = &llm.Error{Provider: Provider, Fault: llm.FaultTimeout, Err: errors.New("the batch has expired before")}
	case "canceled":
		out.Err = &llm.Error{Provider: Provider, Fault: llm.FaultCanceled, Err: errors.New("the batch was cancelled before")}
	default:
		_ = json.Unmarshal(in.Result.Error, &failed) // a missing error has no status
		out.Err = c.api.Refusal(statuses[failed.Error.Type], in.Result.Error)
	}
	return out
}

// DropBatch implements [llm.Batcher]. Anthropic deletes batches after 29 days.
func (c *Client) DropBatch(context.Context, string) error { return nil }

// CancelBatch implements [llm.Batcher].
func (c *Client) CancelBatch(ctx context.Context, id string) error {
	return wire.Cancelled(ctx, c, id, c.api.Send(ctx, http.MethodPost, route(id)+"/cancel", nil, new(messageBatch)))
}
