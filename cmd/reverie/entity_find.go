package main

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"reverie/internal/cli"
	"reverie/internal/reverie"
)

// entity opens the database and reads the one that a person means: by id, or
// within a group by name or account. Where a name fits several, the error lists
// them.
func (a *app) entity(ctx context.Context, groupID, named string) (reverie.Entity, error) {
	if groupID == "" && !reverie.IsID(named) {
		return reverie.Entity{}, usageError(fmt.Errorf("entity %q is no id; a name is looked up with --group", named))
	}
	if err := a.open(ctx); err != nil {
		return reverie.Entity{}, err
	}
	if groupID != "" {
		if _, err := a.Store.Group(ctx, groupID); err != nil {
			return reverie.Entity{}, unknownGroup(err)
		}
	}
	if reverie.IsID(named) {
		e, err := a.Store.Entity(ctx, groupID, named)
		return e, unknownEntity(err)
	}
	found, err := a.Store.FindEntities(ctx, groupID, named)
	if err != nil {
		return reverie.Entity{}, err
	}
	switch len(found) {
	case 0:
		return reverie.Entity{}, unknownEntity(fmt.Errorf("entity %q of group %q: %w", named, groupID, reverie.ErrNotFound))
	case 1:
		return a.Store.Entity(ctx, groupID, found[0].ID)
	}
	return reverie.Entity{}, usageError(severalEntities(named, found))
}

// unknownEntity adds to an error that there is no such entity where the ids are
// to be had.
func unknownEntity(err error) error {
	if errors.Is(err, reverie.ErrNotFound) {
		return fmt.Errorf("%w; `reverie entity list --group G` has the ids", err)
	}
	return err
}

// severalEntities lists those that a name may mean.
func severalEntities(named string, found []reverie.Entity) error {
	var b strings.Builder
	fmt.Fprintf(&b, "%q may be any of %d; name one by its id:", named, len(found))
	for _, e := range found {
		r := e.Reply()
		fmt.Fprintf(&b, "\n  %s  %s  %s", r.EntityID, r.Kind, cli.Visible(r.Subject))
		if len(r.Accounts) > 0 {
			fmt.Fprintf(&b, "  account %s", cli.Visible(strings.Join(r.Accounts, ", ")))
		}
	}
	return errors.New(b.String())
}
