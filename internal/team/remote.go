package team

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"strings"
	"time"

	"reverie/internal/api/client"
	"reverie/internal/reverie"
)

// HTTP is another Reverie, reached by its API.
type HTTP struct {
	client *client.Client
	url    string
}

// errRedirected refuses to follow: the token is for the configured address alone.
var errRedirected = errors.New("it redirects elsewhere: set [team] remote to the address that is meant")

// Dial returns the Reverie at an address such as https://reverie.example.com, which is
// asked with a token. It connects to nothing yet. An address of another machine must be
// https unless plain HTTP is allowed: token and memories could be read on the way. Its
// errors are reverie.ErrConfiguration.
func Dial(address, token string, timeout time.Duration, allowHTTP bool, opts ...client.Option) (*HTTP, error) {
	base, err := parse(address)
	if err != nil {
		return nil, err
	}
	if base.Scheme == "http" && !allowHTTP && !loopback(base.Hostname()) {
		return nil, fmt.Errorf("[team] remote %s is plain http: the token could be read on the way; use https, or set [team] allow_http: %w", base, reverie.ErrConfiguration)
	}
	opts = append([]client.Option{client.WithUserAgent("reverie-team"), client.WithRetry(3, 5*time.Second, 300*time.Millisecond),
		client.WithHTTPClient(&http.Client{Timeout: timeout,
			CheckRedirect: func(*http.Request, []*http.Request) error { return errRedirected }})}, opts...)
	return &HTTP{url: base.String(), client: client.New(base.String(), token, opts...)}, nil
}

// parse reads the address of a remote, which holds no secrets and no question.
func parse(address string) (*url.URL, error) {
	base, err := url.Parse(address)
	switch {
	case err != nil, base.Host == "", base.Scheme != "http" && base.Scheme != "https":
		return nil, fmt.Errorf("[team] remote: it is no address such as https://reverie.example.com: %w", reverie.ErrConfiguration) // not repeated: it may hold a password
	case base.User != nil, base.RawQuery != "", base.Fragment != "":
		return nil, fmt.Errorf("[team] remote: leave out user, password, ? and #; the token goes into [team] token: %w", reverie.ErrConfiguration)
	}
	base.Path = strings.TrimRight(base.Path, "/")
	return base, nil
}

func loopback(host string) bool {
	ip := net.ParseIP(host)
	return host == "localhost" || ip != nil && ip.IsLoopback()
}

// URL is the address by which the remote is known.
func (h *HTTP) URL() string { return h.url }

// TeamMemories is a page of the team's memories there.
func (h *HTTP) TeamMemories(ctx context.Context, team, after string, limit int) (reverie.TeamMemories, error) {
	page, err := h.client.TeamMemories(ctx, team, after, limit)
	return page, h.fault(ctx, err)
}

// PutTeamMemory makes a version the head there.
func (h *HTTP) PutTeamMemory(ctx context.Context, team string, m reverie.TeamMemory, ifVersion, key string) (reverie.TeamMemory, error) {
	m, err := h.client.PutTeamMemory(ctx, team, m, ifVersion, key)
	return m, h.fault(ctx, err)
}

// fault says whether what went wrong passes, is ours to set right, or is about the memory.
func (h *HTTP) fault(ctx context.Context, err error) error {
	var p *client.Problem
	var notJSON *json.SyntaxError
	var otherJSON *json.UnmarshalTypeError
	switch {
	case err == nil, ctx.Err() != nil:
		return err
	case errors.Is(err, errRedirected):
		return fmt.Errorf("%s: %w: %w", h.url, errRedirected, reverie.ErrConfiguration)
	case errors.As(err, &notJSON), errors.As(err, &otherJSON):
		return fmt.Errorf("%s does not answer as a Reverie does: %w: %w", h.url, err, reverie.ErrConfiguration)
	case errors.Is(err, reverie.ErrUnauthorized), errors.Is(err, reverie.ErrForbidden), errors.Is(err, reverie.ErrNotFound):
		return fmt.Errorf("%s will not have us: %w: %w", h.url, err, reverie.ErrConfiguration)
	case errors.Is(err, reverie.ErrConflict), errors.Is(err, reverie.ErrInvalid), errors.Is(err, reverie.ErrDeferred):
		return err
	case errors.As(err, &p) && p.Status < 500:
		return fmt.Errorf("%s does not answer as a Reverie does: %w: %w", h.url, err, reverie.ErrConfiguration)
	}
	return fmt.Errorf("%s cannot be reached, or its answer broke off: %w: %w", h.url, err, reverie.ErrDeferred)
}
