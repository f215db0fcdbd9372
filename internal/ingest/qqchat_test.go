package ingest_test

import (
	"os"
	"strings"
	"testing"
	"time"

	"reverie/internal/ingest"
)

const qqHead = `{"metadata":{"name":"QQChatExporter V5"},"chatInfo":{"name":"Pier","type":"group","peerUin":"77"},"messages":[`

// TestQQMessage reads what messages say, in the ways of several versions.
func TestQQMessage(t *testing.T) {
	const by = `"id":"1","timestamp":1769990000000,"sender":{"uid":"u_k","uin":"20","name":"Kim"},`
	for name, c := range map[string]struct{ message, want string }{
		"whole text first":    {by + `"type":"type_3","content":{"text":"[回复 Bo: a]\n[[微笑]] yes [图片: x.png]","elements":[{"type":"text","data":{"text":"[回复 Bo: a]\n[[微笑]] yes [图片: x.png]"}},{"type":"reply","data":{"messageId":"9","referencedMessageId":"8"}}]}`, "77 1 Kim ^8: :微笑: yes"},
		"pieces":              {by + `"type":"text","content":{"text":"a[图片]b","elements":[{"type":"text","data":{"text":"a"}},{"type":"image","data":{}},{"type":"at","data":{"name":"@Bo"}}]}`, "77 1 Kim: a@Bo"},
		"no elements":         {by + `"type":"text","content":{"text":"a"}`, "77 1 Kim: a"},
		"an answer to none":   {by + `"content":{"text":"a","reply":{"referencedMessageId":"0"}}`, "77 1 Kim: a"},
		"a card":              {by + `"type":"type_7","content":{"text":"[JSON消息]","elements":[{"type":"json","data":{"title":"A","url":"https://a.example"}}]}`, "77 1 Kim: A\nhttps://a.example"},
		"a card as text":      {by + `"content":{"text":"[JSON消息]","elements":[{"type":"json","data":{"content":"{\"meta\":{\"news\":{\"title\":\"B\"}}}"}}]}`, "77 1 Kim: B"},
		"forwarded, previews": {by + `"content":{"text":"[转发消息: 2条]\n  a: x","elements":[{"type":"forward","data":{"preview":["a: x","b: y"]}}]}`, "77 1 Kim: [forwarded] a: x\n[forwarded] b: y"},
		"a call":              {by + `"type":"type_19","content":{"text":"语音通话 - 已结束","elements":[{"type":"av_record","data":{}}]}`, "77 1 Kim event: 语音通话 - 已结束"},
		"recalled":            {by + `"recalled":true,"content":{"text":"a","elements":[]}`, "77 1 Kim event: "},
		"of version 4":        {`"messageId":"1","timestamp":"2026-02-01T23:53:20.000Z","sender":{"uid":"u_k","uin":"0","name":"Kim"},"messageType":2,"isSystemMessage":false,"isRecalled":false,"content":{"text":"a","emojis":[]}`, "77 1 Kim: a"},
		"raw beside":          {by + `"content":{"text":"a"},"rawMessage":"x"`, "77 1 Kim: a"},
		"a time in words":     {`"id":"1","timestamp":"2026-02-01T23:53:20Z","sender":{"uid":"u_k","name":"Kim"},"content":{"text":"a"}`, "77 1 Kim: a"},
		"no id":               {`"timestamp":1769990000000,"sender":{"uid":"u_k"},"content":{"text":"a"}`, ""},
		"nobody":              {`"id":"1","timestamp":1769990000000,"sender":{"uin":"0"},"content":{"text":"a"}`, "bad: no author"},
		"no time":             {`"id":"1","sender":{"uid":"u_k"},"content":{"text":"a"}`, "bad: no time"},
		"of another type":     {by + `"content":[]`, "bad: no message"},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := toldBy(t, "qq", file("x.json", qqHead+"{"+c.message+"}]}"), ingest.ReadOptions{})
			if err != nil {
				t.Fatal(err)
			}
			if c.want == "" { // an id of its own, which is the same in another file
				again, err := toldBy(t, "qq", file("y.json", qqHead+"{"+c.message+"},{"+c.message+"}]}"), ingest.ReadOptions{})
				if err != nil || len(again) != 2 || again[0] == again[1] {
					t.Fatalf("%q, %v", again, err)
				}
				c.want = again[0]
			}
			same(t, got, c.want)
		})
	}
}

// TestQQTime: a time that only the exporter's clock tells is in the zone that is asked for.
func TestQQTime(t *testing.T) {
	text := qqHead + `{"id":"1","time":"2026-02-02 07:53:20","sender":{"uid":"u"},"content":{"text":"a"}},{"id":"2","timestamp":"1769990000","sender":{"uid":"u"},"content":{"text":"a"}}]}`
	times, err := timesIn(t, "qq", file("x.json", text), ingest.ReadOptions{Zone: time.FixedZone("", 8*3600)})
	if err != nil || strings.Join(times, ", ") != "2026-02-02 07:53:20, 2026-02-01 23:53:20" { // UTC where the server tells it
		t.Errorf("%q, %v", times, err)
	}
}

// TestQQFolder reads folders of chunks: whose chat it is, and what is missing of them.
func TestQQFolder(t *testing.T) {
	const line = `{"id":"1","timestamp":1769990000000,"sender":{"uid":"u_k","name":"Kim"},"content":{"text":"a","elements":[]},"recalled":false}`
	manifest := func(chunks string) string {
		return `{"metadata":{"name":"QQChatExporter V5"},"chatInfo":{"name":"Kim","type":"private"},"statistics":{},"chunked":{"chunksDir":"chunks","chunks":` + chunks + `}}`
	}
	for name, c := range map[string]struct {
		src  ingest.Source
		want []string
	}{
		"named in three ways": {files("x_20002_20260202_090000_chunked_jsonl/manifest.json", manifest(`[{"relativePath":"chunks/a.jsonl"},{"file":"chunks\\b.jsonl"},{"fileName":"c.jsonl"}]`),
			"x_20002_20260202_090000_chunked_jsonl/chunks/a.jsonl", line, "x_20002_20260202_090000_chunked_jsonl/chunks/b.jsonl", line, "x_20002_20260202_090000_chunked_jsonl/chunks/c.jsonl", line),
			[]string{"private-20002 1 Kim: a", "private-20002 1 Kim: a", "private-20002 1 Kim: a"}},
		"not named":        {files("manifest.json", manifest(`[]`), "chunks/b.jsonl", line, "chunks/a.jsonl", "7\n"+line), []string{"bad: no message", "private-Kim 1 Kim: a", "private-Kim 1 Kim: a"}},
		"a large manifest": {files("manifest.json", strings.Replace(manifest(`[{"file":"chunks/a.jsonl"}]`), `"statistics":{}`, `"statistics":["`+strings.Repeat("x", 3<<20)+`","`+strings.Repeat("x", 3<<20)+`"]`, 1), "chunks/a.jsonl", line, "chunks/b.jsonl", line), []string{"private-Kim 1 Kim: a"}},
		"broken off":       {files("manifest.json", manifest(`[{"file":"chunks/a.jsonl"},{"file":"chunks/b.jsonl"}]`), "chunks/a.jsonl", line+"\n"+line[:40], "chunks/b.jsonl", line), []string{"private-Kim 1 Kim: a", "bad: broken file", "private-Kim 1 Kim: a"}},
		"out of there":     {files("a/manifest.json", manifest(`[{"file":"../secret.jsonl"},{"file":""},{"file":"chunks/a.jsonl"}]`), "secret.jsonl", line, "a/chunks/a.jsonl", line), []string{"private-Kim 1 Kim: a"}},
	} {
		got, err := toldBy(t, "qq", c.src, ingest.ReadOptions{})
		if err != nil || strings.Join(got, "\n") != strings.Join(c.want, "\n") || sure(t, "qq", c.src) < 80 {
			t.Errorf("%s: %q, %v", name, got, err)
		}
	}
	if got := sure(t, "qq", file("c000001.jsonl", line)); got != 70 {
		t.Errorf("a chunk by itself: %d", got)
	}
}

func FuzzQQ(f *testing.F) {
	raw, err := os.ReadFile("testdata/qq.json")
	if err != nil {
		f.Fatal(err)
	}
	f.Add(string(raw), `{"id":"1"}`)
	f.Fuzz(func(t *testing.T, text, chunk string) {
		readAnything(t, "qq", file("x.json", text))
		readAnything(t, "qq", files("manifest.json", text, "chunks/a.jsonl", chunk))
	})
}
