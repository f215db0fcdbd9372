package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	application "reverie/internal/app"
	"reverie/internal/cli"
	"reverie/internal/reverie"
	"reverie/store/audit"
)

func newAudit(a *app) *cobra.Command {
	var groupID string
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "audit [--group G]",
		Short: "Check that the database keeps every promise that can be seen in it",
		Long: `Check what must hold at every instant, whatever was killed, cut off or restarted
before: each message was consumed once, counts add up, versions follow each other,
the change log and the ledger are complete, and so on.

It reads one snapshot and changes nothing, so that it may run beside anything else.
Where something does not hold, the exit code is 1, and each place is named. With --json
why it could not look, if it could not, is the field error.`,
		Example: "  reverie audit\n  reverie audit --group g1 --json",
		Args:    cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if cmd.Flags().Changed("group") && groupID == "" {
				return usageError(errors.New("--group: the id of the group is empty"))
			}
			list, err := a.audit(cmd.Context(), groupID)
			if asJSON {
				return errors.Join(cli.PrintJSON(a.Stdout, replyOf(list, err)), err, unsound(list))
			}
			if err != nil {
				return err
			}
			return errors.Join(a.PrintAudit(list), unsound(list))
		},
	}
	cmd.Flags().StringVar(&groupID, "group", "", "check this group only")
	cmd.Flags().BoolVar(&asJSON, "json", false, "print as JSON")
	return cmd
}

// audit looks at the database. Where the user may not even read which schema it has, the
// audit says of all tables at once which it may not.
func (a *app) audit(ctx context.Context, groupID string) ([]reverie.Invariant, error) {
	if err := a.open(ctx); err != nil && (a.App == nil || a.Store == nil || !errors.Is(err, reverie.ErrConfiguration)) {
		return nil, err
	}
	list, err := audit.Run(ctx, a.Store.DB(), groupID)
	if err != nil {
		return nil, unknownGroup(err)
	}
	return list, nil
}

// auditReply is what an audit found, or why it could not look.
type auditReply struct {
	Success    bool                `json:"success"`
	Error      string              `json:"error,omitempty"`
	Invariants []reverie.Invariant `json:"invariants"`
}

func replyOf(list []reverie.Invariant, err error) auditReply {
	if err != nil {
		return auditReply{Error: err.Error(), Invariants: []reverie.Invariant{}}
	}
	return auditReply{Success: unsound(list) == nil, Invariants: list}
}

// unsound says how much an audit found, nil where that is nothing.
func unsound(list []reverie.Invariant) error {
	violations, of := 0, 0
	for _, i := range list {
		if violations += i.Violated; i.Violated > 0 {
			of++
		}
	}
	if violations == 0 {
		return nil
	}
	return fmt.Errorf("%s of %s: stop what writes to this database, keep a dump of it, and look at what is named above; "+
		"`reverie runs show` and `reverie memory why` tell how it came about", cli.Plural(violations, "violation"),
		cli.Plural(of, "invariant"))
}

func newDoctor(a *app) *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "doctor",
		Short: "Check the configuration, the database, the models and the clock",
		Long: `Check what a run needs: the configuration, the database with pgvector and its
schema, the clock, and the models, each of which is asked one small question.`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			findings := a.examine(cmd.Context())
			var errs []error
			for _, f := range findings {
				if !f.OK {
					errs = append(errs, f.Err)
				}
			}
			if asJSON {
				err := cli.PrintJSON(a.Stdout, struct {
					Success bool                  `json:"success"`
					Checks  []application.Finding `json:"checks"`
				}{len(errs) == 0, findings})
				return errors.Join(err, unwell(errs))
			}
			s := a.Style()
			var t cli.Table
			t.Row("", "CHECK", "DETAIL")
			for _, f := range findings {
				mark := s.Green("ok")
				if !f.OK {
					mark = s.Red("--")
				}
				t.Row(mark, f.Check, cli.Visible(f.Detail))
			}
			return errors.Join(t.Write(a.Stdout, s), unwell(errs))
		},
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "print as JSON")
	return cmd
}

// unwell sums up what failed, with the exit code of the first.
func unwell(errs []error) error {
	if len(errs) == 0 {
		return nil
	}
	return &codeError{exitCode(errs[0], false), fmt.Errorf("%s failed", cli.Plural(len(errs), "check"))}
}

// examine checks the configuration, and with it all that a run needs.
func (a *app) examine(ctx context.Context) []application.Finding {
	if err := a.settings(); err != nil {
		return []application.Finding{{Check: "configuration", Detail: err.Error(), Err: err}}
	}
	file := cmp.Or(a.prov.File, "no file; environment and defaults")
	return append([]application.Finding{{Check: "configuration", OK: true, Detail: file}}, a.Examine(ctx)...)
}
