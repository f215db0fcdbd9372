package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	application "reverie/internal/app"
	"reverie/internal/cli"
	"reverie/internal/config"
	"reverie/internal/ingest"
	"reverie/internal/reverie"
	"reverie/internal/text"
)

// importOrder is what was asked of an import.
type importOrder struct {
	application.Import
	path, zone     string
	strict, asJSON bool
}

func newImport(a *app) *cobra.Command {
	var o importOrder
	var names []string
	for _, f := range ingest.Formats() {
		names = append(names, f.Name)
	}
	cmd := &cobra.Command{
		Use:   "import FILE|DIR|-",
		Short: "Bring chat messages in",
		Long: `Import the messages of a chat export, a file, an archive (zip, tar.gz) or a folder,
or from standard input. The format is known by the content:

` + formatTable() + `
Each chat becomes a group of its own, FORMAT-ID, unless --group says into which one
goes all of it; an export of several chats then needs --chat.

An id that is stored already is left as it was: importing a longer export of the same
chat brings in what is new, and an import that was cut short is simply begun again. A
record that cannot be read is reported, counted by its reason, and passed over; the
exit code then is 1. --strict stops at it. What is nobody's words (joins, pictures
without a caption), commands to bots and other bots' messages are stored, counted and
shown to no model: see [ingest] in the configuration.

JSON Lines have one message a line, and need --group:
  {"id":"1","author_id":"u7","author":"Lin","role":"user","text":"...",
   "sent_at":"2026-01-15T20:01:00+08:00","session_id":"s1","reply_to":"0"}
id, author, text and sent_at are needed.`,
		Example: `  reverie import chat.jsonl --group g1
  reverie import slack-export.zip --dry-run
  reverie import result.json --chat "Book club" --time-zone Europe/Berlin
  reverie import "WhatsApp Chat with Lin.zip" --zone Asia/Shanghai --date-order dmy`,
		Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			o.path = args[0]
			if cmd.Flags().Changed("group") && o.Group.ID == "" {
				return usageError(fmt.Errorf("--group: the id of the group is empty"))
			}
			if o.Format != ingest.Auto && !slices.Contains(names, o.Format) {
				return usageError(fmt.Errorf("--format %q: it is auto, %s", o.Format, strings.Join(names, ", ")))
			}
			if d := o.Read.DateOrder; d != "" && d != "dmy" && d != "mdy" && d != "ymd" {
				return usageError(fmt.Errorf("--date-order %q: it is dmy, mdy or ymd", d))
			}
			return a.importChats(cmd, o)
		},
	}
	f := cmd.Flags()
	f.StringVar(&o.Group.ID, "group", "", "group that all of it goes into (default: each chat becomes one)")
	f.StringVar(&o.Format, "format", ingest.Auto, "auto, "+strings.Join(names, ", "))
	f.StringVar(&o.Read.Chat, "chat", "", "only the chat of this id or name")
	f.StringVar(&o.zone, "zone", "", "time zone of times that name none (default: --time-zone, else [group] time_zone)")
	f.StringVar(&o.Read.DateOrder, "date-order", "", "how dates are written where that cannot be told: dmy, mdy or ymd")
	f.StringArrayVar(&o.Assistants, "assistant", nil, "id or name of the group's own assistant (repeatable; besides [ingest] assistants)")
	f.StringVar(&o.Group.Name, "name", "", "name of a new group (default: that of the chat)")
	f.StringVar(&o.Group.TimeZone, "time-zone", "", "time zone of a new group, such as Asia/Shanghai (default [group] time_zone)")
	f.StringVar(&o.Group.Language, "language", "", "language of a new group's memories: zh or en (default: that of the messages)")
	f.BoolVar(&o.DryRun, "dry-run", false, "only read and count: which chats there are, from when to when")
	f.BoolVar(&o.strict, "strict", false, "stop at the first bad record")
	f.BoolVar(&o.AllowErased, "allow-erased", false, "let in again what 'reverie erase' has erased")
	f.BoolVar(&o.asJSON, "json", false, "print the counts as JSON")
	return cmd
}

// formatTable lists the formats for help.
func formatTable() string {
	var b strings.Builder
	for _, f := range ingest.Formats() {
		fmt.Fprintf(&b, "  %-10s %s\n", f.Name, f.Title)
	}
	return b.String()
}

func (a *app) importChats(cmd *cobra.Command, o importOrder) error {
	ctx := cmd.Context()
	if err := a.settings(); err != nil {
		return err
	}
	if err := a.prepareImport(&o.Import, o.zone); err != nil {
		return err
	}
	early := o.path == "-" && o.Group.ID != "" && !o.DryRun // its settings are refused before anybody has typed much
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

// prepareImport checks an order, and fills in what the configuration says.
func (a *app) prepareImport(o *application.Import, zone string) error {
	asked := o.Group
	if asked.ID == "" {
		asked.ID = "any"
	}
	if err := checkGroup(asked); err != nil {
		return err
	}
	zone = cmp.Or(zone, o.Group.TimeZone, a.Config.Group.TimeZone)
	loc, err := reverie.Group{TimeZone: zone}.Location()
	if err != nil {
		return usageError(fmt.Errorf("--zone %q: use an IANA name such as Asia/Shanghai", zone))
	}
	o.Read.Zone = loc
	return nil
}

// shownBad is how many bad records are shown.
const shownBad = 20

// importInput reads what was opened, and says what came of it.
func (a *app) importInput(ctx context.Context, in *ingest.Input, o importOrder) error {
	bad := 0
	bar := a.ImportBar(in, o.asJSON)
	opts := ingest.Options{Strict: o.strict, OnRead: bar.Read, OnBad: func(b *ingest.Bad) {
		if bad++; bad <= shownBad {
			bar.Clear()
			fmt.Fprintln(a.Stderr, cli.Visible(b.Error()))
		}
	}}
	importer := a.Importer(o.Import, opts)
	formats, passedOver, err := importer.Input(ctx, in, o.Format, o.Read)
	bar.Finish()
	if bad > shownBad {
		fmt.Fprintf(a.Stderr, "and %s more\n", cli.Plural(bad-shownBad, "bad record"))
	}
	res := importer.Result()
	if len(res.Groups) == 0 && err == nil && o.Group.ID != "" { // an empty file
		res.Groups = append(res.Groups, &ingest.ChatResult{GroupID: o.Group.ID})
	}
	if perr := a.PrintChats(cli.ImportShown{Dry: o.DryRun, AsJSON: o.asJSON, Formats: formats, PassedOver: passedOver}, res, err); perr != nil {
		return errors.Join(err, perr)
	}
	return importError(o, res, err)
}

// importError is what is wrong with an import, if anything is.
func importError(o importOrder, res ingest.Result, err error) error {
	switch {
	case err != nil && o.strict && res.Bad > 0:
		return &codeError{exitError, err}
	case errors.Is(err, io.ErrUnexpectedEOF):
		return &codeError{exitError, fmt.Errorf("%w; what stands before is imported: get the whole file and import it again",
			err)}
	case err != nil:
		return err
	case res.Bad > 0:
		return &codeError{exitError, fmt.Errorf("%s not imported; mend them and import it again: the others are left as they are", cli.Plural(res.Bad, "bad record"))}
	case o.Read.Chat != "" && res.Records == 0:
		return usageError(fmt.Errorf("--chat %q: there is no chat of this id or name, or nothing in it; --dry-run without --chat lists them", o.Read.Chat))
	}
	return nil
}

// checkGroup refuses what a new group cannot have.
func checkGroup(g reverie.Group) error {
	if err := reverie.CheckGroupID(g.ID); err != nil {
		return usageError(err)
	}
	if g.Language != "" && g.Language != "zh" && g.Language != "en" {
		return usageError(fmt.Errorf("--language %q: it is zh, en, or left out", g.Language))
	}
	if _, err := g.Location(); err != nil {
		return usageError(err)
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

// pullOrder is what was asked of a pull.
type pullOrder struct {
	application.Pull
	address, tokenFile, since string
	asJSON                    bool
}

func newPull(a *app) *cobra.Command {
	var o pullOrder
	cmd := &cobra.Command{
		Use:   "pull URL",
		Short: "Bring in what is new on a server that hands chats over",
		Long: `Pull asks a server of ChatLab's pull protocol for its chats (URL/sessions) and for the
messages of each (URL/sessions/ID/messages), and stores those that are not there yet.

Each chat becomes a group of its own, chatlab-ID, unless --group says into which one
goes the one that --chat picks. How far a chat has come is kept for each group and
server, and moves on only behind what is stored: a pull that was cut short is simply
begun again, and the next one asks only for what has come since, and for the minute
before. --since asks from another time on, --all from the beginning; what is known
already is left as it was. A first pull with --since leaves out what was sent before it;
later on a --since beyond where the last pull ended leaves out what lies between, and the
next pull without it brings that, too.

The token is in REVERIE_PULL_TOKEN or in a file, and goes to this server only. Answers
that break off and passing faults (429, 5xx, no connection) are asked for again. A chat
that fails does not stop the others.

` + exitHelp,
		Example: `  reverie pull http://127.0.0.1:5031/api/v1 --dry-run
  REVERIE_PULL_TOKEN=... reverie pull https://chats.example.org/api/v1
  reverie pull http://127.0.0.1:5031/api/v1 --chat "Book club" --group books --since 30d`,
		Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			o.address = args[0]
			switch {
			case cmd.Flags().Changed("group") && o.Group.ID == "":
				return usageError(errors.New("--group: the id of the group is empty"))
			case o.All && o.since != "":
				return usageError(errors.New("--all is from the beginning; it goes without --since"))
			}
			return a.pull(cmd.Context(), o)
		},
	}
	f := cmd.Flags()
	f.StringVar(&o.Group.ID, "group", "", "group that the one chat goes into (default: each chat becomes one)")
	f.StringArrayVar(&o.Chats, "chat", nil, "only the chat of this id or name (repeatable)")
	f.StringVar(&o.tokenFile, "token-file", "", "file that holds the token (default REVERIE_PULL_TOKEN)")
	f.StringVar(&o.since, "since", "", "messages from then on: a date, an instant, or an age such as 30d (default: where the last pull ended)")
	f.BoolVar(&o.All, "all", false, "all messages, from the beginning")
	f.StringArrayVar(&o.Assistants, "assistant", nil, "id or name of the group's own assistant (repeatable; besides [ingest] assistants)")
	f.StringVar(&o.Group.TimeZone, "time-zone", "", "time zone of a new group, such as Asia/Shanghai (default [group] time_zone)")
	f.StringVar(&o.Group.Language, "language", "", "language of a new group's memories: zh or en (default: that of the messages)")
	f.BoolVar(&o.DryRun, "dry-run", false, "only read and count: which chats there are, from when to when")
	f.BoolVar(&o.AllowErased, "allow-erased", false, "let in again what 'reverie erase' has erased")
	f.BoolVar(&o.asJSON, "json", false, "print the counts as JSON")
	return cmd
}

func (a *app) pull(ctx context.Context, o pullOrder) error {
	if err := a.settings(); err != nil {
		return err
	}
	err := a.prepareImport(&o.Import, "")
	if err != nil {
		return err
	}
	if o.Since, err = sinceWhen(o.since, a.Now()); err != nil {
		return usageError(fmt.Errorf("--since: %w", err))
	}
	token, err := a.pullToken(o.tokenFile)
	if err != nil {
		return err
	}
	if o.Server, err = ingest.NewServer(o.address, ingest.ServerOptions{Token: token, Now: a.Now}); err != nil {
		return err
	}
	defer o.Server.Close()
	if token != "" && o.Server.Plain() {
		fmt.Fprintf(a.Stderr, "warning: the token goes to %s without encryption; use https\n", cli.Visible(o.Server.Source()))
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
	p := &puller{app: a, pullOrder: o, result: ingest.Result{Groups: []*ingest.ChatResult{}}}
	p.OnBad = func(b *ingest.Bad) {
		if p.shown++; p.shown <= shownBad {
			fmt.Fprintln(a.Stderr, cli.Visible(b.Error()))
		}
	}
	for _, s := range sessions {
		if err := p.chat(ctx, s); ctx.Err() != nil {
			return errors.Join(ctx.Err(), p.end(len(sessions)))
		} else if err != nil {
			p.failed = append(p.failed, pullFailure{s.ID, s.Name, err.Error(), err})
		}
	}
	return p.end(len(sessions))
}

// puller pulls chats one after the other, and prints what comes of it.
type puller struct {
	*app
	pullOrder
	result ingest.Result
	failed []pullFailure
	shown  int // bad records
}

type pullFailure struct {
	ChatID string `json:"chat_id"`
	Name   string `json:"name"`
	Error  string `json:"error"`
	err    error
}

// chat pulls one, under a bar on a terminal.
func (p *puller) chat(ctx context.Context, s ingest.Session) error {
	order := p.Pull
	if !p.asJSON {
		total := cmp.Or(max(s.Messages, 0), -1)
		bar := p.NewBar(int64(total), "pulling "+cli.Visible(text.Excerpt(cmp.Or(s.Name, s.ID), 32)), "messages")
		order.OnRead = func(records int) { bar.Set(records, total) }
		defer bar.Finish()
	}
	res, err := p.app.Pull(ctx, order, s)
	if res != nil {
		p.add(*res)
	}
	return err
}

// pullToken is the server's token, "" where none is given.
func (a *app) pullToken(file string) (string, error) {
	if file == "" {
		return strings.TrimSpace(a.Getenv(config.EnvPullToken)), nil
	}
	raw, err := os.ReadFile(file)
	if err != nil {
		return "", usageError(fmt.Errorf("--token-file: %w", err))
	}
	token := strings.TrimSpace(string(raw))
	if token == "" {
		return "", usageError(fmt.Errorf("--token-file: %s is empty", file))
	}
	return token, nil
}

// add adds what came of a chat.
func (p *puller) add(res ingest.Result) {
	t := &p.result
	t.Records, t.New, t.Known, t.Erased, t.Bad = t.Records+res.Records, t.New+res.New, t.Known+res.Known,
		t.Erased+res.Erased, t.Bad+res.Bad
	if t.Filtered == nil {
		t.Filtered, t.BadBy = map[reverie.Filter]int{}, map[string]int{}
	}
	for f, n := range res.Filtered {
		t.Filtered[f] += n
	}
	for why, n := range res.BadBy {
		t.BadBy[why] += n
	}
	t.Groups = append(t.Groups, res.Groups...)
}

// end says what came of all chats.
func (p *puller) end(asked int) error {
	if n := p.shown - shownBad; n > 0 {
		fmt.Fprintf(p.Stderr, "and %s more\n", cli.Plural(n, "bad record"))
	}
	if err := p.print(); err != nil {
		return err
	}
	var all error
	for _, f := range p.failed {
		all = errors.Join(all, f.err)
	}
	switch {
	case len(p.failed) == asked && asked > 0:
		return all
	case len(p.failed) > 0:
		return &codeError{exitPartial, fmt.Errorf("%w\n%d of %s failed; pull again: what has come is kept", all,
			len(p.failed), cli.Plural(asked, "chat"))}
	case p.result.Bad > 0:
		return &codeError{exitError, fmt.Errorf("%s not stored; the next pull does not ask for them again, --all does",
			cli.Plural(p.result.Bad, "bad record"))}
	}
	return nil
}

func (p *puller) print() error {
	if p.asJSON {
		return cli.PrintJSON(p.Stdout, struct {
			Success bool   `json:"success"`
			DryRun  bool   `json:"dry_run,omitempty"`
			Source  string `json:"source"`
			ingest.Result
			Failed []pullFailure `json:"failed,omitempty"`
		}{len(p.failed) == 0 && p.result.Bad == 0, p.DryRun, p.Server.Source(), p.result, p.failed})
	}
	return p.PrintChats(cli.ImportShown{Dry: p.DryRun, Formats: []string{p.Server.Source()}}, p.result, nil)
}
