package export

import (
	"errors"
	"fmt"
	"io"
	"strings"

	"reverie/internal/reverie"
)

// Block is a message of a text: what its first line says, and the lines behind that one.
type Block[T any] struct {
	Place string
	Head  T
	Lines []string
}

// EachBlock hands over the messages of a text whose messages may have several lines; begins reads the
// first line of one. What is bad of them, or by the listener's error, is told by where the message began.
func EachBlock[T any](t *Teller, r io.Reader, begins func(line string) (T, bool), take func(Block[T]) error) error {
	var open *Block[T]
	var why *Bad // the message at hand cannot be read
	size := 0
	end := func() (err error) {
		if open == nil {
			return nil
		}
		b, bad := *open, why
		open, why, size = nil, nil, 0
		if bad == nil {
			err = take(b)
		}
		if bad != nil || errors.As(err, &bad) {
			return t.Skip(b.Place, &Bad{Reason: bad.Reason, Err: bad.Err})
		}
		return err
	}
	err := t.EachOrBad(Lines(r), func(l Part, bad *Bad) error {
		s := UTF8Line(l.Value)
		head, begun := begins(s)
		switch {
		case bad != nil && open == nil:
			return bad
		case bad != nil: // nobody can tell whether it goes on from the message at hand
			why = bad
		case begun:
			err := end()
			open = &Block[T]{Place: l.Place, Head: head}
			return err
		case open == nil && strings.TrimSpace(s) != "":
			return &Bad{Reason: "no header", Err: fmt.Errorf("it comes before the first message: %w", reverie.ErrInvalid)}
		case open != nil && why == nil:
			open.Lines = append(open.Lines, s)
			if size += len(s) + 1; size > reverie.MaxMessageTextLength {
				why = &Bad{Reason: "too long", Err: fmt.Errorf("the message has more than %d bytes: %w",
					reverie.MaxMessageTextLength, reverie.ErrInvalid)}
				open.Lines = nil
			}
		}
		return nil
	})
	if err != nil {
		return err
	}
	return end()
}
