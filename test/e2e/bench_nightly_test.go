package e2e

import (
	"fmt"
	"math"
	"os"
	"strconv"
	"strings"
	"testing"
	"time"
)

// envNightly replaces the cases of BenchmarkNightly, several divided by commas, in the
// words of their names: groups=5000/model=300ms/concurrency=64. What may be said:
//
//	groups=N        how many groups there are
//	model=300ms     how long the model takes
//	concurrency=N   groups at a time, of each process; else what is configured by default
//	conns=N         connections of each process; else likewise
//	processes=2     two processes, each with all of the groups
//	shards=2        two processes, each with its part of them
//	away=10ms       how much longer the database takes to answer: it is on another machine
//	embed           vectors come from the model's server too, after the same time
//	count           what goes to PostgreSQL and back is counted on its way, which slows it
const envNightly = "REVERIE_BENCH_NIGHTLY"

// nightlyCases are measured unless others are asked for. Without groups there is left
// what each process costs that starts, looks for what is due and ends.
const nightlyCases = "groups=0/model=0s,groups=100/model=0s,groups=100/model=300ms,groups=1000/model=0s,groups=1000/model=300ms," +
	"groups=10000/model=0s,groups=10000/model=300ms,groups=1500/model=300ms/concurrency=64," +
	"groups=1500/model=300ms/concurrency=64/away=1ms,groups=1500/model=300ms/concurrency=64/away=10ms,groups=200/model=0s/count"

// nightlyCase is what one measurement is given.
type nightlyCase struct {
	groups      int
	model       time.Duration
	concurrency int // 0: by default, as are connections
	conns       int
	processes   int
	shards      bool
	away        time.Duration
	embed       bool
	count       bool
}

func parseNightlyCase(text string) (nightlyCase, error) {
	c := nightlyCase{processes: 1}
	for part := range strings.SplitSeq(text, "/") {
		name, value, _ := strings.Cut(part, "=")
		var err error
		switch name {
		case "groups":
			c.groups, err = strconv.Atoi(value)
		case "model":
			c.model, err = time.ParseDuration(value)
		case "concurrency":
			c.concurrency, err = strconv.Atoi(value)
		case "conns":
			c.conns, err = strconv.Atoi(value)
		case "processes":
			c.processes, err = strconv.Atoi(value)
		case "shards":
			c.processes, err = strconv.Atoi(value)
			c.shards = true
		case "away":
			c.away, err = time.ParseDuration(value)
		case "embed":
			c.embed = true
		case "count":
			c.count = true
		default:
			err = fmt.Errorf("what is %q?", part)
		}
		if err != nil {
			return c, fmt.Errorf("%s=%s: %w", envNightly, text, err)
		}
	}
	return c, nil
}

// BenchmarkNightly runs the binary over groups of which each has a closed night of 20
// messages and 10 memories, against a model on the loopback that answers after a while.
// docs/benchmarks.txt says how its figures are read.
func BenchmarkNightly(b *testing.B) {
	cases := os.Getenv(envNightly)
	if cases == "" {
		cases = nightlyCases
	}
	binary := buildBinary(b)
	for text := range strings.SplitSeq(cases, ",") {
		b.Run(text, func(b *testing.B) {
			c, err := parseNightlyCase(text)
			if err != nil {
				b.Fatal(err)
			}
			w := newNightlyWorld(b, c, binary)
			// Few groups take too short a time to be measured once.
			rounds := max(1, min(5, 500/max(1, c.groups)))
			for b.Loop() {
				for range rounds {
					b.StopTimer()
					w.seed()
					began := w.meter()
					b.StartTimer()
					w.run()
					b.StopTimer()
					w.tally(began)
					b.StartTimer()
				}
			}
			w.report()
		})
	}
}

// ideal is the time that cannot be beaten: each place takes one group after the other,
// and waits for each answer.
func (c nightlyCase) ideal(calls float64) time.Duration {
	turns := math.Ceil(float64(c.groups) / float64(c.concurrency*c.processes))
	return time.Duration(turns * calls * float64(c.model))
}

// report says what all came to, by group.
func (w *nightlyWorld) report() {
	b, u := w.b, w.used
	wall := u.wall.Seconds() / float64(w.runs)
	b.ReportMetric(0, "ns/op")
	b.ReportMetric(wall, "s")
	b.ReportMetric(float64(w.peak.all)/1024, "MiB-peak")
	b.ReportMetric(float64(w.peak.own)/1024, "MiB-own")
	if w.groups == 0 {
		b.ReportMetric(1000*u.own.Seconds()/float64(w.runs), "ms-cpu")
		return
	}
	n := float64(w.runs * w.groups)
	calls := float64(u.calls) / n
	if ideal := w.ideal(calls); ideal > 0 {
		b.ReportMetric(100*ideal.Seconds()/wall, "%ideal")
	}
	b.ReportMetric(float64(w.groups)/wall, "groups/s")
	b.ReportMetric(1000*u.own.Seconds()/n, "ms-cpu/group")
	b.ReportMetric(1000*u.model.Seconds()/n, "ms-model/group")
	if u.postgres > 0 {
		b.ReportMetric(1000*u.postgres.Seconds()/n, "ms-postgres/group")
	}
	b.ReportMetric(float64(u.stored)/n, "B-stored/group")
	b.ReportMetric(calls, "calls/group")
	b.ReportMetric(float64(u.tokens)/n, "tokens/group")
	if w.wire != nil {
		b.ReportMetric(float64(u.wire.trips)/n, "trips/group")
		b.ReportMetric(float64(u.wire.statements)/n, "statements/group")
		b.ReportMetric(float64(u.wire.bytes)/n, "B-wire/group")
	}
	if w.processes > 1 {
		b.ReportMetric(100*float64(u.skipped)/n, "%skipped")
	}
}
