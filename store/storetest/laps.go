package storetest

import (
	"slices"
	"testing"
	"time"
)

// Laps are how long the rounds of a benchmark took, one by one.
type Laps []time.Duration

// Time adds how long fn takes.
func (l *Laps) Time(fn func()) {
	began := time.Now()
	fn()
	*l = append(*l, time.Since(began))
}

// At is the duration that a share of the rounds, 0 to 1, did not exceed.
func (l Laps) At(share float64) time.Duration {
	if len(l) == 0 {
		return 0
	}
	sorted := slices.Sorted(slices.Values(l))
	return sorted[min(int(share*float64(len(sorted))), len(sorted)-1)]
}

// Report gives a benchmark the 50th, 95th and 99th percentiles in milliseconds.
func (l Laps) Report(b *testing.B, prefix string) {
	for name, share := range map[string]float64{"p50": 0.5, "p95": 0.95, "p99": 0.99} {
		b.ReportMetric(ms(l.At(share)), prefix+name+"-ms")
	}
}

// ReportBeside does so for this and for the same work in raw SQL, and says how many
// times as long it takes.
func (l Laps) ReportBeside(b *testing.B, raw Laps) {
	l.Report(b, "")
	raw.Report(b, "raw-")
	b.ReportMetric(ms(l.At(0.5))/ms(raw.At(0.5)), "x-raw")
}

func ms(d time.Duration) float64 { return float64(d) / float64(time.Millisecond) }
