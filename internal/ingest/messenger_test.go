package ingest_test

import (
	"os"
	"strings"
	"testing"

	"reverie/internal/ingest"
)

// messengerFile is a file of a chat of two with this message.
func messengerFile(message string) string {
	return `{"participants":[{"name":"Zo\u00c3\u00ab Ma"},{"name":"Bo"}],"messages":[{"timestamp_ms":1768500245123,` + message + `}],"title":"Zo\u00c3\u00ab Ma","thread_path":"inbox/zoema_9"}`
}

// TestMessengerMessage reads what messages say.
func TestMessengerMessage(t *testing.T) {
	for name, c := range map[string]struct{ message, want string }{
		"bytes as letters":      {`"sender_name":"Zo\u00c3\u00ab Ma","content":"na\u00c3\u00afve \u00f0\u009f\u0094\u00a5 \u00e5\u0091\u00a8\u00e5\u009b\u009b"`, "Zoë Ma: naïve 🔥 周四"},
		"right already":         {`"sender_name":"Bo","content":"café, naïve, 周四, £5"`, "Bo: café, naïve, 周四, £5"},
		"a letter cut in half":  {`"sender_name":"Bo","content":"\u00c3\u00ab and \u00f0\u009f"`, "Bo: ë and \u00f0\u009f"},
		"a call":                {`"sender_name":"Bo","content":"Bo rief dich an.","call_duration":0`, "Bo event: Bo rief dich an."},
		"of an old kind":        {`"sender_name":"Bo","content":"x","type":"Unsubscribe"`, "Bo event: x"},
		"what the app says":     {`"sender_name":"Zo\u00c3\u00ab Ma","content":"Zo\u00c3\u00ab Ma hat das Foto ge\u00c3\u00a4ndert."`, "Zoë Ma event: Zoë Ma hat das Foto geändert."},
		"what I did":            {`"sender_name":"Bo","content":"You changed the group photo."`, "Bo event: You changed the group photo."},
		"what somebody says":    {`"sender_name":"Bo","content":"You left me a key."`, "Bo: You left me a key."},
		"one who names himself": {`"sender_name":"Bo","content":"Bo was here."`, "Bo: Bo was here."},
		"a shared link":         {`"sender_name":"Bo","content":"Bo hat einen Link gesendet.","share":{"link":"https://a.example"}`, "Bo: https://a.example"},
		"a link that is said":   {`"sender_name":"Bo","content":"see https://a.example","share":{"link":"https://a.example"}`, "Bo: see https://a.example"},
		"a link alone":          {`"sender_name":"Bo","content":"https://a.example","share":{"link":"https://a.example"}`, "Bo: https://a.example"},
		"a picture":             {`"sender_name":"Bo","photos":[{"uri":"a.jpg"}]`, "Bo: "},
		"a reaction":            {`"sender_name":"Bo","content":"Liked a message"`, "Bo event: Liked a message"},
		"one in German":         {`"sender_name":"Bo","content":"Hat mit \u00e2\u009d\u00a4 auf deine Nachricht reagiert"`, "Bo event: Hat mit ❤ auf deine Nachricht reagiert"},
		"one that is said":      {`"sender_name":"Bo","content":"Reacted badly to peanuts, twice"`, "Bo: Reacted badly to peanuts, twice"},
		"taken back":            {`"sender_name":"Bo","content":"x","is_unsent":true`, "Bo event: "},
		"of another type":       {`"sender_name":"Bo","content":["x"],"share":7,"is_unsent":"y","call_duration":null`, "Bo: "},
		"of nobody":             {`"content":"x"`, "bad: no author"},
		"no time":               {`"timestamp_ms":"soon","sender_name":"Bo"`, "bad: no time"},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := toldBy(t, "messenger", file("message_1.json", messengerFile(c.message)), ingest.ReadOptions{})
			if err != nil || len(got) != 1 {
				t.Fatal(got, err)
			}
			if fields := strings.SplitN(got[0], " ", 3); !strings.HasPrefix(c.want, "bad") {
				if fields[0] != "zoema_9" {
					t.Errorf("the chat is %s", fields[0])
				}
				got[0] = fields[2]
			}
			same(t, got, c.want)
		})
	}
}

// TestMessengerChats: a chat is the same by its path in the download and by its folder, in either part of it.
func TestMessengerChats(t *testing.T) {
	const message = `"sender_name":"Bo","content":"x"`
	long := messengerFile(message + `,"photos":"` + strings.Repeat("x", ingest.HeadSize) + `"`)
	for name, c := range map[string]struct{ name, content, want string }{
		"by its path":          {"-", messengerFile(message), "zoema_9"},
		"by its folder":        {"in/zoema_9/message_2.json", long, "zoema_9"},
		"by who is in it":      {"-", long, "Zoë Ma, Bo"},
		"a folder of any name": {"in/chats/bo.json", long, "Zoë Ma, Bo"},
		"a path that leads up": {"-", strings.ReplaceAll(messengerFile(message), "inbox/zoema_9", "../.."), "Zoë Ma, Bo"},
	} {
		got, err := toldBy(t, "messenger", file(c.name, c.content), ingest.ReadOptions{})
		if err != nil || len(got) != 1 || !strings.HasPrefix(got[0], c.want+" ") {
			t.Errorf("%s: %q, %v", name, got, err)
		}
	}
	src := files("a/inbox/zoema_9/message_1.json", long, "a/inbox/zoema_9/message_2.json", messengerFile(message), "a/inbox/lost_1/message_1.json", messengerFile(message)[:120])
	got, err := toldBy(t, "messenger", src, ingest.ReadOptions{Chat: "Zoë Ma"})
	if err != nil || len(got) != 2 || got[0] != got[1] {
		t.Errorf("%q, %v", got, err)
	}
}

func FuzzMessenger(f *testing.F) {
	raw, err := os.ReadFile("testdata/messenger_e2ee.json")
	check(f, err)
	f.Add(string(raw))
	f.Add(messengerFile(`"sender_name":"Bo","content":"\u00c3\u00ab\ud83d","share":{"link":"x"}`))
	f.Fuzz(func(t *testing.T, content string) {
		sure(t, "messenger", file("message_1.json", content))
		readAnything(t, "messenger", file("message_1.json", content))
	})
}
