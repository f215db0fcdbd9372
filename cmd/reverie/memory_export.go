package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/spf13/cobra"

	"reverie/internal/archive"
	"reverie/internal/cli"
	"reverie/internal/reverie"
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
			if err := writeWhole(name, write); err != nil {
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
	if err := a.Store.Export(ctx, q, out); err != nil {
		if errors.Is(err, reverie.ErrNotFound) {
			return archive.Summary{}, unknownGroup(err)
		}
		return archive.Summary{}, err
	}
	return out.End()
}

// writeWhole writes a file that is there whole or, where writing failed, not at
// all; one that was there stays until then, and so does a link to it. Nobody else
// may read it. What is no file but a pipe or a device is written as it is.
func writeWhole(name string, write func(io.Writer) error) error {
	place, special, err := whereToWrite(name)
	if err != nil {
		return fmt.Errorf("find the place of the file %s: %w", name, err)
	}
	if special {
		f, err := os.OpenFile(place, os.O_WRONLY, 0)
		if err != nil {
			return fmt.Errorf("open %s: %w", name, err)
		}
		if err := errors.Join(write(f), f.Close()); err != nil {
			return fmt.Errorf("write %s: %w", name, err)
		}
		return nil
	}
	f, err := os.CreateTemp(filepath.Dir(place), "."+filepath.Base(place)+".*")
	if err != nil {
		return fmt.Errorf("make the file %s: %w", name, err)
	}
	defer func() { _ = os.Remove(f.Name()) }() // renamed by then, or unfinished
	if err := errors.Join(write(f), f.Sync(), f.Close()); err != nil {
		return fmt.Errorf("write %s: %w", name, err)
	}
	if err := os.Rename(f.Name(), place); err != nil {
		return fmt.Errorf("put %s in its place: %w", name, err)
	}
	return nil
}

// whereToWrite follows the links that a name may be, also to a file that is not
// there yet, and tells whether something is there that is no regular file.
func whereToWrite(name string) (place string, special bool, err error) {
	info, err := os.Stat(name)
	switch {
	case err == nil && !info.Mode().IsRegular():
		return name, true, nil // by its name: what /dev/stdout leads to may have none
	case err == nil:
		place, err = filepath.EvalSymlinks(name)
		return place, false, err
	case !errors.Is(err, fs.ErrNotExist):
		return "", false, err
	}
	target, err := os.Readlink(name)
	if err != nil {
		return name, false, nil // no link, or nothing at all
	}
	if !filepath.IsAbs(target) {
		target = filepath.Join(filepath.Dir(name), target)
	}
	return whereToWrite(target) // links in a circle are an error of Stat
}
