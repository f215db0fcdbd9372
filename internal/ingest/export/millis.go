package export

import (
	"fmt"
	"strings"
	"time"

	"reverie/internal/reverie"
	"reverie/internal/text"
)

// LooseTime reads seconds or milliseconds since 1970, which programs mix up: a number of
// twelve digits or more is in milliseconds. Some write RFC 3339 instead. 0 is no time.
func LooseTime(s string) (time.Time, error) {
	seconds := s
	whole, _, _ := strings.Cut(s, ".")
	if n := len(whole); n >= 12 {
		seconds = whole[:n-3] + "." + whole[n-3:]
	}
	at, err := UnixTime(seconds)
	if err != nil {
		at, err = time.Parse(time.RFC3339Nano, s)
	}
	if err != nil || at.Unix() == 0 {
		return time.Time{}, fmt.Errorf("%q is no time, neither in seconds nor in milliseconds since 1970: %w",
			text.Excerpt(s, 40), reverie.ErrInvalid)
	}
	return at, nil
}
