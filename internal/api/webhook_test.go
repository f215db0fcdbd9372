package api_test

import (
	"encoding/base64"
	"errors"
	"strings"
	"testing"

	standardwebhooks "github.com/standard-webhooks/standard-webhooks/libraries/go"

	"reverie/internal/api"
	"reverie/internal/reverie"
	"reverie/internal/webhook"
)

// A secret of the caller's own is one that the libraries of the standard read as we do.
func TestWebhookSecrets(t *testing.T) {
	d := newDoor(t)
	d.Sender = webhook.NewSender(webhook.Options{})
	t.Cleanup(d.Sender.Close)
	ctx := api.WithCaller(t.Context(), api.Caller{Scope: reverie.ScopeAdmin})
	long := base64.StdEncoding.EncodeToString([]byte(strings.Repeat("k", 24)))
	for secret, ok := range map[string]bool{"": true, "whsec_" + long: true, long: false, "whsec_c2hvcnQ=": false, "whsec_ no base64 at all": false,
		"whsec_" + strings.Repeat(long, 9): false} {
		w, err := d.AddWebhook(ctx, api.NewWebhook{URL: "https://bot.example.com", Secret: secret})
		if (err == nil) != ok || err != nil && !errors.Is(err, reverie.ErrInvalid) {
			t.Errorf("%q: %v", secret, err)
		}
		if _, wrong := standardwebhooks.NewWebhook(w.Secret); err == nil && wrong != nil {
			t.Errorf("%q: %v", w.Secret, wrong)
		}
	}
}
