package config

import (
	"encoding/json"
	"log/slog"
	"time"
)

// mask stands for what must not be shown.
const mask = "••••"

// Secret is a text that no printer, logger or encoder shows: it prints as
// nothing when empty, else as a mask.
type Secret string

// Reveal returns the text itself, for the one place that needs it.
func (s Secret) Reveal() string { return string(s) }

// String hides the text.
func (s Secret) String() string {
	if s == "" {
		return ""
	}
	return mask
}

// GoString hides the text from %#v.
func (s Secret) GoString() string { return `"` + s.String() + `"` }

// MarshalJSON hides the text from encoding/json.
func (s Secret) MarshalJSON() ([]byte, error) { return json.Marshal(s.String()) }

// LogValue hides the text from log/slog.
func (s Secret) LogValue() slog.Value { return slog.StringValue(s.String()) }

// Duration is a [time.Duration] that is written as Go writes it: 90s, 1h30m.
type Duration struct{ time.Duration }

// UnmarshalText reads what [time.ParseDuration] reads; empty is zero.
func (d *Duration) UnmarshalText(text []byte) error {
	if len(text) == 0 {
		d.Duration = 0
		return nil
	}
	v, err := time.ParseDuration(string(text))
	d.Duration = v
	return err
}

// MarshalText writes the shortest form that reads back: 504h, not 504h0m0s.
// Zero is empty.
func (d Duration) MarshalText() ([]byte, error) { return []byte(d.String()), nil }

// String is the shortest form that reads back, empty for zero.
func (d Duration) String() string {
	if d.Duration == 0 {
		return ""
	}
	s := d.Duration.String()
	for _, zero := range [...]string{"m0s", "h0m"} {
		if n := len(s) - len(zero); n > 0 && s[n:] == zero {
			s = s[:n+1]
		}
	}
	return s
}
