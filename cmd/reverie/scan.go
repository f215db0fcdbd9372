package main

import (
	"context"
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"reverie/internal/cli"
	"reverie/internal/reverie"
	"reverie/internal/safety"
	"reverie/store/erase"
)

// scanExitHelp are the exit codes of scan, which has one of its own.
const scanExitHelp = `Exit codes:
  0    nothing was found
  1    error
  2    usage or configuration: trying again does not help
  3    something was found
  130  interrupted`

func newScan(a *app) *cobra.Command {
	var groupID string
	var statements, asJSON bool
	cmd := &cobra.Command{
		Use:   "scan FILE|- | --group G",
		Short: "Find secrets and personal data in a file, or in what is stored of a group",
		Long: `Find keys, tokens, passwords, cards and identity numbers (secrets), and e-mail
addresses and phone numbers (pii), by the same rules that keep them out of memories.

A file is any text, of any size and with lines of any length; - reads standard input.
Of a group all words in the database are read: messages, memories in all versions,
quotes, logs, answers, summaries and claims, in one snapshot. Nothing is changed.

A finding says where it is (line:column, or table.column and the key of the row), which
rule found it, and a few words around it with the rule in its place: never what was
found. Personal data is reported whatever [privacy] pii says.

With --statements each line of the file, or each memory of the group, is held against
everything that a statement may not be, links, markup and instructions, too.

` + scanExitHelp,
		Example: `  reverie scan chat.jsonl
  reverie scan --group g1 --json
  reverie scan --statements facts.txt`,
		Args: cobra.MaximumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			byGroup := cmd.Flags().Changed("group")
			switch {
			case byGroup && len(args) > 0:
				return usageError(errors.New("give a file or --group, not both"))
			case byGroup && groupID == "":
				return usageError(errors.New("--group: the id of the group is empty"))
			case !byGroup && len(args) == 0:
				return usageError(errors.New("give a file, - for standard input, or --group G\nsee 'reverie scan --help'"))
			}
			report := &cli.ScanReport{Console: &a.Console, AsJSON: asJSON, Rules: map[reverie.ScanFinding]int{}}
			var err error
			if byGroup {
				err = a.scanGroup(cmd.Context(), groupID, statements, report)
			} else {
				err = a.scanFile(cmd.Context(), args[0], statements, report)
			}
			if err != nil {
				return err
			}
			if err := report.End(); err != nil || report.Found == 0 {
				return err
			}
			return &codeError{exitPartial, fmt.Errorf("%s in %s", cli.Plural(report.Found, "finding"),
				cli.Plural(report.Texts, "text"))}
		},
	}
	cmd.Flags().StringVar(&groupID, "group", "", "read what is stored of this group")
	cmd.Flags().BoolVar(&statements, "statements", false, "hold each line, or each memory, against all rules for "+
		"statements")
	cmd.Flags().BoolVar(&asJSON, "json", false, "print a document a finding, then one of the counts")
	return cmd
}

// scanFile reads a file, or standard input.
func (a *app) scanFile(ctx context.Context, name string, statements bool, report *cli.ScanReport) error {
	in, _, err := a.Input(ctx, name)
	if err != nil {
		return err
	}
	defer in.Close()
	if statements {
		err = cli.ScanLines(ctx, in, report)
	} else {
		err = cli.ScanText(ctx, in, report)
	}
	if err != nil {
		return fmt.Errorf("read %s: %w", cli.Visible(name), err)
	}
	return nil
}

// scanGroup reads what is stored of a group.
func (a *app) scanGroup(ctx context.Context, groupID string, statements bool, report *cli.ScanReport) error {
	if err := a.open(ctx); err != nil {
		return err
	}
	err := erase.New(a.Store.DB()).Texts(ctx, groupID, func(t reverie.StoredText) error {
		found := safety.Scan(t.Text)
		if statements && t.Table == "memories" && t.Column == "statement" {
			found = cli.ScanStatement(t.Text)
		}
		report.Texts++
		report.Bytes += int64(len(t.Text))
		for _, f := range found {
			f.Where = t.Table + "." + t.Column + " " + t.Key
			if err := report.Add(f); err != nil {
				return err
			}
		}
		return ctx.Err()
	})
	return unknownGroup(err)
}
