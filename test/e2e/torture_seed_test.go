//go:build torture

package e2e

import (
	"math/rand/v2"
	"os"
	"strconv"
	"testing"
)

// tortureSeed is what all chance of the ordeals comes from: the same seed tries the same.
func tortureSeed(t testing.TB) uint64 {
	t.Helper()
	text := os.Getenv("REVERIE_TORTURE_SEED")
	if text == "" {
		return 1
	}
	seed, err := strconv.ParseUint(text, 10, 64)
	if err != nil {
		t.Fatalf("REVERIE_TORTURE_SEED=%q: write a number", text)
	}
	return seed
}

// seeded is chance that always comes out the same.
func seeded(seed uint64) *rand.Rand { return rand.New(rand.NewPCG(seed, seed)) }
