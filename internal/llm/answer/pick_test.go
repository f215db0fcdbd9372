package answer

import (
	"slices"
	"strings"
	"testing"
)

// TestPick asks the surest first, of two alike the earlier, and keeps the order.
func TestPick(t *testing.T) {
	type line struct {
		name string
		sure float64
	}
	list := []line{{"a", 0.7}, {"b", 0.9}, {"c", 0.7}, {"d", 0.8}}
	var asked, kept []string
	for _, l := range Pick(list, func(l line) float64 { return l.sure }, func(l line) bool {
		asked = append(asked, l.name)
		return len(asked) <= 3
	}) {
		kept = append(kept, l.name)
	}
	if !slices.Equal(asked, []string{"b", "d", "a", "c"}) || !slices.Equal(kept, []string{"a", "b", "d"}) {
		t.Errorf("asked %q, kept %q", asked, kept)
	}
}

// TestTooUnsure: what is refused and what counts never read the same.
func TestTooUnsure(t *testing.T) {
	for confidence, want := range map[float64]string{0.4: "sure of it by 0.40, at least 0.60 counts", 0.5999: "sure of it by 0.5999, at least 0.6 counts"} {
		if got := TooUnsure(confidence, 0.6); !strings.HasSuffix(got, want) {
			t.Errorf("%v: %q", confidence, got)
		}
	}
}
