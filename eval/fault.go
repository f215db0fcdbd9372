package eval

import (
	"fmt"
	"strings"

	"reverie"
)

// Fault is one thing that is wrong with a scenario, and where it stands. It is a
// reverie.ErrInvalid.
type Fault struct {
	File    string
	Line    int    // 0: of the file as a whole
	Field   string // "" = the line as a whole
	Problem string
}

func (f *Fault) Error() string {
	var b strings.Builder
	b.WriteString(f.File)
	if f.Line > 0 {
		fmt.Fprintf(&b, ":%d", f.Line)
	}
	if f.Field != "" {
		b.WriteString(": " + f.Field)
	}
	return b.String() + ": " + f.Problem
}

// Is makes errors.Is(err, reverie.ErrInvalid) true.
func (f *Fault) Is(target error) bool { return target == reverie.ErrInvalid }

// faults gathers what is wrong, so that all of it is told at once.
type faults []error

func (f *faults) add(file string, line int, field, format string, args ...any) {
	*f = append(*f, &Fault{File: file, Line: line, Field: field, Problem: fmt.Sprintf(format, args...)})
}
