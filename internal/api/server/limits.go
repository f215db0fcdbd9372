package server

import (
	"container/list"
	"crypto/sha256"
	"math"
	"sync"
	"time"

	"golang.org/x/time/rate"

	"reverie/internal/api"
)

// maxLimits bounds how many are counted at a time. Who has not asked for longest is
// forgotten for another: at that number, that is somebody whose bucket is full again.
const maxLimits = 10_000

// limits counts the requests of each token, or of each address where there is none: how
// many come, and how many are under way.
type limits struct {
	perSecond float64
	burst     int
	most      int // under way at a time

	mu    sync.Mutex
	byKey map[string]*list.Element
	order *list.List     // of *bucket, who asked last first
	busy  map[string]int // requests under way
}

type bucket struct {
	key string
	*rate.Limiter
}

func newLimits(perSecond float64, most int) *limits {
	return &limits{perSecond: perSecond, burst: max(1, int(math.Min(math.Ceil(2*perSecond), 1e9))), most: most,
		byKey: map[string]*list.Element{}, order: list.New(), busy: map[string]int{}}
}

// enter begins a request, unless as many are under way as may be. Who sends bodies, or
// takes answers, as slowly as it can holds no more of the connections than that.
func (l *limits) enter(key string) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.busy[key] >= l.most {
		return false
	}
	l.busy[key]++
	return true
}

// leave ends a request that was entered.
func (l *limits) leave(key string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.busy[key]--; l.busy[key] == 0 {
		delete(l.busy, key)
	}
}

// take takes one request from a bucket: 0 where there was one, else how long until there
// is.
func (l *limits) take(key string, now time.Time) time.Duration {
	if l.perSecond <= 0 {
		return 0
	}
	if b := l.bucket(key); !b.AllowN(now, 1) {
		return l.refill()
	}
	return 0
}

// waits tells how long it is until a bucket has a request again, without taking one.
func (l *limits) waits(key string, now time.Time) time.Duration {
	if l.perSecond <= 0 {
		return 0
	}
	if l.bucket(key).TokensAt(now) < 1 {
		return l.refill()
	}
	return 0
}

// refill is how long a bucket takes for one request.
func (l *limits) refill() time.Duration {
	return time.Duration(float64(time.Second) * math.Max(1/l.perSecond, 1e-3))
}

func (l *limits) bucket(key string) *bucket {
	l.mu.Lock()
	defer l.mu.Unlock()
	if found := l.byKey[key]; found != nil {
		l.order.MoveToFront(found)
		b, _ := found.Value.(*bucket)
		return b
	}
	if l.order.Len() >= maxLimits {
		oldest, _ := l.order.Remove(l.order.Back()).(*bucket)
		delete(l.byKey, oldest.key)
	}
	b := &bucket{key, rate.NewLimiter(rate.Limit(l.perSecond), l.burst)}
	l.byKey[key] = l.order.PushFront(b)
	return b
}

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
