package main

import (
	"fmt"
	"strconv"

	"github.com/spf13/cobra"

	"reverie/internal/cli"
	"reverie/internal/reverie"
	"reverie/internal/safety"
)

// edits are the changes by hand: what the command is called and takes.
var edits = map[reverie.Action]struct {
	use, short, long string
	max              float64 // of the value; 0: it takes none
}{
	reverie.ActionDelete: {use: "delete MEMORY", short: "Deprecate a memory; its history stays"},
	reverie.ActionRestore: {use: "restore MEMORY", short: "Bring a deleted or archived memory back, as a new version", long: `Bring a memory back that was deleted or archived, as a new version that is supported
as of now. Its strength is 0.5 and its weight 1 then, if they were less.`},
	reverie.ActionStrength: {use: "strength MEMORY VALUE", short: "Set how well supported a memory is, 0 to 1", long: `Set how well supported a memory is, from 0 to 1. From now on it decays as any does;
below [maintain] archive_threshold (0.3), 'reverie maintain' archives the memory.`, max: 1},
	reverie.ActionWeight: {use: "weight MEMORY VALUE", short: "Set how useful a memory is, 0 to 2; from 1.5 it is core", long: `Set how useful a memory is, from 0 to 2. From 1.5 on it is core: it neither decays
nor is archived. Below [maintain] archive_threshold (0.3), 'reverie maintain'
archives it, whatever its strength.`, max: reverie.MaxWeight},
}

// newMemoryEdit is one change by hand. It acts on the head of a lineage.
func newMemoryEdit(a *app, action reverie.Action) *cobra.Command {
	e := reverie.Edit{Action: action}
	def := edits[action]
	var asJSON bool
	args := cobra.ExactArgs(1)
	if def.max > 0 {
		args = cobra.ExactArgs(2)
	}
	cmd := &cobra.Command{
		Use: def.use, Short: def.short, Long: def.long, Args: args,
		RunE: func(cmd *cobra.Command, args []string) error {
			e.MemoryID, e.Reason = args[0], safety.CleanReason(e.Reason)
			if def.max > 0 {
				v, err := strconv.ParseFloat(args[1], 64)
				if err != nil || !(v >= 0 && v <= def.max) {
					return usageError(fmt.Errorf("%s %q: a number from 0 to %g is needed", action, args[1], def.max))
				}
				e.Value = v
			}
			if err := a.open(cmd.Context()); err != nil {
				return err
			}
			m, err := a.Store.Edit(cmd.Context(), e)
			if err != nil {
				return err
			}
			if asJSON {
				return cli.PrintJSON(a.Stdout, reverie.MemoryReply{Success: true, Memory: m})
			}
			_, err = fmt.Fprintf(a.Stdout, "%s  v%d  %s  strength %.2f  weight %.2f\n    %s\n", m.ID, m.Version, m.Status,
				m.Strength, m.Weight, cli.Visible(m.Statement))
			return err
		},
	}
	cmd.Flags().StringVar(&e.GroupID, "group", "", "look in this group only")
	cmd.Flags().StringVar(&e.Reason, "reason", "", "why; kept in the change log")
	cmd.Flags().BoolVar(&asJSON, "json", false, "print as JSON")
	return cmd
}
