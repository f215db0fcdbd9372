package pgtest

import (
	"errors"
	"iter"
	"runtime"
	"slices"
	"strings"

	"reverie/store"
)

// Mortal is a store whose process dies: after Left further transactions it does nothing
// any more, and says so. Below zero it lives.
type Mortal struct {
	*store.Store
	Left   int
	Calls  []string          // the methods of the transactions so far
	Before func(call string) // told of each transaction; nil: nobody is
}

// ErrDead is the error of every call after the end.
var ErrDead = errors.New("the process is dead")

// NewMortal makes a mortal store of another, on its connections. At most one function is told of each transaction.
func NewMortal(s *store.Store, left int, before ...func(call string)) *Mortal {
	m := &Mortal{Left: left}
	for _, m.Before = range before {
	}
	m.Store = s.Watched(m.step)
	return m
}

func (m *Mortal) step() error {
	call := calledMethod()
	if m.Before != nil {
		m.Before(call)
	}
	if m.Left == 0 {
		return ErrDead
	}
	m.Left--
	m.Calls = append(m.Calls, call)
	return nil
}

// calledMethod is the method of the store that was called from outside of it.
func calledMethod() (name string) {
	pcs := make([]uintptr, 100)
	frames := runtime.CallersFrames(pcs[:runtime.Callers(1, pcs)])
	for more := true; more; {
		var f runtime.Frame
		f, more = frames.Next()
		if _, of, ok := strings.Cut(f.Function, "reverie/store.(*Store)."); ok && !strings.Contains(of, ".") {
			name = of
		}
	}
	return name
}

// Ends are the first and the last of each sort of the calls done so far, by their
// places: where to die next.
func (m *Mortal) Ends() iter.Seq2[int, string] {
	return func(yield func(int, string) bool) {
		for n, call := range m.Calls {
			within := slices.Contains(m.Calls[:n], call) && slices.Contains(m.Calls[n+1:], call)
			if !within && !yield(n, call) {
				return
			}
		}
	}
}
