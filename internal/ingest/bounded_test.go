package ingest_test

import (
	"context"
	"fmt"
	"runtime"
	"strings"
	"testing"

	"reverie/internal/ingest"
)

// large are beginnings, messages and ends of exports, with %d for the message's number and
// %s for its text. Those of formats that hold some messages back, to see what becomes of
// them, are not here.
var large = map[string][3]string{
	"discord": {`{"guild":{"id":"1","name":"G"},"channel":{"id":"2","type":"GuildTextChat","name":"c"},"messages":[`,
		`{"id":"%d","type":"Default","timestamp":"2026-01-15T12:00:00+00:00","content":"%s","author":{"id":"7","name":"lin","isBot":false}}`, `],"messageCount":9}`},
	"telegram": {`{"name":"K","type":"private_supergroup","id":5,"messages":[`,
		`{"id":%d,"type":"message","date":"2026-01-15T12:00:00","date_unixtime":"1768478400","from":"L","from_id":"user7","text":"%s"}`, `]}`},
	"chatlab": {`{"chatlab":{"version":"0.0.2","exportedAt":1},"meta":{"name":"n","platform":"qq","type":"group","groupId":"9"},"members":[],"messages":[`,
		`{"platformMessageId":"%d","sender":"7","accountName":"L","timestamp":1768478400,"type":0,"content":"%s"}`, `]}`},
	"qq": {`{"metadata":{"name":"QQChatExporter V5"},"chatInfo":{"name":"n","type":"group","peerUin":"9"},"messages":[`,
		`{"id":"%d","timestamp":1768478400000,"sender":{"uid":"u_1","uin":"7","name":"L"},"type":"type_1","content":{"text":"%s","elements":[]},"recalled":false,"system":false}`, `]}`},
	"zulip": {`{"result":"success","messages":[`,
		`{"id":%d,"sender_id":7,"sender_full_name":"L","type":"stream","stream_id":5,"display_recipient":"s","subject":"t","content":"%s","timestamp":1768478400}`, `]}`},
	"messenger": {`{"participants":[{"name":"L"}],"messages":[`,
		`{"sender_name":"L","timestamp_ms":1768478400%03d,"content":"%s"}`, `],"title":"n","thread_path":"inbox/n_1"}`},
	"wechat": {`{"weflow":{"version":"1"},"session":{"wxid":"1@chatroom","displayName":"n"},"messages":[`,
		`{"localId":%d,"createTime":1768478400,"type":"文本消息","content":"%s","senderUsername":"wxid_a","senderDisplayName":"L"}`, `]}`},
	"rocketchat": {`{"messages":[`,
		`{"_id":"%d","rid":"R","msg":"%s","ts":"2026-01-15T12:00:00Z","u":{"_id":"u","username":"l"}}`, `],"count":9}`},
	"slackdump": {`{"channel_id":"C1","name":"n","messages":[`,
		`{"type":"message","ts":"1768478400.%06d","user":"U1","text":"%s"}`, `]}`},
	"feishu": {`{"code":0,"data":{"items":[`,
		`{"message_id":"om_%d","msg_type":"text","create_time":"1768478400000","chat_id":"oc","sender":{"id":"u"},"body":{"content":"{\"text\":\"%s\"}"}}`, `]}}`},
	"jsonl": {"", `{"id":"%d","author":"L","sent_at":"2026-01-15T12:00:00Z","text":"%s"}` + "\n", ""},
}

// TestFormatsHoldLittle streams exports of large messages through each format, and counts
// what is held of them meanwhile.
func TestFormatsHoldLittle(t *testing.T) {
	const messages, size, most = 40, 24 << 10, 640 << 10
	text := strings.Repeat("x", size)
	for name, parts := range large {
		if name == "jsonl" {
			parts[2] = "\n"
		}
		r := &stream{n: messages + 2, line: func(i int) string {
			switch {
			case i == 1:
				return parts[0]
			case i == messages+2:
				return parts[2]
			case i > 2 && name != "jsonl":
				return "," + fmt.Sprintf(parts[1], i, text)
			}
			return fmt.Sprintf(parts[1], i, text)
		}}
		in, err := ingest.Open(t.Context(), "-", r)
		if err != nil {
			t.Fatal(err)
		}
		var before runtime.MemStats
		runtime.GC()
		runtime.ReadMemStats(&before)
		r.peak = 0
		im := ingest.NewImporter(nil, ingest.Options{Group: func(context.Context, string, ingest.Chat) (string, error) { return "g", nil }})
		formats, _, err := im.Input(t.Context(), in, ingest.Auto, ingest.ReadOptions{})
		if err != nil || len(formats) != 1 || formats[0] != name || im.Result().Records != messages || im.Result().Bad != 0 {
			t.Errorf("%s is read as %q: %+v, %v", name, formats, im.Result(), err)
		}
		if grown := int64(r.peak) - int64(before.HeapAlloc); r.peak == 0 || grown > most {
			t.Errorf("%s: %d KiB of %d were in use", name, grown>>10, messages*size>>10)
		}
	}
}
