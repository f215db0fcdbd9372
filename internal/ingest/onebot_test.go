package ingest_test

import (
	"os"
	"strings"
	"testing"

	"reverie/internal/ingest"
)

// TestOnebotMessage reads what messages say, as segments and as CQ codes.
func TestOnebotMessage(t *testing.T) {
	const event = `{"time":1769990001,"self_id":3,"post_type":"message","message_type":"group","message_id":5,"group_id":66,"user_id":4,"sender":{"user_id":4,"nickname":"Yun","card":" "},`
	for name, c := range map[string]struct{ message, want string }{
		"segments":              {`"message":[{"type":"text","data":{"text":"a [b] &amp; "}},{"type":"at","data":{"qq":"all"}}]`, "a [b] &amp; @all"},
		"a code":                {`"message":"&#91;x&#93; &amp;#44; [CQ:at,qq=4] [CQ:nothing]y[CQ:image,file=a b,url=u?a=1]"`, "[x] &#44; @Yun y"},
		"a code left open":      {`"message":"[CQ:at,qq=4 x"`, "[CQ:at,qq=4 x"},
		"raw only":              {`"message":"","raw_message":"hi[CQ:face,id=1]"`, "hi"},
		"an answer":             {`"message":[{"type":"reply","data":{"id":-12}},{"type":"at","data":{"qq":9,"name":"@Bo"}},{"type":"text","data":{"text":" yes"}}]`, "^-12: @Bo yes"},
		"faces":                 {`"message":[{"type":"face","data":{"id":"178","raw":{"faceText":"/微笑"}}},{"type":"mface","data":{"summary":"[哈哈]"}},{"type":"dice","data":{}}]`, ":微笑:"},
		"attachments":           {`"message":[{"type":"image","data":{"summary":"[动画表情]"}},{"type":"file","data":{"name":"a.doc"}},{"type":"poke"},{"type":"new","data":7}]`, ""},
		"a share":               {`"message":"[CQ:share,url=https://a.example/?x=1&#44;2,title=A]"`, "A\nhttps://a.example/?x=1,2"},
		"a card":                {`"message":[{"type":"json","data":{"data":{"meta":{"detail_1":{"title":"App","desc":"d","qqdocurl":"https://b.example"}}}}}]`, "App\nd\nhttps://b.example"},
		"a card that is none":   {`"message":[{"type":"json","data":{"data":"{"}}]`, ""},
		"nodes within nodes":    {`"message":[{"type":"forward","data":{"content":[{"type":"node","data":{"nickname":"A","content":[{"type":"node","data":{"nickname":"B","content":"hi"}}]}}]}}]`, "[forwarded from A] [forwarded from B] hi"},
		"nobody is anonymous":   {`"anonymous":"","message":"hi"`, "hi"},
		"nor where it is false": {`"anonymous":false,"message":"hi"`, "hi"},
		"words of another type": {`"message":7`, "bad: no message"},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := toldBy(t, "onebot", file("x", event+c.message+"}"), ingest.ReadOptions{})
			if err != nil {
				t.Fatal(err)
			}
			switch {
			case strings.HasPrefix(c.want, "bad"):
				same(t, got, c.want)
			case strings.HasPrefix(c.want, "^"):
				same(t, got, "66 5 Yun "+c.want)
			default:
				same(t, got, "66 5 Yun: "+c.want)
			}
		})
	}
}

// TestOnebotEvents reads events in whatever they stand.
func TestOnebotEvents(t *testing.T) {
	const a = `{"time":"1769990001.5","message_id":"5","message_type":"group","group_id":"66","group_name":"Class","user_id":4,"sender":{"nickname":"Yun"},"message":"a"}`
	const b = `{"time":1769990002,"self_id":3,"post_type":"message","message_type":"group","sub_type":"anonymous","message_id":6,"group_id":66,"user_id":80000000,"anonymous":{"id":9,"name":"Owl"},"message":"b","sender":{}}`
	const c = `{"time":1769990003,"self_id":3,"post_type":"message","message_type":"private","message_id":7,"user_id":3,"message":"c","sender":{"user_id":3,"nickname":"me"}}`
	const answer = `{"status":"ok","retcode":0,"data":{"messages":[` + a + `,` + b + `]}}`
	want := []string{"66 5 Yun: a", "66 6 Owl: b"}
	for name, f := range map[string]struct {
		text string
		want []string
	}{
		"lines":                {a + "\n\n" + b + "\n", want},
		"an array":             {"[" + a + ",\n" + b + "]", want},
		"an answer":            {answer, want},
		"answers a line each":  {answer + "\n" + answer + "\n", append(want[:2:2], want...)},
		"nothing but messages": {`{"messages":[` + a + `,` + b + `]}`, want},
		"data of messages":     {`{"data":{"messages":[` + a + `,` + b + `]}}`, want},
		"wrapped events":       {`{"data":` + b + `}` + "\n" + `{"data":` + b + `}`, []string{want[1], want[1]}},
		"an answer of one":     {`{"status":"ok","retcode":0,"data":` + a + `}`, want[:1]},
		"a failed answer":      {`{"status":"failed","retcode":100,"data":null}` + "\n" + a, want[:1]},
		"one, over lines":      {strings.ReplaceAll(a, ",", ",\n"), want[:1]},
		"a long line first":    {strings.Replace(a, `"message":"a"`, `"raw":"`+strings.Repeat("x", ingest.HeadSize)+`","message":"a"`, 1) + "\n" + b, want},
		"several, over lines":  {strings.ReplaceAll(a+"\n"+b, ",", ",\n"), want},
		"whose private chat":   {c, []string{"bad: no chat"}},
		"no event":             {a + "\n7\n{}\n", []string{want[0], "bad: no event", "bad: no time"}},
		"cut off":              {a + "\n" + b[:99], want[:1]},
		"a name for a mention": {a + "\n" + strings.Replace(b, `"message":"b"`, `"message":"[CQ:at,qq=4] b"`, 1), []string{want[0], "66 6 Owl: @Yun b"}},
	} {
		got, err := toldBy(t, "onebot", file("x", f.text), ingest.ReadOptions{})
		bad := []string{}
		for _, g := range got { // bad ones come at once, others when nothing can change them any more
			if strings.HasPrefix(g, "bad") {
				bad = append(bad, g)
			}
		}
		good := got[len(bad):]
		if len(f.want) > len(good) {
			good = append(good[:len(good):len(good)], bad...)
		}
		if strings.Join(good, "\n") != strings.Join(f.want, "\n") || (err != nil) != (name == "cut off") {
			t.Errorf("%s: %q, want %q, %v", name, got, f.want, err)
		}
		if s := sure(t, "onebot", file("x", f.text)); s < 80 && name != "a failed answer" {
			t.Errorf("%s: %d", name, s)
		}
	}
	if got, err := toldBy(t, "onebot", file("x", a+"\n"+b), ingest.ReadOptions{Chat: "67"}); err != nil || len(got) > 0 {
		t.Errorf("another chat: %q, %v", got, err)
	}
}

func FuzzOnebot(f *testing.F) {
	for _, name := range []string{"testdata/onebot.jsonl", "testdata/onebot_history.json"} {
		raw, err := os.ReadFile(name)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(string(raw))
	}
	f.Fuzz(func(t *testing.T, text string) { readAnything(t, "onebot", file("x", text)) })
}
