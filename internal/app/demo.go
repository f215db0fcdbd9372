package app

import (
	"bytes"
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"reverie/evolve"
	"reverie/internal/demo"
	"reverie/internal/ingest"
	"reverie/internal/recall"
	"reverie/internal/reverie"
	"reverie/store/history"
)

// Demo is the state of the sample group.
type Demo struct {
	Group    reverie.Group
	Messages int
	Nights   []reverie.RunDetail // in the order of the chat
	Why      reverie.Why         // of the memory with the most versions
	Question string
	Context  reverie.ContextReply
}

// Demo imports the sample chat into a group and evolves it night by night with recorded answers. It does not repeat
// what an earlier call did.
func (a *App) Demo(ctx context.Context, groupID string) (d Demo, err error) {
	a.Recording = demo.Answers
	p, err := a.Worker(ctx, reverie.JobEvolve)
	if err != nil {
		return d, err
	}
	if err := a.importDemo(ctx, groupID); err != nil {
		return d, err
	}
	if d.Group, err = a.Store.Group(ctx, groupID); err != nil {
		return d, err
	}
	for _, date := range demo.Dates {
		since, err := time.Parse(time.DateOnly, date)
		if err != nil {
			return d, err
		}
		req := evolve.Request{GroupID: groupID, Since: since, Until: since.AddDate(0, 0, 1)}
		if _, err := a.Evolve(ctx, nil, p, d.Group, req, func(evolve.Result) {}); err != nil {
			return d, err
		}
	}
	return d, a.tellDemo(ctx, &d)
}

// importDemo imports the sample chat; it refuses a group of that id with another chat.
func (a *App) importDemo(ctx context.Context, groupID string) error {
	order := Import{Group: reverie.Group{ID: groupID, Name: demo.Name, TimeZone: "UTC", Language: "en"}}
	if _, err := a.Store.EnsureGroup(ctx, a.NewGroup(order.Group)); err != nil {
		return err
	}
	if g, err := a.Store.Group(ctx, groupID); err != nil {
		return err
	} else if g.Name != demo.Name {
		return badRequest(fmt.Errorf("group %q already has a chat of its own: choose another id with --group", groupID))
	}
	in, err := ingest.Open(ctx, "-", bytes.NewReader(demo.Chat))
	if err != nil {
		return err
	}
	defer func() { _ = in.Close() }() // it was only read
	_, _, err = a.Importer(order, ingest.Options{Strict: true}).Input(ctx, in, "jsonl", ingest.ReadOptions{OneGroup: true})
	return err
}

// tellDemo reads what is shown of the group.
func (a *App) tellDemo(ctx context.Context, d *Demo) error {
	runs, err := a.Store.Runs(ctx, reverie.RunQuery{GroupID: d.Group.ID, Job: reverie.JobEvolve, Limit: len(demo.Dates)})
	if err != nil {
		return err
	}
	for _, r := range slices.Backward(runs) {
		night, err := a.Store.Run(ctx, d.Group.ID, r.ID)
		if err != nil {
			return err
		}
		d.Nights = append(d.Nights, night)
		for _, c := range night.Chunks {
			d.Messages += len(c.MessageIDs)
		}
	}
	list, _, err := a.Store.ListMemories(ctx, reverie.MemoryQuery{GroupID: d.Group.ID, Status: reverie.StatusActive, Limit: 100})
	if err != nil {
		return err
	}
	if len(list) == 0 {
		return fmt.Errorf("the group %q remembers nothing: `reverie runs list %[1]s` shows its runs", d.Group.ID)
	}
	revised := slices.MaxFunc(list, func(x, y reverie.Memory) int { return x.Version - y.Version })
	if d.Why, err = history.New(a.Store.DB()).Why(ctx, d.Group.ID, revised.ID); err != nil {
		return err
	}
	r, err := a.Recaller(ctx, d.Group.ID)
	if err != nil {
		return err
	}
	d.Question = demo.Question
	d.Context, err = r.Context(ctx, recall.ContextRequest{GroupID: d.Group.ID, Query: d.Question})
	if closed := CloseUsage(ctx, r.Usage); err == nil {
		err = closed
	}
	d.Context.Text = strings.TrimSpace(d.Context.Text)
	return err
}
