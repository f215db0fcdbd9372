// Package text reads plain text in Chinese and English: numbers, times and units.
package text

import "fmt"

// Detail is what a statement turns on, and similar wordings hide: a number, a time, a
// month, a weekday, or that something is denied.
type Detail struct {
	Kind  Kind
	Value float64 // a number, a month, a weekday from 1, or the minutes of a time of day
	Exact string  // of a number with a point: 1.20 is not 1.2
	Unit  string  // of a number, "" where none is known
	Text  string  // as it stands, for people and models
}

// Kind is what a detail is.
type Kind uint8

// The kinds of details.
const (
	Number Kind = iota
	Month
	Weekday
	Negation
	Clock      // 8:00 of the morning
	Clock24    // 20:00
	ClockVague // 8:00, of the morning or the evening
)

// HalfDay is twelve hours, in minutes.
const HalfDay = 12 * 60

func (d Detail) String() string {
	if d.Kind == Negation {
		return "a negation (" + d.Text + ")"
	}
	if d.Unit != "" {
		return fmt.Sprintf("%q (%s)", d.Text, d.Unit)
	}
	return fmt.Sprintf("%q", d.Text)
}

// Like tells whether two details may mean the same: 8:00 is eight in the morning or
// in the evening, and eight; 3月 is March, and 3; 5 is 5 km, and no 5 miles.
func (d Detail) Like(o Detail) bool {
	if d.Kind > o.Kind {
		d, o = o, d
	}
	switch {
	case d.Kind == Negation || o.Kind == Negation, d.Kind == Weekday || o.Kind == Weekday:
		return d.Kind == o.Kind && d.Value == o.Value
	case d.Kind == Number && o.Kind >= Clock:
		return d.Value*60 == o.Value
	case d.Kind == Number && o.Kind == Number:
		return d.Value == o.Value && d.Exact == o.Exact && (d.Unit == o.Unit || d.Unit == "" || o.Unit == "")
	case d.Kind == Clock && o.Kind == ClockVague:
		return int(d.Value)%HalfDay == int(o.Value)%HalfDay
	case d.Kind == Month && o.Kind >= Clock:
		return false
	}
	return d.Value == o.Value
}
