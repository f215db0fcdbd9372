package main

import (
	"context"
	"errors"
	"fmt"
	"io"

	"github.com/spf13/cobra"

	application "reverie/internal/app"
	"reverie/internal/archive"
	"reverie/internal/cli"
	"reverie/internal/reverie"
	storearchive "reverie/store/archive"
)

func newMemoryExport(a *app) *cobra.Command {
	var q reverie.ExportQuery
	var name string
	var all, asJSON bool
	cmd := &cobra.Command{
		Use:   "export --group G | --all",
		Short: "Write memories with their whole history to a file",
		Long: `Write all memories of a group, or of all groups, as JSON Lines: every version of
every kind and status with its vector, the evidence and the memories it rests on,
the change log, decisions, the runs they came from, what dreams have taken in, what
waits for a person, and how often a memory was used. The last line has a checksum
of all others. 'memory import' reads it.

Messages, sessions, people and things are not in it; quotes of messages are. It is
as private as the database. One snapshot is exported, in little memory, while work
goes on; the same state gives the same lines, but for created_at in the first.`,
		Example: `  reverie memory export --all -o memories.jsonl
  reverie memory export --group g1 | gzip > g1.jsonl.gz`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			toFile := name != "" && name != "-"
			switch {
			case all == (q.GroupID != ""):
				return usageError(errors.New("either --group or --all is needed"))
			case asJSON && !toFile:
				return usageError(errors.New("--json prints what was written to a file: name one with -o"))
			}
			ctx := cmd.Context()
			if err := a.open(ctx); err != nil {
				return err
			}
			var s archive.Summary
			write := func(w io.Writer) (err error) {
				s, err = a.export(ctx, q, w)
				return err
			}
			if !toFile {
				if err := write(a.Stdout); err != nil {
					return err
				}
				_, err := fmt.Fprintln(a.Stderr, "exported "+cli.RecordCounts(s.Records))
				return err
			}
			if err := cli.WriteWhole(name, write); err != nil {
				return err
			}
			if asJSON {
				return cli.PrintJSON(a.Stdout, exportReply{Success: true, File: name, Summary: s})
			}
			_, err := fmt.Fprintf(a.Stdout, "%s: exported %s\n", cli.Visible(name), cli.RecordCounts(s.Records))
			return err
		},
	}
	f := cmd.Flags()
	f.StringVar(&q.GroupID, "group", "", "export this group")
	f.BoolVar(&all, "all", false, "export all groups")
	f.StringVarP(&name, "output", "o", "", "file to write (default standard output)")
	f.BoolVar(&q.NoVectors, "no-vectors", false, "leave vectors out; a search makes them anew, for money")
	f.BoolVar(&asJSON, "json", false, "print what was written to the file as JSON")
	return cmd
}

// exportReply says what an export wrote.
type exportReply struct {
	Success bool   `json:"success"`
	File    string `json:"file"`
	archive.Summary
}

// export writes an export to w.
func (a *app) export(ctx context.Context, q reverie.ExportQuery, w io.Writer) (archive.Summary, error) {
	out := archive.NewWriter(w, a.Now(), !q.NoVectors)
	if err := storearchive.New(a.Store.DB()).Export(ctx, q, out); err != nil {
		if errors.Is(err, reverie.ErrNotFound) {
			return archive.Summary{}, unknownGroup(err)
		}
		return archive.Summary{}, err
	}
	return out.End()
}

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
