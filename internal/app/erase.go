package app

import (
	"context"
	"errors"
	"fmt"

	"reverie/internal/reverie"
	"reverie/jobs"
	"reverie/store/erase"
)

// Erase goes from group to group, each by itself, and returns the receipts of
// those that are done. A group that fails or is at work does not stop the others.
func (a *App) Erase(ctx context.Context, accounts []reverie.Account, keepNames []string, dryRun bool) ([]reverie.Erasure, error) {
	var done []reverie.Erasure
	var failed []error
	for _, account := range accounts {
		if err := ctx.Err(); err != nil {
			return done, errors.Join(append(failed, err)...)
		}
		var receipt reverie.Erasure
		err := a.Leases().With(ctx, account.GroupID, func(ctx context.Context, held *jobs.Held) error {
			return held.Exclusive(func() (err error) {
				receipt, err = erase.New(a.Store.DB()).Erase(ctx, held.Lease(), reverie.EraseQuery{GroupID: account.GroupID, AuthorID: account.AuthorID,
					KeepNames: keepNames, DryRun: dryRun})
				return err
			})
		})
		if err != nil {
			failed = append(failed, err)
			continue
		}
		done = append(done, receipt)
		if !dryRun {
			a.Log.Info("an author was erased", "group_id", receipt.GroupID, "erasure_id", receipt.ID, "messages", receipt.Messages,
				"memories_erased", receipt.Erased, "memories_held", receipt.Held)
		}
	}
	return done, errors.Join(failed...)
}

// Sweep has the server drop what the erasure has left behind. Without the right to do so
// it is the operator's work, and the erasure stands.
func (a *App) Sweep(ctx context.Context, whole bool) error {
	err := erase.New(a.Store.DB()).Sweep(ctx, whole)
	if err == nil {
		return nil
	}
	if whole || ctx.Err() != nil {
		return fmt.Errorf("the erasure stands, but the tables were not written anew: %w", err)
	}
	a.Notify("warning: the erasure stands, but rows that were deleted may be in the files until the server vacuums them: " + err.Error())
	return nil
}
