package ingest_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"reverie/internal/ingest"
	"reverie/internal/ingest/export"
	"reverie/internal/reverie"
)

var noon = time.Date(2026, 1, 15, 12, 0, 0, 0, time.UTC)

// ledger notes what each group is given, and how many messages are held meanwhile.
type ledger struct{ by map[string]int }

func (l *ledger) ChangeMessages(context.Context, string, []reverie.MessageChange) (reverie.ChangeResult, error) {
	return reverie.ChangeResult{}, nil
}

func (l *ledger) ImportMessages(_ context.Context, groupID string, messages []reverie.Message) (reverie.ImportResult, error) {
	for _, m := range messages {
		if m.GroupID != groupID || m.Text != "hi\uFFFD" {
			return reverie.ImportResult{}, fmt.Errorf("%+v for group %s", m, groupID)
		}
	}
	l.by[groupID] += len(messages)
	return reverie.ImportResult{New: len(messages)}, nil
}

// TestManyChats: the messages of many chats go each into its group, and no more than a
// bounded number is held.
func TestManyChats(t *testing.T) {
	l := &ledger{by: map[string]int{}}
	read, most := 0, 0
	asked := map[string]int{}
	im := ingest.NewImporter(l, ingest.Options{
		Group: func(_ context.Context, format string, chat ingest.Chat) (string, error) {
			g, err := ingest.GroupOf(format, chat)
			asked[g.ID]++
			return g.ID, err
		},
		OnRead: func() {
			stored := 0
			for _, n := range l.by {
				stored += n
			}
			most = max(most, read-stored)
		}})
	f := chatFormat(700, 14_000)
	counted := f
	counted.Tell = func(tell *export.Teller, src ingest.Source) error {
		for r, err := range f.Read(t.Context(), src, ingest.ReadOptions{}) {
			read++
			if err = errors.Join(err, tell.Tell(r)); err != nil {
				return err
			}
		}
		return nil
	}
	if err := im.Read(t.Context(), ingest.Source{Name: "x"}, counted, ingest.ReadOptions{}); err != nil {
		t.Fatal(err)
	}
	res := im.Result()
	if len(l.by) != 700 || l.by["test-7"] != 20 || res.New != 14_000 || len(res.Groups) != 700 || asked["test-7"] != 1 {
		t.Errorf("%d groups, %d in one, %d new", len(l.by), l.by["test-7"], res.New)
	}
	if most > 10_000 || most == 0 {
		t.Errorf("%d messages were held", most)
	}
	g := res.Groups[3]
	want := ingest.ChatResult{GroupID: "test-3", Chat: "3", Name: "Chat 3", First: noon, Last: noon,
		Counts: ingest.Counts{Records: 20, New: 20, Filtered: map[reverie.Filter]int{}}}
	if diff := cmp.Diff(want, *g); diff != "" {
		t.Error(diff)
	}

	dry := ingest.NewImporter(nil, ingest.Options{Group: func(context.Context, string, ingest.Chat) (string, error) { return "", nil }})
	if err := dry.Read(t.Context(), ingest.Source{}, f, ingest.ReadOptions{Chat: "Chat 3"}); err != nil || dry.Result().Records != 20 || dry.Result().New != 0 {
		t.Errorf("dry: %+v, %v", dry.Result(), err)
	}
	refused := errors.New("no such group")
	im = ingest.NewImporter(l, ingest.Options{Group: func(context.Context, string, ingest.Chat) (string, error) { return "", refused }})
	if err := im.Read(t.Context(), ingest.Source{Name: "x"}, f, ingest.ReadOptions{}); !errors.Is(err, refused) {
		t.Errorf("%v", err)
	}
}

// TestGroupOf: a chat's group has an id that can be one, and is the chat's alone.
func TestGroupOf(t *testing.T) {
	for _, c := range []struct{ id, name, want, called string }{
		{"C01", "general", "slack-C01", "general"},
		{"!room:ex.org", "a\x00\n\tb\xff", "slack-!room:ex.org", "a b\uFFFD"},
		{strings.Repeat("长", 80), "", "slack-82c8a0cfc1ef7d3cba1a4ee32f2a8bd3", ""},
		{"a\nb", strings.Repeat("x", 600), "slack-1a7dc8ef9e3c4a0f4f9e0c3f2c8b8b7d", strings.Repeat("x", 512)},
	} {
		g, err := ingest.GroupOf("slack", ingest.Chat{ID: c.id, Name: c.name})
		if err == nil {
			err = g.Normalize()
		}
		hashed := len(c.id) > 100 || strings.Contains(c.id, "\n")
		if err != nil || g.Name != c.called || !hashed && g.ID != c.want || hashed && len(g.ID) != len(c.want) {
			t.Errorf("%.20q: %+v, %v", c.id, g, err)
		}
	}
	if _, err := ingest.GroupOf("jsonl", ingest.Chat{}); !errors.Is(err, reverie.ErrInvalid) {
		t.Errorf("a chat without an id: %v", err)
	}
}

// TestFilters says who is who, and what is nobody's words.
func TestFilters(t *testing.T) {
	usual := ingest.Filters{Commands: []string{"/", "!", ""}}
	own := ingest.Filters{Commands: []string{"/"}, Assistants: []string{"b1", "Helper"}}
	said := func(text string) ingest.Record {
		return ingest.Record{Chat: ingest.Chat{ID: "c"}, Message: reverie.Message{AuthorID: "u1", Author: "Lin", Role: reverie.RoleUser, Text: text}}
	}
	bot := func(id, name, text string) ingest.Record {
		return ingest.Record{Chat: ingest.Chat{ID: "c"}, Bot: true, Message: reverie.Message{AuthorID: id, Author: name, Role: reverie.RoleUser, Text: text}}
	}
	for name, c := range map[string]struct {
		f      ingest.Filters
		r      ingest.Record
		filter reverie.Filter
		role   reverie.Role
	}{
		"words":                {usual, said("hello"), "", "user"},
		"nothing":              {usual, said(" \n\t"), reverie.FilterEmpty, "user"},
		"nothing, of no chat":  {usual, ingest.Record{Message: reverie.Message{Role: reverie.RoleUser}}, "", "user"},
		"a command":            {usual, said("/roll 2d6"), reverie.FilterCommand, "user"},
		"a Chinese command":    {usual, said("！/签到"), "", "user"},
		"another":              {usual, said(" !签到"), reverie.FilterCommand, "user"},
		"a path":               {usual, said("/etc/hosts is broken"), "", "user"},
		"only a mark":          {usual, said("!"), "", "user"},
		"a mark and a number":  {usual, said("/ 2"), "", "user"},
		"!!":                   {usual, said("!!!"), "", "user"},
		"no commands":          {ingest.Filters{}, said("/roll"), "", "user"},
		"a bot":                {usual, bot("b9", "Timer", "ding"), reverie.FilterBot, "user"},
		"a bot without words":  {usual, bot("b9", "Timer", ""), reverie.FilterEmpty, "user"},
		"our own, by id":       {own, bot("b1", "X", "/hello there"), "", "assistant"},
		"our own, by name":     {own, bot("b7", "Helper", "hello"), "", "assistant"},
		"our own, not marked":  {own, ingest.Record{Message: reverie.Message{AuthorID: "b1", Role: reverie.RoleUser, Text: "hello"}}, "", "assistant"},
		"bots are assistants":  {ingest.Filters{Bots: ingest.BotsAssistant}, bot("b9", "Timer", "ding"), "", "assistant"},
		"bots are people":      {ingest.Filters{Bots: ingest.BotsUser}, bot("b9", "Timer", "ding"), "", "user"},
		"bots are filtered":    {ingest.Filters{Bots: ingest.BotsFilter}, bot("b9", "Timer", "ding"), reverie.FilterBot, "user"},
		"an event":             {own, ingest.Record{Event: true, Message: reverie.Message{AuthorID: "b1", Role: reverie.RoleUser, Text: "joined"}}, reverie.FilterEvent, "assistant"},
		"a tool says nothing":  {usual, ingest.Record{Message: reverie.Message{Role: reverie.RoleTool}}, "", "tool"},
		"an assistant's slash": {usual, ingest.Record{Message: reverie.Message{Role: reverie.RoleAssistant, Text: "/help shows it"}}, "", "assistant"},
	} {
		if c.f.Apply(&c.r); c.r.Message.Filter != c.filter || c.r.Message.Role != c.role {
			t.Errorf("%s: filter %q, role %q", name, c.r.Message.Filter, c.r.Message.Role)
		}
	}
}

// TestEdits: of two messages under one id, by one author at one time, a text that the export marks as edited
// stands for the other, whichever comes first. Without the mark both are kept.
func TestEdits(t *testing.T) {
	for format, c := range map[string]struct{ before, message, mark, after string }{
		"discord":    {`{"guild":{"id":"1","name":"G"},"channel":{"id":"2","type":"GuildTextChat","name":"c"},"messages":[`, `{"id":"3","type":"Default","timestamp":"2026-01-15T12:00:00+00:00"%s,"content":"%s","author":{"id":"7","name":"lin","isBot":false}}`, `,"timestampEdited":"2026-01-15T12:01:00+00:00"`, `]}`},
		"telegram":   {`{"name":"K","type":"private_supergroup","id":5,"messages":[`, `{"id":3,"type":"message","date":"2026-01-15T12:00:00","date_unixtime":"1768478400"%s,"from":"L","from_id":"user7","text":"%s"}`, `,"edited":"2026-01-15T12:01:00"`, `]}`},
		"slack":      {`[`, `{"type":"message","user":"U1","ts":"1768478400.000100"%s,"text":"%s"}`, `,"edited":{"user":"U1","ts":"1768478460.000000"}`, `]`},
		"teams":      {`{"value":[`, `{"id":"3","messageType":"message","createdDateTime":"2026-01-15T12:00:00Z"%s,"chatId":"19:x@thread.v2","from":{"user":{"id":"u","displayName":"L"}},"body":{"contentType":"text","content":"%s"}}`, `,"lastEditedDateTime":"2026-01-15T12:01:00Z"`, `]}`},
		"rocketchat": {`{"messages":[`, `{"_id":"3","rid":"R","ts":"2026-01-15T12:00:00Z"%s,"msg":"%s","u":{"_id":"u","username":"l"}}`, `,"editedAt":"2026-01-15T12:01:00Z"`, `],"count":2}`},
		"zulip":      {`{"result":"success","messages":[`, `{"id":3,"sender_id":7,"sender_full_name":"L","type":"stream","stream_id":5,"display_recipient":"s","subject":"t"%s,"content":"%s","timestamp":1768478400}`, `,"last_edit_timestamp":1768478460`, `]}`},
		"feishu":     {`{"code":0,"data":{"items":[`, `{"message_id":"om","msg_type":"text","create_time":"1768478400000"%s,"chat_id":"oc","sender":{"id":"u"},"body":{"content":"{\"text\":\"%s\"}"}}`, `,"updated":true`, `]}}`},
	} {
		old, edited := fmt.Sprintf(c.message, "", "old"), fmt.Sprintf(c.message, c.mark, "new")
		for _, way := range []struct {
			messages, want string
			sameID         int
		}{{old + "," + edited, "new", 0}, {edited + "," + old, "new", 0}, {old + "," + fmt.Sprintf(c.message, "", "other"), "old other", 1}} {
			s := &shelf{keep: true}
			im := ingest.NewImporter(s, ingest.Options{Group: func(context.Context, string, ingest.Chat) (string, error) { return "g", nil }})
			in := open(t, write(t, "x.json", []byte(c.before+way.messages+c.after)))
			_, _, err := im.Input(t.Context(), in, format, ingest.ReadOptions{})
			var texts []string
			for _, m := range s.list {
				texts = append(texts, m.Text)
			}
			if got := strings.Join(texts, " "); got != way.want || im.Result().SameID != way.sameID || im.Result().Records != 2 || err != nil {
				t.Errorf("%s of %s: %q, %+v, %v", format, way.messages, got, im.Result().Counts, err)
			}
		}
	}
}

// TestOnlyMarksDelete: a message that says nothing, whatever became of its words, is deleted only where its platform
// says so of an id of its own.
func TestOnlyMarksDelete(t *testing.T) {
	for name, c := range map[string]struct{ format, before, words, mark, after string }{
		"slack":            {"slack", `[`, `{"type":"message","user":"U1","ts":"1768478400.000100","text":""}`, `{"type":"message","subtype":"tombstone","user":"USLACKBOT","ts":"1768478400.000100","text":"This message was deleted."}`, `]`},
		"a change":         {"slack", `[`, `{"type":"message","subtype":"message_changed","user":"U1","ts":"1768478400.000100","text":"hi"}`, "", `]`},
		"over the limit":   {"slack", `[{"type":"message","user":"U1","ts":"1768478300.000100","text":"hi"},`, `{"type":"message","subtype":"bot_message","ts":"1768478400.000100","text":"","is_hidden_by_limit":1}`, "", `]`},
		"a sticker":        {"telegram", `{"name":"K","type":"private_supergroup","id":5,"messages":[`, `{"id":3,"type":"message","date":"2026-01-15T12:00:00","date_unixtime":"1768478400","from":"L","from_id":"user7","media_type":"sticker","text":""}`, "", `]}`},
		"nothing happened": {"telegram", `{"name":"K","type":"private_supergroup","id":5,"messages":[`, `{"id":3,"type":"unsupported","date":"2026-01-15T12:00:00","date_unixtime":"1768478400"}`, "", `]}`},
		"teams":            {"teams", `{"value":[`, `{"id":"3","messageType":"message","createdDateTime":"2026-01-15T12:00:00Z","chatId":"19:x@thread.v2","from":{"user":{"id":"u"}},"body":{"contentType":"text","content":""}}`, `{"id":"3","messageType":"message","createdDateTime":"2026-01-15T12:00:00Z","deletedDateTime":"2026-01-15T12:01:00Z","chatId":"19:x@thread.v2","from":{"user":{"id":"u"}},"body":{"contentType":"text","content":"x"}}`, `]}`},
		"feishu":           {"feishu", `{"code":0,"data":{"items":[`, `{"message_id":"om","msg_type":"image","create_time":"1768478400000","chat_id":"oc","sender":{"id":"u"},"body":{"content":"{}"}}`, `{"message_id":"om","msg_type":"text","create_time":"1768478400000","deleted":true,"chat_id":"oc","sender":{"id":"u"},"body":{"content":"x"}}`, `]}}`},
		"wechat":           {"wechat", `{"weflow":{"version":"1"},"session":{"wxid":"1@chatroom","displayName":"n"},"messages":[`, `{"localId":2,"createTime":1768478470,"type":"图片消息","content":"[图片]","isSend":0,"senderUsername":"w"}`, `{"localId":2,"createTime":1768478470,"type":"撤回消息","content":"\"L\" 撤回了一条消息","isSend":0,"senderUsername":"w"}`, `]}`},
		"chatlab":          {"chatlab", `{"chatlab":{"version":"0.0.2"},"meta":{"platform":"qq","type":"group","groupId":"9"},"messages":[`, `{"platformMessageId":"a","sender":"1","timestamp":1769990000,"type":1,"content":"[图片]"}`, `{"platformMessageId":"a","sender":"1","timestamp":1769990000,"type":81,"content":"x"}`, `]}`},
		"without an id":    {"chatlab", `{"chatlab":{"version":"0.0.2"},"meta":{"platform":"qq","type":"group","groupId":"9"},"messages":[`, `{"sender":"1","timestamp":1769990000,"type":81,"content":"x"}`, "", `]}`},
		"whatsapp":         {"whatsapp", "1/13/26, 18:04 - Mira: hi\n", "1/13/26, 18:05 - Mira: This message was deleted\n", "", ""},
	} {
		for said, want := range map[string]int{c.words: 0, c.mark: 1} {
			if said == "" {
				continue
			}
			s := &shelf{keep: true}
			im := ingest.NewImporter(s, ingest.Options{Group: func(context.Context, string, ingest.Chat) (string, error) { return "g", nil }})
			_, _, err := im.Input(t.Context(), open(t, write(t, "x", []byte(c.before+said+c.after))), c.format, ingest.ReadOptions{})
			gone := 0
			for _, m := range s.list {
				if m.Deleted {
					gone++
				}
				if m.Deleted && m.Text != "" {
					t.Errorf("%s: what is deleted says %q", name, m.Text)
				}
			}
			if gone != want || len(s.list) == 0 || err != nil {
				t.Errorf("%s: of %s %d are deleted of %d, %v", name, said, gone, len(s.list), err)
			}
		}
	}
}

// TestDeletedInOneBatch: of a text and the mark of its deletion in one export the mark is stored, whichever comes first.
func TestDeletedInOneBatch(t *testing.T) {
	text := `{"type":"message","user":"U1","ts":"1768478400.000100","text":"hi"}`
	gone := `{"type":"message","subtype":"tombstone","user":"USLACKBOT","ts":"1768478400.000100","text":"This message was deleted."}`
	for _, list := range []string{text + "," + gone, gone + "," + text} {
		s := &shelf{keep: true}
		im := ingest.NewImporter(s, ingest.Options{Group: func(context.Context, string, ingest.Chat) (string, error) { return "g", nil }})
		_, _, err := im.Input(t.Context(), open(t, write(t, "x.json", []byte("["+list+"]"))), "slack", ingest.ReadOptions{})
		if err != nil || len(s.list) != 1 || !s.list[0].Deleted || s.list[0].Text != "" || im.Result().Known != 1 {
			t.Errorf("of %s: %+v, %+v, %v", list, s.list, im.Result().Counts, err)
		}
	}
}
