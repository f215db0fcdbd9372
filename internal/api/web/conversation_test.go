package web

import (
	"strings"
	"testing"

	"reverie/internal/reverie"
)

// TestNewSaid shows of a long message the beginning, and all of it to who asks for it.
func TestNewSaid(t *testing.T) {
	long := reverie.ConversationMessage{Message: reverie.Message{Text: strings.Repeat("字\n", spoken)}}
	if m := newSaid(long, false); m.Said != strings.Repeat("字\n", spoken/2) || m.Cut != 2*spoken {
		t.Errorf("%d bytes are shown of %d characters", len(m.Said), m.Cut)
	}
	if m := newSaid(long, true); m.Said != long.Text || m.Cut != 0 {
		t.Errorf("asked for: %d bytes of %d", len(m.Said), len(long.Text))
	}
	short := reverie.ConversationMessage{Message: reverie.Message{Text: strings.Repeat("\u202e", spoken)}}
	if m := newSaid(short, false); m.Said != short.Text || m.Cut != 0 || len(say(m.Said)) > 100 {
		t.Errorf("of hidden characters: %.200s", say(m.Said))
	}
}

// TestStanding tells what was deleted from what has something newer in its place.
func TestStanding(t *testing.T) {
	d := memoryData{Head: reverie.Memory{ID: "2"}}
	for want, m := range map[string]reverie.Memory{"active": {ID: "2", Status: reverie.StatusActive}, "deleted": {ID: "2", Status: reverie.StatusDeprecated},
		"superseded": {ID: "1", Status: reverie.StatusSuperseded}} {
		if got := d.Standing(m); got != want || english.word("standing", got) != want {
			t.Errorf("%+v is %s", m, got)
		}
	}
}
