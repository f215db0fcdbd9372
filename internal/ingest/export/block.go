package export

import (
	"errors"
	"fmt"
	"io"
	"strings"

	"reverie/internal/reverie"
)

// Block is a message of a text: its parsed first line, and the lines after it.
type Block[T any] struct {
	Place string
	Head  T
	Lines []string
}

// EachBlock passes on the messages of a text in which a message may have several lines; begins parses the first
// line of one. A bad message, or one that take finds bad, is reported at the place where it began.
func EachBlock[T any](t *Teller, r io.Reader, begins func(line string) (T, bool), take func(Block[T]) error) error {
	var open *Block[T]
	var why *Bad // why the current message cannot be read
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
		case bad != nil: // the bad line may belong to the current message
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
