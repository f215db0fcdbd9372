package wire

import (
	"net/http"
	"strconv"
	"strings"
	"time"
)

// longestWait stands for any longer one.
const longestWait = 24 * time.Hour

// retryAfter is how long a server asks to be left alone: Retry-After-Ms, or
// Retry-After as seconds or as a date. It is 0 if the server does not ask, or
// not in a way that can be understood.
func retryAfter(h http.Header, now time.Time) time.Duration {
	if d, ok := scaled(h.Get("Retry-After-Ms"), time.Millisecond); ok {
		return d
	}
	v := strings.TrimSpace(h.Get("Retry-After"))
	if d, ok := scaled(v, time.Second); ok {
		return d
	}
	if at, err := http.ParseTime(v); err == nil {
		return min(max(at.Sub(now), 0), longestWait)
	}
	return 0
}

func scaled(s string, unit time.Duration) (time.Duration, bool) {
	n, err := strconv.ParseFloat(strings.TrimSpace(s), 64)
	if err != nil || !(n >= 0) { // not a number either
		return 0, false
	}
	if n >= float64(longestWait/unit) {
		return longestWait, true
	}
	return time.Duration(n * float64(unit)), true
}
