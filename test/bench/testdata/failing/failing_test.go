package failing

import "testing"

func BenchmarkFine(b *testing.B) {
	for b.Loop() {
	}
}

func BenchmarkBroken(b *testing.B) {
	b.Run("size=1", func(b *testing.B) { b.Fatal("the model did not answer") })
}
