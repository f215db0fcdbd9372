// Package wire is what the adapters of all providers share: [API], an HTTP API that
// turns everything that is not a JSON answer into an [*llm.Error] with the status, the
// provider's words and the time it asks for.
//
// It follows no redirects, so that a key never travels to another host, reads
// no more than [MaxAnswer] bytes, and keeps keys out of messages.
package wire

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"strings"
	"time"

	"reverie/internal/llm"
	"reverie/internal/reverie"
)

// API is one provider's HTTP API. Its errors are [*llm.Error].
type API struct {
	Provider string
	BaseURL  string      // routes are appended to it; it has no slash at its end
	Header   http.Header // sent with every request: the key, the API's version

	key    string // to take it out of messages
	client http.Client
}

// New returns the API that the options describe, or refuses settings that no call can be
// made with. own is the provider's base URL. Servers other than that may need no key where
// it is keyless elsewhere. Its errors are [reverie.ErrConfiguration] and do not hold the
// key.
func New(provider, own string, o llm.ClientOptions, keylessElsewhere bool) (*API, error) {
	base := cmp.Or(o.BaseURL, own)
	u, err := url.Parse(base)
	if err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" || u.RawQuery != "" || u.Fragment != "" {
		return nil, fmt.Errorf("%s: base URL %q: %w: write it like %s", provider, redacted(base), reverie.ErrConfiguration,
			own)
	}
	if strings.ContainsFunc(o.APIKey, func(r rune) bool { return r <= ' ' || r > '~' }) {
		return nil, fmt.Errorf("%s: the API key holds a space, a line break or a character that no key has: %w: check the key "+
			"in the settings",
			provider, reverie.ErrConfiguration)
	}
	hint := ""
	if keylessElsewhere {
		hint = ", or REVERIE_LLM_BASE_URL for a server that needs none"
	}
	base = strings.TrimRight(base, "/")
	switch {
	case o.APIKey == "" && (base == own || !keylessElsewhere):
		return nil, fmt.Errorf("%s: no API key: %w: set REVERIE_LLM_API_KEY%s", provider, reverie.ErrConfiguration, hint)
	case o.Model == "":
		return nil, fmt.Errorf("%s: no model is named: %w: set REVERIE_LLM_MODEL or REVERIE_EMBED_MODEL", provider,
			reverie.ErrConfiguration)
	}
	a := &API{Provider: provider, BaseURL: base, Header: http.Header{}, key: o.APIKey}
	if o.HTTPClient != nil {
		a.client = *o.HTTPClient
	} else {
		transport := http.DefaultTransport.(*http.Transport).Clone()
		transport.MaxIdleConnsPerHost = 32 // there is one server, and as many calls at once
		a.client.Transport = transport
	}
	a.client.Jar = nil
	a.client.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	return a, nil
}

func redacted(base string) string {
	u, err := url.Parse(base)
	if err != nil {
		return "…" // no telling where a secret may stand
	}
	u.RawQuery = ""
	return u.Redacted()
}

// MaxAnswer is how many bytes of an answer are read. A batch of 100 embeddings,
// 3072 wide and written out in full, takes a quarter of it.
const MaxAnswer = 32 << 20

// Post sends in as JSON and reads the answer into out, in one request.
func (a *API) Post(ctx context.Context, route string, in, out any) error {
	body, err := json.Marshal(in)
	if err != nil {
		return a.Fail("%w", err)
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, a.BaseURL+route, bytes.NewReader(body))
	if err != nil {
		return a.Fail("%w", err)
	}
	req.Header = a.Header.Clone()
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("Accept", "application/json")
	req.Header.Set("User-Agent", "reverie")
	resp, err := a.client.Do(req)
	if err != nil {
		if about, ok := errors.AsType[*url.Error](err); ok { // the address is of no use to anybody
			err = about.Err
		}
		return a.fail(endOf(ctx, err, llm.FaultNetwork), 0, short(err))
	}
	defer resp.Body.Close()
	answer, err := a.read(ctx, resp)
	if err != nil {
		return err
	}
	return a.decode(answer, out)
}

// PostForVectors is [API.Post] for a question about vectors.
func (a *API) PostForVectors(ctx context.Context, route string, in, out any) error {
	err := a.Post(ctx, route, in, out)
	if e, ok := errors.AsType[*llm.Error](err); ok {
		e.Embedding = true
	}
	return err
}

// read returns the JSON object of a success.
func (a *API) read(ctx context.Context, resp *http.Response) ([]byte, error) {
	body, err := io.ReadAll(io.LimitReader(resp.Body, MaxAnswer+1))
	switch status := resp.StatusCode; {
	case status >= 300 && status < 400:
		return nil, a.fail(llm.FaultNotFound, status, redirectError(resp))
	case status < 200 || status >= 400: // as much of the words as came says enough
		return nil, a.refusal(resp, problemIn(body))
	case err != nil:
		return nil, a.fail(endOf(ctx, err, llm.FaultServer), status, fmt.Errorf("the answer broke off: %w", short(err)))
	case len(body) > MaxAnswer:
		return nil, a.fail(llm.FaultServer, status, fmt.Errorf("the answer is larger than %d MiB", MaxAnswer>>20))
	}
	body = bytes.TrimPrefix(body, []byte("\xef\xbb\xbf"))
	if err := checkJSON(body); err != nil {
		return nil, a.fail(llm.FaultServer, resp.StatusCode, err)
	}
	if p := errorIn(body); p.isSet() { // some gateways fail with status 200
		return nil, a.refusal(resp, p)
	}
	return body, nil
}

// decode reads an answer. A field of an unexpected type stays empty, as compatible servers
// write a few of them otherwise: what an adapter needs, it looks for.
func (a *API) decode(body []byte, out any) error {
	err := json.Unmarshal(body, out)
	if err == nil || errors.As(err, new(*json.UnmarshalTypeError)) {
		return nil
	}
	return a.Fail("%w", short(err))
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

// Fail is the error for an answer that does not hold what was asked for.
func (a *API) Fail(format string, args ...any) *llm.Error {
	return a.fail(llm.FaultServer, 0, fmt.Errorf(format, args...))
}

func (a *API) fail(fault llm.Fault, status int, err error) *llm.Error {
	return &llm.Error{Provider: a.Provider, Fault: fault, Status: status, Err: err}
}

// refusal is the error for an answer that is not a success.
func (a *API) refusal(resp *http.Response, p problem) error {
	status := resp.StatusCode
	if status < 300 {
		status = p.status()
	}
	words := p.String()
	if a.key != "" {
		words = strings.ReplaceAll(words, a.key, "[key]")
	}
	e := a.fail(classify(status, p), status, errors.New(shorten(words)))
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

// endOf tells whether a call ended because its caller gave up or its time was
// over; otherwise it is the given fault.
func endOf(ctx context.Context, err error, fault llm.Fault) llm.Fault {
	var netErr net.Error
	switch {
	case errors.Is(ctx.Err(), context.Canceled):
		return llm.FaultCanceled
	case ctx.Err() != nil, errors.Is(err, context.DeadlineExceeded), errors.As(err, &netErr) && netErr.Timeout():
		return llm.FaultTimeout
	default:
		return fault
	}
}

// short keeps the cause for errors.Is and cuts its words, which may hold a
// whole answer.
func short(err error) error { return &shortError{err} }

type shortError struct{ err error }

func (e *shortError) Error() string { return shorten(e.err.Error()) }
func (e *shortError) Unwrap() error { return e.err }
