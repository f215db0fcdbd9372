package export

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	"reverie/internal/reverie"
	"reverie/internal/text"
)

// LastUnix is the last second of the year 9999.
const LastUnix = 253402300799

// UnixTime reads seconds since 1970 as exports write them, with a fraction or without.
func UnixTime(s string) (time.Time, error) {
	whole, fraction, _ := strings.Cut(s, ".")
	seconds, err := strconv.ParseInt(whole, 10, 64)
	var nanos int64
	if err == nil && fraction != "" {
		nanos, err = strconv.ParseInt((fraction + "000000000")[:9], 10, 64)
	}
	if err != nil || seconds < 0 || nanos < 0 || seconds > LastUnix {
		return time.Time{}, fmt.Errorf("%q is no time in seconds since 1970: %w", text.Excerpt(s, 40), reverie.ErrInvalid)
	}
	return time.Unix(seconds, nanos).UTC(), nil
}
