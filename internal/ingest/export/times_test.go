package export

import (
	"fmt"
	"testing"
	"time"
)

// FuzzTimes: a time that is written as exports write it is read as that time, to the
// microsecond; whatever else is read lies in the years that can be stored.
func FuzzTimes(f *testing.F) {
	for _, s := range []string{"1768472430", "1768472430.000100", "1768472430123", "1768472430123.5", "0", "-1", "253402300800", "1e9", "2026-01-15T20:01:00+08:00", "1.", ".5", "0x10", "9999999999999999999", "1_0"} {
		f.Add(s, int64(1_768_472_430), uint32(123_456))
	}
	f.Fuzz(func(t *testing.T, s string, seconds int64, micros uint32) {
		at := time.Unix(seconds&(1<<38-1)%LastUnix, int64(micros%1_000_000)*1000).UTC()
		whole, fraction := at.Unix(), at.Nanosecond()/1000
		for _, text := range []string{fmt.Sprintf("%d.%06d", whole, fraction), fmt.Sprintf("%d.%06d000", whole, fraction)} {
			if got, ok := unixTime(text); !ok || !got.Equal(at) {
				t.Fatalf("seconds %q: %s", text, got)
			}
		}
		if millis := fmt.Sprintf("%d", at.UnixMilli()); len(millis) >= 12 && len(millis) <= 13 {
			if got, err := Time(millis, time.UTC); err != nil || !got.Equal(at.Truncate(time.Millisecond)) {
				t.Fatalf("milliseconds %q: %s, %v", millis, got, err)
			}
		}
		if got, err := Time(at.Format(time.RFC3339Nano), time.UTC); whole > 0 && (err != nil || !got.Equal(at)) {
			t.Fatalf("%s: %s, %v", at.Format(time.RFC3339Nano), got, err)
		}
		if got, err := Time(s, time.UTC); err != nil && !got.IsZero() {
			t.Fatalf("%q: %s, %v", s, got, err)
		}
		if got, ok := unixTime(s); ok && (got.Unix() < 0 || got.Unix() > LastUnix) {
			t.Fatalf("seconds %q: %s", s, got)
		}
	})
}

// TestTimesWithZone: a zone may stand behind a fraction, with a colon or without, behind a space or not.
func TestTimesWithZone(t *testing.T) {
	far := time.FixedZone("", 9*3600)
	for _, s := range []string{"2017-01-01T06:20:09.248Z", "2017-01-01T08:20:09.248+0200", "2017-01-01 06:20:09.248Z", "2017-01-01 08:20:09.248+02:00",
		"2017-01-01 08:20:09.248 +0200", "2017-01-01 08:20:09.248 +02:00"} {
		if at, err := Time(s, far); err != nil || !at.Equal(time.UnixMilli(1483251609248)) {
			t.Errorf("%q: %s, %v", s, at, err)
		}
	}
}
