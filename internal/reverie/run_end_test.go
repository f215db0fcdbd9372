package reverie_test

import (
	"context"
	"errors"
	"fmt"
	"testing"

	"reverie/internal/reverie"
)

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
