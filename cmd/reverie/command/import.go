package command

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"strings"

	"github.com/spf13/cobra"

	application "reverie/internal/app"
	"reverie/internal/cli"
	"reverie/internal/config"
	"reverie/internal/ingest"
	"reverie/internal/reverie"
	"reverie/internal/text"
)

// importOrder holds the arguments of an import.
type importOrder struct {
	application.Import
	path, zone string
	strict     bool
}

func newImport(a *app) *cobra.Command {
	var o importOrder
	cmd := a.command("reverie import", cobra.ExactArgs(1), func(ctx context.Context, args []string) error {
		o.path = args[0]
		return a.importChats(ctx, o)
	})
	formats := []string{ingest.Auto}
	var table strings.Builder
	for _, f := range ingest.Formats() {
		formats = append(formats, f.Name)
		fmt.Fprintf(&table, "  %-10s %s\n", f.Name, f.Title)
	}
	cmd.Long = strings.Replace(cmd.Long, "{formats}\n", table.String(), 1)
	importFlags(cmd, &o.Import)
	cmd.Flags().Lookup("group").Usage = "group that everything goes into (default a group for each chat)"
	f := cmd.Flags()
	choice(cmd, &o.Format, "format", ingest.Auto, strings.Join(formats, ", "), formats...)
	f.StringVar(&o.Read.Chat, "chat", "", "import only the chat with this id or name")
	f.StringVar(&o.zone, "zone", "", "zone of times that name none (default --time-zone, then [group] time_zone)")
	choice(cmd, &o.Read.DateOrder, "date-order", "", "order of ambiguous dates: dmy, mdy or ymd",
		"dmy", "mdy", "ymd")
	f.StringVar(&o.Group.Name, "name", "", "name of a new group (default that of the chat)")
	f.BoolVar(&o.strict, "strict", false, "stop at the first bad record")
	return cmd
}

// importFlags adds the flags that import and pull share.
func importFlags(cmd *cobra.Command, o *application.Import) {
	groupFlag(cmd, &o.Group.ID, "group that the one chat goes into (default a group for each chat)")
	f := cmd.Flags()
	f.StringArrayVar(&o.Assistants, "assistant", nil, "id or name of the group's own assistant, besides [ingest] "+
		"assistants (repeatable)")
	f.StringVar(&o.Group.TimeZone, "time-zone", "", "time zone of a new group, such as Asia/Shanghai (default [group] "+
		"time_zone)")
	choice(cmd, &o.Group.Language, "language", "", "language of a new group's memories: zh or en (default that of the "+
		"messages)", "zh", "en")
	f.BoolVar(&o.DryRun, "dry-run", false, "only list the chats, with their messages and dates")
	f.BoolVar(&o.AllowErased, "allow-erased", false, "import what 'reverie erase' has erased, too")
	f.Lookup("json").Usage = "print the counts as JSON"
}

func (a *app) importChats(ctx context.Context, o importOrder) error {
	if err := a.settings(); err != nil {
		return err
	}
	if err := a.CheckImport(&o.Import, o.zone); err != nil {
		return err
	}
	o.Read.OneGroup = o.Group.ID != ""
	early := o.path == "-" && o.Group.ID != "" && !o.DryRun // refuse wrong settings before anybody has typed much
	if early {
		if err := a.EnsureGroup(ctx, o.Group); err != nil {
			return err
		}
	}
	in, err := ingest.Open(ctx, o.path, &cli.PatientReader{Ctx: ctx, From: a.Stdin})
	if err != nil {
		return err
	}
	defer func() { _ = in.Close() }() // it was only read
	if err := a.OneChat(ctx, in, o.path, o.Import); err != nil {
		return err
	}
	if o.Group.ID != "" && !o.DryRun && !early {
		if err := a.EnsureGroup(ctx, o.Group); err != nil {
			return err
		}
	}
	return a.importInput(ctx, in, o)
}

// firstFew shows the first of many problems, and at the end the number of the rest.
type firstFew struct {
	*app
	seen int
}

func (f *firstFew) show(text string) {
	if f.seen++; f.seen <= shownBad {
		fmt.Fprintln(f.Stderr, cli.Visible(text))
	}
}

func (f *firstFew) end() {
	if more := f.seen - shownBad; more > 0 {
		fmt.Fprintf(f.Stderr, "and %d more\n", more)
	}
}

// importInput imports an opened source, and prints the result.
func (a *app) importInput(ctx context.Context, in *ingest.Input, o importOrder) error {
	bad := firstFew{app: a}
	bar := a.ImportBar(in)
	importer := a.Importer(o.Import, ingest.Options{Strict: o.strict, OnRead: bar.Read, OnBad: func(b *ingest.Bad) {
		bar.Clear()
		bad.show(reverie.ErrorText(b))
	}})
	formats, passedOver, err := importer.Input(ctx, in, o.Format, o.Read)
	bar.Finish()
	bad.end()
	res := importer.Result()
	if len(res.Groups) == 0 && err == nil && o.Group.ID != "" { // an empty file
		res.Groups = append(res.Groups, &ingest.ChatResult{GroupID: o.Group.ID})
	}
	shown := cli.ImportShown{Dry: o.DryRun, Formats: formats, PassedOver: passedOver}
	shown.Ahead = a.ahead(ctx, !o.DryRun && err == nil, res)
	perr := a.PrintChats(shown, res, err)
	if perr != nil {
		return errors.Join(err, perr)
	}
	switch {
	case err != nil && o.strict && res.Bad > 0:
		return &codeError{ExitError, err}
	case errors.Is(err, io.ErrUnexpectedEOF):
		return &codeError{ExitError, fmt.Errorf("%w; everything before that is imported: get the whole file and import "+
			"it again", err)}
	case err != nil:
		return err
	case res.Bad > 0:
		return &codeError{ExitError, fmt.Errorf("%s not imported: correct them and import again; the others stay as "+
			"they are", cli.Plural(res.Bad, "bad record"))}
	case o.Read.Chat != "" && res.Records == 0:
		return usageError(fmt.Errorf("--chat %q: no chat has this id or name, or it is empty; --dry-run without "+
			"--chat lists them", o.Read.Chat))
	}
	return nil
}

// ahead estimates what evolving the imported chats takes, nil if there is nothing to say.
func (a *app) ahead(ctx context.Context, brought bool, res ingest.Result) (next any) {
	if ahead := a.Ahead(ctx, res.Groups); brought && ahead != nil {
		next = ahead
	}
	return next
}

func newPull(a *app) *cobra.Command {
	var o application.Pull
	var tokenFile string
	cmd := a.command("reverie pull", cobra.ExactArgs(1), func(ctx context.Context, args []string) error {
		return a.pull(ctx, o, args[0], tokenFile)
	})
	importFlags(cmd, &o.Import)
	f := cmd.Flags()
	f.StringArrayVar(&o.Chats, "chat", nil, "pull only the chat with this id or name (repeatable)")
	f.StringVar(&tokenFile, "token-file", "", "`file` with the token (default REVERIE_PULL_TOKEN); -FILE may be missing")
	a.sinceFlag(cmd, &o.Since,
		"pull messages since a date, an instant or an age such as 30d (default the last pull)")
	f.BoolVar(&o.All, "all", false, "pull all messages from the beginning")
	apart(cmd, "all", "since")
	return cmd
}

func (a *app) pull(ctx context.Context, o application.Pull, address, tokenFile string) error {
	if err := a.settings(); err != nil {
		return err
	}
	if err := a.CheckImport(&o.Import, ""); err != nil {
		return err
	}
	token, err := a.pullToken(tokenFile)
	if err != nil {
		return err
	}
	if o.Server, err = ingest.NewServer(address, ingest.ServerOptions{Token: token, Now: a.Now}); err != nil {
		return err
	}
	defer o.Server.Close()
	source := o.Server.Source()
	if token != "" && o.Server.Plain() {
		a.Warn(fmt.Sprintf("the token goes to %s without encryption; use https", source))
	}
	if err := a.open(ctx); err != nil {
		return err
	}
	sessions, err := o.Server.Sessions(ctx)
	if err != nil {
		return err
	}
	if sessions, err = o.Pick(sessions); err != nil {
		return err
	}
	bad := firstFew{app: a}
	o.OnBad = func(b *ingest.Bad) { bad.show(reverie.ErrorText(b)) }
	res, failed, err := a.PullAll(ctx, o, sessions, a.watchPull)
	bad.end()
	shown := cli.ImportShown{Dry: o.DryRun, Ahead: a.ahead(ctx, !o.DryRun && err == nil, res)}
	return errors.Join(err, a.PrintPulled(shown, source, res, len(failed) == 0, failed),
		pullError(res, failed, len(sessions)))
}

// watchPull shows the progress of a chat's pull on a terminal.
func (a *app) watchPull(s ingest.Session) (onRead func(records int), end func()) {
	if a.JSON {
		return nil, func() {}
	}
	total := cmp.Or(max(s.Messages, 0), -1)
	bar := a.NewBar(int64(total), "pulling "+cli.Visible(text.Excerpt(cmp.Or(s.Name, s.ID), 32)), "messages")
	return func(records int) { bar.Set(records, total) }, bar.Finish
}

// pullError returns the error of a pull of asked chats.
func pullError(res ingest.Result, failed []application.PullFailure, asked int) error {
	var all error
	for _, f := range failed {
		all = errors.Join(all, f.Err)
	}
	switch {
	case len(failed) == asked:
		return all
	case len(failed) > 0:
		return &codeError{ExitPartial, fmt.Errorf("%w\n%d of %s failed: pull again; what was stored stays", all, len(failed),
			cli.Plural(asked, "chat"))}
	case res.Bad > 0:
		return &codeError{ExitError, fmt.Errorf("%s not stored; the next pull leaves them out, and --all asks for them again",
			cli.Plural(res.Bad, "bad record"))}
	}
	return nil
}

// pullToken returns the server's token, "" if none is given. With a dash before its name, the file may be missing.
func (a *app) pullToken(file string) (string, error) {
	if file == "" {
		return strings.TrimSpace(a.Getenv(config.EnvPullToken)), nil
	}
	file, optional := strings.CutPrefix(file, "-")
	raw, err := os.ReadFile(file)
	if optional && errors.Is(err, fs.ErrNotExist) {
		return "", nil
	}
	if err != nil {
		return "", usageError(fmt.Errorf("--token-file: %w", err))
	}
	token := strings.TrimSpace(string(raw))
	if token == "" {
		return "", usageError(fmt.Errorf("--token-file: %s is empty", file))
	}
	return token, nil
}
