package store

import (
	"encoding/json"
	"fmt"
	"strings"
	"time"
)

// How Go's values become PostgreSQL's, where the driver has no say.

// orInfinity makes an upper bound of a time that is zero for "none".
func orInfinity(t time.Time) any {
	if t.IsZero() {
		return "infinity"
	}
	return t
}

// orMinusInfinity makes a lower bound of a time that is zero for "none".
func orMinusInfinity(t time.Time) any {
	if t.IsZero() {
		return "-infinity"
	}
	return t
}

// orNull makes NULL of a zero time.
func orNull(t time.Time) any {
	if t.IsZero() {
		return nil
	}
	return t
}

// utc is t in UTC, nil for nil.
func utc(t *time.Time) *time.Time {
	if t == nil {
		return nil
	}
	at := t.UTC()
	return &at
}

// timestamp writes t as an element of a timestamptz[].
func timestamp(t time.Time) string { return t.UTC().Format("2006-01-02T15:04:05.999999Z") }

// orNullTimestamp is timestamp, and NULL for nil.
func orNullTimestamp(t *time.Time) *string {
	if t == nil {
		return nil
	}
	text := timestamp(*t)
	return &text
}

// asJSON writes v as text: the driver would send bytes as binary.
func asJSON(v any) (string, error) {
	b, err := json.Marshal(v)
	return string(b), err
}

// ofJSON reads a column of JSON text; NULL is the zero value.
type ofJSON[T any] struct{ value T }

func (j *ofJSON[T]) Scan(src any) error {
	switch text := src.(type) {
	case nil:
		*j = ofJSON[T]{}
		return nil
	case string:
		return json.Unmarshal([]byte(text), &j.value)
	case []byte:
		return json.Unmarshal(text, &j.value)
	}
	return fmt.Errorf("read JSON: it comes as %T", src)
}

// storable replaces what PostgreSQL cannot keep as text: NUL and bytes that are
// no UTF-8. It is for texts that come from outside unchecked, such as a model's
// answer.
func storable(s string) string {
	return strings.ReplaceAll(strings.ToValidUTF8(s, "\uFFFD"), "\x00", "\uFFFD")
}
