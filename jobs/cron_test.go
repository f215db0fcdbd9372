package jobs_test

import (
	"errors"
	"strings"
	"testing"
	"time"

	"reverie/internal/reverie"
	"reverie/jobs"
)

func TestSpec(t *testing.T) {
	const from = "2026-01-15T10:20:30Z" // a Thursday
	for spec, want := range map[string]string{
		"17 * * * *":        "2026-01-15T11:17:00Z 2026-01-15T12:17:00Z",
		"*/20 * * * *":      "2026-01-15T10:40:00Z 2026-01-15T11:00:00Z",
		"0 2,14 * * mon":    "2026-01-19T02:00:00Z 2026-01-19T14:00:00Z",
		"20 10 15 1 *":      "2027-01-15T10:20:00Z 2028-01-15T10:20:00Z",
		"0 0 29 2 *":        "2028-02-29T00:00:00Z 2032-02-29T00:00:00Z",
		"  5   4 *\t* ?  ":  "2026-01-16T04:05:00Z 2026-01-17T04:05:00Z",
		"@hourly":           "2026-01-15T11:00:00Z 2026-01-15T12:00:00Z",
		"@daily":            "2026-01-16T00:00:00Z 2026-01-17T00:00:00Z",
		"@weekly":           "2026-01-18T00:00:00Z 2026-01-25T00:00:00Z",
		"@monthly":          "2026-02-01T00:00:00Z 2026-03-01T00:00:00Z",
		"@yearly":           "2027-01-01T00:00:00Z 2028-01-01T00:00:00Z",
		"@every 90m":        "2026-01-15T11:50:30Z 2026-01-15T13:20:30Z",
		" @every  1h30m1s ": "2026-01-15T11:50:31Z 2026-01-15T13:20:32Z",
	} {
		s, err := jobs.ParseSpec(spec)
		if err != nil {
			t.Errorf("%q: %v", spec, err)
			continue
		}
		if s.String() != strings.Join(strings.Fields(spec), " ") {
			t.Errorf("%q reads as %q", spec, s)
		}
		var got []string
		// Where the caller is makes no difference.
		for _, at := range s.Fires(instant(t, from).In(time.FixedZone("", -12600)), 2) {
			got = append(got, at.Format(time.RFC3339))
		}
		if text := strings.Join(got, " "); text != want {
			t.Errorf("%q: %s, want %s", spec, text, want)
		}
	}
}

// TestLeapDay finds the 29th of February also across 2100, which has none.
func TestLeapDay(t *testing.T) {
	s, err := jobs.ParseSpec("0 0 29 2 *")
	if err != nil {
		t.Fatal(err)
	}
	if got := s.Next(instant(t, "2096-02-29T00:00:00Z")); !got.Equal(instant(t, "2104-02-29T00:00:00Z")) {
		t.Errorf("after 2096: %s", got)
	}
}

func TestZeroSpec(t *testing.T) {
	var never jobs.Spec
	if !never.Next(time.Unix(0, 0)).IsZero() || never.Fires(time.Unix(0, 0), 5) != nil || never.String() != "" {
		t.Errorf("the zero spec happens at %s", never.Next(time.Unix(0, 0)))
	}
}

func TestRefusedSpecs(t *testing.T) {
	for spec, want := range map[string]string{
		"":                                "empty",
		" \t\n":                           "empty",
		"TZ=0":                            "times are in UTC",
		"CRON_TZ=UTC":                     "times are in UTC",
		"TZ=Asia/Shanghai 17 3 * * *":     "times are in UTC",
		"cron_tz=Asia/Tokyo 0 0 * * *":    "times are in UTC",
		"@every -1h":                      "@every takes",
		"@every 0s":                       "@every takes",
		"@every 1s":                       "@every takes",
		"@every 59.999999999s":            "@every takes",
		"@every 1h0.5s":                   "@every takes",
		"@every":                          "@every takes",
		"@every 1h 30m":                   "@every takes",
		"@every day":                      "@every takes",
		"@every 9999999999h":              "@every takes",
		"@reboot":                         "@hourly, @daily",
		"@hourly 5":                       "@hourly, @daily",
		"@":                               "@hourly, @daily",
		"0 0 31 2 *":                      "never happens",
		"0 0 31 4,6,9,11 ?":               "never happens",
		"0 17 * * * *":                    "write five fields",
		"17 * * *":                        "write five fields",
		"hourly":                          "write five fields",
		"60 * * * *":                      "60",
		"* 24 * * *":                      "24",
		"* * 0 * *":                       "0",
		"* * * 13 *":                      "13",
		"* * * * 7":                       "7",
		"*/90 * * * *":                    "@every 90m",
		"*/0 * * * *":                     "0",
		"5-1 * * * *":                     "5",
		"1-2-3 * * * *":                   "1-2-3",
		", * * * *":                       "empty item",
		"5, * * * *":                      "empty item",
		"* * * * \x00":                    "write five fields",
		"-1 * * * *":                      "write five fields",
		strings.Repeat("1,", 50_000):      "longer than 200 bytes",
		strings.Repeat("数", 100) + " * *": "longer than",
	} {
		s, err := jobs.ParseSpec(spec)
		if !errors.Is(err, reverie.ErrInvalid) || !strings.Contains(err.Error(), want) || len(err.Error()) > 400 || s != (jobs.Spec{}) {
			t.Errorf("%.40q: %v, want %q", spec, err, want)
		}
	}
}

func FuzzParseSpec(f *testing.F) {
	for _, spec := range []string{"17 * * * *", "TZ=0", "CRON_TZ=UTC", "@every -1h", "@every 1h", "0 0 31 2 *", "0 0 29 2 1", "*/7 1-5,9 ? jan-mar/2 sun", ", , , , ,", "@", "0 0 29 2 ?"} {
		f.Add(spec, int64(1_768_472_430))
	}
	f.Fuzz(func(t *testing.T, spec string, unix int64) {
		s, err := jobs.ParseSpec(spec)
		if err != nil {
			if !errors.Is(err, reverie.ErrInvalid) || len(err.Error()) > 1500 {
				t.Fatalf("%q: %v", spec, err)
			}
			return
		}
		at := time.Unix(unix%200_000_000_000, 0)
		for _, next := range s.Fires(at, 3) {
			if !next.After(at) || next.Location() != time.UTC {
				t.Fatalf("%q: after %s comes %s", spec, at, next)
			}
			at = next
		}
		if len(s.Fires(at, 3)) != 3 {
			t.Fatalf("%q ends after %s", spec, at)
		}
		if again, err := jobs.ParseSpec(s.String()); err != nil || !again.Next(at).Equal(s.Next(at)) {
			t.Fatalf("%q reads as %q, and then: %v", spec, s, err)
		}
	})
}
