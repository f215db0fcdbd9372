package store_test

import (
	"errors"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"reverie/internal/reverie"
	"reverie/store"
)

// TestModelCalibrations: of what several measure by the same pairs, the first counts for all;
// newer pairs replace it, older ones do not. Who may see one group, or none, sees it, too.
func TestModelCalibrations(t *testing.T) {
	w := newWorld(t)
	measured := func(pairs int, related float64) reverie.ModelCalibration {
		return reverie.ModelCalibration{Model: "m@3", Pairs: pairs, Accuracy: 0.9, MeasuredAt: time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC),
			Calibration: reverie.Calibration{Floor: 0.1, Related: related, Ceiling: 0.9}}
	}
	is := func(what string, got reverie.ModelCalibration, err error, want reverie.ModelCalibration) {
		t.Helper()
		got.MeasuredAt = got.MeasuredAt.UTC()
		if diff := cmp.Diff(want, got); diff != "" || err != nil {
			t.Errorf("%s: %v\n%s", what, err, diff)
		}
	}
	if _, err := w.ModelCalibration(t.Context(), "m@3", 1); !errors.Is(err, reverie.ErrNotFound) {
		t.Errorf("of what nobody measured: %v", err)
	}
	got, err := w.KeepModelCalibration(t.Context(), measured(2, 0.5))
	is("the first", got, err, measured(2, 0.5))
	got, err = w.KeepModelCalibration(t.Context(), measured(2, 0.6))
	is("the second", got, err, measured(2, 0.5))
	got, err = w.KeepModelCalibration(t.Context(), measured(1, 0.6))
	is("by older pairs", got, err, measured(2, 0.5))
	got, err = w.ModelCalibration(store.AsReader(t.Context(), group), "m@3", 2)
	is("read for one group", got, err, measured(2, 0.5))
	got, err = w.ModelCalibration(store.AsReader(t.Context()), "m@3", 1)
	is("read for none", got, err, measured(2, 0.5))
	if _, err := w.ModelCalibration(t.Context(), "m@3", 3); !errors.Is(err, reverie.ErrNotFound) {
		t.Errorf("by newer pairs: %v", err)
	}
	if _, err := w.ModelCalibration(t.Context(), "m@4", 2); !errors.Is(err, reverie.ErrNotFound) {
		t.Errorf("of another width: %v", err)
	}
	got, err = w.KeepModelCalibration(t.Context(), measured(3, 0.6))
	is("by newer pairs", got, err, measured(3, 0.6))
}
