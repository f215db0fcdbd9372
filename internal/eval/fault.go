package eval

import (
	"errors"
	"fmt"
	"strings"

	"reverie/internal/reverie"
)

// Fault is one thing that is wrong with a scenario, and where it stands. It is a
// reverie.ErrInvalid.
type Fault struct {
	File    string `json:"file,omitempty"`  // "" = of no file
	Line    int    `json:"line,omitempty"`  // 0: of the file as a whole
	Field   string `json:"field,omitempty"` // "" = the line as a whole
	Problem string `json:"problem"`
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

// Faults takes apart what Load and CheckAnswers return: one fault for each thing that is
// wrong, in their order.
func Faults(err error) (list []*Fault) {
	if err == nil {
		return nil
	}
	if fault, ok := err.(*Fault); ok {
		return []*Fault{fault}
	}
	joined, several := err.(interface{ Unwrap() []error })
	if one := (*Fault)(nil); !several || !errors.As(err, &one) {
		return []*Fault{{Problem: err.Error()}} // of no scenario
	}
	for _, e := range joined.Unwrap() {
		list = append(list, Faults(e)...)
	}
	return list
}

// faults gathers what is wrong, so that all of it is told at once.
type faults []error

func (f *faults) add(file string, line int, field, format string, args ...any) {
	*f = append(*f, &Fault{File: file, Line: line, Field: field, Problem: fmt.Sprintf(format, args...)})
}
