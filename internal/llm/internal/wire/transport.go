package wire

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"time"

	"reverie/internal/llm"
)

// MaxAnswer is how many bytes of an answer are read. A batch of 100 embeddings,
// 3072 wide and written out in full, takes a quarter of it.
const MaxAnswer = 32 << 20

// transport answers with a JSON object or an [*llm.Error]. That goes beyond
// what http.RoundTripper asks for, on purpose: Gemini's SDK loses what a failed
// answer says, and this is the one place below all three adapters.
type transport struct {
	provider string
	key      string
	next     http.RoundTripper
}

// RoundTrip implements http.RoundTripper.
func (t *transport) RoundTrip(req *http.Request) (*http.Response, error) {
	resp, err := t.next.RoundTrip(req)
	if err != nil {
		return nil, t.fail(endOf(req.Context(), err, llm.FaultNetwork), 0, short(err))
	}
	body, err := readAll(resp)
	ok := resp.StatusCode >= 200 && resp.StatusCode < 300
	switch {
	case err != nil && ok:
		return nil, t.fail(endOf(req.Context(), err, llm.FaultServer), resp.StatusCode,
			fmt.Errorf("the answer broke off: %w", err))
	case resp.StatusCode >= 300 && resp.StatusCode < 400:
		return nil, t.fail(llm.FaultNotFound, resp.StatusCode, redirectError(resp))
	case !ok: // as much of the words as came says enough
		return nil, t.refusal(resp, body)
	}
	if err := checkJSON(body); err != nil {
		return nil, t.fail(llm.FaultServer, resp.StatusCode, err)
	}
	if p := errorIn(body); p.isSet() { // some gateways fail with status 200
		return nil, t.refusalOf(resp, p)
	}
	resp.Body = io.NopCloser(bytes.NewReader(body))
	resp.ContentLength = int64(len(body))
	resp.Header.Set("Content-Type", "application/json") // it is; some servers say text/plain
	return resp, nil
}

// readAll reads and closes the body. What was read stands beside an error.
func readAll(resp *http.Response) ([]byte, error) {
	defer resp.Body.Close()
	body, err := io.ReadAll(io.LimitReader(resp.Body, MaxAnswer+1))
	if err != nil {
		return body, err
	}
	if len(body) > MaxAnswer {
		return body[:MaxAnswer], fmt.Errorf("it is larger than %d MiB", MaxAnswer>>20)
	}
	return bytes.TrimPrefix(body, []byte("\xef\xbb\xbf")), nil
}

// checkJSON wants a whole JSON object.
func checkJSON(body []byte) error {
	trimmed := bytes.TrimSpace(body)
	switch {
	case len(trimmed) == 0:
		return errors.New("the answer is empty")
	case trimmed[0] == '<':
		return fmt.Errorf("the answer is a web page, not JSON (%s)", describe(body))
	case trimmed[0] != '{':
		return fmt.Errorf("the answer is no JSON object (%s)", describe(body))
	case !json.Valid(trimmed):
		return errors.New("the answer is no whole JSON object")
	default:
		return nil
	}
}

// refusal is the error for an answer that is not a success.
func (t *transport) refusal(resp *http.Response, body []byte) error {
	p := problemIn(body)
	if !p.isSet() {
		p.Message = describe(body)
	}
	return t.refusalOf(resp, p)
}

func (t *transport) refusalOf(resp *http.Response, p problem) error {
	status := resp.StatusCode
	if status < 300 {
		status = p.status()
	}
	e := t.fail(classify(status, p), status, errors.New(t.clean(p.String())))
	e.RetryAfter = max(retryAfter(resp.Header, time.Now()), p.retryDelay())
	return e
}

func redirectError(resp *http.Response) error {
	to, err := resp.Location()
	if err != nil {
		return errors.New("the server redirects elsewhere, which is not followed")
	}
	return fmt.Errorf("the server redirects to %s://%s%s, which is not followed", to.Scheme, to.Host, shorten(to.Path))
}

func (t *transport) fail(fault llm.Fault, status int, err error) *llm.Error {
	return &llm.Error{Provider: t.provider, Fault: fault, Status: status, Err: err}
}

// clean shortens the provider's words and takes the key out of them.
func (t *transport) clean(message string) string {
	if t.key != "" {
		message = strings.ReplaceAll(message, t.key, "[key]")
	}
	return shorten(message)
}
