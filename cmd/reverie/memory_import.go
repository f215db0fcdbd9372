package main

import (
	"fmt"

	"github.com/spf13/cobra"

	application "reverie/internal/app"
	"reverie/internal/archive"
	"reverie/internal/cli"
	storearchive "reverie/store/archive"
)

func newMemoryImport(a *app) *cobra.Command {
	var opts archive.Options
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "import FILE|-",
		Short: "Bring exported memories back, with their whole history",
		Long: `Import what 'memory export' wrote, into this database. The file is read first
and refused whole where it is cut off, changed or of a newer version; then it is
compared with the database, and only then written, in batches. What is there
already stays: the same import again changes nothing, and goes on with one that
was stopped. A version that is there with other content stops the import before
anything is written.

Groups that are there keep their settings. Import is a restore: statements that
would be refused today, such as those with links, come back with a warning;
--strict refuses the file for them. A file with statements that hold what looks
like a secret is refused whole, unless --allow-secrets takes them in. What was
erased here does not come back. Pause a group, or import before it is worked on:
what a run is about to write may be what the file brings.`,
		Example: `  reverie memory import memories.jsonl --dry-run
  gunzip -c g1.jsonl.gz | reverie memory import -`,
		Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			ctx := cmd.Context()
			file, err := a.Seekable(ctx, args[0])
			if err != nil {
				return err
			}
			defer file.Close()
			if err := a.open(ctx); err != nil {
				return err
			}
			opts.Privacy = application.PrivacyOf(a.Config)
			const shown = 20
			refused := 0
			opts.OnRefused = func(groupID, memoryID string, err error) {
				if refused++; refused <= shown {
					fmt.Fprintf(a.Stderr, "warning: memory %s of %s: %s\n", cli.Visible(memoryID), cli.Visible(groupID),
						cli.Visible(err.Error()))
				}
			}
			res, err := archive.Import(ctx, file, storearchive.New(a.Store.DB()), opts)
			if refused > shown {
				fmt.Fprintf(a.Stderr, "warning: and %d more such statements\n", refused-shown)
			}
			if err != nil && res.Secret > 0 && !opts.Secrets {
				err = fmt.Errorf("%w (--allow-secrets takes them in)", err)
			}
			if err != nil {
				return fmt.Errorf("import %s: %w", args[0], err)
			}
			for _, k := range res.Kept[:min(len(res.Kept), shown)] {
				fmt.Fprintln(a.Stderr, "warning:", cli.Visible(k))
			}
			if more := len(res.Kept) - shown; more > 0 {
				fmt.Fprintf(a.Stderr, "warning: and so do %d more groups\n", more)
			}
			return a.PrintImport(args[0], res, opts.DryRun, asJSON)
		},
	}
	f := cmd.Flags()
	f.BoolVar(&opts.DryRun, "dry-run", false, "check and compare, and write nothing")
	f.BoolVar(&opts.Strict, "strict", false, "refuse a file with statements that would be refused today")
	f.BoolVar(&opts.Secrets, "allow-secrets", false, "take in statements that hold what looks like a secret, too")
	f.BoolVar(&asJSON, "json", false, "print as JSON")
	return cmd
}
