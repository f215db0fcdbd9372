package rest

import (
	"context"

	"reverie/internal/api"
	"reverie/internal/reverie"
)

const webhookTag = "webhooks"

// WebhookPath is the id of a webhook in a path.
type WebhookPath struct {
	ID string `path:"id" doc:"The webhook's id." example:"0197f3a0-1c2d-7e3f-8a4b-5c6d7e8f9a0b"`
}

type listWebhooksInput struct {
	Group string `query:"group" doc:"Only webhooks of this group alone."`
}

type addWebhookInput struct {
	Body struct {
		_          struct{} `additionalProperties:"false"`
		URL        string   `json:"url" maxLength:"2000" doc:"Where events are posted to." example:"https://bot.example.com/reverie"`
		GroupID    string   `json:"group_id,omitempty" maxLength:"1000" doc:"Only events of this group."`
		Events     []string `json:"events,omitempty" maxItems:"50" doc:"Only events of these types, such as memory.created."`
		Statements *bool    `json:"statements,omitempty" default:"true" doc:"Whether bodies repeat what memories say."`
		Secret     string   `json:"secret,omitempty" maxLength:"200" doc:"What to sign with: whsec_ and base64. Left out, one is made."`
	} `nameHint:"AddWebhookBody"`
}

type replayInput struct {
	WebhookPath
	Body struct {
		_    struct{} `additionalProperties:"false"`
		From string   `json:"from" maxLength:"100" doc:"An instant, a date, or the id of an event." example:"2026-01-15T12:30:00Z"`
	} `nameHint:"ReplayBody"`
}

// webhooks adds the routes of webhooks.
func (r *room) webhooks() {
	add(r, operation{id: "list-webhooks"}, func(ctx context.Context, in *listWebhooksInput) (reverie.WebhooksReply, error) {
		return r.service.Webhooks(ctx, in.Group)
	})
	add(r, operation{id: "add-webhook"}, func(ctx context.Context, in *addWebhookInput) (reverie.WebhookReply, error) {
		b := in.Body
		return r.service.AddWebhook(ctx, api.NewWebhook{GroupID: b.GroupID, URL: b.URL, Secret: b.Secret, Events: b.Events,
			Statements: b.Statements == nil || *b.Statements})
	})
	add(r, operation{id: "delete-webhook"}, func(ctx context.Context, in *struct{ WebhookPath }) (reverie.WebhookReply, error) {
		return r.service.RemoveWebhook(ctx, in.ID)
	})
	add(r, operation{id: "test-webhook"}, func(ctx context.Context, in *struct{ WebhookPath }) (reverie.WebhookTestReply, error) {
		return r.service.TestWebhook(ctx, in.ID)
	})
	add(r, operation{id: "replay-webhook"}, func(ctx context.Context, in *replayInput) (reverie.WebhookReplayReply, error) {
		return r.service.ReplayWebhook(ctx, in.ID, in.Body.From)
	})
}
