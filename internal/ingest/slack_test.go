package ingest_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"testing/fstest"

	"reverie/internal/ingest"
)

// toldBy reads a source in a format and writes each record on a line. Bad ones are
// "bad: " and their reason; the error is the one that ended it.
func toldBy(t testing.TB, name string, src ingest.Source, opts ingest.ReadOptions) (lines []string, err error) {
	t.Helper()
	f, err := ingest.Named(name)
	if err != nil {
		t.Fatal(err)
	}
	for r, err := range f.Read(t.Context(), src, opts) {
		var bad *ingest.Bad
		switch {
		case errors.As(err, &bad):
			if bad.Place == "" || bad.Reason == "" || bad.Error() == "" {
				t.Errorf("a bad record says too little: %+v", bad)
			}
			lines = append(lines, "bad: "+bad.Reason)
			continue
		case err != nil:
			return lines, err
		}
		m := r.Message
		if c := r.Change; c != nil {
			if c.Text != nil {
				lines = append(lines, fmt.Sprintf("%s %s becomes %s by %s", r.Chat.ID, c.ID, *c.Text, c.By))
			}
			if len(c.Reactions) > 0 {
				lines = append(lines, fmt.Sprintf("%s %s has %v", r.Chat.ID, c.ID, c.Reactions))
			}
			if m.ID == "" {
				continue
			}
		}
		line := fmt.Sprintf("%s %s %s", r.Chat.ID, m.ID, m.Author)
		for _, part := range []struct{ sign, is string }{{"^", m.ReplyTo}, {"/", m.SessionID}} {
			if part.is != "" {
				line += " " + part.sign + part.is
			}
		}
		if r.Bot {
			line += " bot"
		}
		if r.Event {
			line += " event"
		}
		lines = append(lines, line+": "+m.Text)
		if m.Author == "" || m.AuthorID == "" || m.ID == "" || m.SentAt.IsZero() || r.Place == "" || r.Chat.ID == "" || r.Chat.Name == "" {
			t.Errorf("a record lacks something: %+v", r)
		}
	}
	return lines, nil
}

// file is a source of one file.
func file(name, content string) ingest.Source {
	return ingest.Source{Name: name, Head: []byte(content[:min(len(content), ingest.HeadSize)]), Reader: strings.NewReader(content)}
}

// files is a source of several: names and contents.
func files(pairs ...string) ingest.Source {
	all := fstest.MapFS{}
	for i := 0; i < len(pairs); i += 2 {
		all[pairs[i]] = &fstest.MapFile{Data: []byte(pairs[i+1])}
	}
	return ingest.Source{Name: "export", Files: all}
}

// sure is how sure a format is of a source.
func sure(t testing.TB, name string, src ingest.Source) int {
	t.Helper()
	f, err := ingest.Named(name)
	if err != nil {
		t.Fatal(err)
	}
	return f.Knows(src)
}

func same(t *testing.T, got []string, want ...string) {
	t.Helper()
	if g, w := strings.Join(got, "\n"), strings.Join(want, "\n"); g != w {
		t.Errorf("told\n%s\nwant\n%s", g, w)
	}
}

const (
	slackUsers = `[{"id":"U1","name":"mira","is_bot":false,"profile":{"display_name":"Mira"}},{"id":"U2","name":"pump","is_bot":true,"profile":null},7,{"id":"U3","profile":{"display_name":9,"real_name":"Jun"}}]`
	slackChats = `[{"id":"C1","name":"plot","members":[]},{"id":"C2","name":"seeds"}]`
)

// TestSlackMessage reads what messages say.
func TestSlackMessage(t *testing.T) {
	for name, c := range map[string]struct{ message, want string }{
		"mentions":              {`"user":"U1","text":"<@U3> <@U9|old> <@U8> <#C2> <#C9|> <#C3|shed>"`, "Mira: @Jun @old @U8 #seeds #C9 #shed"},
		"everybody":             {`"user":"U1","text":"<!here> <!channel|channel> <!subteam^S1|@diggers> <!subteam^S2>"`, "Mira: @here @channel @diggers @subteam"},
		"links":                 {`"user":"U1","text":"<https://a.example/x?a=1&amp;b=2> <https://a.example|a.example> <https://a.example/l|the list> <mailto:m@a.example|m@a.example> <tel:+1|+1>"`, "Mira: https://a.example/x?a=1&b=2 https://a.example the list (https://a.example/l) m@a.example +1"},
		"a date":                {`"user":"U1","text":"<!date^1768464000^{date}|15 January>"`, "Mira: 15 January"},
		"escaped signs":         {`"user":"U1","text":"1 &lt; 2 &amp;amp; 3 &gt; 2 < 4"`, "Mira: 1 < 2 &amp; 3 > 2 < 4"},
		"a bracket in escapes":  {`"user":"U1","text":"&lt;@U1&gt;"`, "Mira: <@U1>"},
		"what one does":         {`"user":"U1","subtype":"me_message","text":"digs"`, "Mira: Mira digs"},
		"a bot by the list":     {`"user":"U2","text":"on"`, "pump bot: on"},
		"an app for a person":   {`"user":"U1","bot_id":"B1","text":"on"`, "Mira: on"},
		"a bot that nobody has": {`"bot_id":"B7","text":"on","bot_profile":{"name":"Valve"}`, "Valve bot: on"},
		"a bot by its id alone": {`"bot_id":"B7","text":"on"`, "B7 bot: on"},
		"Slackbot":              {`"user":"USLACKBOT","text":"hi"`, "Slackbot bot: hi"},
		"a guest":               {`"user":"W5","user_profile":{"display_name":"","real_name":"Tove"},"text":"hi"`, "Tove: hi"},
		"text in blocks": {`"user":"U1","text":"","blocks":[{"type":"rich_text","elements":[{"type":"rich_text_section","elements":[{"type":"text","text":"ask "},{"type":"user","user_id":"U3"},
			{"type":"emoji","name":"bee"},{"type":"link","url":"https://a.example","text":"a"}]},{"type":"rich_text_list","elements":[{"type":"rich_text_section","elements":[{"type":"text","text":"one"}]}]}]},
			{"type":"section","text":{"type":"mrkdwn","text":"x &amp; <@U1>"},"fields":[{"type":"mrkdwn","text":"f"}]},{"type":"image"},5]`, "Mira: ask @Jun:bee:a (https://a.example)\none\nx & @Mira\nf"},
		"an app's attachment": {`"user":"U2","text":"","attachments":[{"pretext":"p","title":"t","text":"x","fields":[{"title":"k","value":"v"}]},{"fallback":"f"}]`, "pump bot: p\nt\nx\nk: v\nf"},
		"a link's preview":    {`"user":"U1","text":"see","attachments":[{"title":"page"}]`, "Mira: see"},
		"shared":              {`"user":"U1","text":"see","attachments":[{"is_share":true,"author_name":"Jun","text":"x &amp; y"}]`, "Mira: see\n[forwarded from Jun] x & y"},
		"shared as blocks":    {`"user":"U1","text":"","attachments":[{"is_share":true,"author_name":"Jun","text":"","fallback":"[x] Jun: y","message_blocks":[{"message":{"blocks":[{"type":"rich_text","elements":[{"type":"rich_text_section","elements":[{"type":"text","text":"y"}]}]}]}}]}]`, "Mira: [forwarded from Jun] y"},
		"a file":              {`"user":"U1","text":"","files":[{"name":"x.jpg"}]`, "Mira: "},
		"a new topic":         {`"user":"U1","subtype":"channel_topic","text":"<@U1> set the topic"`, "Mira event: @Mira set the topic"},
		"a subtype to come":   {`"user":"U1","subtype":"whispered","text":"psst"`, "Mira: psst"},
		"one without a word":  {`"user":"U1","subtype":"whispered","text":""`, "Mira event: "},
		"deleted":             {`"user":"USLACKBOT","subtype":"tombstone","text":"This message was deleted."`, "Slackbot bot event: "},
		"nobody's":            {`"text":"maintenance"`, "Slack bot event: maintenance"},
		"a user who is null":  {`"user":null,"bot_id":null,"text":null`, "Slack bot event: "},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := toldBy(t, "slack", files("users.json", slackUsers, "channels.json", slackChats,
				"plot/2026-01-15.json", `[{"type":"message","ts":"1768464000.000100",`+c.message+`}]`), ingest.ReadOptions{})
			if err != nil {
				t.Fatal(err)
			}
			same(t, got, "C1 1768464000.000100 "+c.want)
		})
	}
}

// TestSlackFolders finds the conversations wherever the lists of them lie, and without.
func TestSlackFolders(t *testing.T) {
	day := func(ts string) string {
		return `[{"type":"message","user":"U1","text":"hi","ts":"` + ts + `.000100"}]`
	}
	for name, c := range map[string]struct {
		src  ingest.Source
		chat string
		want []string
	}{
		"at the top": {files("users.json", slackUsers, "channels.json", slackChats, "plot/2026-01-15.json", day("1768464000"), "plot/2026-01-16.json", day("1768550400"),
			"plot/canvas_in_the_conversation.json", "{}", "__uploads/F1/users.json", "[]", "notes/x.json", "[]"), "",
			[]string{"C1 1768464000.000100 Mira: hi", "C1 1768550400.000100 Mira: hi"}},
		"packed as a folder": {files("my/users.json", slackUsers, "my/channels.json", slackChats, "my/plot/2026-01-15.json", day("1768464000")), "",
			[]string{"C1 1768464000.000100 Mira: hi"}},
		"an organisation's": {files("org_users.json", slackUsers, "channels.json", "[]", "teams/a/channels.json", slackChats, "teams/a/plot/2026-01-15.json", day("1768464000")), "",
			[]string{"C1 1768464000.000100 Mira: hi"}},
		"not in the list": {files("users.json", slackUsers, "channels.json", slackChats, "shed/2026-01-15.json", day("1768464000")), "",
			[]string{"shed 1768464000.000100 Mira: hi"}},
		"without lists":   {files("plot/2026-01-15.json", day("1768464000")), "", []string{"plot 1768464000.000100 U1: hi"}},
		"one channel":     {files("2026-01-15.json", day("1768464000")), "", []string{"export 1768464000.000100 U1: hi"}},
		"one day":         {file("plot/2026-01-15.json", day("1768464000")), "", []string{"plot 1768464000.000100 U1: hi"}},
		"a day by itself": {file("2026-01-15.json", day("1768464000")), "", []string{"channel 1768464000.000100 U1: hi"}},
		"a chat by name": {files("users.json", slackUsers, "channels.json", slackChats, "plot/2026-01-15.json", day("1768464000"), "seeds/2026-01-15.json", day("1768464001")), "seeds",
			[]string{"C2 1768464001.000100 Mira: hi"}},
		"two by id": {files("users.json", slackUsers, "channels.json", slackChats, "dms.json", `[{"id":"D1","members":["U1","U3"]}]`, "plot/2026-01-15.json", day("1768464000"), "D1/2026-01-15.json", day("1768464001")), "Mira, Jun",
			[]string{"D1 1768464001.000100 Mira: hi"}},
	} {
		t.Run(name, func(t *testing.T) {
			if n := sure(t, "slack", c.src); n < 80 {
				t.Errorf("known by %d", n)
			}
			got, err := toldBy(t, "slack", c.src, ingest.ReadOptions{Chat: c.chat})
			if err != nil {
				t.Fatal(err)
			}
			same(t, got, c.want...)
		})
	}
}

// TestSlackBroken goes on behind what cannot be read, and stops where nothing would be
// right without it.
func TestSlackBroken(t *testing.T) {
	good := `{"type":"message","user":"U1","text":"hi","ts":"1768464000.000100"}`
	got, err := toldBy(t, "slack", files("users.json", slackUsers, "channels.json", slackChats,
		"plot/2026-01-15.json", `[`+good+`,{"type":"message","user":"U1","text":"cut of`,
		"plot/2026-01-16.json", `[5,{"type":"message","user":"U1","text":"x"},{"user":["U1"],"ts":"1768464000.000100"},{"ts":"-1.5"},{"ts":"99999999999999"},`+good+`]`,
		"plot/2026-01-17.json", `no JSON`), ingest.ReadOptions{})
	if err != nil {
		t.Error(err)
	}
	same(t, got, "C1 1768464000.000100 Mira: hi", "bad: broken file", "bad: no message", "bad: no time", "bad: no message", "bad: no time", "bad: no time",
		"C1 1768464000.000100 Mira: hi", "bad: broken file")

	got, err = toldBy(t, "slack", files("users.json", slackUsers[:60], "channels.json", slackChats, "plot/2026-01-15.json", `[`+good+`]`), ingest.ReadOptions{})
	if err == nil || !strings.Contains(err.Error(), "users.json") || !strings.Contains(err.Error(), "ends in the middle") || len(got) > 0 {
		t.Errorf("told %q, %v", got, err)
	}
	got, err = toldBy(t, "slack", file("2026-01-15.json", `[`+good+`,{"type":"mess`), ingest.ReadOptions{})
	if err == nil || !strings.Contains(err.Error(), "element 2: it ends in the middle") || len(got) != 1 {
		t.Errorf("told %q, %v", got, err)
	}
}

func FuzzSlack(f *testing.F) {
	f.Add([]byte(slackUsers), []byte(`[{"type":"message","user":"U1","text":"<@U1> &lt; <!date^1|x","ts":"1768464000.000100","blocks":[{"type":"rich_text","elements":[]}],"attachments":[{"is_share":true}]}]`))
	f.Fuzz(func(t *testing.T, users, day []byte) {
		src := files("users.json", string(users), "channels.json", slackChats, "plot/2026-01-15.json", string(day))
		sure(t, "slack", src)
		readAnything(t, "slack", src)
	})
}
