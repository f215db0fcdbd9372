// Package remote calls the server of another program, and trusts it little: the token goes to that server alone,
// answers are bounded, and what the server says is shown without the token.
package remote

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"reverie/internal/reverie"
	"reverie/internal/text"
)

// Options say how to call a server.
type Options struct {
	Token    string        // sent as Bearer token, or as the password of User; "" = none
	User     string        // of Basic authentication; "" = none
	Timeout  time.Duration // of one answer
	MaxBytes int64         // of one answer, which is held in memory
	Attempts int           // in case of transient faults; 0 is 1
	Backoff  time.Duration // before the second attempt, doubled for each further one
	Patience time.Duration // the longest delay that the server may request
	Now      func() time.Time
	// Wait waits before another attempt, or until the context ends. nil uses a timer.
	Wait func(ctx context.Context, d time.Duration) error
}

// maxBackoff bounds a delay that the server has not requested.
const maxBackoff = 30 * time.Second

// Server is a client of one server. It is safe for concurrent use.
type Server struct {
	Options
	Base   *url.URL // without a slash at its end
	client http.Client
}

// New returns a client of the server at an address. The error does not repeat the address, which may contain a secret.
// The caller adds where secrets go, and what kind of error it is.
func New(address string, o Options) (*Server, error) {
	base, err := url.Parse(strings.TrimSpace(address))
	switch {
	case err != nil || base.Host == "" || base.Scheme != "http" && base.Scheme != "https":
		return nil, errors.New("the address of the server is not a URL; write one such as https://example.org/api")
	case base.RawQuery != "" || base.Fragment != "" || base.User != nil:
		return nil, fmt.Errorf("the address of the server at %s has a user, a query or a fragment; leave it out", base.Host)
	case strings.ContainsFunc(o.Token, func(c rune) bool { return c <= ' ' || c > '~' }):
		return nil, errors.New("the token has characters that an HTTP header cannot have")
	}
	base.Path, base.RawPath = strings.TrimRight(base.Path, "/"), strings.TrimRight(base.RawPath, "/")
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.Wait == nil {
		o.Wait = wait
	}
	s := &Server{Options: o, Base: base}
	s.client = http.Client{Timeout: o.Timeout, Transport: http.DefaultTransport.(*http.Transport).Clone(),
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	return s, nil
}

func wait(ctx context.Context, d time.Duration) error {
	select {
	case <-time.After(d):
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// Close closes idle connections.
func (s *Server) Close() { s.client.CloseIdleConnections() }

// Plain reports whether the connection to another machine is unencrypted.
func (s *Server) Plain() bool {
	ip := net.ParseIP(s.Base.Hostname())
	return s.Base.Scheme == "http" && s.Base.Hostname() != "localhost" && (ip == nil || !ip.IsLoopback())
}

// At returns the address of a route; its parts are escaped.
func (s *Server) At(query url.Values, parts ...string) string {
	at := s.Base.String()
	for _, p := range parts {
		if escaped := url.PathEscape(p); p == "." || p == ".." {
			at += "/" + strings.ReplaceAll(p, ".", "%2E")
		} else {
			at += "/" + escaped
		}
	}
	return strings.TrimSuffix(at+"?"+query.Encode(), "?")
}

// Fault is why a server has not answered as it should.
type Fault struct {
	Status  int           // 0: there was no complete answer
	Body    []byte        // of an answer with another status than 2xx, its beginning
	Words   string        // for people, without the token and the address
	Err     error         // nil if the server has answered
	Passing bool          // another attempt may succeed
	After   time.Duration // the delay that the server requests
}

func (f *Fault) Error() string { return f.Words }

// Unwrap returns the cause.
func (f *Fault) Unwrap() error { return f.Err }

// Refused reports whether the server refuses the token or does not know the route.
func (f *Fault) Refused() bool {
	return f.Status == http.StatusUnauthorized || f.Status == http.StatusForbidden || f.Status == http.StatusNotFound
}

// Is maps the fault to the domain's errors: a transient one is a [reverie.ErrDeferred]; a refused token, an unknown
// route or a redirect a [reverie.ErrConfiguration].
func (f *Fault) Is(target error) bool {
	return target == reverie.ErrDeferred && f.Passing || target == reverie.ErrConfiguration && (f.Refused() || f.Status/100 == 3)
}

// ErrTooLong is in the error of an answer with more bytes than allowed.
var ErrTooLong = errors.New("the answer is too long")

// maxRefusal bounds what is read of an answer with another status than 2xx.
const maxRefusal = 1 << 20

// Ask sends a request, and passes the body of the answer to use, with further attempts after transient faults. If use
// returns io.ErrUnexpectedEOF, the answer broke off, and use must not have had any effect.
func (s *Server) Ask(req *http.Request, use func(h http.Header, body []byte) error) error {
	req.Header.Set("User-Agent", "reverie")
	if s.User != "" {
		req.SetBasicAuth(s.User, s.Token)
	} else if s.Token != "" {
		req.Header.Set("Authorization", "Bearer "+s.Token)
	}
	ctx := req.Context()
	for attempt := 1; ; attempt++ {
		err := s.send(req, use)
		if errors.Is(err, io.ErrUnexpectedEOF) {
			err = s.broken(err)
		}
		var fault *Fault
		switch {
		case err != nil && ctx.Err() != nil:
			return ctx.Err()
		case !errors.As(err, &fault) || !fault.Passing || fault.After > s.Patience || attempt >= s.Attempts:
			return err
		}
		delay := max(fault.After, min(maxBackoff, s.Backoff<<(attempt-1)))
		if err := s.Wait(ctx, delay+rand.N(delay/10+1)); err != nil {
			return fmt.Errorf("%w (before that: %w)", err, fault)
		}
	}
}

// send makes one attempt.
func (s *Server) send(req *http.Request, use func(h http.Header, body []byte) error) (err error) {
	if req.GetBody != nil { // the attempt before may have read the body
		if req.Body, err = req.GetBody(); err != nil {
			return err
		}
	}
	resp, err := s.client.Do(req)
	if err != nil {
		var at *url.Error // it would repeat the address
		if errors.As(err, &at) {
			err = at.Err
		}
		return s.broken(err)
	}
	defer func() { _ = resp.Body.Close() }() // it was only read
	if resp.StatusCode/100 != 2 {
		return s.refused(resp)
	}
	body, err := io.ReadAll(io.LimitReader(resp.Body, s.MaxBytes+1))
	switch {
	case err != nil:
		return s.broken(err)
	case int64(len(body)) > s.MaxBytes:
		return fmt.Errorf("%w: it has more than %d bytes", ErrTooLong, s.MaxBytes)
	}
	return use(resp.Header, body)
}

// broken returns the fault of an answer that did not come, or broke off.
func (s *Server) broken(err error) *Fault {
	var certificate *tls.CertificateVerificationError
	return &Fault{Words: s.Told(err.Error()), Err: err, Passing: !errors.As(err, &certificate)}
}

// refused returns the fault of an answer with another status than 2xx.
func (s *Server) refused(resp *http.Response) *Fault {
	body, _ := io.ReadAll(io.LimitReader(resp.Body, maxRefusal)) // the status alone is enough
	status := resp.StatusCode
	f := &Fault{Status: status, Body: body, Words: "HTTP " + s.Told(resp.Status),
		Passing: status == http.StatusTooManyRequests || status >= 500 || status == http.StatusRequestTimeout}
	if to, err := resp.Location(); err == nil && status < 400 {
		f.Words += ": it redirects to " + s.Told(to.Scheme+"://"+to.Host+to.EscapedPath()) + // a query may have secrets
			", which Reverie does not follow; use that address if it is right"
	} else if words := s.Told(string(body)); words != "" {
		f.Words += ": " + words
	}
	f.After = RetryAfter(resp.Header, s.Now())
	return f
}

// RetryAfter returns the delay that a server requests, in seconds or as a date; 0 if none.
func RetryAfter(h http.Header, now time.Time) time.Duration {
	after := h.Get("Retry-After")
	if seconds, err := strconv.Atoi(after); err == nil {
		return time.Duration(min(max(seconds, 0), 1<<20)) * time.Second
	}
	at, err := http.ParseTime(after)
	if err != nil {
		return 0
	}
	return max(at.Sub(now), 0)
}

// Told returns a server's words for display and logs: see [Masked].
func (s *Server) Told(words string) string { return Masked(words, s.Token) }

// Masked shortens words, and makes them safe to show, without the token: some servers repeat what they were sent.
func Masked(words, token string) string {
	if token != "" {
		words = strings.ReplaceAll(words, token, "[token]")
	}
	return text.Excerpt(text.Visible(strings.ToValidUTF8(words, "")), 300)
}
