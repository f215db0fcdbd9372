package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	application "reverie/internal/app"
	"strings"

	"github.com/spf13/cobra"

	"reverie/internal/cli"
	"reverie/internal/config"
	"reverie/internal/ingest"
	"reverie/internal/text"
)

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
