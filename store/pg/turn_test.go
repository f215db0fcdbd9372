package pg

import (
	"context"
	"errors"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

// TestTurns: whoever came first has a connection first, and who gives up waiting holds
// up nobody.
func TestTurns(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &DB{pooled: &pooled{conns: make(chan struct{}, 1)}}
		if err := s.acquireConn(t.Context()); err != nil {
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
				if err := s.acquireConn(ctx); err != nil {
					if i != 10 || !errors.Is(err, context.Canceled) {
						t.Errorf("%d: %v", i, err)
					}
					return
				}
				order = append(order, i)
				s.releaseConn()
			}()
			synctest.Wait()
		}
		leave()
		synctest.Wait()
		s.releaseConn()
		synctest.Wait()
		if len(order) != 19 || !slices.IsSorted(order) || slices.Contains(order, 10) {
			t.Errorf("order %v", order)
		}
	})
}

// TestTurnsInOrder: those who came first are served first, also while turns are added.
func TestTurnsInOrder(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &DB{pooled: &pooled{conns: make(chan struct{}, firstConns+2)}}
		s.holdBackConns()
		for range firstConns {
			if err := s.acquireConn(t.Context()); err != nil {
				t.Fatal(err)
			}
		}
		var mu sync.Mutex
		var order []int
		for i := range 30 {
			go func() {
				if err := s.acquireConn(t.Context()); err != nil {
					t.Error(err)
				}
				mu.Lock()
				order = append(order, i)
				mu.Unlock()
				time.Sleep(time.Second)
				s.releaseConn()
			}()
			synctest.Wait()
			time.Sleep(patience / 10)
		}
		time.Sleep(time.Minute)
		mu.Lock()
		defer mu.Unlock()
		if len(order) != 30 || !slices.IsSorted(order) {
			t.Errorf("order %v", order)
		}
	})
}

// TestTurnsAreAdded for those who have waited long enough, up to the connections of the
// pool, and no sooner.
func TestTurnsAreAdded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &DB{pooled: &pooled{conns: make(chan struct{}, firstConns+2)}}
		s.holdBackConns()
		began := time.Now()
		var took []time.Duration
		for range firstConns + 2 {
			if err := s.acquireConn(t.Context()); err != nil {
				t.Fatal(err)
			}
			took = append(took, time.Since(began)/patience)
		}
		if want := append(make([]time.Duration, firstConns), 1, 2); !slices.Equal(took, want) {
			t.Errorf("turns came after %v times the patience, want %v", took, want)
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Hour)
		defer cancel()
		if err := s.acquireConn(ctx); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("one more than there are connections: %v", err)
		}
		for range firstConns + 2 {
			s.releaseConn()
		}
		for range firstConns + 2 { // they stay
			if err := s.acquireConn(t.Context()); err != nil {
				t.Fatal(err)
			}
		}
		if took := time.Since(began); took != time.Hour+2*patience {
			t.Errorf("the same again are had after %s", took)
		}
	})
}
