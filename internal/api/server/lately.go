package server

import (
	"crypto/sha256"
	"sync"
	"time"

	"reverie/internal/api"
)

// lately are the credentials that were good the last time they were looked up, by their
// hash. They are looked up all the same at each request: whoever has none of them may ask
// the database no more often than the rate of an address is.
type lately struct {
	mu   sync.Mutex
	good map[[sha256.Size]byte]struct{}
}

// has tells whether credentials were good.
func (l *lately) has(given string) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	_, ok := l.good[sha256.Sum256([]byte(given))]
	return ok
}

// note remembers whether credentials are good, of no more of them than are counted.
func (l *lately) note(given string, good bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	hash := sha256.Sum256([]byte(given))
	switch {
	case !good:
		delete(l.good, hash)
		return
	case l.good == nil || len(l.good) >= maxLimits:
		l.good = map[[sha256.Size]byte]struct{}{}
	}
	l.good[hash] = struct{}{}
}

// credentials are what a request says that it may: a token, or below /ui/ a session, ""
// for none.
func (x *exchange) credentials() string {
	if below(x.request, "/ui/") {
		if cookie, err := x.request.Cookie(api.SessionCookie); err == nil {
			return cookie.Value
		}
		return ""
	}
	if header := x.request.Header.Values("Authorization"); len(header) > 0 {
		return bearer(header)
	}
	return ""
}

// suspect is how long a request is to wait before its credentials are looked up: those of
// an address that has asked too often without good ones, unless they were good lately.
func (x *exchange) suspect() time.Duration {
	given := x.credentials()
	if given == "" || x.lately.has(given) {
		return 0
	}
	return x.limits.waits(x.address(), x.opts.Now())
}

// known remembers what became of the credentials.
func (x *exchange) known(err error) error {
	if given := x.credentials(); given != "" && (err == nil || isUnauthorized(err)) {
		x.lately.note(given, x.caller.TokenID != "")
	}
	return err
}
