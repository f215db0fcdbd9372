package ingest_test

import (
	"os"
	"strings"
	"testing"

	"reverie/internal/ingest"
)

func discordFile(messages string) string {
	return `{"guild":{"id":"1","name":"Ferry"},"channel":{"id":"2","type":"GuildTextChat","category":"Talk","name":"deck","topic":"{a} }"},"dateRange":{"after":null},"messages":[` + messages + `],"messageCount":1}`
}

// TestDiscordMessage reads what messages say.
func TestDiscordMessage(t *testing.T) {
	const user = `"id":"5","timestamp":"2026-01-15T20:01:00+08:00","author":{"id":"7","name":"arlo","nickname":"Arlo"}`
	for name, c := range map[string]struct{ message, want string }{
		"plain":             {user + `,"type":"Default","content":"tide at 9"`, "Arlo: tide at 9"},
		"of an old version": {`"id":"5","type":"Default","timestamp":"2020-01-15T20:01:00.1234567+00:00","content":"x","author":{"id":"7","name":"arlo","discriminator":"1234","isBot":false}`, "arlo: x"},
		"Markdown kept": {user + `,"type":"Default","content":"<@8> <@!8> <@9> <@&1> <#2> <#3> <:wave:1> <a:wave:1> <t:1768464000:R> </tide now:4> **x** <y>","mentions":[{"id":"8","name":"suki","nickname":"Suki"}]`,
			"Arlo: @Suki @Suki @9 @role #deck #channel :wave: :wave: 2026-01-15 08:00 UTC /tide now **x** <y>"},
		"an answer":               {user + `,"type":"Reply","content":"x","reference":{"messageId":"4"}`, "Arlo ^4: x"},
		"an answer of old":        {user + `,"type":"Default","content":"x","reference":{"messageId":"4","channelId":"2","guildId":"1"}`, "Arlo ^4: x"},
		"announced elsewhere":     {user + `,"type":"Default","content":"x","reference":{"messageId":"4","channelId":"3","guildId":"9"}`, "Arlo: x"},
		"forwarded by an old one": {user + `,"type":"Default","content":"","reference":{"type":"Forward","messageId":"4","channelId":"2"}`, "Arlo: "},
		"no zone":                 {`"id":"5","type":"Default","timestamp":"2026-01-15T20:01:00.123","content":"x","author":{"id":"7","name":"arlo"}`, "arlo: x"},
		"an answer to what left":  {user + `,"type":"Reply","content":"x","reference":{"messageId":null}`, "Arlo: x"},
		"a pin":                   {user + `,"type":"ChannelPinnedMessage","content":"Pinned a message.","reference":{"messageId":"4"}`, "Arlo event: Pinned a message."},
		"a boost":                 {user + `,"type":"8","content":""`, "Arlo event: "},
		"how a thread starts":     {user + `,"type":"21","content":"","reference":{"messageId":"4"}`, "Arlo event: "},
		"a command's answer":      {`"id":"5","type":"20","timestamp":"2026-01-15T20:01:00Z","content":"","author":{"id":"9","name":"Tides","isBot":true},"embeds":[{"title":"t","description":"d <@8>","fields":[{"name":"k","value":"v"}]}],"mentions":[{"id":"8","name":"suki"}]`, "Tides bot: t\nd @suki\nk: v"},
		"a link's preview":        {user + `,"type":"Default","content":"https://a.example","embeds":[{"title":"A"}]`, "Arlo: https://a.example"},
		"a picture":               {user + `,"type":"Default","content":"","attachments":[{"id":"1","fileName":"x.png"}]`, "Arlo: "},
		"forwarded":               {user + `,"type":"Default","content":"","reference":{"type":"Forward","messageId":"4"},"forwardedMessage":{"content":"closed"}`, "Arlo: [forwarded] closed"},
		"a picture forwarded":     {user + `,"type":"Default","content":"","forwardedMessage":{"content":"","attachments":[{}]}`, "Arlo: "},
		"wrong types beside":      {user + `,"type":"Default","content":"x","embeds":7,"mentions":"y","reactions":{}`, "Arlo: x"},
		"an id that is a number":  {`"id":1300000000000000001,"type":0,"timestamp":"2026-01-15T20:01:00Z","content":"x","author":{"id":7,"name":"arlo"}`, ""},
		"a time that is no time":  {`"id":"5","type":"Default","timestamp":"yesterday","content":"x","author":{"id":"7","name":"arlo"}`, "bad: no time"},
		"nobody":                  {`"id":"5","type":"Default","timestamp":"2026-01-15T20:01:00Z","content":"x","author":null`, "bad: no author"},
		"no id":                   {`"type":"Default","timestamp":"2026-01-15T20:01:00Z","content":"x","author":{"id":"7"}`, "bad: no id"},
		"content of another type": {user + `,"type":"Default","content":["x"]`, "bad: no message"},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := toldBy(t, "discord", file("x.json", discordFile("{"+c.message+"}")), ingest.ReadOptions{})
			if err != nil {
				t.Fatal(err)
			}
			switch {
			case c.want == "":
				same(t, got, "2 1300000000000000001 arlo: x")
			case strings.HasPrefix(c.want, "bad"):
				same(t, got, c.want)
			default:
				same(t, got, "2 5 "+c.want)
			}
		})
	}
}

// TestDiscordHeader reads what stands in front of the messages.
func TestDiscordHeader(t *testing.T) {
	for name, c := range map[string]struct{ header, chat, want string }{
		"a thread":   {`"guild":{"id":"1","name":"Ferry"},"channel":{"id":"2","type":"GuildPublicThread","category":"deck","name":"tides"}`, "Ferry / deck / tides", ""},
		"direct":     {`"guild":{"id":"0","name":"Direct Messages"},"channel":{"id":"2","type":"DirectTextChat","name":"suki"}`, "Direct Messages / suki", ""},
		"no name":    {`"guild":{"id":"0"},"channel":{"id":"2"}`, "2", ""},
		"no channel": {`"guild":{"id":"0"}`, "", "the channel must come before"},
		"no id":      {`"guild":{"id":"0"},"channel":{"name":"deck"}`, "", "channel: its id is missing"},
		"no object":  {`"guild":{"id":"0"},"channel":7`, "", "channel: "},
	} {
		f, _ := ingest.Named("discord")
		var got string
		var last error
		for r, err := range f.Read(t.Context(), file("x.json", `{`+c.header+`,"messages":[{"id":"5","type":"Default","timestamp":"2026-01-15T20:01:00Z","content":"x","author":{"id":"7","name":"arlo"}}]}`), ingest.ReadOptions{}) {
			got, last = r.Chat.Name, err
		}
		if c.want == "" && last != nil || c.want != "" && (last == nil || !strings.Contains(last.Error(), c.want)) || got != c.chat {
			t.Errorf("%s: %q, %v", name, got, last)
		}
	}
	if got, err := toldBy(t, "discord", file("x.json", discordFile(`{"id":"5"}`)), ingest.ReadOptions{Chat: "elsewhere"}); err != nil || len(got) > 0 {
		t.Errorf("of another chat: %q, %v", got, err)
	}
}

func FuzzDiscord(f *testing.F) {
	raw, err := os.ReadFile("testdata/discord.json")
	if err != nil {
		f.Fatal(err)
	}
	f.Add(string(raw))
	f.Add(discordFile(`{"id":"5","content":"<t:99999999999999999999:R> <@!1> <:a:1>"}`))
	f.Fuzz(func(t *testing.T, content string) {
		sure(t, "discord", file("x.json", content))
		readAnything(t, "discord", file("x.json", content))
	})
}
