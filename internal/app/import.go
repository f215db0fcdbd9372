package app

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"reverie/internal/api"
	"reverie/internal/ingest"
	"reverie/internal/reverie"
	"reverie/internal/text"
	"reverie/jobs"
	"reverie/prompts"
)

// Import holds the arguments of an import.
type Import struct {
	Group       reverie.Group // settings of a new group; with an id, everything goes into this group
	Format      string
	Assistants  []string
	Read        ingest.ReadOptions
	DryRun      bool // only read and count
	AllowErased bool // also import what was erased
}

// Importer wires an import. It opens the database with the first messages.
func (a *App) Importer(o Import, opts ingest.Options) *ingest.Importer {
	opts.Group = a.groupOfChat(o)
	return a.importer(o, opts, nil)
}

// importer wires an import or a pull.
func (a *App) importer(o Import, opts ingest.Options, pull *reverie.Pull) *ingest.Importer {
	opts.Filters, opts.Now = a.IngestFilters(o.Assistants...), a.Clock
	if o.DryRun {
		return ingest.NewImporter(nil, opts)
	}
	return ingest.NewImporter(importStore{a, o.AllowErased, pull}, opts)
}

// OneChat checks that only one chat goes into one group, and that lines without a chat have a group. It needs a
// source that can be read twice.
func (a *App) OneChat(ctx context.Context, in *ingest.Input, path string, o Import) error {
	f, err := ingest.Detect(in.Source)
	lines := o.Format == "jsonl" || o.Format == ingest.Auto && err == nil && f.Name == "jsonl"
	switch {
	case lines && o.Group.ID == "":
		return badRequest(fmt.Errorf("--group is needed: JSON Lines do not name their chat"))
	case lines || o.Group.ID == "" || path == "-":
		return nil
	}
	once, err := ingest.Open(ctx, path, nil)
	if err != nil {
		return err
	}
	defer func() { _ = once.Close() }()
	chats, _ := ingest.Chats(ctx, once, o.Format, o.Read, 1)
	if len(chats) > 1 {
		return SeveralChats(chats)
	}
	return ctx.Err() // the import reports other errors
}

// SeveralChats refuses several chats for one group.
func SeveralChats(chats []ingest.Chat) error {
	names := text.Each(chats, func(c ingest.Chat) string { return fmt.Sprintf("%q (%s)", c.Name, c.ID) })
	return badRequest(fmt.Errorf("the input holds several chats, such as %s: pick one with --chat, or leave --group "+
		"out to make a group of each; --dry-run lists them",
		strings.Join(names, " and ")))
}

// EnsureGroup creates the requested group, or says which settings of an existing one differ.
func (a *App) EnsureGroup(ctx context.Context, asked reverie.Group) error {
	if err := a.Open(ctx); err != nil {
		return err
	}
	created, err := a.Store.EnsureGroup(ctx, a.NewGroup(asked))
	if err != nil || created {
		return err
	}
	return a.noteDifference(ctx, asked)
}

// groupOfChat returns the function that returns, and if necessary creates, the group of a chat.
func (a *App) groupOfChat(o Import) func(context.Context, string, ingest.Chat) (string, error) {
	var first *ingest.Chat
	return func(ctx context.Context, format string, chat ingest.Chat) (string, error) {
		if o.Group.ID != "" {
			if first != nil {
				return "", SeveralChats([]ingest.Chat{*first, chat})
			}
			first = &chat
			return o.Group.ID, a.markPrivate(ctx, o, o.Group.ID, chat)
		}
		g, err := ingest.GroupOf(format, chat)
		if err != nil {
			return "", badRequest(fmt.Errorf("%w; import it by itself, and name its group with --group", err))
		}
		if o.DryRun {
			return g.ID, nil
		}
		if err := a.Open(ctx); err != nil {
			return "", err
		}
		g.Name = cmp.Or(o.Group.Name, g.Name)
		g.TimeZone, g.Language = o.Group.TimeZone, o.Group.Language
		created, err := a.Store.EnsureGroup(ctx, a.NewGroup(g))
		if err == nil && !created {
			err = a.markPrivate(ctx, o, g.ID, chat)
		}
		return g.ID, err
	}
}

// markPrivate makes a group private if a chat of two people is imported into it, unless somebody has set that.
func (a *App) markPrivate(ctx context.Context, o Import, groupID string, chat ingest.Chat) error {
	if !chat.Private || o.DryRun {
		return nil
	}
	if err := a.Open(ctx); err != nil {
		return err
	}
	g, err := a.Store.Group(ctx, groupID)
	if err != nil || g.Private != "" {
		return err
	}
	on := "on"
	if _, err = a.Store.ChangeGroup(ctx, groupID, reverie.GroupChange{Private: &on}, time.Time{}); err == nil {
		a.Notify(fmt.Sprintf("group %q takes in a private chat: no other group reads of it; `reverie groups set %s --private off` lifts that",
			groupID, text.ShellOperand(groupID)))
	}
	return err
}

// importStore opens the database with the first messages.
type importStore struct {
	*App
	allowErased bool
	pull        *reverie.Pull // the pull that counts its messages; nil for an import
}

// ImportMessages stores messages that are not there yet.
func (s importStore) ImportMessages(ctx context.Context, groupID string, messages []reverie.Message) (reverie.ImportResult, error) {
	if err := s.Open(ctx); err != nil {
		return reverie.ImportResult{}, err
	}
	return s.inbox().Take(ctx, groupID, messages, func() (reverie.ImportResult, error) {
		switch {
		case s.pull != nil:
			of := *s.pull
			of.GroupID = groupID
			return s.Store.PullMessages(ctx, of, messages, s.allowErased)
		case s.allowErased:
			return s.Store.ReimportMessages(ctx, groupID, messages)
		}
		return s.Store.ImportMessages(ctx, groupID, messages)
	})
}

// ChangeMessages applies changes of messages.
func (s importStore) ChangeMessages(ctx context.Context, groupID string, changes []reverie.MessageChange) (reverie.ChangeResult, error) {
	if err := s.Open(ctx); err != nil {
		return reverie.ChangeResult{}, err
	}
	return s.inbox().ChangeMessages(ctx, groupID, changes)
}

// inbox returns the inbox for changes of messages.
func (a *App) inbox() api.Inbox {
	return api.Inbox{Store: a.Store, Eraser: a.eraser(), Leases: a.Leases()}
}

// noteDifference says which requested settings differ from those of an existing group.
func (a *App) noteDifference(ctx context.Context, asked reverie.Group) error {
	g, err := a.Store.Group(ctx, asked.ID)
	if err != nil {
		return err
	}
	for _, d := range []struct{ flag, asked, has string }{
		{"name", asked.Name, g.Name}, {"time-zone", asked.TimeZone, g.TimeZone}, {"language", asked.Language, g.Language},
	} {
		if d.asked != "" && d.asked != d.has {
			a.Notify(fmt.Sprintf("warning: group %q exists with %s %q; --%s %q is not applied", g.ID, d.flag, d.has, d.flag, d.asked))
		}
	}
	return nil
}

// NewGroup adds the configured settings of new groups.
func (a *App) NewGroup(g reverie.Group) reverie.Group {
	g.TimeZone = cmp.Or(g.TimeZone, a.Config.Group.TimeZone)
	g.Language = cmp.Or(g.Language, a.Config.Group.Language)
	g.DayBoundary = a.Config.Group.DayBoundary
	return g
}

// IngestFilters returns the configured filters, with further assistants.
func (a *App) IngestFilters(assistants ...string) ingest.Filters {
	c := a.Config.Ingest
	return ingest.Filters{Commands: c.Commands, Bots: ingest.Bots(c.Bots), Assistants: append(slices.Clone(c.Assistants), assistants...)}
}

// Ahead is the estimate of evolving imported chats, with the command for it.
type Ahead struct {
	Estimate
	Command string `json:"command,omitempty"`
	NoModel string `json:"no_model,omitempty"` // why no model can be called
}

// maxAhead is the maximum number of chats for an estimate.
const maxAhead = 100

// Ahead estimates evolving chats. It returns nil if there is nothing to do, or if the estimate fails: the import is
// complete all the same.
func (a *App) Ahead(ctx context.Context, chats []*ingest.ChatResult) *Ahead {
	if a.Store == nil || len(chats) == 0 || len(chats) > maxAhead {
		return nil
	}
	if err := CheckModels(a.Config, reverie.JobEvolve); err != nil {
		return &Ahead{NoModel: err.Error()}
	}
	ahead, err := a.ahead(ctx, chats)
	if err != nil {
		a.Log.Info("what evolving takes could not be estimated", "error", err)
		return nil
	}
	return ahead
}

func (a *App) ahead(ctx context.Context, chats []*ingest.ChatResult) (*Ahead, error) {
	set, err := prompts.Open(a.Config.Prompts.Dir)
	if err != nil {
		return nil, err
	}
	sum, dates := &Ahead{}, Backfill{}
	for _, chat := range chats {
		if chat.First.IsZero() {
			continue
		}
		g, err := a.Store.Group(ctx, chat.GroupID)
		if err != nil {
			return nil, err
		}
		cal, err := jobs.CalendarOf(g)
		if err != nil {
			return nil, err
		}
		f := Backfill{GroupID: g.ID, From: cal.Containing(chat.First).Date, To: cal.Containing(chat.Last).Date}
		e, err := a.Estimate(ctx, a.EvolveBase(set, 0), f)
		if err != nil {
			return nil, err
		}
		sum.add(e)
		dates.From, dates.To = min(cmp.Or(dates.From, f.From), f.From), max(dates.To, f.To)
	}
	switch alone := len(chats) == 1; {
	case sum.Windows > 1 || sum.Windows == 1 && !alone:
		sum.Command = fmt.Sprintf("reverie backfill --from %s --to %s", dates.From, dates.To)
		if alone {
			sum.Command += " " + text.ShellOperand(chats[0].GroupID)
		}
		if !sum.Priced || sum.CostUSD > a.Config.Jobs.ConfirmUSD { // the estimate is part of the message
			sum.Command = strings.Replace(sum.Command, "backfill", "backfill --yes", 1)
		}
	case alone:
		n, err := a.Store.CountPending(ctx, chats[0].GroupID, chats[0].First, a.Clock())
		if err != nil || n == 0 {
			return nil, err
		}
		sum.Command = "reverie evolve " + text.ShellOperand(chats[0].GroupID)
	default:
		return nil, nil
	}
	return sum, nil
}

// Pull holds the arguments of a pull.
type Pull struct {
	Import
	Server *ingest.Server
	Chats  []string  // ids or names; empty: all
	All    bool      // from the beginning
	Since  time.Time // zero: continue where the last pull ended
	OnBad  func(*ingest.Bad)
	OnRead func(records int) // progress of the current chat; may be nil
}

// Pick returns the selected chats.
func (o Pull) Pick(sessions []ingest.Session) ([]ingest.Session, error) {
	picked := sessions
	if len(o.Chats) > 0 {
		picked = nil
		for _, s := range sessions {
			if slices.Contains(o.Chats, s.ID) || slices.Contains(o.Chats, s.Name) {
				picked = append(picked, s)
			}
		}
		for _, c := range o.Chats {
			if !slices.ContainsFunc(picked, func(s ingest.Session) bool { return s.ID == c || s.Name == c }) {
				return nil, badRequest(fmt.Errorf("--chat %q: the server has no chat with this id or name; --dry-run without "+
					"--chat lists them", c))
			}
		}
	}
	if o.Group.ID != "" && len(picked) > 1 {
		return nil, SeveralChats([]ingest.Chat{picked[0].Chat, picked[1].Chat})
	}
	return picked, nil
}

// Pull pulls one chat, and stores its progress. The result is nil if it did not start.
func (a *App) Pull(ctx context.Context, o Pull, s ingest.Session) (*ingest.Result, error) {
	if len(s.ID) > reverie.MaxMessageIDLength || strings.ContainsRune(s.ID, 0) {
		return nil, fmt.Errorf("chat %q: its id cannot be stored: %w", text.Excerpt(s.ID, 80), reverie.ErrInvalid)
	}
	group, err := ingest.GroupOf("chatlab", s.Chat)
	if err != nil {
		return nil, err
	}
	mark, err := a.Store.Pull(ctx, cmp.Or(o.Group.ID, group.ID), o.Server.Source(), s.ID)
	if err != nil {
		return nil, err
	}
	since := mark.Since
	switch {
	case o.All:
		since = time.Time{}
	case !o.Since.IsZero():
		since = o.Since
	}
	importer := a.pullImporter(o, s)
	gap := !mark.Since.IsZero() && since.After(mark.Since)
	note := func(ctx context.Context, from time.Time, failure error) error {
		res := importer.Result()
		if o.DryRun || res.Records == 0 && mark.Since.IsZero() { // the group may not exist yet
			return nil
		}
		mark.Error, mark.PulledAt = "", a.Clock()
		if !gap { // with a gap, the messages in between would never be pulled
			mark.Since = from
		}
		if failure != nil {
			mark.Error = text.Excerpt(failure.Error(), 500)
		}
		return a.Store.SavePull(ctx, mark)
	}
	reached := mark.Since
	err = o.Server.Pull(ctx, importer, s, since, func(ctx context.Context, from time.Time) error {
		reached = from
		return note(ctx, from, nil)
	})
	if err != nil && ctx.Err() == nil {
		if nerr := note(ctx, reached, err); nerr != nil && !errors.Is(nerr, reverie.ErrNotFound) {
			err = errors.Join(err, nerr)
		}
	}
	res := importer.Result()
	if err == nil && res.Records == 0 && since.IsZero() && s.Messages > 0 {
		a.Log.Warn("the server counts messages of this chat, but sent none; it may still prepare them: pull again later",
			"chat", s.ID, "messages", s.Messages)
	}
	return &res, err
}

// pullImporter wires the import of one chat.
func (a *App) pullImporter(o Pull, s ingest.Session) (importer *ingest.Importer) {
	opts := ingest.Options{Group: a.groupOfChat(o.Import), OnBad: o.OnBad}
	if o.Group.ID != "" && !o.DryRun {
		opts.Group = func(ctx context.Context, _ string, chat ingest.Chat) (string, error) {
			if err := a.EnsureGroup(ctx, o.Group); err != nil {
				return "", err
			}
			return o.Group.ID, a.markPrivate(ctx, o.Import, o.Group.ID, chat)
		}
	}
	if o.OnRead != nil {
		opts.OnRead = func() { o.OnRead(importer.Result().Records) }
	}
	importer = a.importer(o.Import, opts, &reverie.Pull{Source: o.Server.Source(), ChatID: s.ID})
	return importer
}
