package server

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"strings"
	"time"

	"reverie/internal/api"
	"reverie/internal/api/problem"
	"reverie/internal/reverie"
	"reverie/internal/text"
)

// serve authenticates the request and calls its handler.
func (x *exchange) serve() {
	r := x.request
	open, err := x.Open(r.Context())
	if err != nil {
		x.fail(err)
		return
	}
	if err := origin(r, open); err != nil {
		x.fail(err)
		return
	}
	if (r.URL.Path == "/" || r.URL.Path == "/ui") && x.opts.Web != nil {
		http.Redirect(x.answer, r, "/ui/", http.StatusSeeOther)
		return
	}
	if n := len(r.URL.RequestURI()); n > maxAddress {
		x.refuse(problem.New(http.StatusRequestURITooLong, fmt.Sprintf("the address has %d bytes, and %d is the most", n, maxAddress)))
		return
	}
	x.limit = x.limitOf(r)
	ctx, cancel := context.WithTimeout(r.Context(), x.limit.time)
	defer cancel()
	if x.limit.watch {
		defer context.AfterFunc(x.watched, cancel)()
	}
	x.request = r.WithContext(ctx)
	if wait := x.suspect(); wait > 0 {
		x.later(tooMany, wait)
		return
	}
	if err := x.known(x.authenticate(open)); err != nil {
		if x.rate() {
			x.fail(err)
		}
		return
	}
	if !x.rate() {
		return
	}
	key := x.key()
	if !x.busy.take(key, 1) {
		x.later("too many requests of yours are under way: let some of them end", time.Second)
		return
	}
	defer x.busy.give(key, 1)
	leave, ok := x.admit(key)
	if !ok {
		return
	}
	defer leave()
	defer x.bound()()
	weight, ok := x.weigh()
	if !ok {
		return
	}
	// Long requests have bounds of their own.
	if x.caller.Scope != "" && !x.limit.watch && x.limit.time <= x.opts.RequestTimeout {
		done, err := x.turns.take(ctx, key, weight)
		if errors.Is(err, errNoRoom) {
			x.refuse(problem.New(http.StatusServiceUnavailable, "as many requests wait here already as may: send this again in a moment").
				RetryAfter(retryLater))
			return
		}
		if err != nil {
			x.later("your requests before this one still work: send fewer at a time", time.Second)
			return
		}
		defer done()
	}
	x.room().ServeHTTP(x.answer, x.request)
}

// room returns the handler of the request.
func (x *exchange) room() http.Handler {
	room := x.opts.REST
	switch {
	case below(x.request, "/ui/"):
		room = x.opts.Web
	case x.request.URL.Path == "/mcp":
		room = x.opts.MCP
	}
	if room == nil {
		return http.HandlerFunc(func(http.ResponseWriter, *http.Request) { x.fail(reverie.ErrNotFound) })
	}
	return room
}

// authenticate puts the caller into the request's context. Below /ui/ there may be none; elsewhere that is an
// error.
func (x *exchange) authenticate(open bool) (err error) {
	ctx := x.request.Context()
	header := x.request.Header.Values("Authorization")
	switch {
	case below(x.request, "/ui/"):
		if ctx, err = x.login(ctx); err != nil {
			return err
		}
		if _, known := api.CallerOf(ctx); !known && open {
			ctx = api.WithCaller(ctx, api.Anyone)
		}
	case len(header) > 0:
		caller, err := x.opts.Service.CallerOfToken(ctx, bearer(header))
		if err != nil {
			return err
		}
		ctx = api.WithCaller(ctx, caller)
	case open:
		ctx = api.WithCaller(ctx, api.Anyone)
	case !public(x.request):
		return reverie.ErrUnauthorized
	}
	x.caller, _ = api.CallerOf(ctx)
	x.request = x.request.WithContext(ctx)
	return nil
}

// login finds the session of a cookie, if it is valid.
func (x *exchange) login(ctx context.Context) (context.Context, error) {
	cookie, err := x.request.Cookie(api.SessionCookie)
	if err != nil || cookie.Value == "" {
		return ctx, nil
	}
	caller, err := x.opts.Service.CallerOfSession(ctx, cookie.Value)
	if isUnauthorized(err) {
		return ctx, nil
	}
	return api.WithSession(api.WithCaller(ctx, caller), cookie.Value), err
}

// bearer returns the token of the header, "" if it is invalid or there are several.
func bearer(headers []string) string {
	scheme, token, _ := strings.Cut(headers[0], " ")
	if len(headers) > 1 || !strings.EqualFold(scheme, "Bearer") {
		return ""
	}
	return strings.TrimSpace(token)
}

// public reports whether a request is for the API's description, which contains no group's data.
func public(r *http.Request) bool {
	if r.Method != http.MethodGet && r.Method != http.MethodHead {
		return false
	}
	switch r.URL.Path {
	case "/openapi.json", "/openapi.yaml", "/docs":
		return true
	}
	return false
}

// key returns the key for counting requests: the token, otherwise the address.
func (x *exchange) key() string {
	if x.caller.TokenID != "" {
		return x.caller.TokenID
	}
	return x.address()
}

// address returns the key of the request's address.
func (x *exchange) address() string { return "from " + host(x.request.RemoteAddr) }

const tooMany = "too many requests: wait a little, then go on"

// rate counts the request: false if the sender was told to retry later.
func (x *exchange) rate() bool {
	wait := x.limits.take(x.key(), x.opts.Now())
	if wait > 0 {
		x.later(tooMany, wait)
	}
	return wait == 0
}

// later answers that there are too many requests.
func (x *exchange) later(why string, wait time.Duration) {
	x.refuse(problem.New(http.StatusTooManyRequests, why).RetryAfter(wait)) // in whole seconds, rounded up
}

func isUnauthorized(err error) bool { return errors.Is(err, reverie.ErrUnauthorized) }

var sameOrigin = http.NewCrossOriginProtection()

// origin refuses requests that another site makes a browser send. If no token is needed, such a request could do
// anything. So the host must then be a name of this machine, since a foreign name may resolve to it.
func origin(r *http.Request, open bool) error {
	if open {
		if !local(r.Host) {
			return fmt.Errorf("while no token was ever created, only this machine is answered, as localhost or 127.0.0.1, and not as %q; reverie token create makes one: %w",
				text.Excerpt(r.Host, 100), reverie.ErrForbidden)
		}
		if foreign(r) {
			return fmt.Errorf("another site's page has sent this: %w", reverie.ErrForbidden)
		}
	}
	if below(r, "/ui/") {
		if err := sameOrigin.Check(r); err != nil {
			return fmt.Errorf("another site's page has sent this: %w: %w", err, reverie.ErrForbidden)
		}
	}
	return nil
}

// foreign reports whether a page of another origin makes a browser send the request. Following a link is allowed.
func foreign(r *http.Request) bool {
	site := r.Header.Get("Sec-Fetch-Site")
	if (site == "cross-site" || site == "same-site") &&
		!(r.Method == http.MethodGet && r.Header.Get("Sec-Fetch-Mode") == "navigate" && r.Header.Get("Sec-Fetch-Dest") == "document") {
		return true
	}
	from := r.Header.Get("Origin")
	return from != "" && from != "http://"+r.Host && from != "https://"+r.Host && !(from == "null" && site == "same-origin")
}

// local reports whether a host, with or without port, is a name or address of loopback.
func local(hostPort string) bool {
	name := strings.TrimSuffix(strings.ToLower(host(hostPort)), ".")
	if name == "localhost" || strings.HasSuffix(name, ".localhost") {
		return true
	}
	addr, err := netip.ParseAddr(name)
	return err == nil && addr.IsLoopback()
}

// host returns an address without its port.
func host(hostPort string) string {
	if name, _, err := net.SplitHostPort(hostPort); err == nil {
		return name
	}
	return strings.TrimSuffix(strings.TrimPrefix(hostPort, "["), "]")
}

// loopback returns the loopback address to listen on: the configured one if it is one.
func loopback(listen string) string {
	name, port, err := net.SplitHostPort(listen)
	if err != nil || name != "" && local(name) {
		return listen // listening refuses an invalid address
	}
	return net.JoinHostPort("127.0.0.1", port)
}
