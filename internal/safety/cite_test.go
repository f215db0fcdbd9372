package safety

import (
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"reverie/internal/reverie"
	"reverie/internal/text"
)

func TestCite(t *testing.T) {
	at := time.Date(2026, 1, 15, 23, 30, 0, 0, time.UTC)
	messages := []reverie.Message{
		{ID: "a", AuthorID: "u1", Author: "Lin", Role: reverie.RoleUser, Text: "we meet every Friday at eight", SentAt: at},
		{ID: "b", Author: "Bot", Role: reverie.RoleAssistant, Text: "noted: every Friday", SentAt: at},
		{ID: "c", AuthorID: "u2", Author: "Maya", Role: reverie.RoleUser, Text: "the key is AKIAIOSFODNN7EXAMPLE", SentAt: at.Add(time.Hour)},
		{ID: "d", AuthorID: "u1", Author: "Lin", Role: reverie.RoleUser, Text: "we meet here", SentAt: at},
	}
	for name, c := range map[string]struct {
		cited  []reverie.Citation
		want   []string
		quoted bool
	}{
		"quoted":          {[]reverie.Citation{{Message: "1", Quote: "every Friday"}}, []string{"a 2026-01-15 every Friday"}, true},
		"named":           {[]reverie.Citation{{Message: "1", Quote: " "}}, []string{"a 2026-01-15 we meet every Friday at eight"}, false},
		"a wrong quote":   {[]reverie.Citation{{Message: "1", Quote: "every Saturday"}}, nil, false},
		"another's words": {[]reverie.Citation{{Message: "3", Quote: "every Friday"}}, nil, false},
		"the bot's":       {[]reverie.Citation{{Message: "2", Quote: "every Friday"}, {Message: "2", Quote: ""}}, nil, false},
		"no number":       {[]reverie.Citation{{Message: "0", Quote: ""}, {Message: "5", Quote: ""}, {Message: "-1", Quote: ""}, {Message: "a", Quote: ""}, {Message: "", Quote: ""}}, nil, false},
		"miscounted":      {[]reverie.Citation{{Message: "2", Quote: "every Friday", Author: "Lin"}}, []string{"a 2026-01-15 every Friday"}, true},
		"of another":      {[]reverie.Citation{{Message: "2", Quote: "every Friday", Author: "Maya"}, {Message: "9", Quote: "", Author: "Lin"}}, nil, false},
		"said by a bot":   {[]reverie.Citation{{Message: "1", Quote: "noted: every", Author: "Bot"}}, nil, false},
		"said twice":      {[]reverie.Citation{{Message: "2", Quote: "we meet", Author: "Lin"}}, nil, false},
		"first quote":     {[]reverie.Citation{{Message: "1", Quote: ""}, {Message: "3", Quote: ""}, {Message: "1", Quote: "every Friday"}, {Message: "1", Quote: "at eight"}}, []string{"a 2026-01-15 every Friday", "c 2026-01-16 the key is [secret:aws-key]"}, true},
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

// FuzzCite: what stands as evidence is of a message that was shown and that a member
// wrote, each once, with words of it and without its secrets; and citing it all again
// changes nothing.
func FuzzCite(f *testing.F) {
	f.Add("we meet every Friday at eight", "noted: every Friday", "1", "every Friday", "2", "", int64(1_768_519_800))
	f.Add("the key is AKIAIOSFODNN7EXAMPLE", "密码：hunter2hunter2", "1", "", "2", "hunter2", int64(0))
	f.Add("早起跑步", "I agree", "1", "“早起跑步”", "1", "早起…", int64(-62_135_596_800))
	loc := time.FixedZone("half past", 5*3600+1800)
	f.Fuzz(func(t *testing.T, first, second, message1, quote1, message2, quote2 string, unix int64) {
		at := time.Unix(unix%250_000_000_000, 0).UTC()
		messages := []reverie.Message{{ID: "a", AuthorID: "u1", Author: "Lin", Role: reverie.RoleUser, Text: first, SentAt: at},
			{ID: "b", Author: "Bot", Role: reverie.RoleAssistant, Text: first, SentAt: at}, {ID: "c", AuthorID: "u2", Author: "Maya", Role: reverie.RoleUser, Text: second, SentAt: at}}
		cited := []reverie.Citation{{Message: message1, Quote: quote1}, {Message: message2, Quote: quote2}}
		got, quoted := Cite(cited, messages, loc)
		seen := map[string]bool{}
		for _, e := range got {
			at := slices.IndexFunc(messages, func(m reverie.Message) bool { return m.ID == e.MessageID })
			if at < 0 || messages[at].Role != reverie.RoleUser || seen[e.MessageID] {
				t.Fatalf("evidence of no member, or twice: %+v", e)
			}
			seen[e.MessageID] = true
			if m := messages[at]; e != EvidenceOf(m, e.Quote, loc) && e.Quote != "" || e.AuthorID != m.AuthorID || e.LocalDate != text.LocalDate(m.SentAt, loc) {
				t.Fatalf("evidence %+v of %+v", e, m)
			}
			if utf8.RuneCountInString(e.Quote) > reverie.MaxQuote || strings.Contains(e.Quote, "\n") {
				t.Fatalf("a quote of %d characters: %q", utf8.RuneCountInString(e.Quote), e.Quote)
			}
			if !slices.ContainsFunc(cited, func(c reverie.Citation) bool {
				return strings.TrimSpace(c.Quote) == "" || text.VerifyQuote(c.Quote, messages[at].Text)
			}) {
				t.Fatalf("nobody quoted %q", messages[at].Text)
			}
		}
		again, still := Cite(append(cited, cited...), messages, loc)
		if !reflect.DeepEqual(again, got) || still != quoted {
			t.Fatalf("cited twice: %+v, and %+v", got, again)
		}
	})
}
