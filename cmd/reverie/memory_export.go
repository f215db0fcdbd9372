package main

import (
	"context"
	"errors"
	"fmt"
	"io"

	"github.com/spf13/cobra"

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
