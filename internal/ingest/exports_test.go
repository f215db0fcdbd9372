package ingest_test

import (
	"os"
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
