package ingest

import (
	"fmt"
	"strings"
	"time"

	"reverie"
)

// looseTime reads seconds or milliseconds since 1970, which programs mix up: a number of
// twelve digits or more is in milliseconds. 0 is no time.
func looseTime(s string) (time.Time, error) {
	whole, _, _ := strings.Cut(s, ".")
	if n := len(whole); n >= 12 {
		s = whole[:n-3] + "." + whole[n-3:]
	}
	at, err := unixTime(s)
	if err == nil && at.Unix() == 0 {
		err = fmt.Errorf("%q is no time: %w", reverie.Excerpt(s, 40), reverie.ErrInvalid)
	}
	return at, err
}
