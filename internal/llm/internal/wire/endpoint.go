package wire

import (
	"fmt"
	"net/url"
	"strings"

	"reverie/internal/reverie"
)

// Endpoint checks a base URL and returns it without a slash at its end; an
// empty one is the provider's own. Its errors are [reverie.ErrConfiguration].
func Endpoint(provider, base, own string) (string, error) {
	if base == "" {
		base = own
	}
	u, err := url.Parse(base)
	if err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" || u.RawQuery != "" || u.Fragment != "" {
		return "", fmt.Errorf("%s: base URL %q: %w: write it like %s", provider, redacted(base), reverie.ErrConfiguration,
			own)
	}
	return strings.TrimRight(base, "/"), nil
}

func redacted(base string) string {
	u, err := url.Parse(base)
	if err != nil {
		return "…" // no telling where a secret may stand
	}
	u.RawQuery = ""
	return u.Redacted()
}

// CheckKey refuses a key that cannot be sent. Its errors are
// [reverie.ErrConfiguration] and do not hold the key.
func CheckKey(provider, key string) error {
	for i := range len(key) {
		if key[i] <= ' ' || key[i] > '~' {
			return fmt.Errorf("%s: the API key holds a space, a line break or a character that no key has: %w: check the key "+
				"in the settings",
				provider, reverie.ErrConfiguration)
		}
	}
	return nil
}
