package command

import (
	"context"

	"github.com/spf13/cobra"

	"reverie/internal/reverie"
)

func newBatches(a *app) *cobra.Command {
	limit := 0
	list := a.command("reverie batches list", cobra.NoArgs, a.opened(func(ctx context.Context, _ []string) error {
		found, err := a.Batches().List(ctx, limit)
		if err != nil {
			return err
		}
		return a.Show(struct {
			Success bool            `json:"success"`
			Batches []reverie.Batch `json:"batches"`
		}{true, append([]reverie.Batch{}, found...)}, func() error { return a.PrintBatches(found) })
	}))
	limitFlag(list, &limit, 20, "most batches to list")
	one := func(path string, do func(context.Context, string) (reverie.Batch, error)) *cobra.Command {
		return a.command(path, cobra.ExactArgs(1), a.opened(func(ctx context.Context, args []string) error {
			b, err := do(ctx, args[0])
			if err != nil {
				return err
			}
			return a.Show(b, func() error { return a.Page("batch", b) })
		}))
	}
	return group("reverie batches", list,
		one("reverie batches show", func(ctx context.Context, id string) (reverie.Batch, error) { return a.Batches().Get(ctx, id) }),
		one("reverie batches cancel", a.CancelBatch))
}

// batchFlag is --batch.
func batchFlag(cmd *cobra.Command, to *bool) {
	cmd.Flags().BoolVar(to, "batch", false, "ask in the provider's batches: half the price, answers within a day")
}
