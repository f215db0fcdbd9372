package api

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"reverie/internal/reverie"
	"reverie/internal/webhook"
	"reverie/store/hooks"
)

// NewWebhook has the settings of a new webhook.
type NewWebhook struct {
	GroupID    string // "" = all groups that the caller may see
	URL        string
	Secret     string   // "": one is generated
	Events     []string // none = all
	Statements bool
}

// Webhooks lists the webhooks of one group, or all that the caller may see.
func (s *Service) Webhooks(ctx context.Context, groupID string) (reverie.WebhooksReply, error) {
	groupID, err := allowed(ctx, groupID, reverie.ScopeAdmin)
	if err != nil {
		return reverie.WebhooksReply{}, err
	}
	if groupID != "" {
		if _, err := s.Store.Group(ctx, groupID); err != nil {
			return reverie.WebhooksReply{}, err
		}
	}
	list, err := s.hooks().Webhooks(ctx, groupID)
	return reverie.WebhooksReply{Success: true, Webhooks: append([]reverie.Webhook{}, list...)}, err
}

// AddWebhook adds a webhook and returns it with its secret, which is never shown again.
func (s *Service) AddWebhook(ctx context.Context, n NewWebhook) (reverie.WebhookReply, error) {
	groupID, err := allowed(ctx, n.GroupID, reverie.ScopeAdmin)
	if err == nil && groupID != "" {
		_, err = s.Store.Group(ctx, groupID)
	}
	if err == nil {
		err = s.checkWebhook(&n)
	}
	if err != nil {
		return reverie.WebhookReply{}, err
	}
	w := reverie.Webhook{ID: reverie.NewID(), GroupID: groupID, URL: n.URL, Secret: n.Secret, Events: append([]string{}, n.Events...),
		Statements: n.Statements, CreatedAt: s.now()}
	return reverie.WebhookReply{Success: true, Webhook: w, Secret: w.Secret}, s.hooks().AddWebhook(ctx, w)
}

func (s *Service) checkWebhook(n *NewWebhook) error {
	if err := s.Sender.CheckURL(n.URL); err != nil {
		return err
	}
	if n.Secret == "" {
		n.Secret = webhook.NewSecret()
	}
	if key, err := webhook.Key(n.Secret); err != nil || len(key) < 16 || !strings.HasPrefix(n.Secret, "whsec_") || len(n.Secret) > 200 {
		return fmt.Errorf("the secret: give whsec_ and at least 24 characters of base64, or none, and one is made: %w", reverie.ErrInvalid)
	}
	for _, e := range n.Events {
		if !slices.Contains(reverie.WebhookEventTypes, e) {
			return fmt.Errorf("there is no event %q: there are %s: %w", e, strings.Join(reverie.WebhookEventTypes, ", "), reverie.ErrInvalid)
		}
	}
	return nil
}

// webhook returns a webhook that the caller may see. Another group's looks like a missing one, whatever the scope.
func (s *Service) webhook(ctx context.Context, id string) (reverie.Webhook, error) {
	groupID, err := allowed(ctx, "", reverie.ScopeRead)
	if err != nil {
		return reverie.Webhook{}, err
	}
	w, err := s.hooks().Webhook(ctx, groupID, id)
	if err == nil {
		_, err = allowed(ctx, "", reverie.ScopeAdmin)
	}
	return w, err
}

// RemoveWebhook removes a webhook and its waiting events.
func (s *Service) RemoveWebhook(ctx context.Context, id string) (reverie.WebhookReply, error) {
	w, err := s.webhook(ctx, id)
	if err != nil {
		return reverie.WebhookReply{}, err
	}
	return reverie.WebhookReply{Success: true, Webhook: w}, s.hooks().RemoveWebhook(ctx, id)
}

// TestWebhook sends a test event, once, and returns the answer.
func (s *Service) TestWebhook(ctx context.Context, id string) (reverie.WebhookTestReply, error) {
	w, err := s.webhook(ctx, id)
	if err != nil {
		return reverie.WebhookTestReply{}, err
	}
	answer, err := s.Sender.Post(ctx, reverie.WebhookEvent{ID: reverie.NewID(), Type: reverie.WebhookTest, CreatedAt: s.now(), Hook: w,
		Data: reverie.EventData{WebhookID: id, GroupID: w.GroupID}})
	reply := reverie.WebhookTestReply{Success: err == nil, WebhookID: id, HTTPStatus: answer.Status}
	if err != nil {
		reply.Error = err.Error()
	}
	return reply, nil
}

// ReplayWebhook sends events again, from an instant or an event on, and enables the webhook.
func (s *Service) ReplayWebhook(ctx context.Context, id, from string) (reverie.WebhookReplayReply, error) {
	if _, err := s.webhook(ctx, id); err != nil {
		return reverie.WebhookReplayReply{}, err
	}
	var since time.Time
	event := strings.TrimPrefix(from, webhook.EventPrefix)
	if !reverie.IsID(event) {
		var err error
		if since, err = Instant(from); err != nil {
			return reverie.WebhookReplayReply{}, fmt.Errorf("from %q: it is the id of an event, or a time: %w: %w", from, err, reverie.ErrInvalid)
		}
		event = ""
	}
	n, err := s.hooks().ReplayEvents(ctx, id, since, event)
	return reverie.WebhookReplayReply{Success: true, WebhookID: id, Events: n}, err
}

func (s *Service) hooks() *hooks.Hooks { return hooks.New(s.Store.DB()) }
