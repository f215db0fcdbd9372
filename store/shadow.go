package store

import (
	"context"
	"errors"
	"time"

	"reverie"
)

// CopyGroup copies a group of the live store as it was just before an instant.
func (x *Scratch) CopyGroup(ctx context.Context, groupID string, at time.Time) error {
	return errors.New("not yet")
}

// CopyMessages copies messages of the live group, pending, in their order of arrival. It
// returns the ids of those that are not there any more, or have no text.
func (x *Scratch) CopyMessages(ctx context.Context, groupID string, ids []string) (missing []string, err error) {
	return nil, errors.New("not yet")
}

// Carry makes in the scratch what others than the runs except changed in the live group
// in [from, to).
func (x *Scratch) Carry(ctx context.Context, groupID string, from, to time.Time, except []string) (reverie.Carried, error) {
	return reverie.Carried{}, errors.New("not yet")
}

// Nights returns the finished runs of evolve whose window lies in [from, to), oldest
// first by their start, and apart from them those that were taken back.
func (s *Store) Nights(ctx context.Context, groupID string, from, to time.Time) (nights, undone []reverie.PastNight, err error) {
	return nil, nil, errors.New("not yet")
}

// Keep has [Store.Scratch] never remove the schema as a leftover.
func (x *Scratch) Keep(ctx context.Context) error { return errors.New("not yet") }
