package command

import (
	"context"

	"github.com/spf13/cobra"

	application "reverie/internal/app"
	"reverie/internal/reverie"
)

func newBatches(a *app) *cobra.Command {
	list := a.command("reverie batches list", cobra.NoArgs, a.opened(func(ctx context.Context, _ []string) error {
		found, err := a.Batches().ListBatches(ctx, maxListed)
		if err != nil {
			return err
		}
		return a.ShowBatches(found)
	}))
	one := func(path string, do func(*application.App, context.Context, string) (reverie.Batch, error)) *cobra.Command {
		return a.command(path, cobra.ExactArgs(1), a.opened(func(ctx context.Context, args []string) error {
			return a.ShowBatch(do(a.App, ctx, args[0]))
		}))
	}
	show := func(a *application.App, ctx context.Context, id string) (reverie.Batch, error) {
		return a.Batches().GetBatch(ctx, id)
	}
	return group("reverie batches", list, one("reverie batches show", show),
		one("reverie batches cancel", (*application.App).CancelBatch))
}

func batchFlag(cmd *cobra.Command, to *bool) {
	cmd.Flags().BoolVar(to, "batch", false, "ask in the provider's batches: half the price, answers within a day")
}
