package command

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

func newScan(a *app) *cobra.Command {
	var groupID string
	var statements bool
	cmd := a.command("reverie scan", cobra.MaximumNArgs(1), func(ctx context.Context, args []string) (err error) {
		report := &cli.ScanReport{Console: &a.Console, Rules: map[reverie.ScanFinding]int{}}
		switch {
		case groupID != "" && len(args) > 0:
			return usageError(errors.New("give a file or --group, not both"))
		case groupID != "":
			err = a.scanGroup(ctx, groupID, statements, report)
		case len(args) > 0:
			err = a.scanFile(ctx, args[0], statements, report)
		default:
			return usageError(errors.New("give a file, - for standard input, or --group G\nsee 'reverie scan --help'"))
		}
		if err != nil {
			return err
		}
		if err := report.End(); err != nil || report.Found == 0 {
			return err
		}
		return &codeError{ExitPartial, fmt.Errorf("%s in %s", cli.Plural(report.Found, "finding"),
			cli.Plural(report.Texts, "text"))}
	})
	groupFlag(cmd, &groupID, "read what is stored of this group")
	cmd.Flags().BoolVar(&statements, "statements", false, "hold each line, or each memory, against all rules for "+
		"statements")
	cmd.Flags().Lookup("json").Usage = "print a document a finding, then one of the counts"
	return cmd
}

// scanFile reads a file, or standard input.
func (a *app) scanFile(ctx context.Context, name string, statements bool, report *cli.ScanReport) error {
	in, err := a.Input(ctx, name)
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
	return erase.New(a.Store.DB()).Texts(ctx, groupID, func(t reverie.StoredText) error {
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
}
