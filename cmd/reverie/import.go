package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/schollz/progressbar/v3"
	"github.com/spf13/cobra"

	"reverie"
	"reverie/ingest"
)

func newImport(a *app) *cobra.Command {
	var g reverie.Group
	var strict, asJSON bool
	cmd := &cobra.Command{
		Use:   "import FILE|- --group G",
		Short: "Bring chat messages in",
		Long: `Import messages from JSON Lines, one object a line:

  {"id":"1","author_id":"u7","author":"Lin","role":"user","text":"...",
   "sent_at":"2026-01-15T20:01:00+08:00","session_id":"s1","reply_to":"0"}

id, author, text and sent_at are needed. An id that is stored already is left as
it was, so importing a file twice changes nothing. A bad line is reported with
its number and the rest goes on; the exit code then is 1. --strict stops at it.
The group is made if it is new.`,
		Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			return a.importFile(cmd, args[0], g, strict, asJSON)
		},
	}
	f := cmd.Flags()
	f.StringVar(&g.ID, "group", "", "group id (required)")
	f.StringVar(&g.Name, "name", "", "name of a new group")
	f.StringVar(&g.TimeZone, "time-zone", "", "time zone of a new group, such as Asia/Shanghai (default [group] time_zone)")
	f.StringVar(&g.Language, "language", "", "language of a new group's memories: zh or en (default: that of the messages)")
	f.BoolVar(&strict, "strict", false, "stop at the first bad line")
	f.BoolVar(&asJSON, "json", false, "print the counts as JSON")
	required(cmd, "group")
	return cmd
}

func (a *app) importFile(cmd *cobra.Command, name string, g reverie.Group, strict, asJSON bool) error {
	ctx := cmd.Context()
	in, size, err := a.input(ctx, name)
	if err != nil {
		return err
	}
	defer in.Close()
	if err := a.settings(); err != nil {
		return err
	}
	asked := g
	if g.TimeZone == "" {
		g.TimeZone = a.cfg.Group.TimeZone
	}
	if g.Language == "" {
		g.Language = a.cfg.Group.Language
	}
	g.DayBoundary = a.cfg.Group.DayBoundary
	if err := checkGroup(g); err != nil {
		return err
	}
	if err := a.open(ctx); err != nil {
		return err
	}
	created, err := a.store.EnsureGroup(ctx, g)
	if err != nil {
		return err
	}
	if !created {
		if err := a.noteDifference(cmd, asked); err != nil {
			return err
		}
	}
	const shown = 20
	bad := 0
	opts := ingest.Options{Strict: strict, OnBad: func(line int, err error) {
		if bad++; bad <= shown {
			fmt.Fprintf(a.stderr, "line %d: %s\n", line, visible(err.Error()))
		}
	}}
	if size > 0 && terminal(a.stderr) && !asJSON {
		bar := progressbar.NewOptions64(size, progressbar.OptionSetWriter(a.stderr), progressbar.OptionShowBytes(true),
			progressbar.OptionSetDescription("importing"), progressbar.OptionClearOnFinish())
		defer bar.Finish()
		opts.OnRead = func(n int64) { _ = bar.Set64(n) } // a bar that cannot be drawn is no reason to stop
	}
	res, err := ingest.JSONLines(ctx, a.store, g.ID, in, opts)
	if bad > shown {
		fmt.Fprintf(a.stderr, "and %d more bad lines\n", bad-shown)
	}
	if asJSON {
		if perr := printJSON(a.stdout, struct {
			Success bool   `json:"success"`
			GroupID string `json:"group_id"`
			ingest.Result
		}{err == nil && res.Bad == 0, g.ID, res}); perr != nil {
			return errors.Join(err, perr)
		}
	} else {
		fmt.Fprintf(a.stdout, "%s: %s, %d new, %d known already, %d bad\n", visible(g.ID), plural(res.Lines, "line"), res.New, res.Known, res.Bad)
	}
	switch {
	case err != nil && strict && res.Bad > 0:
		return &codeError{exitError, err}
	case err != nil:
		return err
	case res.Bad > 0:
		return &codeError{exitError, fmt.Errorf("%s not imported; mend them and import the file again: the others are left as they are", plural(res.Bad, "bad line"))}
	}
	return nil
}

// input opens a file or, for "-", standard input. The size is 0 where it is not
// known.
func (a *app) input(ctx context.Context, name string) (io.ReadCloser, int64, error) {
	if name == "-" {
		return io.NopCloser(&patientReader{ctx: ctx, from: a.stdin}), 0, nil
	}
	f, err := os.Open(name)
	if err != nil {
		return nil, 0, fmt.Errorf("open the file to import: %w", err)
	}
	info, err := f.Stat()
	if err == nil && info.IsDir() {
		err = fmt.Errorf("import %s: it is a folder; name a file", name)
	}
	if err != nil {
		f.Close()
		return nil, 0, err
	}
	return f, info.Size(), nil
}

// patientReader waits for input until the context ends, which a plain read from
// a terminal or a pipe would not notice. It is for one reader at a time.
type patientReader struct {
	ctx  context.Context
	from io.Reader
	read chan piece // the read under way, nil without one
	rest piece      // of the last read
}

// piece is what one read brought.
type piece struct {
	data []byte
	err  error
}

func (r *patientReader) Read(p []byte) (int, error) {
	if len(r.rest.data) == 0 && r.rest.err == nil {
		if r.read == nil {
			r.read = make(chan piece, 1)
			go func(into chan<- piece) {
				buffer := make([]byte, 1<<16)
				n, err := r.from.Read(buffer)
				into <- piece{buffer[:n], err}
			}(r.read)
		}
		select {
		case r.rest = <-r.read:
			r.read = nil
		case <-r.ctx.Done():
			return 0, r.ctx.Err()
		}
	}
	n := copy(p, r.rest.data)
	r.rest.data = r.rest.data[n:]
	if len(r.rest.data) > 0 {
		return n, nil
	}
	return n, r.rest.err
}

// checkGroup refuses what a new group cannot have.
func checkGroup(g reverie.Group) error {
	if g.ID == "" || len(g.ID) > reverie.MaxGroupIDLength {
		return usageError(fmt.Errorf("--group: an id of 1 to %d bytes is needed", reverie.MaxGroupIDLength))
	}
	if g.Language != "" && g.Language != "zh" && g.Language != "en" {
		return usageError(fmt.Errorf("--language %q: it is zh, en, or left out", g.Language))
	}
	if _, err := g.Location(); err != nil {
		return usageError(err)
	}
	return nil
}

// noteDifference says which wishes for a new group came too late.
func (a *app) noteDifference(cmd *cobra.Command, asked reverie.Group) error {
	g, err := a.store.Group(cmd.Context(), asked.ID)
	if err != nil {
		return err
	}
	for _, d := range []struct{ flag, asked, has string }{
		{"name", asked.Name, g.Name}, {"time-zone", asked.TimeZone, g.TimeZone}, {"language", asked.Language, g.Language},
	} {
		if d.asked != "" && d.asked != d.has {
			fmt.Fprintf(a.stderr, "warning: group %q exists with %s %q; --%s %q is not applied\n", g.ID, d.flag, d.has, d.flag, d.asked)
		}
	}
	return nil
}

// required makes a flag one that cannot be left out.
func required(cmd *cobra.Command, name string) {
	check := cmd.PreRunE
	cmd.PreRunE = func(cmd *cobra.Command, args []string) error {
		if !cmd.Flags().Changed(name) {
			return usageError(fmt.Errorf("--%s is needed\nsee '%s --help'", name, cmd.CommandPath()))
		}
		if check != nil {
			return check(cmd, args)
		}
		return nil
	}
}
