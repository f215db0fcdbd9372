// Package client asks Reverie's HTTP API, in the domain's own shapes. What goes wrong is a
// *[Problem], which is the domain's error of its status.
package client

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/failsafe-go/failsafe-go"
	"github.com/failsafe-go/failsafe-go/retrypolicy"

	"reverie/internal/reverie"
)

// maxAnswer is how many bytes of an answer are read. None of the API's has as many.
const maxAnswer int64 = 64 << 20

// Client asks one server. It is safe for concurrent use.
type Client struct {
	base  string
	token string
	opts  options
	retry retrypolicy.RetryPolicy[any]
}

type options struct {
	http     *http.Client
	agent    string
	attempts int
	backoff  time.Duration // before the second attempt, where the server does not say
	patience time.Duration // that a server may ask for before another attempt
}

// Option changes how a client asks.
type Option func(*options)

// WithHTTPClient has requests sent by another HTTP client than http.DefaultClient.
func WithHTTPClient(c *http.Client) Option { return func(o *options) { o.http = c } }

// WithUserAgent names the program that asks.
func WithUserAgent(name string) Option { return func(o *options) { o.agent = name } }

// WithRetry says how often at most a request is sent, and how long a server may ask a
// client to wait in between; 4 times and 30 seconds are the default. Where it does not
// ask, the wait is backoff, 500 ms by default, and twice as long each time.
func WithRetry(attempts int, patience, backoff time.Duration) Option {
	return func(o *options) { o.attempts, o.patience, o.backoff = attempts, patience, backoff }
}

// New returns a client of the server at an address such as http://127.0.0.1:8470, who
// asks with a token; "" is none.
func New(baseURL, token string, opts ...Option) *Client {
	c := &Client{base: strings.TrimRight(baseURL, "/"), token: token, opts: options{http: http.DefaultClient, agent: "reverie-client",
		attempts: 4, backoff: 500 * time.Millisecond, patience: 30 * time.Second}}
	for _, set := range opts {
		set(&c.opts)
	}
	if c.opts.http.CheckRedirect == nil {
		confined := *c.opts.http
		confined.CheckRedirect = sameHost
		c.opts.http = &confined
	}
	c.retry = retrypolicy.NewBuilder[any]().HandleIf(func(_ any, err error) bool { return c.again(err) }).
		WithMaxAttempts(max(c.opts.attempts, 1)).WithDelayFunc(c.delay).ReturnLastFailure().Build()
	return c
}

// maxRedirects is how many redirects are followed.
const maxRedirects = 10

// sameHost follows redirects within the server that was asked: what is sent, and the
// token with it, is for nobody else.
func sameHost(req *http.Request, via []*http.Request) error {
	first := via[0].URL
	if req.URL.Host != first.Host || req.URL.Scheme != first.Scheme && req.URL.Scheme != "https" {
		return errors.New("it redirects to another host, which is not asked: give its address, if it is meant")
	}
	if len(via) >= maxRedirects {
		return fmt.Errorf("it redirects more than %d times", maxRedirects)
	}
	return nil
}

// Request is one question. It is sent again after a passing fault where that cannot do
// a thing twice.
type Request struct {
	Method string
	Path   string // see [Path]
	Query  url.Values
	Body   any               // as JSON; nil = none
	Stream io.Reader         // instead of a body: JSON Lines
	Repeat bool              // asking twice does no harm
	Header map[string]string // further headers
	Most   int64             // bytes of its answer; 0 = maxAnswer
}

// failure is why an attempt got no answer.
type failure struct {
	error
	passing bool
}

func (f *failure) Unwrap() error { return f.error }

// again tells whether another attempt makes sense.
func (c *Client) again(err error) bool {
	var f *failure
	if !errors.As(err, &f) || !f.passing {
		return false
	}
	var p *Problem
	return !errors.As(err, &p) || p.RetryAfter <= c.opts.patience
}

// delay is what the server asked for, never less, or else an exponential backoff; both
// with jitter, so that those who were refused together do not come back together.
func (c *Client) delay(exec failsafe.ExecutionAttempt[any]) time.Duration {
	var p *Problem
	if errors.As(exec.LastError(), &p) && p.RetryAfter > 0 {
		return p.RetryAfter + rand.N(p.RetryAfter/10+1)
	}
	backoff := c.opts.backoff << min(exec.Retries(), 10)
	return backoff - rand.N(backoff/4+1)
}

// Do sends a request and reads its answer into a shape.
func Do[T any](ctx context.Context, c *Client, r Request) (reply T, err error) {
	var body []byte
	if r.Body != nil {
		if body, err = json.Marshal(r.Body); err != nil {
			return reply, fmt.Errorf("%s %s: write the body: %w", r.Method, r.Path, err)
		}
	}
	err = failsafe.With[any](c.retry).WithContext(ctx).Run(func() error { return c.send(ctx, r, body, &reply) })
	var f *failure
	if errors.As(err, &f) {
		err = f.error
	}
	var p *Problem
	if err != nil && !errors.As(err, &p) { // net/http and json repeat what they cannot read
		err = &toldError{err, told(err.Error(), c.token)}
	}
	if err != nil {
		return reply, fmt.Errorf("%s %s: %w", r.Method, r.Path, err)
	}
	return reply, nil
}

// send is one attempt.
func (c *Client) send(ctx context.Context, r Request, body []byte, into any) error {
	var content io.Reader
	if body != nil {
		content = bytes.NewReader(body)
	}
	if r.Stream != nil {
		content = io.NopCloser(r.Stream) // whoever opened it closes it
	}
	address := c.base + r.Path
	if len(r.Query) > 0 {
		address += "?" + r.Query.Encode()
	}
	req, err := http.NewRequestWithContext(ctx, r.Method, address, content)
	if err != nil {
		return err
	}
	req.Header.Set("Accept", "application/json, application/problem+json")
	req.Header.Set("User-Agent", c.opts.agent)
	switch {
	case r.Stream != nil:
		req.Header.Set("Content-Type", "application/x-ndjson")
	case body != nil:
		req.Header.Set("Content-Type", "application/json")
	}
	for name, value := range r.Header {
		req.Header.Set(name, value)
	}
	if c.token != "" {
		req.Header.Set("Authorization", "Bearer "+c.token)
	}
	resp, err := c.opts.http.Do(req)
	if err != nil {
		return &failure{err, r.Repeat && ctx.Err() == nil}
	}
	defer func() { _ = resp.Body.Close() }()
	most := cmp.Or(r.Most, maxAnswer)
	answer, err := io.ReadAll(io.LimitReader(resp.Body, most+1))
	if err != nil {
		return &failure{fmt.Errorf("read the answer: %w", err), r.Repeat && ctx.Err() == nil}
	}
	if int64(len(answer)) > most {
		return fmt.Errorf("the answer has more than the %d bytes that one may have", most)
	}
	if resp.StatusCode/100 != 2 {
		p := problemOf(resp, answer, c.token)
		// Who is too fast was not heard; of what a server that is not well did, nothing is known.
		passing := r.Stream == nil && p.Status == http.StatusTooManyRequests || r.Repeat && p.Status == http.StatusServiceUnavailable
		return &failure{p, passing}
	}
	if err := json.Unmarshal(answer, into); err != nil {
		return fmt.Errorf("the answer is not what was asked for: %w", err)
	}
	return nil
}

// Path is an address of the API: its parts below the base, whatever ids are among them.
func Path(parts ...string) string {
	var b strings.Builder
	for _, part := range parts {
		b.WriteString("/" + escaped(part))
	}
	return b.String()
}

// escaped is an id as a piece of a path, whatever it is.
func escaped(id string) string {
	if id == "." || id == ".." { // would be taken for a way
		return strings.ReplaceAll(id, ".", "%2E")
	}
	return url.PathEscape(id)
}

// maxTeamAnswer is how many bytes a page of a team's memories may have. Whoever answers
// it is another deployment, which may be set on harm.
const maxTeamAnswer = 16 << 20

// TeamMemories returns a page of a team's memories, deleted ones included, by id: those
// after one, "" for the first. An empty team is the token's own, a limit of 0 the
// server's. What comes is as the other deployment says: [reverie.TeamMemory.Check] holds
// it against what may be kept.
func (c *Client) TeamMemories(ctx context.Context, team, after string, limit int) (reverie.TeamMemories, error) {
	query := url.Values{}
	for name, value := range map[string]string{"team": team, "after": after} {
		if value != "" {
			query.Set(name, value)
		}
	}
	if limit != 0 {
		query.Set("limit", strconv.Itoa(limit))
	}
	return Do[reverie.TeamMemories](ctx, c, Request{Method: http.MethodGet, Path: "/v1/team/memories", Query: query,
		Repeat: true, Most: maxTeamAnswer})
}

// PutTeamMemory makes a version the newest of a team's memory, where ifVersion is the
// newest; "" creates the memory. Under a key, "" for none, it is made once however often
// it is asked for, and so is asked for again after a passing fault.
//
// Where the memory is another by now the error holds a *reverie.TeamHeadError with it;
// where it holds what may not be kept, a *reverie.TeamRefusedError with the findings.
func (c *Client) PutTeamMemory(ctx context.Context, team string, m reverie.TeamMemory,
	ifVersion, key string) (reverie.TeamMemory, error) {
	r := Request{Method: http.MethodPut, Path: Path("v1", "team", "memories", m.ID), Query: url.Values{"team": {team}},
		Body: m, Header: map[string]string{"If-None-Match": "*"}, Repeat: key != "", Most: maxTeamAnswer}
	if ifVersion != "" {
		r.Header = map[string]string{"If-Match": `"` + ifVersion + `"`}
	}
	if key != "" {
		r.Header["Idempotency-Key"] = key
	}
	reply, err := Do[reverie.TeamMemory](ctx, c, r)
	var p *Problem
	if errors.As(err, &p) {
		p.memoryID = m.ID
	}
	return reply, err
}
