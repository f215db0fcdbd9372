package remote

import (
	"context"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"

	"reverie/internal/reverie"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// TestAsk: a fault that passes is met with another attempt, in the time that the server asks for; others are told,
// without the token.
func TestAsk(t *testing.T) {
	for name, c := range map[string]struct {
		status int
		after  string
		use    error
		waits  string
		want   error
		words  string
	}{
		"well":          {status: 200},
		"busy":          {status: 503, waits: "1s 2s", want: reverie.ErrDeferred, words: "HTTP 503 Service Unavailable: heard Bearer [token]"},
		"later":         {status: 429, after: "7", waits: "7s 7s", want: reverie.ErrDeferred},
		"much later":    {status: 429, after: "61", want: reverie.ErrDeferred},
		"unknown":       {status: 404, want: reverie.ErrConfiguration},
		"wrong":         {status: 400, words: "HTTP 400"},
		"elsewhere":     {status: 302, want: reverie.ErrConfiguration, words: "it redirects to https://other.example/x%20y, which"},
		"broken off":    {status: 200, use: io.ErrUnexpectedEOF, waits: "1s 2s", want: reverie.ErrDeferred},
		"of no use":     {status: 200, use: reverie.ErrInvalid, want: reverie.ErrInvalid},
		"without bound": {status: 201, want: ErrTooLong},
	} {
		web := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Retry-After", c.after)
			if c.status == 302 {
				w.Header().Set("Location", "https://other.example/x%20y?key=t0ken")
			}
			w.WriteHeader(c.status)
			_, _ = io.WriteString(w, "heard "+r.Header.Get("Authorization")+strings.Repeat(".", c.status%200*100))
		}))
		var waits []string
		s, err := New(web.URL+"/", Options{Token: "t0ken", MaxBytes: 99, Attempts: 3, Backoff: time.Second, Patience: time.Minute,
			Wait: func(_ context.Context, d time.Duration) error {
				waits = append(waits, d.Truncate(time.Second).String())
				return nil
			}})
		if err != nil {
			t.Fatal(err)
		}
		req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, s.At(nil, "a b", ".."), nil)
		if err != nil || req.URL.RequestURI() != "/a%20b/%2E%2E" {
			t.Fatalf("%v, %v", req.URL, err)
		}
		err = s.Ask(req, func(http.Header, []byte) error { return c.use })
		if !errors.Is(err, c.want) && c.want != nil || (err == nil) != (c.status == 200 && c.use == nil) || strings.Join(waits, " ") != c.waits {
			t.Errorf("%s: waited %q, %v", name, waits, err)
		}
		if err != nil && (!strings.Contains(err.Error(), c.words) || strings.Contains(err.Error(), "t0ken")) {
			t.Errorf("%s: %v", name, err)
		}
		s.Close()
		web.Close()
	}
}
