package pgtest

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

// Beside times a piece of work and the same in raw SQL.
type Beside struct{ Ours, Raw Laps }

// Time runs both. They take turns at being the first, which finds nothing cached.
func (p *Beside) Time(ours, raw func()) {
	if len(p.Ours)%2 == 0 {
		p.Ours.Time(ours)
		p.Raw.Time(raw)
		return
	}
	p.Raw.Time(raw)
	p.Ours.Time(ours)
}

// Report gives a benchmark the percentiles of both, and how many times as long as
// raw SQL the work takes.
func (p *Beside) Report(b *testing.B) {
	p.Ours.Report(b, "")
	p.Raw.Report(b, "raw-")
	b.ReportMetric(ms(p.Ours.At(0.5))/ms(p.Raw.At(0.5)), "x-raw")
}

func ms(d time.Duration) float64 { return float64(d) / float64(time.Millisecond) }
