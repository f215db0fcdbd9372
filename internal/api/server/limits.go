package server

import (
	"crypto/sha256"
	"math"
	"time"

	lru "github.com/hashicorp/golang-lru/v2"
	"golang.org/x/time/rate"

	"reverie/internal/api"
)

// maxLimits bounds the number of counted senders. Beyond it, the one without requests for longest is dropped, whose
// bucket is full again by then.
const maxLimits = 10_000

// limits counts the requests of each token, or of each address without a token.
type limits struct {
	perSecond float64
	burst     int
	byKey     *lru.Cache[string, *rate.Limiter]
}

func newLimits(perSecond float64) *limits {
	return &limits{perSecond: perSecond, burst: max(1, int(math.Min(math.Ceil(2*perSecond), 1e9))),
		byKey: recent[string, *rate.Limiter]()}
}

// recent returns a cache of maxLimits entries.
func recent[K comparable, V any]() *lru.Cache[K, V] {
	cache, err := lru.New[K, V](maxLimits)
	if err != nil {
		panic(err) // only for a size that is not positive
	}
	return cache
}

// take takes one request from a bucket: 0 if there was one, otherwise the time until there is.
func (l *limits) take(key string, now time.Time) time.Duration {
	if l.perSecond <= 0 {
		return 0
	}
	if b := l.bucket(key); !b.AllowN(now, 1) {
		return l.refill(b.TokensAt(now))
	}
	return 0
}

// waits returns how long it is until a bucket has a request, without taking one.
func (l *limits) waits(key string, now time.Time) time.Duration {
	if l.perSecond <= 0 {
		return 0
	}
	if left := l.bucket(key).TokensAt(now); left < 1 {
		return l.refill(left)
	}
	return 0
}

// refill returns how long a bucket with that little left takes to have one request.
func (l *limits) refill(left float64) time.Duration {
	return time.Duration(float64(time.Second) * math.Max((1-min(left, 0))/l.perSecond, 1e-3))
}

func (l *limits) bucket(key string) *rate.Limiter {
	return cached(l.byKey, key, func() *rate.Limiter { return rate.NewLimiter(rate.Limit(l.perSecond), l.burst) })
}

// cached returns a sender's entry, which is made for its first request.
func cached[V any](cache *lru.Cache[string, V], key string, build func() V) V {
	if found, ok := cache.Get(key); ok {
		return found
	}
	made := build()
	if found, ok, _ := cache.PeekOrAdd(key, made); ok { // another request made it just now
		return found
	}
	return made
}

// validTokens maps hashes of credentials to tokens, if they were valid when they were last looked up. Each request still
// looks them up, within the token's rate. A sender without valid credentials may query the database only within the
// rate of its address.
type validTokens = *lru.Cache[[sha256.Size]byte, string]

// credentials returns the token of a request, or its session below /ui/, "" for none.
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

// suspect returns how long a request must wait before its credentials are looked up. It counts for an address with
// too many invalid credentials. Credentials that were valid lately count for their token.
func (x *exchange) suspect() time.Duration {
	given := x.credentials()
	if given == "" {
		return 0
	}
	key, good := x.validTokens.Get(sha256.Sum256([]byte(given)))
	if !good {
		key = x.address()
	}
	return x.limits.waits(key, x.opts.Now())
}

// known records the result of the lookup.
func (x *exchange) known(err error) error {
	given := x.credentials()
	hash := sha256.Sum256([]byte(given))
	switch {
	case given == "" || err != nil && !isUnauthorized(err):
	case x.caller.TokenID != "":
		x.validTokens.Add(hash, x.caller.TokenID)
	default:
		x.validTokens.Remove(hash)
	}
	return err
}
