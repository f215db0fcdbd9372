package main

import (
	"context"
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"reverie/internal/cli"
	"reverie/internal/reverie"
)

func newRunsShow(a *app) *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "show RUN",
		Short: "Show a run: its chunks, changes, refused lines, held plans, calls and what they cost",
		Args:  cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			ctx := cmd.Context()
			d, err := a.findRun(ctx, args[0])
			if err != nil {
				return err
			}
			g, err := a.groupEntry(ctx, d.Run.GroupID)
			if err != nil {
				return err
			}
			if asJSON {
				return cli.PrintJSON(a.Stdout, d.Reply(g))
			}
			return a.PrintRun(d, g, a.calendar(g.Group))
		},
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "print as JSON")
	return cmd
}

// findRun reads a run by its id alone; where there is none, the error says where
// the ids are to be had.
func (a *app) findRun(ctx context.Context, id string) (reverie.RunDetail, error) {
	if err := a.open(ctx); err != nil {
		return reverie.RunDetail{}, err
	}
	d, err := a.Store.Run(ctx, "", id)
	if errors.Is(err, reverie.ErrNotFound) {
		err = fmt.Errorf("%w; `reverie runs list` has the ids", err)
	}
	return d, err
}
