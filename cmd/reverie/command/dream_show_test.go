package command

import (
	"testing"
	"time"

	"reverie/internal/reverie"
)

func TestDreamsWhen(t *testing.T) {
	t.Parallel()
	for want, rule := range map[string]reverie.DreamRule{
		"when a session has been quiet for 24h or 10 sessions have ended and something new is remembered": {Idle: 24 * time.Hour, Sessions: 10},
		"when a session has been quiet for 1h30m and something new is remembered":                         {Idle: 90 * time.Minute},
		"when a session has ended and something new is remembered":                                        {Sessions: 1},
		"only when asked to, since both of its limits are off":                                            {},
	} {
		if got := dreamsWhen(rule); got != want {
			t.Errorf("%+v: %q, want %q", rule, got, want)
		}
	}
}
