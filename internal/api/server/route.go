package server

import (
	"context"
	"net/http"
	"strings"
	"time"

	"reverie/internal/api"
	"reverie/internal/api/problem"
	"reverie/internal/reverie"
)

// serve finds out who asks and leads to the room.
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
	x.limit = x.limitOf(r)
	ctx, cancel := context.WithTimeout(r.Context(), x.limit.time)
	defer cancel()
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
	if !x.limits.enter(key) {
		x.later("too many requests of yours are under way: let some of them end", time.Second)
		return
	}
	defer x.limits.leave(key)
	leave, ok := x.admit(key)
	if !ok {
		return
	}
	defer leave()
	defer x.bound()()
	x.room().ServeHTTP(x.answer, x.request)
}

// room is who answers the request.
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

// authenticate puts who asks into the context of the request. Below /ui/, that may be
// nobody; elsewhere it is an error.
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

// login finds the session of a cookie, if it is not over.
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

// bearer is the token of a header, "" where it is none, or where there are several.
func bearer(headers []string) string {
	scheme, token, _ := strings.Cut(headers[0], " ")
	if len(headers) > 1 || !strings.EqualFold(scheme, "Bearer") {
		return ""
	}
	return strings.TrimSpace(token)
}

// public tells whether a request is for what describes the API, and holds nothing of any
// group.
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

// key is whose requests are counted together: those of a token, else of an address.
func (x *exchange) key() string {
	if x.caller.TokenID != "" {
		return x.caller.TokenID
	}
	return x.address()
}

// address is where a request comes from, as a key.
func (x *exchange) address() string { return "from " + host(x.request.RemoteAddr) }

const tooMany = "too many requests: wait a little, then go on"

// rate counts the request: false where its sender was told to come later.
func (x *exchange) rate() bool {
	wait := x.limits.take(x.key(), x.opts.Now())
	if wait > 0 {
		x.later(tooMany, wait)
	}
	return wait == 0
}

// later answers that there is too much at once.
func (x *exchange) later(why string, wait time.Duration) {
	x.refuse(problem.New(http.StatusTooManyRequests, why).RetryAfter(wait)) // in whole seconds, rounded up
}
