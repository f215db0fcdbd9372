package reverie

import (
	"fmt"
	"strings"

	"github.com/google/uuid"
)

// NewID returns a new identifier for a memory, lineage, run, change or call: a UUID of version 7, so ids sort by
// creation time.
func NewID() string { return uuid.Must(uuid.NewV7()).String() }

// IsID reports whether s has the form of an identifier made by [NewID].
func IsID(s string) bool { return uuid.Validate(s) == nil && len(s) == 36 }

// IDKind is the kind of thing that an id names.
type IDKind string

// The kinds of things whose ids may be abbreviated.
const (
	IDMemory   IDKind = "memory" // any version
	IDRun      IDKind = "run"
	IDEntity   IDKind = "entity"
	IDConflict IDKind = "conflict"
)

// MinPrefix is the minimum number of characters of an abbreviated id.
const MinPrefix = 8

// IDPrefix returns the first and the last id that begin with s; ok is false if s cannot be the beginning of an id.
func IDPrefix(s string) (first, last string, ok bool) {
	const form = "00000000-0000-0000-0000-000000000000"
	s = strings.ToLower(s)
	if len(s) < MinPrefix || len(s) >= len(form) || strings.Trim(s, "0123456789abcdef-") != "" {
		return "", "", false
	}
	first, last = s+form[len(s):], s+strings.ReplaceAll(form[len(s):], "0", "f")
	return first, last, IsID(first)
}

// ShortID returns the part of an id that identifies it among those of one process: its time. Other texts stay whole.
func ShortID(s string) string {
	const shown = 18
	if !IsID(s) {
		return s
	}
	return s[:shown]
}

// AmbiguousIDError refuses an abbreviated id that fits several ids. It is an [ErrInvalid].
type AmbiguousIDError struct {
	Kind       IDKind
	Given      string
	Candidates []string // the first candidates, each with its kind
}

func (e *AmbiguousIDError) Error() string {
	return fmt.Sprintf("%s %s: several ids begin so; give more of the one you mean:\n  %s", e.Kind, e.Given,
		strings.Join(e.Candidates, "\n  "))
}

// Is makes errors.Is(err, ErrInvalid) true.
func (e *AmbiguousIDError) Is(target error) bool { return target == ErrInvalid }
