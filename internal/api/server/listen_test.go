package server_test

import (
	"context"
	"net"
	"net/http"
	"strings"
	"testing"

	"reverie/internal/api"
	"reverie/internal/api/server"
	"reverie/internal/reverie"
)

// While no token was ever made, and none is required, nothing but loopback is listened
// on, whatever is configured, and the log says so.
func TestListensOnLoopback(t *testing.T) {
	for _, c := range []struct {
		listen           string
		require, created bool
		own              bool // it listens on loopback alone
		warned           bool
	}{
		{":0", false, false, true, true}, {"127.0.0.1:0", false, false, true, false},
		{":0", true, false, false, false}, {":0", false, true, false, false},
	} {
		t.Run("", func(t *testing.T) {
			h := newHouse(t, func(o *server.Options) { o.Listen, o.RequireToken = c.listen, c.require })
			if c.created {
				h.token(api.NewToken{Scope: reverie.ScopeRead})
			}
			addr, err := h.Start(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			defer func() {
				if err := h.Stop(context.Background()); err != nil {
					t.Error(err)
				}
			}()
			host, port, err := net.SplitHostPort(addr)
			if own := host == "127.0.0.1"; err != nil || own != c.own {
				t.Errorf("%+v: listens on %s", c, addr)
			}
			if warned := strings.Contains(h.log.String(), "no token was ever created: only this machine"); warned != c.warned {
				t.Errorf("%+v: warned %v: %s", c, warned, h.log)
			}
			req, err := http.NewRequestWithContext(t.Context(), "GET", "http://127.0.0.1:"+port+"/v1/groups", nil)
			if err != nil {
				t.Fatal(err)
			}
			resp, err := (&http.Client{Transport: &http.Transport{DisableKeepAlives: true}}).Do(req)
			if err != nil {
				t.Fatal(err)
			}
			_ = resp.Body.Close()
			if want := map[bool]int{true: 200, false: 401}[c.own]; resp.StatusCode != want {
				t.Errorf("%+v: answers %s", c, resp.Status)
			}
		})
	}
}
