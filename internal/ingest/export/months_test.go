package export_test

import (
	"testing"

	"reverie/internal/ingest/export"
)

func TestMonthsOfFewerLanguages(t *testing.T) {
	for name, want := range map[string]int{"März": 3, "août": 8, "غشت": 8, "أبريل": 4, "دجنبر": 12, "جويلية": 7, "tháng 10": 10} {
		if got := export.Month(name); got != want {
			t.Errorf("%s is month %d, and not %d", name, got, want)
		}
	}
}
