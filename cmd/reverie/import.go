package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"reverie/internal/cli"
	"reverie/internal/ingest"
	"reverie/internal/reverie"
)

// importOrder is what was asked of an import.
type importOrder struct {
	path                string
	group               reverie.Group // wishes for a new one; its id may be ""
	format              string
	zone                string
	assistants          []string
	read                ingest.ReadOptions
	dry, strict, asJSON bool
	allowErased         bool
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
			if cmd.Flags().Changed("group") && o.group.ID == "" {
				return usageError(fmt.Errorf("--group: the id of the group is empty"))
			}
			if o.format != ingest.Auto && !slices.Contains(names, o.format) {
				return usageError(fmt.Errorf("--format %q: it is auto, %s", o.format, strings.Join(names, ", ")))
			}
			if d := o.read.DateOrder; d != "" && d != "dmy" && d != "mdy" && d != "ymd" {
				return usageError(fmt.Errorf("--date-order %q: it is dmy, mdy or ymd", d))
			}
			return a.importChats(cmd, o)
		},
	}
	f := cmd.Flags()
	f.StringVar(&o.group.ID, "group", "", "group that all of it goes into (default: each chat becomes one)")
	f.StringVar(&o.format, "format", ingest.Auto, "auto, "+strings.Join(names, ", "))
	f.StringVar(&o.read.Chat, "chat", "", "only the chat of this id or name")
	f.StringVar(&o.zone, "zone", "", "time zone of times that name none (default: --time-zone, else [group] time_zone)")
	f.StringVar(&o.read.DateOrder, "date-order", "", "how dates are written where that cannot be told: dmy, mdy or ymd")
	f.StringArrayVar(&o.assistants, "assistant", nil, "id or name of the group's own assistant (repeatable; besides "+
		"[ingest] assistants)")
	f.StringVar(&o.group.Name, "name", "", "name of a new group (default: that of the chat)")
	f.StringVar(&o.group.TimeZone, "time-zone", "", "time zone of a new group, such as Asia/Shanghai (default [group] "+
		"time_zone)")
	f.StringVar(&o.group.Language, "language", "", "language of a new group's memories: zh or en (default: that of the "+
		"messages)")
	f.BoolVar(&o.dry, "dry-run", false, "only read and count: which chats there are, from when to when")
	f.BoolVar(&o.strict, "strict", false, "stop at the first bad record")
	f.BoolVar(&o.allowErased, "allow-erased", false, "let in again what 'reverie erase' has erased")
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
	if err := a.prepareImport(&o); err != nil {
		return err
	}
	early := o.path == "-" && o.group.ID != "" && !o.dry // its settings are refused before anybody has typed much
	if early {
		if err := a.importGroup(ctx, o.group); err != nil {
			return err
		}
	}
	in, err := ingest.Open(ctx, o.path, &cli.PatientReader{Ctx: ctx, From: a.Stdin})
	if err != nil {
		return err
	}
	defer func() { _ = in.Close() }() // it was only read
	if err := a.oneChat(ctx, in, o); err != nil {
		return err
	}
	if o.group.ID != "" && !o.dry && !early {
		if err := a.importGroup(ctx, o.group); err != nil {
			return err
		}
	}
	return a.importInput(ctx, in, o)
}

// prepareImport checks an order, and fills in what the configuration says.
func (a *app) prepareImport(o *importOrder) error {
	asked := o.group
	if asked.ID == "" {
		asked.ID = "any"
	}
	if err := checkGroup(asked); err != nil {
		return err
	}
	zone := cmp.Or(o.zone, o.group.TimeZone, a.Config.Group.TimeZone)
	loc, err := reverie.Group{TimeZone: zone}.Location()
	if err != nil {
		return usageError(fmt.Errorf("--zone %q: use an IANA name such as Asia/Shanghai", zone))
	}
	o.read.Zone = loc
	return nil
}

// oneChat makes sure, as far as the source can be read twice, that what goes into one
// group is one chat, and that lines without a chat have a group to go into.
func (a *app) oneChat(ctx context.Context, in *ingest.Input, o importOrder) error {
	f, err := ingest.Detect(in.Source)
	lines := o.format == "jsonl" || o.format == ingest.Auto && err == nil && f.Name == "jsonl"
	switch {
	case lines && o.group.ID == "":
		return usageError(fmt.Errorf("--group is needed: JSON Lines of messages do not say which chat they are of"))
	case lines || o.group.ID == "" || o.path == "-":
		return nil
	}
	once, err := ingest.Open(ctx, o.path, nil)
	if err != nil {
		return err
	}
	defer func() { _ = once.Close() }()
	chats, err := ingest.Chats(ctx, once, o.format, o.read, 1)
	if len(chats) > 1 {
		return severalChats(chats)
	}
	if ctx.Err() != nil {
		return err
	}
	return nil // what else is wrong the import will tell
}

func severalChats(chats []ingest.Chat) error {
	var names []string
	for _, c := range chats {
		names = append(names, fmt.Sprintf("%q (%s)", c.Name, c.ID))
	}
	return usageError(fmt.Errorf("it holds several chats, such as %s: pick one with --chat, or leave --group out and "+
		"each becomes a group of its own; --dry-run lists them",
		strings.Join(names, " and ")))
}

// importGroup makes the group that is asked for, or says which wishes came too late.
func (a *app) importGroup(ctx context.Context, asked reverie.Group) error {
	if err := a.open(ctx); err != nil {
		return err
	}
	created, err := a.Store.EnsureGroup(ctx, a.NewGroup(asked))
	if err != nil || created {
		return err
	}
	return a.noteDifference(ctx, asked)
}

// groupOfChat returns the group that a chat goes into, which is made if it is new.
func (a *app) groupOfChat(o importOrder) func(context.Context, string, ingest.Chat) (string, error) {
	var first *ingest.Chat
	return func(ctx context.Context, format string, chat ingest.Chat) (string, error) {
		if o.group.ID != "" {
			if first != nil {
				return "", severalChats([]ingest.Chat{*first, chat})
			}
			first = &chat
			return o.group.ID, nil
		}
		g, err := ingest.GroupOf(format, chat)
		if err != nil {
			return "", usageError(fmt.Errorf("%w; say with --group into which group it goes", err))
		}
		if o.dry {
			return g.ID, nil
		}
		if err := a.open(ctx); err != nil {
			return "", err
		}
		g.Name = cmp.Or(o.group.Name, g.Name)
		g.TimeZone, g.Language = o.group.TimeZone, o.group.Language
		_, err = a.Store.EnsureGroup(ctx, a.NewGroup(g))
		return g.ID, err
	}
}

// shownBad is how many bad records are shown.
const shownBad = 20

// importInput reads what was opened, and says what came of it.
func (a *app) importInput(ctx context.Context, in *ingest.Input, o importOrder) error {
	bad := 0
	bar := a.ImportBar(in, o.asJSON)
	opts := ingest.Options{Filters: a.IngestFilters(o.assistants...), Group: a.groupOfChat(o), Strict: o.strict,
		OnBad: func(b *ingest.Bad) {
			if bad++; bad <= shownBad {
				bar.Clear()
				fmt.Fprintln(a.Stderr, cli.Visible(b.Error()))
			}
		}, OnRead: bar.Read, Now: a.Now}
	importer := ingest.NewImporter(importStore{a, o.allowErased}, opts)
	if o.dry {
		importer = ingest.NewImporter(nil, opts)
	}
	formats, passedOver, err := importer.Input(ctx, in, o.format, o.read)
	bar.Finish()
	if bad > shownBad {
		fmt.Fprintf(a.Stderr, "and %s more\n", cli.Plural(bad-shownBad, "bad record"))
	}
	res := importer.Result()
	if len(res.Groups) == 0 && err == nil && o.group.ID != "" { // an empty file
		res.Groups = append(res.Groups, &ingest.ChatResult{GroupID: o.group.ID})
	}
	if perr := a.PrintChats(cli.ImportShown{Dry: o.dry, AsJSON: o.asJSON, Formats: formats, PassedOver: passedOver}, res,
		err); perr != nil {
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
		return &codeError{exitError, fmt.Errorf("%s not imported; mend them and import it again: the others are left as "+
			"they are", cli.Plural(res.Bad, "bad record"))}
	case o.read.Chat != "" && res.Records == 0:
		return usageError(fmt.Errorf("--chat %q: there is no chat of this id or name, or nothing in it; --dry-run without "+
			"--chat lists them", o.read.Chat))
	}
	return nil
}

// importStore is the database, opened when the first messages come.
type importStore struct {
	a           *app
	allowErased bool
}

// ImportMessages stores messages that are not there yet.
func (s importStore) ImportMessages(ctx context.Context, groupID string,
	messages []reverie.Message) (reverie.ImportResult, error) {
	if err := s.a.open(ctx); err != nil {
		return reverie.ImportResult{}, err
	}
	if s.allowErased {
		return s.a.Store.ReimportMessages(ctx, groupID, messages)
	}
	return s.a.Store.ImportMessages(ctx, groupID, messages)
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

// noteDifference says which wishes for a new group came too late.
func (a *app) noteDifference(ctx context.Context, asked reverie.Group) error {
	g, err := a.Store.Group(ctx, asked.ID)
	if err != nil {
		return err
	}
	for _, d := range []struct{ flag, asked, has string }{
		{"name", asked.Name, g.Name}, {"time-zone", asked.TimeZone, g.TimeZone}, {"language", asked.Language, g.Language},
	} {
		if d.asked != "" && d.asked != d.has {
			fmt.Fprintf(a.Stderr, "warning: group %q exists with %s %q; --%s %q is not applied\n", g.ID, d.flag, d.has, d.flag,
				d.asked)
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
