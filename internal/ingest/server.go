package ingest

import (
	"bytes"
	"cmp"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"reverie/internal/reverie"
	"reverie/internal/text"
)

// ServerOptions say how a server is asked. Zero values mean the defaults.
type ServerOptions struct {
	Token    string        // sent as Bearer, to this server only; "" = none
	PageSize int           // messages asked for at once; default 1000
	Attempts int           // for one answer, at most; default 4
	Idle     time.Duration // without a byte, after which an answer is given up; default 60 s
	Held     int           // bytes up to which an answer is held, and asked for again if it breaks off; default 16 MiB
	Now      func() time.Time
	// Wait waits before another attempt; it ends with the context. The default waits.
	Wait func(ctx context.Context, d time.Duration) error
	// Transport carries the requests; default a [http.Transport] of its own.
	Transport http.RoundTripper
}

const (
	backoff       = time.Second // before the second attempt, doubled each time
	maxBackoff    = 30 * time.Second
	maxRetryAfter = time.Minute // longest wait that a server may ask for
	maxAnswer     = 4 << 30     // bytes of one answer
	maxRequest    = time.Hour   // of one answer, however fast its bytes come
)

// Server hands chats over by ChatLab's pull protocol. It is safe for concurrent use.
type Server struct {
	base   *url.URL
	opts   ServerOptions
	client *http.Client
}

// NewServer returns the server at an address, under which it has /sessions. The error is
// reverie.ErrInvalid.
func NewServer(address string, opts ServerOptions) (*Server, error) {
	base, err := url.Parse(strings.TrimSpace(address))
	switch {
	case err != nil || base.Host == "" || base.Scheme != "http" && base.Scheme != "https":
		return nil, fmt.Errorf("the address of the server is no URL such as http://127.0.0.1:5031/api/v1: %w",
			reverie.ErrInvalid) // it may hold a secret
	case base.RawQuery != "" || base.Fragment != "" || base.User != nil:
		return nil, fmt.Errorf("the address %s://%s has a user or a query; a token is said by itself: %w", base.Scheme,
			base.Host, reverie.ErrInvalid)
	case strings.ContainsFunc(opts.Token, func(c rune) bool { return c <= ' ' || c > '~' }):
		return nil, fmt.Errorf("the token holds what a header cannot: %w", reverie.ErrInvalid)
	}
	base.Path, base.RawPath = strings.TrimRight(base.Path, "/"), strings.TrimRight(base.RawPath, "/")
	opts.PageSize = cmp.Or(opts.PageSize, 1000)
	opts.Attempts = cmp.Or(opts.Attempts, 4)
	opts.Idle = cmp.Or(opts.Idle, time.Minute)
	opts.Held = cmp.Or(opts.Held, 16<<20)
	if opts.Now == nil {
		opts.Now = time.Now
	}
	if opts.Wait == nil {
		opts.Wait = wait
	}
	if opts.Transport == nil {
		opts.Transport = &http.Transport{Proxy: http.ProxyFromEnvironment, IdleConnTimeout: time.Minute,
			TLSHandshakeTimeout: 30 * time.Second}
	}
	s := &Server{base: base, opts: opts}
	s.client = &http.Client{Transport: opts.Transport, CheckRedirect: s.redirect}
	return s, nil
}

func wait(ctx context.Context, d time.Duration) error {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// Source is the server's address. It holds no secrets.
func (s *Server) Source() string { return s.base.String() }

// Plain tells whether what goes to the server and back can be read on the way.
func (s *Server) Plain() bool {
	host := s.base.Hostname()
	return s.base.Scheme == "http" && host != "localhost" && !strings.HasPrefix(host, "127.") && host != "::1"
}

// Close ends the connections that wait to be used again.
func (s *Server) Close() { s.client.CloseIdleConnections() }

// redirect follows to the same host only, so that neither the token nor the choice of where
// chats come from goes to another.
func (s *Server) redirect(to *http.Request, via []*http.Request) error {
	same := to.URL.Scheme == s.base.Scheme && to.URL.Host == s.base.Host
	secured := to.URL.Scheme == "https" && to.URL.Hostname() == s.base.Hostname()
	switch {
	case !same && !secured:
		return fmt.Errorf("it sends on to another host, %s://%s, which is not followed; name that address if it is the "+
			"right one: %w", to.URL.Scheme, to.URL.Host, reverie.ErrConfiguration)
	case len(via) >= 5:
		return fmt.Errorf("it sends on and on: %w", reverie.ErrConfiguration)
	}
	return nil
}

// at is the address of a route, whose parts may hold anything.
func (s *Server) at(query url.Values, parts ...string) string {
	u := *s.base
	path, raw := s.base.Path, s.base.EscapedPath()
	for _, p := range parts {
		escaped := url.PathEscape(p)
		if p == "." || p == ".." {
			escaped = strings.ReplaceAll(p, ".", "%2E")
		}
		path, raw = path+"/"+p, raw+"/"+escaped
	}
	u.Path, u.RawPath, u.RawQuery = path, raw, query.Encode()
	return u.String()
}

// PullError says how a server failed to answer.
type PullError struct {
	What    string // was asked for
	Status  int    // 0 where there was no whole answer
	Err     error
	passing bool
	after   time.Duration // that the server asks to wait
}

func (e *PullError) Error() string {
	hint := "; what has come is kept, pull again later"
	switch {
	case e.Status == http.StatusUnauthorized, e.Status == http.StatusForbidden:
		hint = "; check the token (--token-file or REVERIE_PULL_TOKEN)"
	case e.Status == http.StatusNotFound:
		hint = "; check the address, up to what stands in front of /sessions"
	case !e.passing:
		hint = ""
	}
	return fmt.Sprintf("ask for %s: %s%s", e.What, e.Err, hint)
}

// Unwrap gives the cause.
func (e *PullError) Unwrap() error { return e.Err }

// Is sorts the error into the domain's: what may pass is a [reverie.ErrDeferred], a refused
// token or an unknown route a [reverie.ErrConfiguration].
func (e *PullError) Is(target error) bool {
	switch target {
	case reverie.ErrDeferred:
		return e.passing
	case reverie.ErrConfiguration:
		return e.Status == http.StatusUnauthorized || e.Status == http.StatusForbidden || e.Status == http.StatusNotFound
	}
	return false
}

// answer is what a server says.
type answer struct {
	io.Reader
	whole bool // all of it is held
	lines bool // it is said to be lines, of which there may be none
}

// ask gets an answer and hands it to use, again after what may pass. An answer that is held
// as a whole may be handed over again: use must have done nothing when it returns
// io.ErrUnexpectedEOF. One that is longer is handed over once.
func (s *Server) ask(ctx context.Context, what, at string, use func(answer) error) error {
	for attempt := 1; ; attempt++ {
		err := s.try(ctx, what, at, use)
		var fault *PullError
		switch {
		case err == nil:
			return nil
		case ctx.Err() != nil:
			return fmt.Errorf("ask for %s: %w", what, ctx.Err())
		case !errors.As(err, &fault) || !fault.passing || fault.after > maxRetryAfter || attempt == s.opts.Attempts:
			return err
		}
		delay := fault.after
		if delay == 0 {
			delay = min(maxBackoff, backoff<<(attempt-1))
		}
		if err := s.opts.Wait(ctx, delay+rand.N(delay/10+1)); err != nil {
			return fmt.Errorf("ask for %s: %w (before that: %w)", what, err, fault)
		}
	}
}

func (s *Server) try(ctx context.Context, what, at string, use func(answer) error) error {
	ctx, cancel := context.WithTimeout(ctx, maxRequest)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, at, nil)
	if err != nil {
		return fmt.Errorf("ask for %s: %w", what, err)
	}
	req.Header.Set("Accept", "application/json, application/x-ndjson")
	req.Header.Set("User-Agent", "reverie")
	if s.opts.Token != "" {
		req.Header.Set("Authorization", "Bearer "+s.opts.Token)
	}
	watch := time.AfterFunc(s.opts.Idle, cancel)
	defer watch.Stop()
	res, err := s.client.Do(req)
	if err != nil {
		var at *url.Error // which says the address once more
		if errors.As(err, &at) {
			err = at.Err
		}
		var certificate *tls.CertificateVerificationError
		return &PullError{What: what, Err: s.silent(ctx, err), passing: !errors.Is(err, reverie.ErrConfiguration) &&
			!errors.As(err, &certificate)}
	}
	defer func() { _ = res.Body.Close() }() // it was only read
	if res.StatusCode != http.StatusOK {
		return refused(what, res, s.opts.Now())
	}
	body := http.MaxBytesReader(nil, lively{res.Body, watch, s.opts.Idle}, maxAnswer)
	kind := res.Header.Get("Content-Type")
	lines := strings.Contains(kind, "ndjson") || strings.Contains(kind, "jsonl")
	var head bytes.Buffer
	_, err = io.CopyN(&head, body, int64(s.opts.Held))
	switch {
	case errors.Is(err, io.EOF):
		err = use(answer{&head, true, lines})
	case err == nil:
		err = use(answer{io.MultiReader(&head, body), false, lines})
		if errors.Is(err, io.ErrUnexpectedEOF) || ctx.Err() != nil {
			return fmt.Errorf("ask for %s: %w", what, s.silent(ctx, err))
		}
		return err
	default:
		return &PullError{What: what, Err: s.silent(ctx, err), passing: true}
	}
	if errors.Is(err, io.ErrUnexpectedEOF) {
		return &PullError{What: what, Err: err, passing: true}
	}
	return err
}

// silent says of an answer that was given up why it was.
func (s *Server) silent(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return fmt.Errorf("nothing came for %s: %w", s.opts.Idle, err)
	}
	return err
}

// lively is an answer for whose next bytes patience ends.
type lively struct {
	io.ReadCloser
	watch *time.Timer
	idle  time.Duration
}

func (l lively) Read(p []byte) (int, error) {
	l.watch.Reset(l.idle)
	defer l.watch.Stop() // what is made of it takes the time that it takes
	return l.ReadCloser.Read(p)
}

// refused makes an error of an answer that is none.
func refused(what string, res *http.Response, now time.Time) error {
	said, _ := io.ReadAll(io.LimitReader(res.Body, 1<<10)) // the status says it, too
	err := fmt.Errorf("HTTP %s", strings.TrimSpace(res.Status))
	if words := text.Excerpt(strings.ToValidUTF8(string(said), ""), 200); words != "" {
		err = fmt.Errorf("%w: %s", err, words)
	}
	e := &PullError{What: what, Status: res.StatusCode, Err: err, passing: res.StatusCode == http.StatusTooManyRequests ||
		res.StatusCode >= 500 || res.StatusCode == http.StatusRequestTimeout}
	after := res.Header.Get("Retry-After")
	if seconds, err := strconv.Atoi(after); err == nil && seconds > 0 {
		e.after = min(time.Duration(seconds), 1e6) * time.Second
	} else if at, err := http.ParseTime(after); err == nil && at.After(now) {
		e.after = at.Sub(now)
	}
	return e
}
