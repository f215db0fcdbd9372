package reverie_test

import (
	"testing"
	"time"

	"reverie/internal/reverie"
)

func TestParkRule(t *testing.T) {
	start := time.Date(2026, 1, 15, 12, 0, 0, 0, time.UTC)
	for name, c := range map[string]struct {
		rule  reverie.ParkRule
		waits []time.Duration
	}{
		"doubled up to a limit": {reverie.ParkRule{After: 4, RetryAfter: 30 * time.Minute, MaxRetryAfter: 3 * time.Hour},
			[]time.Duration{30 * time.Minute, time.Hour, 2 * time.Hour, 3 * time.Hour, 3 * time.Hour}},
		"at once":                {reverie.ParkRule{After: 4, MaxRetryAfter: time.Hour}, []time.Duration{0, 0, 0, 0, 0}},
		"limit below the first":  {reverie.ParkRule{After: 4, RetryAfter: time.Hour, MaxRetryAfter: time.Minute}, []time.Duration{time.Minute, time.Minute}},
		"parked at the first":    {reverie.ParkRule{After: 1, RetryAfter: time.Hour, MaxRetryAfter: time.Hour}, []time.Duration{time.Hour, time.Hour}},
		"a limit of a lifetime":  {reverie.ParkRule{After: 100, RetryAfter: time.Nanosecond, MaxRetryAfter: 100 * 365 * 24 * time.Hour}, nil},
		"failures without delay": {reverie.ParkRule{After: 1000}, nil},
	} {
		t.Run(name, func(t *testing.T) {
			s, at := reverie.Setback{GroupID: "g1", Job: reverie.JobEvolve}, start
			for n := 1; n <= 200; n++ {
				before := s
				s = c.rule.Next(s, "why", at)
				if s.Failures != n || s.Error != "why" || s.GroupID != "g1" || s.Job != reverie.JobEvolve || !s.UpdatedAt.Equal(at) {
					t.Fatalf("failure %d: %+v", n, s)
				}
				wait := s.RetryAt.Sub(at)
				if n <= len(c.waits) && wait != c.waits[n-1] {
					t.Errorf("failure %d waits %s, want %s", n, wait, c.waits[n-1])
				}
				if wait < 0 || wait > c.rule.MaxRetryAfter {
					t.Fatalf("failure %d waits %s, beyond %s", n, wait, c.rule.MaxRetryAfter)
				}
				if parked := s.ParkedAt != nil; parked != (n >= c.rule.After) {
					t.Errorf("failure %d: parked %v", n, parked)
				}
				if before.ParkedAt != nil && !s.ParkedAt.Equal(*before.ParkedAt) {
					t.Errorf("failure %d moved when it was parked", n)
				}
				at = at.Add(time.Hour)
			}
		})
	}
}
