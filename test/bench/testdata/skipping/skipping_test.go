package skipping

import "testing"

func BenchmarkPeer(b *testing.B) {
	b.Run("system=reverie", func(b *testing.B) { b.ReportMetric(1, "calls/group") })
	b.Run("system=peer", func(b *testing.B) { b.Skip("Node 20 or later is missing") })
}
