// Package wire is what the adapters of all providers share: an HTTP client that
// turns everything that is not a JSON answer into an [*llm.Error] with the
// status, the provider's words and the time it asks for, and [API] on top of it.
//
// It follows no redirects, so that a key never travels to another host, reads no more than
// [MaxAnswer] bytes of an answer or of a line of a file, and keeps keys out of messages.
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
	"sync"
	"time"

	"reverie/internal/llm"
	"reverie/internal/reverie"
)

// NewClient returns an HTTP client on top of base, or of the one transport of all
// clients if base is nil. The key is only needed to take it out of messages.
func NewClient(base *http.Client, provider, key string) *http.Client {
	var client http.Client
	if base != nil {
		client = *base
	}
	next := client.Transport
	if next == nil {
		next = shared()
	}
	client.Transport = &transport{provider: provider, key: key, next: next}
	client.Jar = nil
	return &client
}

// shared is Go's default with room for as many idle connections to the one server as there may
// be calls at once. A job that makes a client finds the connections of the job before.
var shared = sync.OnceValue(func() http.RoundTripper {
	t := http.DefaultTransport.(*http.Transport).Clone()
	t.MaxIdleConnsPerHost = t.MaxIdleConns
	return t
})

// Fail turns the error of a call into an [*llm.Error]. What the client of this
// package has found is passed on; what is left is an answer that could not be
// read.
func Fail(ctx context.Context, provider string, err error) *llm.Error {
	var e *llm.Error
	if errors.As(err, &e) {
		return e
	}
	if call := rawOf(ctx); call != nil && call.failed != nil {
		return call.failed
	}
	return &llm.Error{Provider: provider, Fault: endOf(ctx, err, llm.FaultServer), Err: short(err)}
}

// FailEmbedding is [Fail] for a call that asked for vectors.
func FailEmbedding(ctx context.Context, provider string, err error) error {
	e := *Fail(ctx, provider, err)
	e.Embedding = true
	return &e
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

// Ask makes a call of an SDK. Its error is an [*llm.Error]; so is its panic over an answer
// of an unexpected shape.
func Ask[T any](ctx context.Context, provider string, call func() (T, error)) (out T, err error) {
	defer func() {
		if r := recover(); r != nil {
			err = fmt.Errorf("the answer has a shape that the SDK cannot read: %v", r)
		}
		if err != nil {
			err = Fail(ctx, provider, err)
		}
	}()
	return call()
}

// Check refuses settings that no call can be made with, and returns the base URL without
// a slash at its end. Servers other than the provider's own may need no key where it is
// keyless elsewhere. Its errors are [reverie.ErrConfiguration] and do not hold the key.
func Check(provider, own string, o llm.ClientOptions, keylessElsewhere bool) (base string, err error) {
	base = cmp.Or(o.BaseURL, own)
	u, err := url.Parse(base)
	if err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" || u.RawQuery != "" || u.Fragment != "" {
		return "", fmt.Errorf("%s: base URL %q: %w: write it like %s", provider, redacted(base), reverie.ErrConfiguration,
			own)
	}
	base = strings.TrimRight(base, "/")
	if strings.ContainsFunc(o.APIKey, func(r rune) bool { return r <= ' ' || r > '~' }) {
		return "", fmt.Errorf("%s: the API key holds a space, a line break or a character that no key has: %w: check the key "+
			"in the settings",
			provider, reverie.ErrConfiguration)
	}
	hint := ""
	if keylessElsewhere {
		hint = ", or REVERIE_LLM_BASE_URL for a server that needs none"
	}
	switch {
	case o.APIKey == "" && (base == own || !keylessElsewhere):
		return "", fmt.Errorf("%s: no API key: %w: set REVERIE_LLM_API_KEY%s", provider, reverie.ErrConfiguration, hint)
	case o.Model == "":
		return "", fmt.Errorf("%s: no model is named: %w: set REVERIE_LLM_MODEL or REVERIE_EMBED_MODEL", provider,
			reverie.ErrConfiguration)
	}
	return base, nil
}

func redacted(base string) string {
	u, err := url.Parse(base)
	if err != nil {
		return "…" // no telling where a secret may stand
	}
	u.RawQuery = ""
	return u.Redacted()
}

// Tier reads how a provider says that it has answered. Of the tiers of its own that cost no
// less, none is known here: they are the standard one.
func Tier(said string) llm.Tier {
	switch strings.ToLower(said) {
	case "":
		return ""
	case string(llm.TierFlex):
		return llm.TierFlex
	default:
		return llm.TierStandard
	}
}

// API is one provider's HTTP API, for the adapters that need no SDK.
type API struct {
	Provider string
	BaseURL  string       // checked by [Check]; routes are appended to it
	Header   http.Header  // sent with every request: the key, the API's version
	Client   *http.Client // made by [NewClient]
}

// Post sends in as JSON and reads the answer into out, in one request. Its errors are
// [*llm.Error].
func (a *API) Post(ctx context.Context, route string, in, out any) error {
	body, err := json.Marshal(in)
	if err != nil {
		return Fail(ctx, a.Provider, err)
	}
	return a.Send(ctx, http.MethodPost, route, bytes.NewReader(body), out)
}

// Get is [API.Post] for what is only read.
func (a *API) Get(ctx context.Context, route string, out any) error {
	return a.Send(ctx, http.MethodGet, route, nil, out)
}

// Send is [API.Post] by any method, for a body that is ready, or none.
func (a *API) Send(ctx context.Context, method, route string, body io.Reader, out any) error {
	resp, err := a.do(ctx, method, route, body)
	if err != nil {
		return Fail(ctx, a.Provider, err)
	}
	defer resp.Body.Close()
	if err := Decode(resp.Body, out); err != nil {
		return Fail(ctx, a.Provider, err)
	}
	return nil
}

func (a *API) do(ctx context.Context, method, route string, body io.Reader) (*http.Response, error) {
	req, err := http.NewRequestWithContext(ctx, method, a.BaseURL+route, body)
	if err != nil {
		return nil, err
	}
	req.Header = a.Header.Clone()
	req.Header.Set("Content-Type", "application/json")
	if s, is := body.(*Stream); is {
		req.ContentLength = s.size
		req.Header.Set("Content-Type", s.kind)
	}
	req.Header.Set("Accept", "application/json")
	req.Header.Set("User-Agent", "reverie")
	return a.Client.Do(req)
}

// Decode reads an answer. A field of an unexpected type stays empty, as compatible servers
// write a few of them otherwise: what an adapter needs, it looks for.
func Decode(body io.Reader, out any) error {
	err := json.NewDecoder(io.LimitReader(body, maxObject)).Decode(out)
	var mistyped *json.UnmarshalTypeError
	if errors.As(err, &mistyped) {
		return nil
	}
	return err
}

// MaxAnswer is how many bytes of an answer are read. A batch of 100 embeddings,
// 3072 wide and written out in full, takes a quarter of it.
const MaxAnswer = 32 << 20

// maxObject bounds an object that comes [Raw]: a batch of at most 20 MB with its answers.
const maxObject = 8 * MaxAnswer

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
	call := rawOf(req.Context())
	resp, failed := t.roundTrip(req, call != nil)
	if failed == nil {
		return resp, nil
	}
	if call != nil {
		call.failed = failed
	}
	return nil, failed
}

func (t *transport) roundTrip(req *http.Request, raw bool) (*http.Response, *llm.Error) {
	resp, err := t.next.RoundTrip(req)
	if err != nil {
		return nil, t.fail(endOf(req.Context(), err, llm.FaultNetwork), 0, short(err))
	}
	ok := resp.StatusCode >= 200 && resp.StatusCode < 300
	if ok && raw {
		return resp, nil
	}
	body, err := readAll(resp)
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
func (t *transport) refusal(resp *http.Response, body []byte) *llm.Error {
	p := problemIn(body)
	if !p.isSet() {
		p.Message = describe(body)
	}
	return t.refusalOf(resp, p)
}

func (t *transport) refusalOf(resp *http.Response, p problem) *llm.Error {
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
