package reverie

import (
	"fmt"
	"slices"
	"testing"
	"time"
)

func TestCite(t *testing.T) {
	at := time.Date(2026, 1, 15, 23, 30, 0, 0, time.UTC)
	messages := []Message{
		{ID: "a", AuthorID: "u1", Author: "Lin", Role: RoleUser, Text: "we meet every Friday at eight", SentAt: at},
		{ID: "b", Author: "Bot", Role: RoleAssistant, Text: "noted: every Friday", SentAt: at},
		{ID: "c", AuthorID: "u2", Author: "Maya", Role: RoleUser, Text: "the key is AKIAIOSFODNN7EXAMPLE", SentAt: at.Add(time.Hour)},
	}
	for name, c := range map[string]struct {
		cited  []Citation
		want   []string
		quoted bool
	}{
		"quoted":          {[]Citation{{"1", "every Friday"}}, []string{"a 2026-01-15 every Friday"}, true},
		"named":           {[]Citation{{"1", " "}}, []string{"a 2026-01-15 we meet every Friday at eight"}, false},
		"a wrong quote":   {[]Citation{{"1", "every Saturday"}}, nil, false},
		"another's words": {[]Citation{{"3", "every Friday"}}, nil, false},
		"the bot's":       {[]Citation{{"2", "every Friday"}, {"2", ""}}, nil, false},
		"no number":       {[]Citation{{"0", ""}, {"4", ""}, {"-1", ""}, {"a", ""}, {"", ""}}, nil, false},
		"first quote":     {[]Citation{{"1", ""}, {"3", ""}, {"1", "every Friday"}, {"1", "at eight"}}, []string{"a 2026-01-15 every Friday", "c 2026-01-16 the key is [secret:aws-key]"}, true},
	} {
		got, quoted := Cite(c.cited, messages, time.UTC)
		var list []string
		for _, e := range got {
			list = append(list, fmt.Sprintf("%s %s %s", e.MessageID, e.LocalDate, e.Quote))
		}
		if !slices.Equal(list, c.want) || quoted != c.quoted {
			t.Errorf("%s: %q, quoted %v", name, list, quoted)
		}
	}
}
