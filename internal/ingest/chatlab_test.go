package ingest_test

import (
	"bytes"
	"errors"
	"io"
	"os"
	"strings"
	"testing"

	"reverie/internal/ingest"
)

const chatlabMeta = `"chatlab":{"version":"0.0.2","exportedAt":1},"meta":{"name":"Plot","platform":"qq","type":"group","groupId":"9"}`

// TestChatlabMessage reads what messages say.
func TestChatlabMessage(t *testing.T) {
	const by = `"platformMessageId":"a","sender":"7","accountName":"Mara","timestamp":1769990000,`
	for name, c := range map[string]struct{ message, want string }{
		"plain":                   {by + `"type":0,"content":"hi @Bo"`, "9 a Mara: hi @Bo"},
		"in the group's name":     {by + `"groupNickname":"M.","type":0,"content":"hi"`, "9 a M.: hi"},
		"an answer":               {by + `"type":25,"content":"yes","replyToMessageId":5`, "9 a Mara ^5: yes"},
		"with what it answers":    {by + `"type":25,"content":"[回复 Bo: are [you] in?]\nyes"`, "9 a Mara: yes"},
		"a picture":               {by + `"type":1,"content":"[Image: a[1].jpg]"`, "9 a Mara: "},
		"a picture by its name":   {by + `"type":1,"content":"a b.jpg"`, "9 a Mara: "},
		"a picture by address":    {by + `"type":1,"content":"https://x.example/a?b=1"`, "9 a Mara: "},
		"a picture with a title":  {by + `"type":1,"content":"[图片] 看 3.5 倍"`, "9 a Mara: 看 3.5 倍"},
		"a sticker":               {by + `"type":5,"content":"[动画表情]"`, "9 a Mara: "},
		"a voice message":         {by + `"type":2,"content":"[语音 7秒]"`, "9 a Mara: "},
		"words in brackets":       {by + `"type":0,"content":"[soon] done"`, "9 a Mara: [soon] done"},
		"a placeholder as text":   {by + `"type":0,"content":"[表情178]"`, "9 a Mara: "},
		"a placeholder in words":  {by + `"type":0,"content":"what is [图片]?"`, "9 a Mara: what is [图片]?"},
		"a link":                  {by + `"type":7,"content":"[链接] A https://a.example"`, "9 a Mara: A https://a.example"},
		"forwarded":               {by + `"type":26,"content":"[聊天记录]\nBo: hi"`, "9 a Mara: [forwarded] Bo: hi"},
		"forwarded, unread":       {by + `"type":26,"content":"[聊天记录]"`, "9 a Mara: "},
		"recalled":                {by + `"type":81,"content":"[已撤回] oops"`, "9 a Mara event: "},
		"a call":                  {by + `"type":23,"content":"01:20"`, "9 a Mara event: 01:20"},
		"a number yet unknown":    {by + `"type":42,"content":"x"`, "9 a Mara: x"},
		"unknown to its exporter": {by + `"type":99,"content":"[暂不支持的消息]"`, "9 a Mara: "},
		"unknown, with words":     {by + `"type":99,"content":"[soon] see [x]"`, "9 a Mara: [soon] see [x]"},
		"no type":                 {by + `"content":"x"`, "9 a Mara: x"},
		"no content":              {by + `"type":0`, "9 a Mara: "},
		"of the platform":         {`"platformMessageId":"a","sender":"SYSTEM","timestamp":1769990000,"type":0,"content":"x"`, "9 a SYSTEM event: x"},
		"milliseconds":            {`"platformMessageId":"a","sender":"7","timestamp":"1769990000123","type":0,"content":"x"`, "9 a 7: x"},
		"no time":                 {`"platformMessageId":"a","sender":"7","timestamp":0,"type":0,"content":"x"`, "bad: no time"},
		"a time that is none":     {`"platformMessageId":"a","sender":"7","timestamp":1e99,"type":0,"content":"x"`, "bad: no time"},
		"nobody":                  {`"platformMessageId":"a","timestamp":1769990000,"type":0,"content":"x"`, "bad: no author"},
		"content of another type": {by + `"type":0,"content":{}`, "bad: no message"},
	} {
		t.Run(name, func(t *testing.T) {
			for _, text := range []string{
				`{` + chatlabMeta + `,"members":[],"messages":[{` + c.message + `}]}`,
				"#\n{\"_type\":\"header\"," + chatlabMeta + "}\r\n{\"_type\":\"message\"," + c.message + "}",
			} {
				got, err := toldBy(t, "chatlab", file("x", text), ingest.ReadOptions{})
				if err != nil {
					t.Fatal(err)
				}
				same(t, got, c.want)
			}
		})
	}
}

// TestChatlabFile reads files that end early.
func TestChatlabFile(t *testing.T) {
	raw, err := os.ReadFile("testdata/chatlab_lines.jsonl")
	if err != nil {
		t.Fatal(err)
	}
	whole, err := toldBy(t, "chatlab", file("x", string(raw)), ingest.ReadOptions{})
	if err != nil {
		t.Fatal(err)
	}
	same(t, whole[:1], "wechat-Mara 15e327b21b7cbf0b6f0cb09901e64519 Mara: 到了吗 😀")
	for cut := bytes.Index(raw, []byte(`到了吗`)); cut < len(raw); cut += 13 {
		got, err := toldBy(t, "chatlab", file("x", string(raw[:cut])), ingest.ReadOptions{})
		if line := raw[bytes.LastIndexByte(raw[:cut], '\n')+1 : cut]; errors.Is(err, io.ErrUnexpectedEOF) != (len(line) > 0 && !bytes.HasSuffix(line, []byte("}"))) || strings.Join(got, "\n") != strings.Join(whole[:len(got)], "\n") {
			t.Errorf("cut at %d: %q, %v", cut, got, err)
		}
	}
	for text, want := range map[string]int{
		`{"chatlab":{"version":"0.0.2"},"messages":[]}`: 95, `{"_type":"message","sender":"7","content":"x"}`: 60,
		`{"meta":{"platform":"qq"},"messages":[{"sender":"7"`: 80, `{"_type":"message","content":"x"}`: 0, `{"chatlab":7}`: 0, ``: 0, "#": 0,
	} {
		if got := sure(t, "chatlab", file("x", text)); got != want {
			t.Errorf("%s: %d, want %d", text, got, want)
		}
	}
}

// TestChatBehindMessages: where a file says which chat it is behind its messages, that is said, once.
func TestChatBehindMessages(t *testing.T) {
	for format, text := range map[string]string{
		"chatlab": `{"chatlab":{"version":"0.0.2"},"messages":[{"sender":"7","timestamp":5,"type":0,"content":"a"},7],"meta":{"platform":"qq","groupId":"1"}}`,
		"qq":      `{"metadata":{"name":"QQChatExporter V5"},"statistics":{},"messages":[{},7],"chatInfo":{"name":"Kim","type":"private"}}`,
	} {
		got, err := toldBy(t, format, file("x", text), ingest.ReadOptions{})
		if err != nil || strings.Join(got, "\n") != "bad: no chat" {
			t.Errorf("%s: %q, %v", format, got, err)
		}
	}
}

// TestBrokenFirstLine: JSON Lines are known and read although the first one is broken.
func TestBrokenFirstLine(t *testing.T) {
	const broken = `{"time":1769990001,"message_id":"5" "x"}` + "\n"
	line := `{"time":1769990001,"message_id":"5","message_type":"group","group_id":"66","user_id":4,"sender":{"nickname":"Yun"},"message":"a"}`
	src := file("x", broken+line+"\n")
	if n := sure(t, "onebot", src); n != 90 {
		t.Errorf("known by %d", n)
	}
	got, err := toldBy(t, "onebot", src, ingest.ReadOptions{})
	if err != nil || strings.Join(got, "\n") != "bad: no event\n66 5 Yun: a" {
		t.Errorf("%q, %v", got, err)
	}
}

func FuzzChatlab(f *testing.F) {
	for _, name := range []string{"testdata/chatlab.json", "testdata/chatlab_lines.jsonl"} {
		raw, err := os.ReadFile(name)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(string(raw))
	}
	f.Fuzz(func(t *testing.T, text string) { readAnything(t, "chatlab", file("x", text)) })
}
