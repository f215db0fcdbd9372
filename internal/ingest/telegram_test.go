package ingest_test

import (
	"errors"
	"io"
	"strings"
	"testing"
	"time"

	"reverie/internal/ingest"
)

// telegram is an export of one group with these messages.
func telegram(messages ...string) string {
	return `{"name":"Boat","type":"private_supergroup","id":12,"messages":[` + strings.Join(messages, ",") + `]}`
}

// TestTelegramMessage reads what messages say.
func TestTelegramMessage(t *testing.T) {
	for name, c := range map[string]struct{ message, want string }{
		"a string":             {`"text":"hi"`, "Mira: hi"},
		"parts":                {`"text":["a ",{"type":"bold","text":"b"},7,{"type":"x"}," c"]`, "Mira: a b c"},
		"entities":             {`"text":"a b","text_entities":[{"type":"plain","text":"a "},{"type":"mention_name","text":"Jo","user_id":7}]`, "Mira: a @Jo"},
		"no text at all":       {`"rich_message":{}`, "Mira: "},
		"a page":               {`"rich_message":{"blocks":[{"type":"title","text":"Plan"},{"type":"paragraph","text":["row ",{"type":"bold","text":"north"}]},{"type":"list","items":[{"blocks":[{"text":"rope"}]}]},{"type":"photo","url":"x"}]}`, "Mira: Plan\nrow north\nrope"},
		"a link":               {`"text":["see ",{"type":"link","text":"https://a.example"}]`, "Mira: see https://a.example"},
		"a named link":         {`"text":["see ",{"type":"text_link","text":"here","href":"https://a.example"}]`, "Mira: see here (https://a.example)"},
		"an emoji":             {`"text":[{"type":"custom_emoji","text":"🙂","document_id":"stickers/x.webp"}]`, "Mira: 🙂"},
		"a picture":            {`"photo":"photos/1.jpg","text":""`, "Mira: "},
		"a caption":            {`"photo":"(File not included.)","text":"our boat"`, "Mira: our boat"},
		"a sticker":            {`"media_type":"sticker","sticker_emoji":"🙂","text":""`, "Mira: "},
		"forwarded":            {`"forwarded_from":"Jo","text":"hi"`, "Mira: [forwarded from Jo] hi"},
		"of somebody gone":     {`"forwarded_from":null,"text":"hi"`, "Mira: [forwarded] hi"},
		"a forwarded picture":  {`"forwarded_from":"Jo","photo":"x","text":""`, "Mira: "},
		"a poll":               {`"text":"","poll":{"question":["Lunch",{"type":"bold","text":"?"}],"answers":[{"text":"Soup"},{"text":["Bread"]}]}`, "Mira: Lunch?\n- Soup\n- Bread"},
		"a list":               {`"text":"","todo_list":{"title":"Bring","answers":[{"text":"rope","id":1}]}`, "Mira: Bring\n- rope"},
		"a place":              {`"text":"","place_name":"Pier 4","location_information":{"latitude":1,"longitude":2}`, "Mira: Pier 4"},
		"an answer":            {`"reply_to_message_id":3,"text":"hi"`, "Mira ^3: hi"},
		"an answer elsewhere":  {`"reply_to_message_id":3,"reply_to_peer_id":"channel9","text":"hi"`, "Mira: hi"},
		"a bot's buttons":      {`"inline_bot_buttons":[[{"type":"url"}]],"text":"hi"`, "Mira bot: hi"},
		"by way of a bot":      {`"via_bot":"@gif","inline_bot_buttons":[[{"type":"url"}]],"text":"hi"`, "Mira: hi"},
		"a control character":  {`"text":"a\x01b \\x41"`, "Mira: a\x01b \\x41"},
		"what happened":        {`"type":"service","actor":"Jo","actor_id":"user7","action":"pin_message","message_id":4,"text":""`, "Jo event: pin message"},
		"a new title":          {`"type":"service","actor":"Jo","actor_id":"user7","action":"edit_group_title","title":"Boats","members":["a",null]`, "Jo event: edit group title: Boats"},
		"another's own words":  {`"type":"service","information_text":"Jo did it"`, "Mira event: Jo did it"},
		"text twice":           {`"type":"service","action":"send_webview_data","text":"x","text":""`, "Mira event: send webview data"},
		"of a kind to come":    {`"type":"hologram","text":""`, "Mira event: "},
		"numbers beyond 2^53":  {`"gift_id":18446744073709551615,"text":"hi"`, "Mira: hi"},
		"a number for a thing": {`"poll":null,"todo_list":null,"text":5`, "Mira: "},
	} {
		t.Run(name, func(t *testing.T) {
			message := `{"id":5,"type":"message","date":"2026-01-15T18:04:05","date_unixtime":"1768500245","from":"Mira","from_id":"user1",` + c.message + `}`
			got, err := toldBy(t, "telegram", file("result.json", telegram(message)), ingest.ReadOptions{})
			if err != nil {
				t.Fatal(err)
			}
			if !strings.HasPrefix(c.want, "bad") {
				c.want = "channel12 5 " + c.want
			}
			same(t, got, c.want)
		})
	}
}

// TestTelegramAuthors gives people, groups and channels ids that do not overlap, as new
// exports do and old ones did not.
func TestTelegramAuthors(t *testing.T) {
	for from, want := range map[string]string{
		`"from":"Mira","from_id":"user7"`:           "user7 Mira",
		`"from":null,"from_id":"user7"`:             "user7 user7",
		`"from":"News","from_id":"channel9"`:        "channel9 News",
		`"author":"Jo"`:                             "Jo Jo",
		`"text":""`:                                 "channel12 Boat",
		`"actor":"Jo","actor_id":"user7"`:           "channel12 Boat",
		`"from":"Mira","from_id":"user99999999999"`: "user99999999999 Mira",
	} {
		f, err := ingest.Named("telegram")
		if err != nil {
			t.Fatal(err)
		}
		src := file("result.json", telegram(`{"id":5,"type":"message","date_unixtime":"1768500245","text":"hi",`+from+`}`))
		for r, err := range f.Read(t.Context(), src, ingest.ReadOptions{}) {
			m := r.Message
			if err == nil {
				err = m.Normalize()
			}
			if got := m.AuthorID + " " + m.Author; err != nil || got != want {
				t.Errorf("%s is %q, want %q: %v", from, got, want, err)
			}
		}
	}
}

// TestTelegramTimes prefers the instant to the clock of the machine that exported.
func TestTelegramTimes(t *testing.T) {
	zone := time.FixedZone("east", 8*3600)
	for text, want := range map[string]string{
		`"date":"2026-01-15T18:04:05","date_unixtime":"1768471445"`: "2026-01-15 10:04:05",
		`"date":"2026-01-15T18:04:05","date_unixtime":1768471445`:   "2026-01-15 10:04:05",
		`"date":"2026-01-15T18:04:05"`:                              "2026-01-15 18:04:05",
	} {
		got, err := timesIn(t, "telegram", file("result.json", telegram(`{"id":5,"type":"message","from":"Mira","text":"",`+text+`}`)), ingest.ReadOptions{Zone: zone})
		if err != nil || len(got) != 1 || got[0] != want {
			t.Errorf("%s is %q, %v", text, got, err)
		}
	}
}

// TestTelegramTopics follows the topics of a forum from answer to answer.
func TestTelegramTopics(t *testing.T) {
	message := func(id, more string) string {
		return `{"id":` + id + `,"date_unixtime":"1768500245","from":"Mira","from_id":"user1","type":` + more + `}`
	}
	got, err := toldBy(t, "telegram", file("result.json", telegram(
		message("1", `"message","text":"early","reply_to_message_id":0`), message("2", `"service","action":"topic_created","title":"Routes"`),
		message("3", `"message","text":"a","reply_to_message_id":2`), message("4", `"message","text":"b","reply_to_message_id":3`),
		message("5", `"message","text":"c","reply_to_message_id":4`), message("6", `"message","text":"general"`),
		message("7", `"message","text":"d","reply_to_message_id":6`))), ingest.ReadOptions{})
	if err != nil {
		t.Fatal(err)
	}
	same(t, got, "channel12 1 Mira ^0: early", "channel12 2 Mira /2 event: topic created: Routes", "channel12 3 Mira /2: a", "channel12 4 Mira ^3 /2: b",
		"channel12 5 Mira ^4 /2: c", "channel12 6 Mira: general", "channel12 7 Mira ^6: d")
}

// TestTelegramFiles finds the chats of an account and of folders.
func TestTelegramFiles(t *testing.T) {
	chat := func(kind, name, id, message string) string {
		return `{"name":` + name + `,"type":"` + kind + `","id":` + id + `,"messages":[` +
			`{"id":` + message + `,"type":"message","date":"2026-01-15T18:04:05","date_unixtime":"1768500245","from":"Mira","from_id":"user1","text":"hi"}]}`
	}
	account := `{"about":"Here is the data you requested.","personal_information":{"user_id":1,"first_name":"Mira"},"contacts":{"list":[{"name":"x","type":"y","id":9}]},` +
		`"chats":{"about":"x","list":[` + chat("personal_chat", `"Jo"`, "7", "1") + `,{"type":"saved_messages","id":1,"messages":[]},` + chat("private_group", `null`, "7", "2") + `,` + chat("bot_chat", `"Pump"`, "1", "3") + `]},` +
		`"left_chats":{"list":[` + chat("public_channel", `"News"`, "7", "4") + `,` + chat("saved_messages", `""`, "1", "5") + `]}}`
	for name, c := range map[string]struct {
		src  ingest.Source
		chat string
		want []string
	}{
		"an account":      {file("x.json", account), "", []string{"user7 1 Mira: hi", "chat7 2 Mira: hi", "user1 3 Mira bot: hi", "channel7 4 Mira: hi", "saved1 5 Mira: hi"}},
		"a chat by name":  {file("x.json", account), "News", []string{"channel7 4 Mira: hi"}},
		"a folder":        {files("ChatExport/result.json", telegram(), "ChatExport (1)/result.json", chat("public_group", `"B"`, "3", "6"), "photos/x.json", "{}"), "", []string{"channel3 6 Mira: hi"}},
		"before 2021":     {file("x.json", strings.ReplaceAll(chat("bot_chat", `"Pump"`, "1", "3"), `"user1"`, "1")), "", []string{"user1 3 Mira bot: hi"}},
		"of a type to be": {file("x.json", chat("hologram", `"H"`, "3", "6")), "", []string{"peer3 6 Mira: hi"}},
	} {
		t.Run(name, func(t *testing.T) {
			if n := sure(t, "telegram", c.src); n < 70 {
				t.Errorf("known by %d", n)
			}
			got, err := toldBy(t, "telegram", c.src, ingest.ReadOptions{Chat: c.chat})
			if err != nil {
				t.Fatal(err)
			}
			same(t, got, c.want...)
		})
	}
	if n := sure(t, "telegram", file("x.json", `{"about":"x","contacts":{"about":"y","list":[`+strings.Repeat(`{"name":"z"},`, 9000))); n < 70 {
		t.Errorf("an account that begins with long lists is known by %d", n)
	}
	for _, no := range []string{"", "[]", "{}", `{"type":"private_group"}`, `{"guild":{"id":"1"},"messages":[{"id":"1","type":"Default"}]}`, `{"about":"x","id":3}`} {
		if n := sure(t, "telegram", file("result.json", no)); n > 0 {
			t.Errorf("%q is known by %d", no, n)
		}
	}
}

// TestTelegramBroken tells what cannot be read, and goes on where it can.
func TestTelegramBroken(t *testing.T) {
	at := `"type":"message","date_unixtime":"1768500245","from":"Mira","from_id":"user1","text":"hi"`
	whole := telegram(`{"id":1,`+at+`}`, `{"id":2,"type":"unsupported"}`, `5`, `{"id":[1],`+at+`}`, `{`+at+`}`, `{"id":3,"type":"message","date":"yesterday"}`, `{"id":4,"date_unixtime":"99999999999999"}`,
		`{"id":5,"x":"`+strings.Repeat("x", 5<<20)+`"}`, `{"id":6,`+at+`}`)
	want := []string{"channel12 1 Mira: hi", "channel12 2 Boat event: ", "bad: no message", "bad: no message", "bad: no id", "bad: no time", "bad: no time", "bad: too long", "channel12 6 Mira: hi"}
	got, err := toldBy(t, "telegram", file("result.json", whole), ingest.ReadOptions{})
	if err != nil {
		t.Error(err)
	}
	same(t, got, want...)

	got, err = toldBy(t, "telegram", file("result.json", whole[:len(whole)-20]), ingest.ReadOptions{})
	if !errors.Is(err, io.ErrUnexpectedEOF) || !strings.Contains(err.Error(), "messages 9") {
		t.Error(err)
	}
	same(t, got, want[:8]...)

	got, err = toldBy(t, "telegram", files("a/result.json", whole[:len(whole)-20], "b/result.json", whole), ingest.ReadOptions{})
	if err != nil {
		t.Error(err)
	}
	same(t, got, append(append(want[:8:8], "bad: broken file"), want...)...)

	got, err = toldBy(t, "telegram", file("x.json", `{"type":"private_group","messages":[{"id":1,`+at+`}]}`), ingest.ReadOptions{})
	if err != nil {
		t.Error(err)
	}
	same(t, got, "bad: no chat")

	sorted := `{"id":12,"messages":[{"id":1,` + at + `}],"name":"Boat","type":"private_supergroup"}`
	got, err = toldBy(t, "telegram", file("x.json", sorted), ingest.ReadOptions{})
	if err != nil {
		t.Error(err)
	}
	same(t, got, "bad: no chat")
	got, err = toldBy(t, "telegram", file("x.json", sorted), ingest.ReadOptions{OneGroup: true})
	if err != nil {
		t.Error(err)
	}
	same(t, got, "peer12 1 Mira: hi")
}

func FuzzTelegram(f *testing.F) {
	f.Add(telegram(`{"id":1,"type":"message","date_unixtime":"1768500245","from":"Mira","from_id":4294967305,"text":["a\x01",{"type":"text_link","text":"b","href":"c"}],"poll":{"question":[],"answers":[{}]},"forwarded_from":null}`,
		`{"id":2,"type":"service","action":"topic_created"}`, `{"id":-3,"type":"unsupported","reply_to_message_id":2}`))
	f.Add(`{"about":"x","chats":{"list":[{"type":null,"id":9,"messages":[[],{}]}]},"left_chats":{"list":{}}}`)
	f.Fuzz(func(t *testing.T, text string) {
		sure(t, "telegram", file("result.json", text))
		readAnything(t, "telegram", file("result.json", text))
	})
}
