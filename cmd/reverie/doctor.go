package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	application "reverie/internal/app"
	"reverie/internal/cli"
)

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
