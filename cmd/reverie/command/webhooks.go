package command

import (
	"context"
	"errors"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"reverie/internal/api"
	"reverie/internal/cli"
)

// onWebhook returns a command whose first argument, a webhook's id, goes to do. It has the rights of the database's
// owner.
func (a *app) onWebhook(name string, args int, do func(context.Context, *api.Service, string) error) *cobra.Command {
	return a.command("reverie webhooks "+name, cobra.ExactArgs(args), a.opened(func(ctx context.Context, args []string) error {
		ctx, service := a.WebhookService(ctx)
		return do(ctx, service, strings.Join(args, ""))
	}))
}

func newWebhooks(a *app) *cobra.Command {
	var groupID, from string
	var n api.NewWebhook
	var idsOnly bool
	list := a.onWebhook("list", 0, func(ctx context.Context, s *api.Service, _ string) error {
		reply, err := s.Webhooks(ctx, groupID)
		if err != nil {
			return err
		}
		return a.Show(reply, func() error {
			if len(reply.Webhooks) == 0 {
				return a.Say("no webhooks; `reverie webhooks add` adds one\n")
			}
			return a.Page("webhooks", reply.Webhooks)
		})
	})
	groupFlag(list, &groupID, "list only webhooks of this group alone")

	add := a.onWebhook("add", 1, func(ctx context.Context, s *api.Service, url string) error {
		n.URL, n.Statements = url, !idsOnly
		w, err := s.AddWebhook(ctx, n)
		if err != nil {
			return err
		}
		return a.Show(w, func() error {
			return a.Say("%s\nsigned with %s, which is not shown again\n", w.ID, w.Secret)
		})
	})
	add.Flags().StringVar(&n.GroupID, "group", "", "send events of this group alone (default all groups)")
	add.Flags().StringSliceVar(&n.Events, "events", nil, "types of events, separated by commas (default all)")
	add.Flags().BoolVar(&idsOnly, "ids-only", false, "send ids, and not what memories say")

	remove := a.onWebhook("remove", 1, func(ctx context.Context, s *api.Service, id string) error {
		w, err := s.RemoveWebhook(ctx, id)
		if err != nil {
			return err
		}
		return a.Show(w, func() error { return a.Say("%s: removed\n", w.ID) })
	})

	test := a.onWebhook("test", 1, func(ctx context.Context, s *api.Service, id string) error {
		r, err := s.TestWebhook(ctx, id)
		if err != nil {
			return err
		}
		if !r.Success {
			err = errors.New(r.Error)
		}
		return errors.Join(err, a.Show(r, func() error {
			if !r.Success {
				return nil
			}
			return a.Say("%s: answered HTTP %d\n", r.WebhookID, r.HTTPStatus)
		}))
	})

	replay := a.onWebhook("replay", 1, func(ctx context.Context, s *api.Service, id string) error {
		since := from
		if age, ok := parseAge(from); ok {
			since = a.Now().Add(-age).UTC().Format(time.RFC3339Nano)
		}
		r, err := s.ReplayWebhook(ctx, id, since)
		if err != nil {
			return err
		}
		return a.Show(r, func() error { return a.Say("%s: %s to send again\n", r.WebhookID, cli.Plural(r.Events, "event")) })
	})
	replay.Flags().StringVar(&from, "from", "", "the id of an event, an instant, a date in UTC, or an age such as 24h")
	check(replay, func() error {
		if from == "" {
			return errors.New("give where to begin, such as --from 24h")
		}
		return nil
	})
	return group("reverie webhooks", list, add, remove, test, replay)
}
