package pg

import (
	"database/sql/driver"
	"encoding/json"
	"fmt"
	"strings"
	"time"
)

// Conversions of Go values that the driver does not make.

// OrInfinity returns an upper bound; the zero time means none.
func OrInfinity(t time.Time) any {
	if t.IsZero() {
		return "infinity"
	}
	return t
}

// OrMinusInfinity returns a lower bound; the zero time means none.
func OrMinusInfinity(t time.Time) any {
	if t.IsZero() {
		return "-infinity"
	}
	return t
}

// OrNull returns NULL for the zero time.
func OrNull(t time.Time) any {
	if t.IsZero() {
		return nil
	}
	return t
}

// OrZero returns the value of a pointer, the zero value for nil.
func OrZero[T any](p *T) (v T) {
	if p != nil {
		v = *p
	}
	return v
}

// Timestamp formats t as an element of a timestamptz[].
func Timestamp(t time.Time) string { return t.UTC().Format("2006-01-02T15:04:05.999999Z") }

// JSON reads and writes a column of JSON text. NULL is the zero value.
type JSON[T any] struct{ V T }

// Value returns the JSON as text, because the driver would send bytes as binary.
func (j JSON[T]) Value() (driver.Value, error) {
	b, err := json.Marshal(j.V)
	return string(b), err
}

// AsJSON wraps v as an argument of a statement.
func AsJSON(v any) JSON[any] { return JSON[any]{v} }

func (j *JSON[T]) Scan(src any) error {
	switch text := src.(type) {
	case nil:
		*j = JSON[T]{}
		return nil
	case string:
		return json.Unmarshal([]byte(text), &j.V)
	case []byte:
		return json.Unmarshal(text, &j.V)
	}
	return fmt.Errorf("read JSON: it comes as %T", src)
}

// ValidText replaces NUL and invalid UTF-8, which PostgreSQL cannot store as text. It is for unchecked text from
// outside, such as a model's answer.
func ValidText(s string) string {
	return strings.ReplaceAll(strings.ToValidUTF8(s, "\uFFFD"), "\x00", "\uFFFD")
}
