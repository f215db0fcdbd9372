package app

import "reverie/internal/reverie"

// requestError is a request that cannot be met as it stands. It is a
// [reverie.ErrInvalid].
type requestError struct{ error }

func badRequest(err error) error { return &requestError{err} }

func (e *requestError) Is(target error) bool { return target == reverie.ErrInvalid }
func (e *requestError) Unwrap() error        { return e.error }
