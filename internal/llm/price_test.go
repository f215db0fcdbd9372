package llm

import (
	"errors"
	"math"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"reverie/internal/reverie"
)

func TestParsePrices(t *testing.T) {
	got, err := ParsePrices([]string{"gemini-2.5-flash=0.30/2.50", " text-embedding-3-small = 0.02 ", "a/b:c=d=1 / 2", "free=0/0", "free=1", "c@flex=1/2/0"})
	if err != nil {
		t.Fatal(err)
	}
	want := map[string]Price{"gemini-2.5-flash": {0.30, 2.50, 0.30}, "text-embedding-3-small": {0.02, 0, 0.02}, "a/b:c=d": {1, 2, 1}, "free": {1, 0, 1}, "c@flex": {1, 2, 0}}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	for _, bad := range []string{"", "m", "=1", "m=", "m=1/", "m=/2", "m=-1", "m=1/2/3/4", "m=1/2/", "m=NaN", "m=Inf", "m=1,5", "m=1e400"} {
		_, err := ParsePrices([]string{"ok=1", bad})
		if !errors.Is(err, reverie.ErrConfiguration) || !strings.Contains(err.Error(), `"`+bad+`"`) {
			t.Errorf("%q: error is %v", bad, err)
		}
	}
}

func FuzzParsePrices(f *testing.F) {
	f.Add("m=0.30/2.50")
	f.Add("=/=")
	f.Fuzz(func(t *testing.T, entry string) {
		prices, err := ParsePrices([]string{entry})
		for model, p := range prices {
			cost := p.Cost(Usage{InputTokens: 1e6, OutputTokens: 1e6})
			if err != nil || model == "" || math.IsNaN(cost) || cost < 0 {
				t.Errorf("%q became %q: %+v, %v", entry, model, p, err)
			}
		}
	})
}

func TestPriceOf(t *testing.T) {
	prices := map[string]Price{"m": {1, 2, 0.5}, "x/n": {3, 4, 3}, "m@batch": {7, 8, 9}}
	for model, want := range map[string]Price{"m": {1, 2, 0.5}, "google/m": {1, 2, 0.5}, "x/n": {3, 4, 3}, "n": {}, "": {}} {
		if got, ok := priceOf(prices, model, TierStandard); got != want || ok != (want != Price{}) {
			t.Errorf("%q costs %+v, %t", model, got, ok)
		}
	}
	for tier, want := range map[Tier]Price{"": {1, 2, 0.5}, TierFlex: {0.5, 1, 0.25}, TierBatch: {7, 8, 9}} {
		if got, ok := priceOf(prices, "google/m", tier); got != want || !ok {
			t.Errorf("in %q it costs %+v, %t", tier, got, ok)
		}
	}
	usage := Usage{InputTokens: 1_000_000, OutputTokens: 500_000, CachedTokens: 400_000}
	if got := prices["m"].Cost(usage); math.Abs(got-1.8) > 1e-9 { // 0.6 + 0.2 + 1
		t.Errorf("with input from the cache it costs %f", got)
	}
}
