package server

import (
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"strings"

	"reverie/internal/reverie"
	"reverie/internal/text"
)

func isUnauthorized(err error) bool { return errors.Is(err, reverie.ErrUnauthorized) }

var sameOrigin = http.NewCrossOriginProtection()

// origin refuses what another site has a browser send. Where no token is needed, that
// would be whatever it likes: there, the host must be this machine's by name, too, since
// a foreign name may lead here.
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

// foreign tells whether a page of another origin has a browser send this. Following a
// link is allowed.
func foreign(r *http.Request) bool {
	site := r.Header.Get("Sec-Fetch-Site")
	if (site == "cross-site" || site == "same-site") &&
		!(r.Method == http.MethodGet && r.Header.Get("Sec-Fetch-Mode") == "navigate" && r.Header.Get("Sec-Fetch-Dest") == "document") {
		return true
	}
	from := r.Header.Get("Origin")
	return from != "" && from != "http://"+r.Host && from != "https://"+r.Host && !(from == "null" && site == "same-origin")
}

// local tells whether a host, with or without a port, is a name or an address of
// loopback.
func local(hostPort string) bool {
	name := strings.TrimSuffix(strings.ToLower(host(hostPort)), ".")
	if name == "localhost" || strings.HasSuffix(name, ".localhost") {
		return true
	}
	addr, err := netip.ParseAddr(name)
	return err == nil && addr.IsLoopback()
}

// host is an address without its port.
func host(hostPort string) string {
	if name, _, err := net.SplitHostPort(hostPort); err == nil {
		return name
	}
	return strings.TrimSuffix(strings.TrimPrefix(hostPort, "["), "]")
}

// loopback is where to listen so that this machine alone is heard: as told, where that is
// loopback already.
func loopback(listen string) string {
	name, port, err := net.SplitHostPort(listen)
	if err != nil || name != "" && local(name) {
		return listen // what is no address is refused by whoever listens
	}
	return net.JoinHostPort("127.0.0.1", port)
}
