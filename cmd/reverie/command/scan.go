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
	cmd := a.command("reverie scan", cobra.MaximumNArgs(1), func(ctx context.Context, args []string) (err error) {
		report := &cli.ScanReport{Console: &a.Console, Rules: map[reverie.ScanFinding]int{}}
		switch {
		case groupID != "" && len(args) > 0:
			return usageError(errors.New("a file and --group are both given: give one of them"))
		case groupID != "":
			err = a.scanGroup(ctx, groupID, report)
		case len(args) > 0:
			err = a.scanFile(ctx, args[0], report)
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
	groupFlag(cmd, &groupID, "scan what is stored of this group")
	cmd.Flags().Lookup("json").Usage = "print JSON: a document for each finding, then the counts"
	return cmd
}

// scanFile scans a file, or standard input.
func (a *app) scanFile(ctx context.Context, name string, report *cli.ScanReport) error {
	in, err := a.Input(ctx, name)
	if err != nil {
		return err
	}
	defer in.Close()
	if err := cli.ScanText(ctx, in, report); err != nil {
		return fmt.Errorf("read %s: %w", cli.Visible(name), err)
	}
	return nil
}

// scanGroup scans the stored texts of a group.
func (a *app) scanGroup(ctx context.Context, groupID string, report *cli.ScanReport) error {
	if err := a.open(ctx); err != nil {
		return err
	}
	return erase.New(a.Store.DB()).Texts(ctx, groupID, func(t reverie.StoredText) error {
		report.Texts++
		report.Bytes += int64(len(t.Text))
		for _, f := range safety.Scan(t.Text) {
			f.Where = t.Table + "." + t.Column + " " + t.Key
			if err := report.Add(f); err != nil {
				return err
			}
		}
		return ctx.Err()
	})
}
