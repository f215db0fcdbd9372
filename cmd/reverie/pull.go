package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"reverie/internal/cli"
	"reverie/internal/config"
	"reverie/internal/ingest"
	"reverie/internal/reverie"
	"reverie/internal/text"
)

// pullOrder is what was asked of a pull.
type pullOrder struct {
	importOrder
	address, tokenFile, since string
	chats                     []string // ids or names; none = all
	all                       bool
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
			case cmd.Flags().Changed("group") && o.group.ID == "":
				return usageError(errors.New("--group: the id of the group is empty"))
			case o.all && o.since != "":
				return usageError(errors.New("--all is from the beginning; it goes without --since"))
			}
			return a.pull(cmd.Context(), o)
		},
	}
	f := cmd.Flags()
	f.StringVar(&o.group.ID, "group", "", "group that the one chat goes into (default: each chat becomes one)")
	f.StringArrayVar(&o.chats, "chat", nil, "only the chat of this id or name (repeatable)")
	f.StringVar(&o.tokenFile, "token-file", "", "file that holds the token (default REVERIE_PULL_TOKEN)")
	f.StringVar(&o.since, "since", "", "messages from then on: a date, an instant, or an age such as 30d (default: "+
		"where the last pull ended)")
	f.BoolVar(&o.all, "all", false, "all messages, from the beginning")
	f.StringArrayVar(&o.assistants, "assistant", nil, "id or name of the group's own assistant (repeatable; besides "+
		"[ingest] assistants)")
	f.StringVar(&o.group.TimeZone, "time-zone", "", "time zone of a new group, such as Asia/Shanghai (default [group] "+
		"time_zone)")
	f.StringVar(&o.group.Language, "language", "", "language of a new group's memories: zh or en (default: that of the "+
		"messages)")
	f.BoolVar(&o.dry, "dry-run", false, "only read and count: which chats there are, from when to when")
	f.BoolVar(&o.allowErased, "allow-erased", false, "let in again what 'reverie erase' has erased")
	f.BoolVar(&o.asJSON, "json", false, "print the counts as JSON")
	return cmd
}

func (a *app) pull(ctx context.Context, o pullOrder) error {
	if err := a.settings(); err != nil {
		return err
	}
	if err := a.prepareImport(&o.importOrder); err != nil {
		return err
	}
	since, err := sinceWhen(o.since, a.Now())
	if err != nil {
		return usageError(fmt.Errorf("--since: %w", err))
	}
	token, err := a.pullToken(o.tokenFile)
	if err != nil {
		return err
	}
	server, err := ingest.NewServer(o.address, ingest.ServerOptions{Token: token, Now: a.Now})
	if err != nil {
		return err
	}
	defer server.Close()
	if token != "" && server.Plain() {
		fmt.Fprintf(a.Stderr, "warning: the token goes to %s without encryption; use https\n", cli.Visible(server.Source()))
	}
	if err := a.open(ctx); err != nil {
		return err
	}
	sessions, err := server.Sessions(ctx)
	if err != nil {
		return err
	}
	if sessions, err = o.pick(sessions); err != nil {
		return err
	}
	p := &puller{app: a, order: o, server: server, since: since, result: ingest.Result{Groups: []*ingest.ChatResult{}}}
	for _, s := range sessions {
		if err := p.session(ctx, s); ctx.Err() != nil {
			return errors.Join(ctx.Err(), p.end(len(sessions)))
		} else if err != nil {
			p.failed = append(p.failed, pullFailure{s.ID, s.Name, err.Error(), err})
		}
	}
	return p.end(len(sessions))
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

// pick returns the chats that are asked for.
func (o pullOrder) pick(sessions []ingest.Session) ([]ingest.Session, error) {
	picked := sessions
	if len(o.chats) > 0 {
		picked = nil
		for _, s := range sessions {
			if slices.Contains(o.chats, s.ID) || slices.Contains(o.chats, s.Name) {
				picked = append(picked, s)
			}
		}
		for _, c := range o.chats {
			if !slices.ContainsFunc(picked, func(s ingest.Session) bool { return s.ID == c || s.Name == c }) {
				return nil, usageError(fmt.Errorf("--chat %q: the server has no chat of this id or name; --dry-run without "+
					"--chat lists them", c))
			}
		}
	}
	if o.group.ID != "" && len(picked) > 1 {
		return nil, severalChats([]ingest.Chat{picked[0].Chat, picked[1].Chat})
	}
	return picked, nil
}

// puller pulls chats one after the other.
type puller struct {
	*app
	order  pullOrder
	server *ingest.Server
	since  time.Time // that was asked for; zero: where the last pull ended
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

// session pulls one chat, and notes how far it came.
func (p *puller) session(ctx context.Context, s ingest.Session) error {
	if len(s.ID) > reverie.MaxMessageIDLength || strings.ContainsRune(s.ID, 0) {
		return fmt.Errorf("chat %q: its id cannot be stored: %w", text.Excerpt(s.ID, 80), reverie.ErrInvalid)
	}
	group, err := ingest.GroupOf("chatlab", s.Chat)
	if err != nil {
		return err
	}
	mark, err := p.Store.Pull(ctx, cmp.Or(p.order.group.ID, group.ID), p.server.Source(), s.ID)
	if err != nil {
		return err
	}
	since := mark.Since
	switch {
	case p.order.all:
		since = time.Time{}
	case !p.since.IsZero():
		since = p.since
	}
	im, end := p.importer(s)
	gap := !mark.Since.IsZero() && since.After(mark.Since)
	note := func(ctx context.Context, from time.Time, failure error) error {
		res := im.Result()
		if p.order.dry || res.Records == 0 && mark.Since.IsZero() { // there may be no group yet
			return nil
		}
		mark.Error, mark.PulledAt = "", p.Now()
		if !gap { // or what lies between would never be asked for
			mark.Since = from
		}
		if failure != nil {
			mark.Error = text.Excerpt(failure.Error(), 500)
		}
		return p.Store.SavePull(ctx, mark)
	}
	reached := mark.Since
	err = p.server.Pull(ctx, im, s, since, func(ctx context.Context, from time.Time) error {
		reached = from
		return note(ctx, from, nil)
	})
	end()
	if err != nil && ctx.Err() == nil {
		if nerr := note(ctx, reached, err); nerr != nil && !errors.Is(nerr, reverie.ErrNotFound) {
			err = errors.Join(err, nerr)
		}
	}
	p.add(im.Result())
	return err
}

// importer makes one for a chat, and what ends its sign of life.
func (p *puller) importer(s ingest.Session) (*ingest.Importer, func()) {
	end := func() {}
	opts := ingest.Options{Filters: p.IngestFilters(p.order.assistants...), Group: p.groupOfChat(p.order.importOrder),
		OnBad: func(b *ingest.Bad) {
			if p.shown++; p.shown <= shownBad {
				fmt.Fprintln(p.Stderr, cli.Visible(b.Error()))
			}
		}, Now: p.Now}
	if p.order.group.ID != "" && !p.order.dry {
		opts.Group = func(ctx context.Context, _ string, _ ingest.Chat) (string, error) {
			return p.order.group.ID, p.importGroup(ctx, p.order.group)
		}
	}
	var im *ingest.Importer
	if !p.order.asJSON {
		total := cmp.Or(max(s.Messages, 0), -1)
		bar := p.NewBar(int64(total), "pulling "+cli.Visible(text.Excerpt(cmp.Or(s.Name, s.ID), 32)), "messages")
		end = bar.Finish
		opts.OnRead = func() { bar.Set(im.Result().Records, total) }
	}
	if p.order.dry {
		im = ingest.NewImporter(nil, opts)
	} else {
		im = ingest.NewImporter(pulledStore{p, reverie.Pull{Source: p.server.Source(), ChatID: s.ID}}, opts)
	}
	return im, end
}

// pulledStore is the database, which counts what is new of a chat.
type pulledStore struct {
	*puller
	of reverie.Pull
}

// ImportMessages stores messages that are not there yet.
func (s pulledStore) ImportMessages(ctx context.Context, groupID string,
	messages []reverie.Message) (reverie.ImportResult, error) {
	s.of.GroupID = groupID
	return s.Store.PullMessages(ctx, s.of, messages, s.order.allowErased)
}
