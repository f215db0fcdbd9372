package ingest_test

import (
	"testing"

	"reverie/internal/ingest"
)

// TestSamePlatform: an account id says the same of two groups only where both are known to be of one platform, and ids
// are one person's on all of its servers.
func TestSamePlatform(t *testing.T) {
	for _, c := range []struct {
		a, b string
		same bool
	}{
		{"telegram-1", "telegram-2", true}, {"onebot-group-1", "qq-2", true}, {"telegram-1", "discord-1", false},
		{"g1", "g2", false}, {"telegram", "telegram-1", true}, {"telegramm-1", "telegram-1", false},
		{"jsonl-1", "jsonl-2", false}, {"chatlab-1", "chatlab-2", false}, // of any platform
		{"zulip-1", "zulip-2", false}, {"irc-1", "irc-2", false}, // each server counts, or names, its own
	} {
		if ingest.SamePlatform(c.a, c.b) != c.same || ingest.SamePlatform(c.b, c.a) != c.same {
			t.Errorf("SamePlatform(%q, %q) is not %t", c.a, c.b, c.same)
		}
	}
}
