package server

import (
	"crypto/sha256"
	"math"
	"time"

	lru "github.com/hashicorp/golang-lru/v2"
	"golang.org/x/time/rate"

	"reverie/internal/api"
)

// maxLimits bounds how many are counted at a time. Who has not asked for longest is
// forgotten for another: at that number, that is somebody whose bucket is full again.
const maxLimits = 10_000

// limits counts the requests of each token, or of each address where there is none.
type limits struct {
	perSecond float64
	burst     int
	byKey     *lru.Cache[string, *rate.Limiter]
}

func newLimits(perSecond float64) *limits {
	return &limits{perSecond: perSecond, burst: max(1, int(math.Min(math.Ceil(2*perSecond), 1e9))),
		byKey: recent[string, *rate.Limiter]()}
}

// recent is a cache of as many as are counted.
func recent[K comparable, V any]() *lru.Cache[K, V] {
	cache, err := lru.New[K, V](maxLimits)
	if err != nil {
		panic(err) // of a size that is not positive
	}
	return cache
}

// take takes one request from a bucket: 0 where there was one, else how long until there
// is.
func (l *limits) take(key string, now time.Time) time.Duration {
	if l.perSecond <= 0 {
		return 0
	}
	if b := l.bucket(key); !b.AllowN(now, 1) {
		return l.refill(b.TokensAt(now))
	}
	return 0
}

// waits tells how long it is until a bucket has a request again, without taking one.
func (l *limits) waits(key string, now time.Time) time.Duration {
	if l.perSecond <= 0 {
		return 0
	}
	if left := l.bucket(key).TokensAt(now); left < 1 {
		return l.refill(left)
	}
	return 0
}

// refill is how long a bucket with so little left takes for one request.
func (l *limits) refill(left float64) time.Duration {
	return time.Duration(float64(time.Second) * math.Max((1-min(left, 0))/l.perSecond, 1e-3))
}

func (l *limits) bucket(key string) *rate.Limiter {
	if found, ok := l.byKey.Get(key); ok {
		return found
	}
	made := rate.NewLimiter(rate.Limit(l.perSecond), l.burst)
	if found, ok, _ := l.byKey.PeekOrAdd(key, made); ok { // just now
		return found
	}
	return made
}

// lately are the tokens of the credentials that were good the last time they were looked up, by
// their hash. They are looked up all the same at each request, within the token's rate: whoever
// has none of them may ask the database no more often than the rate of an address is.
type lately struct {
	good *lru.Cache[[sha256.Size]byte, string]
}

// of is the token that credentials were good for.
func (l lately) of(given string) (tokenID string, good bool) {
	return l.good.Get(sha256.Sum256([]byte(given)))
}

// note remembers whether credentials are good: of a token, or "" of none.
func (l lately) note(given, tokenID string) {
	if hash := sha256.Sum256([]byte(given)); tokenID != "" {
		l.good.Add(hash, tokenID)
	} else {
		l.good.Remove(hash)
	}
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
// an address that has asked too often without good ones, or, if they were good lately, of a token.
func (x *exchange) suspect() time.Duration {
	given := x.credentials()
	if given == "" {
		return 0
	}
	key, good := x.lately.of(given)
	if !good {
		key = x.address()
	}
	return x.limits.waits(key, x.opts.Now())
}

// known remembers what became of the credentials.
func (x *exchange) known(err error) error {
	if given := x.credentials(); given != "" && (err == nil || isUnauthorized(err)) {
		x.lately.note(given, x.caller.TokenID)
	}
	return err
}
