// Package wire is what the adapters of all providers share: an HTTP client, and [API] on top of it. The client
// turns everything that is not a JSON answer into an [*llm.Error], with the status, the provider's message and the
// requested delay.
//
// It follows no redirects, so that a key never reaches another host. It reads at most [MaxAnswer] bytes of an
// answer or of a line of a file, and removes keys from messages.
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

// NewClient returns an HTTP client on top of base, or of the shared transport of all clients if base is nil. The
// key is only needed to remove it from messages.
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

// shared is Go's default transport with as many idle connections per server as there may be concurrent calls. A job
// finds the connections of the previous job.
var shared = sync.OnceValue(func() http.RoundTripper {
	t := http.DefaultTransport.(*http.Transport).Clone()
	t.MaxIdleConnsPerHost = t.MaxIdleConns
	// One connection may serve all calls to a server: a dead one must not keep them waiting.
	t.HTTP2 = &http.HTTP2Config{SendPingTimeout: 15 * time.Second, PingTimeout: 15 * time.Second}
	return t
})

// Fail converts the error of a call to an [*llm.Error]. It passes on errors of this package's client; any other
// error is an unreadable answer.
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

// FailEmbedding is [Fail] for a call for vectors.
func FailEmbedding(ctx context.Context, provider string, err error) error {
	e := *Fail(ctx, provider, err)
	e.Embedding = true
	return &e
}

// endOf returns the fault of a call that ended because its caller gave up or it timed out; otherwise the given
// fault.
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

// short keeps the cause for errors.Is and shortens its text, which may contain a whole answer.
func short(err error) error { return &shortError{err} }

type shortError struct{ err error }

func (e *shortError) Error() string { return shorten(e.err.Error()) }
func (e *shortError) Unwrap() error { return e.err }

// Ask makes a call with an SDK. It converts its error to an [*llm.Error], and also its panic over an answer of an
// unexpected shape.
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

// Check refuses settings with which no call is possible, and returns the base URL without a slash at its end. With
// keylessElsewhere, servers other than the provider's own need no key. Its errors are [reverie.ErrConfiguration]
// and do not contain the key.
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
		return "…" // a secret may be anywhere in it
	}
	u.RawQuery = ""
	return u.Redacted()
}

// Tier converts a provider's name of the tier of an answer. Unknown tiers, all of which cost at least as much,
// count as the standard one.
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

// API is one provider's HTTP API, for adapters without an SDK.
type API struct {
	Provider string
	BaseURL  string       // checked by [Check]; routes are appended to it
	Header   http.Header  // of every request: the key, the API's version
	Client   *http.Client // made by [NewClient]
}

// Post sends in as JSON and decodes the answer into out, with one request. Its errors are [*llm.Error].
func (a *API) Post(ctx context.Context, route string, in, out any) error {
	body, err := json.Marshal(in)
	if err != nil {
		return Fail(ctx, a.Provider, err)
	}
	return a.Send(ctx, http.MethodPost, route, bytes.NewReader(body), out)
}

// Get is [API.Post] without a body.
func (a *API) Get(ctx context.Context, route string, out any) error {
	return a.Send(ctx, http.MethodGet, route, nil, out)
}

// Send is [API.Post] with any method, and with an encoded body or none.
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
		req.GetBody = func() (io.ReadCloser, error) { return io.NopCloser(s.open()), nil }
		req.Header.Set("Content-Type", s.kind)
	}
	req.Header.Set("Accept", "application/json")
	req.Header.Set("User-Agent", "reverie")
	return a.Client.Do(req)
}

// Decode decodes an answer. A field of an unexpected type stays empty, since compatible servers write a few of them
// differently. An adapter checks the fields that it needs.
func Decode(body io.Reader, out any) error {
	err := json.NewDecoder(io.LimitReader(body, maxObject)).Decode(out)
	var mistyped *json.UnmarshalTypeError
	if errors.As(err, &mistyped) {
		return nil
	}
	return err
}

// MaxAnswer is the maximum number of bytes read of an answer. A batch of 100 embeddings of width 3072, written out
// in full, takes a quarter of it.
const MaxAnswer = 32 << 20

// maxObject bounds an object of a [Raw] call: a batch of at most 20 MB with its answers.
const maxObject = 8 * MaxAnswer

// transport returns a JSON object or an [*llm.Error]. This deliberately exceeds the contract of http.RoundTripper:
// Gemini's SDK loses the message of a failed answer, and this is the only place below all three adapters.
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
	case !ok: // the part of the message that was received is enough
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

// readAll reads and closes the body. With an error it also returns what it has read.
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

// checkJSON checks that the body is a complete JSON object.
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

// refusal returns the error of an unsuccessful answer.
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

// clean shortens the provider's message and removes the key from it.
func (t *transport) clean(message string) string {
	if t.key != "" {
		message = strings.ReplaceAll(message, t.key, "[key]")
	}
	return shorten(message)
}
