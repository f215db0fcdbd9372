package ingest_test

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"reverie/internal/ingest"
)

// eachSays reads one message after another, wrapped as a file of a format, and compares what it says: without its
// chat and its id.
func eachSays(t *testing.T, format string, wrap func(message string) ingest.Source, cases map[string][2]string) {
	t.Helper()
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			got, err := toldBy(t, format, wrap(c[0]), ingest.ReadOptions{})
			if err != nil || len(got) != 1 {
				t.Fatal(got, err)
			}
			if fields := strings.SplitN(got[0], " ", 3); fields[0] != "bad:" {
				got[0] = fields[2]
			}
			same(t, got, c[1])
		})
	}
}

// FuzzExports: whatever stands in a file, each format keeps what all promise.
func FuzzExports(f *testing.F) {
	for path, name := range fixtures(f) {
		if raw, err := os.ReadFile(path); err == nil && len(raw) < 1<<14 {
			f.Add(name, string(raw))
		}
	}
	known := map[string]bool{}
	for _, format := range ingest.Formats() {
		known[format.Name] = true
	}
	f.Fuzz(func(t *testing.T, name, content string) {
		if known[name] {
			sure(t, name, file("in/x.json", content))
			readAnything(t, name, file("in/x.json", content))
		}
	})
}

// TestWeChatMessage reads what messages of WeFlow and echotrace say.
func TestWeChatMessage(t *testing.T) {
	wrap := func(message string) ingest.Source {
		return file("x.json", `{"session":{"wxid":"1@chatroom","displayName":"花园"},"messages":[{"localId":5,"createTime":1768478460,"senderUsername":"wxid_a","senderDisplayName":"小雨",`+message+`}]}`)
	}
	eachSays(t, "wechat", wrap, map[string][2]string{
		"text":              {`"type":"文本消息","content":"[旺柴] 好"`, "小雨: [旺柴] 好"},
		"a quotation":       {`"type":"引用消息","content":"[引用 阿木：几点]\n九点"`, "小雨: 九点"},
		"a voice, read":     {`"type":"语音消息","content":"[语音转文字] 我到了"`, "小雨: 我到了"},
		"a file":            {`"type":"文件消息","content":"[文件] a.pdf"`, "小雨: "},
		"a card":            {`"type":"小程序分享","content":"[小程序] 拼车"`, "小雨: 拼车"},
		"of a kind to come": {`"type":"未知类型(99)","content":null`, "小雨: "},
		"a pat":             {`"type":"拍一拍消息","content":"小雨拍了拍阿木"`, "小雨 event: 小雨拍了拍阿木"},
		"of nobody":         {`"type":"文本消息","senderUsername":"","senderDisplayName":"","content":"x"`, "花园 event: x"},
		"of the account":    {`"type":"文本消息","senderUsername":"","senderDisplayName":"","isSend":1,"content":"x"`, "self: x"},
		"an answer":         {`"type":"文本消息","platformMessageId":9007199254740993,"replyToMessageId":"0","content":"x"`, "小雨: x"},
		"no id":             {`"localId":null,"localId":"","type":"文本消息"`, "bad: no id"},
		"another type":      {`"type":"文本消息","content":{"a":1}`, "bad: no message"},
	})
	if got, err := toldBy(t, "wechat", file("x.json", `{"messages":[{"localId":5}],"session":{"wxid":"1"}}`), ingest.ReadOptions{}); err != nil || len(got) != 1 || got[0] != "bad: no chat" {
		t.Errorf("%q, %v", got, err)
	}
}

// TestGoogleChatMessage reads what messages of Google Chat say.
func TestGoogleChatMessage(t *testing.T) {
	wrap := func(message string) ingest.Source {
		return file("Groups/Space A/messages.json", `{"messages":[{"creator":{"name":"Ada","email":"ada@x.example","user_type":"Human"},"created_date":"Tuesday, January 3, 2023 at 5:00:00 PM UTC","topic_id":"t","message_id":"A/t/t",`+message+`}]}`)
	}
	eachSays(t, "googlechat", wrap, map[string][2]string{
		"text":         {`"text":"hi\n@Bo"`, "Ada: hi\n@Bo"},
		"an answer":    {`"message_id":"A/t/m","text":"x"`, "Ada ^A/t/t /A/t/t: x"},
		"a quotation":  {`"quoted_message_metadata":{"message_id":"A/s/s"},"text":"x"`, "Ada ^A/s/s: x"},
		"a bot":        {`"creator":{"name":"CI","user_type":"Bot"},"text":"x"`, "CI bot: x"},
		"taken back":   {`"message_state":"DELETED","text":"x"`, "Ada event: "},
		"a picture":    {`"attached_files":[{"original_name":"a.png"}]`, "Ada: "},
		"of nobody":    {`"creator":{"user_type":"Human"},"text":"x"`, "bad: no author"},
		"no time":      {`"created_date":"Tuesday, February 30, 2023 at 5:00:00 PM UTC","text":"x"`, "bad: no time"},
		"another type": {`"text":{"a":1}`, "bad: no message"},
	})
	for date, want := range map[string]string{
		"Tuesday, January 3, 2023 at 5:00:00\u202fPM\u00a0UTC": "2023-01-03T17:00:00Z",
		"Tuesday, January 3, 2023 at 12:00:00 AM UTC":          "2023-01-03T00:00:00Z",
		"Tuesday, 3 January 2023 at 17:00:00 UTC":              "2023-01-03T17:00:00Z",
		"Dienstag, 3. März 2023 um 17:00:00 UTC":               "2023-03-03T17:00:00Z",
		"martes, 3 de enero de 2023, 17:00:00 UTC":             "2023-01-03T17:00:00Z",
		"mardi 3 juin 2023 à 17:00:00 UTC":                     "2023-06-03T17:00:00Z",
		"domenica 1 maggio 2022 17:00:00 UTC":                  "2022-05-01T17:00:00Z",
		"2023年1月3日火曜日 17時00分00秒 UTC":                           "2023-01-03T17:00:00Z",
		"2023年1月3日星期二 UTC 下午5:00:00":                           "2023-01-03T17:00:00Z",
		"2023년 1월 3일 화요일 오후 5시 0분 0초 UTC":                      "2023-01-03T17:00:00Z",
		"2023-01-03T17:00:00Z":                                 "2023-01-03T17:00:00Z",
		"martedì 3 marzo 2023, 17:00:00":                       "2023-03-03T09:00:00Z",
	} {
		f, err := ingest.Named("googlechat")
		check(t, err)
		for r, err := range f.Read(t.Context(), wrap(`"created_date":"`+date+`"`), ingest.ReadOptions{Zone: time.FixedZone("", 8*3600)}) {
			if got := r.Message.SentAt.UTC().Format("2006-01-02T15:04:05Z"); got != want {
				t.Errorf("%s: %s, %v", date, got, err)
			}
		}
	}
}

// TestMattermostPost reads what posts say.
func TestMattermostPost(t *testing.T) {
	wrap := func(message string) ingest.Source {
		return file("import.jsonl", `{"type":"user","user":{"username":"ada","first_name":"Ada"}}`+"\n"+`{"type":"post","post":{"team":"t","channel":"c","user":"ada","create_at":1768500245123,`+message+`}}`+"\n")
	}
	eachSays(t, "mattermost", wrap, map[string][2]string{
		"text":              {`"message":"hi","type":null`, "Ada: hi"},
		"of the system":     {`"message":"x","type":"system_add_to_channel"`, "Ada event: x"},
		"of a kind to come": {`"message":"x","type":"custom_poll"`, "Ada: x"},
		"of a hook":         {`"message":"x","props":{"from_webhook":"true","override_username":"CI"}`, "CI bot: x"},
		"taken back":        {`"message":"x","delete_at":1768500245124`, "Ada event: "},
		"not taken back":    {`"message":"x","delete_at":0`, "Ada: x"},
		"an unknown user":   {`"message":"x","user":"bo"`, "bo: x"},
		"no channel":        {`"message":"x","channel":""`, "bad: no chat"},
		"no time":           {`"message":"x","create_at":0`, "bad: no time"},
		"another type":      {`"message":["x"]`, "bad: no message"},
	})
	got, err := toldBy(t, "mattermost", file("x", `{"type":"post"}`+"\n"+`{"post":{}}`+"\n"+`{"type":"scheme"}`), ingest.ReadOptions{})
	if err != nil {
		t.Error(err)
	}
	same(t, got, "bad: no message", "bad: no type")
}

// TestSlackdump: what stands in dumps and chunks comes to what Slack's own export says.
func TestSlackdump(t *testing.T) {
	const message = `{"type":"message","user":"U1","ts":"1768500245.000100","text":"<@U2> hi"}`
	for name, c := range map[string]struct {
		src  ingest.Source
		want []string
	}{
		"a dump":              {file("C1.json", `{"channel_id":"C1","name":"","messages":[`+message+`,7]}`), []string{"C1 1768500245.000100 U1: @U2 hi", "bad: no message"}},
		"a dump, sorted":      {file("C1.json", `{"messages":[`+message+`],"channel_id":"C1","name":"x"}`), []string{"bad: no chat"}},
		"people first":        {file("x", `{"t":3,"ts":1,"u":[{"id":"U1","name":"mira"},{"id":"U2","real_name":"Jun"}]}`+"\n"+`{"t":0,"ts":1,"id":"C1","m":[`+message+`]}`), []string{"C1 1768500245.000100 mira: @Jun hi"}},
		"a search":            {file("x", `{"t":10,"ts":1,"id":"C1","m":[`+message+`]}`), nil},
		"of no channel":       {file("x", `{"t":0,"ts":1,"m":[`+message+`]}`), []string{"bad: no chat"}},
		"of no type":          {file("x", `{"ts":1}`+"\n[]"), []string{"bad: no type", "bad: no chunk"}},
		"a dump with a list":  {files("C1.json", `{"channel_id":"C1","name":"plot","messages":[`+message+`]}`, "users.json", `[{"id":"U1","name":"mira"}]`), []string{"C1 1768500245.000100 mira: @U2 hi"}},
		"a packed file, torn": {files("C1.json.gz", string(zipped(t, `{"t":0,"ts":1,"id":"C1","m":[`+message+`]}`+"\n"+`{"t":0,"ts":1,"id":"C1","m":[`+strings.Repeat(message+",", 99)))), []string{"C1 1768500245.000100 U1: @U2 hi", "bad: broken file"}},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := toldBy(t, "slackdump", c.src, ingest.ReadOptions{})
			if err != nil {
				t.Error(err)
			}
			same(t, got, c.want...)
		})
	}
}

// TestFeishuMessage reads what messages of Feishu say, whatever their kind.
func TestFeishuMessage(t *testing.T) {
	wrap := func(message string) ingest.Source {
		return file("x.jsonl", `{"message_id":"om_1","create_time":"1768500245123","chat_id":"oc_1","sender":{"id":"ou_1","sender_type":"user"},`+message+`}`)
	}
	eachSays(t, "feishu", wrap, map[string][2]string{
		"text":             {`"msg_type":"text","body":{"content":"{\"text\":\"@_all @_user_1 @_user_9 a\"}"},"mentions":[{"key":"@_user_1","id":"ou_1","name":"Ada"}]`, "Ada: @all @Ada @_user_9 a"},
		"a tag":            {`"msg_type":"text","body":{"content":"{\"text\":\"<at user_id=\\\"ou_2\\\">Bo</at> hi\"}"}`, "ou_1: @Bo hi"},
		"a page":           {`"msg_type":"post","body":{"content":"{\"zh_cn\":{\"title\":\"T\",\"content\":[[{\"tag\":\"text\",\"text\":\"a\"},{\"tag\":\"img\",\"image_key\":\"i\"}],[],[{\"tag\":\"code_block\",\"text\":\"x()\"}]]}}"}`, "ou_1: T\na\n\nx()"},
		"an event":         {`"msg_type":"system","sender":null,"body":{"content":"{\"template\":\"{a} left {b} {c}\",\"a\":\"{b}\",\"b\":[\"x\",\"y\"]}"}`, "oc_1 event: {b} left x, y"},
		"a file":           {`"msg_type":"file","body":{"content":"{\"file_name\":\"a.pdf\"}"}`, "ou_1: "},
		"a place":          {`"msg_type":"location","body":{"content":"{\"name\":\"Pier 4\"}"}`, "ou_1: Pier 4"},
		"a task":           {`"msg_type":"todo","body":{"content":"{\"summary\":{\"title\":\"Buy\",\"content\":[[{\"tag\":\"text\",\"text\":\"rope\"}]]}}"}`, "ou_1: Buy\nrope"},
		"forwarded":        {`"msg_type":"text","upper_message_id":"om_0","body":{"content":"{\"text\":\"a\"}"}`, "ou_1: [forwarded] a"},
		"an answer":        {`"msg_type":"text","parent_id":"om_0","thread_id":"omt_1","body":{"content":"{\"text\":\"a\"}"}`, "ou_1 ^om_0 /omt_1: a"},
		"a bot":            {`"msg_type":"text","sender":{"id":"cli_1","sender_type":"app"},"body":{"content":"{\"text\":\"a\"}"}`, "cli_1 bot: a"},
		"of an event":      {`"message_id":"","event":{"sender":{"sender_id":{"open_id":"ou_1"},"sender_type":"user"},"message":{"message_id":"om_1","chat_id":"oc_1","create_time":"1768500245123","message_type":"text","content":"{\"text\":\"@_user_1 a\"}","mentions":[{"key":"@_user_1","id":{"open_id":"ou_1"},"name":"Ada"}]}}`, "Ada: @Ada a"},
		"an answer, shown": {`"msg_type":"text","content":"[Image: img_1]","create_time":"2026-01-15 18:04","reply_to":"om_0"`, "ou_1 ^om_0: "},
		"shown as text":    {`"msg_type":"text","content":"a","sender":{"id":"ou_1","name":"Ada"}`, "Ada: a"},
		"no JSON":          {`"msg_type":"text","body":{"content":"a"}`, "ou_1: "},
		"of nobody":        {`"msg_type":"text","sender":{}`, "bad: no author"},
		"no id":            {`"msg_type":"text","message_id":null,"message_id":""`, "bad: no id"},
		"another type":     {`"msg_type":"text","deleted":"x"`, "bad: no message"},
	})
}

// TestRocketChatMessage reads what messages of Rocket.Chat say, in either form.
func TestRocketChatMessage(t *testing.T) {
	wrap := func(message string) ingest.Source { return file("in/pier-4.json", "{"+message+"}\n") }
	const stored = `"_id":"m","rid":"R","ts":"2026-01-15T18:04:05.123Z","u":{"_id":"u","username":"ada","name":"Ada"},`
	eachSays(t, "rocketchat", wrap, map[string][2]string{
		"exported":        {`"msg":"hi","username":"ada","ts":"2026-01-15T18:04:05.123Z"`, "ada: hi"},
		"exported, event": {`"msg":"x","username":"ada","ts":"2026-01-15T18:04:05.123Z","type":"au"`, "ada event: x"},
		"stored":          {stored + `"msg":"hi"`, "Ada: hi"},
		"of a database":   {stored + `"msg":"hi","ts":{"$date":"2026-01-15T18:04:05.123Z"}`, "Ada: hi"},
		"of an old one":   {stored + `"msg":"hi","ts":{"$date":{"$numberLong":"1768500245123"}}`, "Ada: hi"},
		"an answer":       {stored + `"msg":"[ ](https://x/channel/c?msg=aB3) yes"`, "Ada ^aB3: yes"},
		"in a thread":     {stored + `"msg":"x","tmid":"t"`, "Ada ^t /t: x"},
		"a caption":       {stored + `"msg":"","attachments":[{"title":"a.png","description":"our boat"}]`, "Ada: our boat"},
		"a hook":          {stored + `"msg":"","alias":"CI","bot":{"i":"1"},"attachments":[{"title":"Build","text":"ok"}]`, "CI bot: Build\nok"},
		"no bot":          {stored + `"msg":"x","bot":false`, "Ada: x"},
		"of nobody":       {`"msg":"hi","ts":"2026-01-15T18:04:05.123Z"`, "bad: no author"},
		"no time":         {stored + `"ts":{"$date":true}`, "bad: no time"},
		"another type":    {stored + `"msg":["x"]`, "bad: no message"},
	})
	got, err := toldBy(t, "rocketchat", wrap(`"msg":"hi","username":"ada","ts":"2026-01-15T18:04:05.123Z"`), ingest.ReadOptions{})
	if err != nil || len(got) != 1 || !strings.HasPrefix(got[0], "pier-4 ") {
		t.Errorf("%q, %v", got, err)
	}
}

// TestTeamsMessage reads what messages of Teams say, in either form.
func TestTeamsMessage(t *testing.T) {
	graph := func(message string) ingest.Source {
		return file("x.json", `{"value":[{"id":"5","messageType":"message","createdDateTime":"2026-01-15T18:04:05.123Z","chatId":"19:a","from":{"user":{"id":"u","displayName":"Ada"}},`+message+`}]}`)
	}
	eachSays(t, "teams", graph, map[string][2]string{
		"text":         {`"body":{"contentType":"text","content":"1 < 2 &amp; <b>"}`, "Ada: 1 < 2 &amp; <b>"},
		"HTML":         {`"body":{"contentType":"html","content":"<p>a&nbsp;&lt;b&gt;</p>\r\n<div>c<br>d</div><ul><li>e</li><li>f</li></ul><table><tr><td>g</td><td>h</td></tr></table>"}`, "Ada: a <b>\nc\nd\n- e\n- f\ng h"},
		"links":        {`"body":{"contentType":"html","content":"<a href=\"https://a.example\">https://a.example</a> <a href=\"https://b.example\">here</a>"}`, "Ada: https://a.example here (https://b.example)"},
		"a picture":    {`"body":{"contentType":"html","content":"<p><img src=\"x\" alt=\"image\"></p>"}`, "Ada: "},
		"emoji":        {`"body":{"contentType":"html","content":"<img itemtype=\"http://schema.skype.com/Emoji\" alt=\"🙂\"><emoji alt=\"🔥\"></emoji>"}`, "Ada: 🙂🔥"},
		"a quotation":  {`"body":{"contentType":"html","content":"<blockquote itemtype=\"http://schema.skype.com/Reply\" itemid=\"4\">x<blockquote>y</blockquote>z</blockquote>a"}`, "Ada ^4: a"},
		"quoted words": {`"body":{"contentType":"html","content":"<blockquote>x</blockquote>a"}`, "Ada: xa"},
		"never closed": {`"body":{"contentType":"html","content":"</blockquote></a><a href=\"x\"><p>a<b"}`, "Ada: a (x)"},
		"forwarded":    {`"body":{"contentType":"html","content":"<attachment id=\"1\"></attachment>"},"attachments":[{"contentType":"forwardedMessageReference","content":"{\"originalMessageContent\":\"<p>x</p>\",\"originalMessageSender\":{\"user\":{\"displayName\":\"Bo\"}}}"}]`, "Ada: [forwarded from Bo] x"},
		"an event":     {`"messageType":"systemEventMessage","from":null`, "19:a event: "},
		"a bot":        {`"from":{"application":{"id":"b","displayName":"CI"}},"body":{"contentType":"text","content":"x"}`, "CI bot: x"},
		"an answer":    {`"replyToId":"4","body":{"contentType":"text","content":"x"}`, "Ada ^4 /4: x"},
		"no chat":      {`"chatId":null,"chatId":"","body":{"contentType":"text","content":"a"}`, "Ada: a"},
		"of nobody":    {`"from":null`, "bad: no author"},
		"another type": {`"body":"x","replies":7`, "bad: no message"},
	})
	own := func(message string) ingest.Source {
		return file("messages.json", `{"userId":"8:x","exportDate":"x","conversations":[{"id":"19:a;messageid=4","displayName":"Ada","MessageList":[{"id":"5","displayName":"Ada","from":"https://x/v1/8:orgid:u","originalarrivaltime":"2026-01-15T18:04:05.123Z",`+message+`}]}]}`)
	}
	eachSays(t, "teams", own, map[string][2]string{
		"own, text":   {`"messagetype":"Text","content":"1 < 2"`, "Ada ^4 /4: 1 < 2"},
		"own, HTML":   {`"messagetype":"RichText/Html","content":"<p>a</p>"`, "Ada ^4 /4: a"},
		"own, Skype":  {`"messagetype":"RichText","content":"<quote author=\"bo\" messageid=\"3\"><legacyquote>[1] Bo: </legacyquote>x<legacyquote>&lt;&lt;&lt; </legacyquote></quote>a &amp; <ss type=\"smile\">:)</ss>"`, "Ada ^3 /4: a & :)"},
		"own, a file": {`"messagetype":"RichText/Media_GenericFile","content":"<URIObject>x</URIObject>"`, "Ada ^4 /4: "},
		"own, event":  {`"messagetype":"ThreadActivity/AddMember","content":"x"`, "Ada ^4 /4 event: ThreadActivity/AddMember"},
		"own, gone":   {`"messagetype":"Text","content":"x","properties":{"deletetime":"1"}`, "Ada ^4 /4 event: "},
		"own, no id":  {`"id":"","messagetype":"Text"`, "bad: no id"},
	})
	got, err := toldBy(t, "teams", graph(`"body":{"contentType":"text","content":"a"},"replies":[{"id":"6","messageType":"message","createdDateTime":"2026-01-15T18:05:05Z","chatId":"19:a","replyToId":"5","from":{"user":{"id":"u"}},"body":{"contentType":"text","content":"b"},"replies":[{"id":"7"}]},7]`), ingest.ReadOptions{})
	if err != nil {
		t.Error(err)
	}
	same(t, got, "bad: no message", "19:a 5 Ada /5: a", "19:a 6 u ^5 /5: b")
}

// TestMixedExports: a folder of exports of several platforms brings the chats of all.
func TestMixedExports(t *testing.T) {
	dir := t.TempDir()
	want := map[string]int{}
	for path, name := range fixtures(t) {
		switch name {
		case "messenger", "googlechat", "slackdump", "mattermost", "wechat", "feishu", "teams", "rocketchat":
		case "line":
			if !strings.HasSuffix(path, "_ja.txt") {
				continue
			}
		default:
			continue
		}
		chats, _, _, err := brought(t, path)
		check(t, err)
		for chat, n := range chats {
			if name == "slackdump" { // of two exports one
				n = max(n, want[chat])
			}
			want[chat] = n
		}
		to := filepath.Join(dir, filepath.Base(path)) + ".d"
		if info, err := os.Stat(path); err == nil && info.IsDir() {
			check(t, os.CopyFS(to, os.DirFS(path)))
			continue
		}
		raw, err := os.ReadFile(path)
		check(t, errors.Join(err, os.Mkdir(to, 0o700)))
		check(t, os.WriteFile(filepath.Join(to, filepath.Base(path)), raw, 0o600))
	}
	chats, _, passed, err := brought(t, dir)
	if err != nil {
		t.Error(err, passed)
	}
	for chat, n := range want {
		if chats[chat] < n {
			t.Errorf("%s: %d records of %d", chat, chats[chat], n)
		}
	}
}

// TestFlatFolder: files of several platforms beside each other are imported one by one.
func TestFlatFolder(t *testing.T) {
	dir, want := t.TempDir(), map[string]int{}
	for path := range fixtures(t) {
		if filepath.Ext(path) != "" {
			raw, err := os.ReadFile(path)
			check(t, errors.Join(err, os.WriteFile(filepath.Join(dir, filepath.Base(path)), raw, 0o600)))
			chats, _, _, err := brought(t, path)
			check(t, err)
			for chat, n := range chats {
				want[chat] += n
			}
		}
	}
	if chats, _, passed, err := brought(t, dir); fmt.Sprint(chats) != fmt.Sprint(want) || len(passed) > 0 || err != nil {
		t.Errorf("%v, want %v, passed over %q, %v", chats, want, passed, err)
	}
}
