package command

import (
	"context"
	"errors"
	"fmt"
	"io"

	"github.com/spf13/cobra"

	application "reverie/internal/app"
	"reverie/internal/archive"
	"reverie/internal/cli"
	"reverie/internal/ingest"
	"reverie/internal/reverie"
	storearchive "reverie/store/archive"
)

func newMemoryExport(a *app) *cobra.Command {
	var q reverie.ExportQuery
	var name, format string
	var all bool
	cmd := a.command("reverie memory export", cobra.NoArgs, a.opened(func(ctx context.Context, _ []string) error {
		if format == formatMarkdown {
			return a.exportMarkdown(ctx, q.GroupID, name)
		}
		var s archive.Summary
		write := func(w io.Writer) (err error) {
			out := archive.NewWriter(w, a.Now(), !q.NoVectors)
			if err := storearchive.New(a.Store.DB()).Export(ctx, q, out); err != nil {
				return err
			}
			s, err = out.End()
			return err
		}
		if name == "" && cli.Terminal(a.Stdout) {
			return usageError(errors.New("an export is not printed on a terminal: name a file with -o, or use > FILE"))
		}
		if name == "" || name == "-" {
			if err := write(a.Stdout); err != nil {
				return err
			}
			_, err := fmt.Fprintln(a.Stderr, "exported "+cli.RecordCounts(s.Records))
			return err
		}
		if err := cli.WriteWhole(name, write); err != nil {
			return err
		}
		return a.Show(exportReply{Success: true, File: name, Summary: s}, func() error {
			return a.Say("%s: exported %s\n", cli.Visible(name), cli.RecordCounts(s.Records))
		})
	}))
	groupFlag(cmd, &q.GroupID, "export this group")
	f := cmd.Flags()
	f.BoolVar(&all, "all", false, "export all groups")
	f.StringVarP(&name, "output", "o", "", "`file` to write (default standard output)")
	choice(cmd, &format, "format", formatJSONL, "jsonl, which import reads, or markdown, which people read", formatJSONL, formatMarkdown)
	f.BoolVar(&q.NoVectors, "no-vectors", false, "leave vectors out; searches then pay to make them anew")
	cmd.Flags().Lookup("json").Usage = "print JSON: what the file holds"
	apart(cmd, "all", "group")
	check(cmd, func() error {
		switch {
		case all && format == formatMarkdown:
			return errors.New("a page has one group: name it in the place of --all")
		case a.JSON && format == formatMarkdown:
			return errors.New("--json and --format markdown are both given: give one of them")
		case a.JSON && (name == "" || name == "-"):
			return errors.New("--json needs a file for the export: name it with -o")
		case !all:
			return a.needsGroup(&q.GroupID, "a group is needed, or --all")
		}
		return nil
	})
	return cmd
}

// The formats of an export.
const (
	formatJSONL    = "jsonl"
	formatMarkdown = "markdown"
)

// exportMarkdown writes a group's memories as a page for people.
func (a *app) exportMarkdown(ctx context.Context, groupID, name string) error {
	p, err := a.MemoriesOf(ctx, groupID)
	if err != nil {
		return err
	}
	cal := a.calendar(p.Group)
	write := func(w io.Writer) error { return cli.WriteMarkdown(w, p, cal, cal.Containing(a.Now()).Date) }
	if name == "" || name == "-" {
		return write(a.Stdout)
	}
	return cli.WriteWhole(name, write)
}

// exportReply says what an export wrote.
type exportReply struct {
	Success bool   `json:"success"`
	File    string `json:"file"`
	archive.Summary
}

// shownBad is the maximum number of an import's problems that are shown.
const shownBad = 20

func newMemoryImport(a *app) *cobra.Command {
	var opts archive.Options
	var groupID string
	cmd := a.command("reverie memory import", cobra.MaximumNArgs(1), func(ctx context.Context, args []string) error {
		name := "-"
		if len(args) > 0 {
			name = args[0]
		} else if in, ok := a.Stdin.(io.Writer); ok && cli.Terminal(in) { // a terminal is a file that is also writable
			return usageError(errors.New("the file to import is missing: name it, or use - < FILE"))
		}
		if groupID != "" {
			return a.importOthers(ctx, groupID, name, opts)
		}
		file, err := a.Seekable(ctx, name)
		if err != nil {
			return err
		}
		defer file.Close()
		if err := a.open(ctx); err != nil {
			return err
		}
		opts.Privacy = application.PrivacyOf(a.Config)
		refused, kept := firstFew{app: a}, firstFew{app: a}
		opts.OnRefused = func(groupID, memoryID string, err error) {
			refused.show(fmt.Sprintf("warning: memory %s of %s: %s", memoryID, groupID, err))
		}
		res, err := archive.Import(ctx, file, storearchive.New(a.Store.DB()), opts)
		refused.end()
		if err != nil && res.Secret > 0 && !opts.Secrets {
			err = fmt.Errorf("%w (--allow-secrets takes them in)", err)
		}
		if err != nil {
			return fmt.Errorf("import %s: %w", name, err)
		}
		for _, text := range res.Kept {
			kept.show("warning: " + text)
		}
		kept.end()
		return a.PrintImport(name, res, opts.DryRun)
	})
	f := cmd.Flags()
	f.StringVar(&groupID, "group", "", "take in what another system remembers, as memories of this group")
	f.BoolVar(&opts.DryRun, "dry-run", false, "check and compare, and write nothing")
	f.BoolVar(&opts.Strict, "strict", false, "refuse a file with statements that Reverie would refuse today")
	f.BoolVar(&opts.Secrets, "allow-secrets", false, "import statements that look like secrets, too")
	apart(cmd, "group", "strict", "allow-secrets")
	return cmd
}

// importOthers imports another system's memories into a group.
func (a *app) importOthers(ctx context.Context, groupID, name string, opts archive.Options) error {
	in, err := ingest.Open(ctx, name, a.Stdin)
	if err != nil {
		return err
	}
	defer in.Close()
	if err := a.open(ctx); err != nil {
		return err
	}
	refused := firstFew{app: a}
	res, err := a.ImportMemories(ctx, groupID, in, opts.DryRun, func(place string, err error) {
		refused.show(fmt.Sprintf("warning: %s: %v", place, err))
	})
	if err != nil {
		return fmt.Errorf("import %s: %w", name, err)
	}
	refused.end()
	if err := a.Show(res, func() error { return a.Say("%s: %s\n", cli.Visible(name), res) }); err != nil || res.Success {
		return err
	}
	return fmt.Errorf("%s cannot be remembered; the rest is done", cli.Plural(res.Refused, "memory"))
}
