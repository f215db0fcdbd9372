package jobs_test

import (
	"slices"
	"testing"
)

// TestAfter begins behind a group, comes round, and leaves none out, whether or not
// that one is still there.
func TestAfter(t *testing.T) {
	all := ids(1200)
	for _, after := range []string{"", all[0], all[499], all[700] + "-gone", all[1199], "zzz", " "} {
		w := newWorld(all, 1)
		r, _ := w.runner(w.work(nil))
		r.Concurrency, r.After = 1, after
		if s, err := r.Run(t.Context(), nil); err != nil || s.Done != len(all) {
			t.Fatalf("after %q: %+v, %v", after, s, err)
		}
		var want []string
		for _, id := range all {
			want = append(want, id+" 2026-01-14")
		}
		cut, _ := slices.BinarySearchFunc(all, after, func(id, after string) int {
			if id > after {
				return 1
			}
			return -1
		})
		want = slices.Concat(want[cut:], want[:cut])
		if !slices.Equal(w.worked, want) {
			t.Errorf("after %q it began with %v, not %v", after, w.worked[:2], want[:2])
		}
	}
	w := newWorld(all[:2], 1)
	r, _ := w.runner(w.work(nil))
	r.After, r.GroupID = all[1], all[0]
	if s, err := r.Run(t.Context(), nil); err != nil || s.Done != 1 {
		t.Errorf("one group by name: %+v, %v", s, err)
	}
}

// TestNothingLeft: who is told to stop when nothing is due has left nothing undone.
func TestNothingLeft(t *testing.T) {
	for days, stopped := range map[int]bool{0: false, 1: true} { // ago; today is not over
		w := newWorld(ids(2), days)
		r, _ := w.runner(w.work(nil))
		stop := make(chan struct{})
		close(stop)
		if s, err := r.Run(t.Context(), stop); (s.Stopped != "") != stopped || (err != nil) != stopped || s.Done != 0 {
			t.Errorf("%d days ago: %+v, %v", days, s, err)
		}
	}
}
