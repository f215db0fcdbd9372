package pg

import (
	"database/sql/driver"
	"encoding/json"
	"fmt"
	"strings"
	"time"
)

// How Go's values become PostgreSQL's, where the driver has no say.

// OrInfinity makes an upper bound of a time that is zero for "none".
func OrInfinity(t time.Time) any {
	if t.IsZero() {
		return "infinity"
	}
	return t
}

// OrMinusInfinity makes a lower bound of a time that is zero for "none".
func OrMinusInfinity(t time.Time) any {
	if t.IsZero() {
		return "-infinity"
	}
	return t
}

// OrNull makes NULL of a zero time.
func OrNull(t time.Time) any {
	if t.IsZero() {
		return nil
	}
	return t
}

// OrZero is what a pointer points to, the zero value for nil.
func OrZero[T any](p *T) (v T) {
	if p != nil {
		v = *p
	}
	return v
}

// Timestamp writes t as an element of a timestamptz[].
func Timestamp(t time.Time) string { return t.UTC().Format("2006-01-02T15:04:05.999999Z") }

// JSON reads a column of JSON text, where NULL is the zero value, and writes one.
type JSON[T any] struct{ V T }

// Value is the JSON as text: the driver would send bytes as binary.
func (j JSON[T]) Value() (driver.Value, error) {
	b, err := json.Marshal(j.V)
	return string(b), err
}

// AsJSON is v as JSON, for a statement to take.
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

// ValidText replaces what PostgreSQL cannot keep as text: NUL and bytes that are
// no UTF-8. It is for texts that come from outside unchecked, such as a model's
// answer.
func ValidText(s string) string {
	return strings.ReplaceAll(strings.ToValidUTF8(s, "\uFFFD"), "\x00", "\uFFFD")
}
