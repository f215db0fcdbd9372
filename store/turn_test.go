package store

import (
	"context"
	"errors"
	"slices"
	"testing"
	"testing/synctest"
)

// TestTurns: whoever came first has a connection first, and who gives up waiting holds
// up nobody.
func TestTurns(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &Store{turns: make(chan struct{}, 1)}
		if err := s.turn(t.Context()); err != nil {
			t.Fatal(err)
		}
		var order []int
		impatient, leave := context.WithCancel(t.Context())
		for i := range 20 {
			ctx := t.Context()
			if i == 10 {
				ctx = impatient
			}
			go func() {
				if err := s.turn(ctx); err != nil {
					if i != 10 || !errors.Is(err, context.Canceled) {
						t.Errorf("%d: %v", i, err)
					}
					return
				}
				order = append(order, i)
				s.done()
			}()
			synctest.Wait()
		}
		leave()
		synctest.Wait()
		s.done()
		synctest.Wait()
		if len(order) != 19 || !slices.IsSorted(order) || slices.Contains(order, 10) {
			t.Errorf("order %v", order)
		}
	})
}
