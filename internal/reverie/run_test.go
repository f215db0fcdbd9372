package reverie_test

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"testing"
	"time"

	"reverie/internal/reverie"
)

// TestStatsAdd adds up every count but those that are one run's.
func TestStatsAdd(t *testing.T) {
	var a, b reverie.Stats
	va, vb := reflect.ValueOf(&a).Elem(), reflect.ValueOf(&b).Elem()
	for i := range va.NumField() {
		if va.Field(i).Kind() == reflect.Int {
			va.Field(i).SetInt(int64(i + 1))
			vb.Field(i).SetInt(100)
		}
	}
	a.Add(b)
	for i := range va.NumField() {
		name, want := va.Type().Field(i).Name, int64(i+101)
		if slices.Contains([]string{"Base", "Rewritten", "Closed", "Limit", "Days"}, name) {
			want = int64(i + 1)
		}
		if va.Field(i).Kind() == reflect.Int && va.Field(i).Int() != want {
			t.Errorf("%s is %d, want %d", name, va.Field(i).Int(), want)
		}
	}
}

// A run ends by its error first: what passes by itself is deferred, all else has
// failed; without one, what waits for a person holds it.
func TestEndOf(t *testing.T) {
	for _, c := range []struct {
		err  error
		held int
		want reverie.RunStatus
	}{
		{nil, 0, reverie.RunSucceeded}, {nil, 2, reverie.RunHeld},
		{reverie.ErrDeferred, 0, reverie.RunDeferred}, {reverie.ErrUnavailable, 1, reverie.RunDeferred},
		{fmt.Errorf("asking: %w", context.Canceled), 0, reverie.RunDeferred}, {&reverie.BudgetError{}, 0, reverie.RunDeferred},
		{reverie.ErrUnusable, 0, reverie.RunFailed}, {reverie.ErrConflict, 3, reverie.RunFailed},
		{reverie.ErrConfiguration, 0, reverie.RunFailed}, {errors.New("other"), 0, reverie.RunFailed},
	} {
		if got := reverie.EndOf(c.err, c.held); got != c.want {
			t.Errorf("%v with %d held: %s, want %s", c.err, c.held, got, c.want)
		}
	}
}

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
