package ingest_test

import (
	"os"
	"strings"
	"testing"

	"reverie/internal/ingest"
)

const zulipTables = `{"zerver_userprofile":[{"id":1,"full_name":"Ines"},{"id":2,"full_name":"Olu"}],"zerver_recipient":[{"id":7,"type":2,"type_id":5},{"id":8,"type":1,"type_id":1},{"id":9,"type":3,"type_id":1}],
	"zerver_realm":[{"id":1,"string_id":""}],"zerver_stream":[{"id":5,"name":"studio"}]}`

// TestZulipText reads what messages say, in Markdown and in HTML.
func TestZulipText(t *testing.T) {
	for name, c := range map[string]struct{ content, want string }{
		"mentions":           {`@**Olu|2** @_**Ines** @**|1** @**|9** @*potters* @**all**`, `: @Olu @Ines @Ines @user 9 @potters @all`},
		"places":             {`#**studio** #**studio>kiln** #**studio>kiln@123**`, `: #studio #studio > kiln #studio > kiln`},
		"links":              {`[the plan](https://a.example/x) [https://a.example](https://a.example) <time:2026-01-15T10:00:00Z>`, `: the plan (https://a.example/x) https://a.example 2026-01-15T10:00:00Z`},
		"uploads":            {"look\n[a.png](/user_uploads/2/ab/a.png)\n![b](https://z.example/user_uploads/b.png)\n\n[c](user_uploads/c)\nnice", ": look\n\nnice"},
		"an upload alone":    {`[a.png](/user_uploads/2/ab/a.png)`, `: `},
		"a quotation":        {"@_**Olu|2** [said](https://z.example/#narrow/stream/5/topic/x/near/41):\n```quote\na\n\nb\n```\n\nyes", " ^41: yes"},
		"in another tongue":  {"@_**Olu|2** [说](https://z.example/#narrow/dm/1,2-dm/near/41)：\n~~~ quote\na\n~~~\n好", " ^41: 好"},
		"one within another": {"@_**Olu|2** [said](https://z.example/near/41):\n````quote\n```quote\na\n```\nb\n````\nyes", " ^41: yes"},
		"two of them":        {"@_**Olu|2** [said](/#narrow/near/41):\n```quote\na\n```\nyes\n@_**Olu|2** [said](/#narrow/near/42):\n```quote\nb\n```\nno", " ^41: yes\nno"},
		"one that is open":   {"@_**Olu|2** [said](/#narrow/near/41):\n```quote\na", " ^41: "},
		"another fence":      {"```quote\na\n```\nb", ": ```quote\na\n```\nb"},
		"what one does":      {`/me throws`, `: Ines throws`},
		"a poll":             {"/poll When?\nnow\n\nlater", ": When?\n- now\n- later"},
		"no poll":            {"/pollen is bad", ": /pollen is bad"},
		"HTML": {`<p><span class="user-mention" data-user-id="2">@Olu</span> &amp; <span class="user-group-mention">@potters</span>, see <a class="stream" href="/x">#studio</a><br>
<a href="https://a.example">plan</a> <span aria-label="fire" class="emoji emoji-1f525" role="img">:fire:</span> <img alt=":cone:" class="emoji" src="x"></p>
<div class="message_inline_image"><a href="https://a.example/p.png"><img src="x"></a></div>`, ": @Olu & @potters, see #studio\n\nplan (https://a.example) :fire: :cone:"},
		"a quotation in HTML": {`<p><span class="user-mention silent" data-user-id="2">Olu</span> <a href="https://z.example/#narrow/near/41">said</a>:</p>
<blockquote>
<p>a <code>x</code></p>
</blockquote>
<p>yes</p>`, " ^41: yes"},
		"lists and code": {`<ul>
<li>one</li>
<li><p>two</p></li>
</ul>
<div class="codehilite"><pre><span></span><code>a &lt; b
</code></pre></div>`, ": - one\n- two\n\n```\na < b\n```"},
		"a formula":        {`<p><span class="katex"><span class="katex-mathml"><math><semantics><mrow><mi>x</mi></mrow><annotation encoding="application/x-tex">x^2</annotation></semantics></math></span><span class="katex-html"><span>x2</span></span></span></p>`, ": $$x^2$$"},
		"HTML cut short":   {`<p>a <b>c`, `: a c`},
		"an upload's HTML": {`<p><a href="/user_uploads/2/a.png">a.png</a></p>`, `: `},
		"deep HTML":        {strings.Repeat("<i>", 500) + "x", `: x`},
	} {
		t.Run(name, func(t *testing.T) {
			row := map[string]any{"id": 50, "sender_id": 1, "sender_full_name": "Ines", "sender_email": "a@z.example", "type": "stream", "stream_id": 5, "display_recipient": "studio", "subject": "kiln", "timestamp": 1768464000, "content": c.content}
			src := file("x.json", `{"result":"success","messages":[{"id":49,"sender_id":1,"display_recipient":[{"id":1,"full_name":"Ines"},{"id":2,"full_name":"Olu"}],"type":"private","timestamp":1768464000,"content":""},`+jsonOf(t, row)+`]}`)
			got, err := toldBy(t, "zulip", src, ingest.ReadOptions{Chat: "studio"})
			if err != nil {
				t.Fatal(err)
			}
			answers, said, _ := strings.Cut(c.want, ":")
			same(t, got, "5 50 Ines"+answers+" /kiln:"+said)
		})
	}
}

// TestZulipForms reads the forms in which Zulip's messages are kept.
func TestZulipForms(t *testing.T) {
	const api = `"timestamp":1768464000,"content":"hi"`
	for name, c := range map[string]struct {
		src  ingest.Source
		want []string
	}{
		"the API's answer": {file("x.json", `{"result":"success","msg":"","found_newest":true,"messages":[
			{"id":1,"sender_id":3,"sender_full_name":"Notification Bot","sender_email":"notification-bot@zulip.com","sender_realm_str":"zulipinternal","stream_id":5,"display_recipient":"studio","subject":"✔ kiln",`+api+`},
			{"id":2,"sender_id":2,"sender_full_name":"Olu","sender_email":"o@z.example","sender_realm_str":"clay","type":"private","display_recipient":[{"id":12,"full_name":"Ines"},{"id":2,"full_name":"Olu"}],"subject":"",`+api+`},
			{"id":3,"sender_id":14,"sender_full_name":"Timer","sender_email":"timer-bot@z.example","sender_realm_str":"clay","stream_id":5,"display_recipient":"studio","subject":"",`+api+`}]}`),
			[]string{"clay-5 1 Notification Bot /kiln bot event: hi", "clay-dm-2-12 2 Olu: hi", "clay-5 3 Timer /general chat bot: hi"}},
		"an array of the API's": {file("x.json", `[{"id":2,"sender_id":2,"sender_full_name":"Olu","display_recipient":"studio","subject":"kiln",`+api+`}]`), []string{"studio 2 Olu /kiln: hi"}},
		"lines of the API's": {file("x.jsonl", `{"id":2,"sender_id":2,"sender_full_name":"Olu","sender_realm_str":"zulip-users","display_recipient":"studio","subject":"kiln",`+api+"}\n"+
			`{"id":3,"sender_id":2,"sender_full_name":"Olu","sender_realm_str":"zulip-users","display_recipient":"studio","subject":"kiln",`+api+"}\n"), []string{"zulip-users-studio 2 Olu /kiln: hi", "zulip-users-studio 3 Olu /kiln: hi"}},
		"a server's first organisation": {files("realm.json", strings.Replace(zulipTables, `"string_id":""`, `"string_id":"","name":"Clay"`, 1), "messages-000001.json", `{"zerver_message":[{"id":1,"sender":1,"recipient":7,"subject":"kiln","content":"hi","date_sent":1}]}`),
			[]string{"Clay-5 1 Ines /kiln: hi"}},
		"an export": {files("realm.json", zulipTables, "messages-000001.json", `{"zerver_message":[{"id":1,"sender":1,"recipient":7,"subject":"kiln","content":"<hi>","date_sent":1768464000.5},
			{"id":2,"sender":2,"recipient":8,"subject":"\u0007","content":"@**Olu|2**","date_sent":1768464001},{"id":3,"sender":2,"recipient":9,"subject":"","content":"lost","date_sent":1768464002},
			{"id":4,"sender":6,"recipient":7,"subject":"kiln","content":"gone","date_sent":1768464003}]}`, "messages-000002.json.tmp", "x", "uploads/x/messages-000001.json", "{}"),
			[]string{"5 1 Ines /kiln: <hi>", "dm-1-2 2 Olu: @Olu", "recipient-9 3 Olu: lost", "5 4 user 6 /kiln: gone"}},
		"one user's": {files("user.json", `{"zerver_userprofile":[{"id":1,"full_name":"Ines"}]}`, "messages-000001.json", `{"zerver_message":[
			{"id":1,"sender":1,"recipient":7,"recipient_name":"studio","subject":"kiln","content":"hi","date_sent":1768464000.5},{"id":2,"sender":2,"recipient":8,"recipient_name":"Olu, Ines","subject":"\u0007","content":"hi","date_sent":1768464000.5}]}`),
			[]string{"recipient-7 1 Ines /kiln: hi", "recipient-8 2 user 2: hi"}},
		"messages alone": {file("messages-000001.json", `{"zerver_message":[{"id":1,"sender":1,"recipient":7,"subject":"kiln","content":"hi","date_sent":1768464000.5}],"zerver_usermessage":[]}`),
			[]string{"recipient-7 1 user 1 /kiln: hi"}},
		"two of them": {files("a/realm.json", zulipTables, "a/messages-000001.json", `{"zerver_message":[{"id":1,"sender":1,"recipient":7,"subject":"kiln","content":"hi","date_sent":1}]}`,
			"b/realm.json", strings.Replace(zulipTables, `"string_id":""`, `"string_id":"b"`, 1), "b/messages-000001.json", `{"zerver_message":[{"id":1,"sender":2,"recipient":7,"subject":"kiln","content":"ho","date_sent":1}]}`),
			[]string{"5 1 Ines /kiln: hi", "b-5 1 Olu /kiln: ho"}},
		"bad ones": {files("realm.json", zulipTables, "messages-000001.json", `{"zerver_message":[7,{"id":1},{"id":1,"date_sent":1},{"sender":1,"recipient":7,"date_sent":1},{"id":1,"sender":1,"date_sent":1},{"id":1,"sender":1,"recipient":7,"date_sent":1e300},
			{"id":5,"sender":1,"recipient":7,"subject":"kiln","content":"hi","date_sent":1}`, "messages-000002.json", `{"zerver_message":[{"id":6,"sender":1,"recipient":7,"subject":"kiln","content":"hi","date_sent":1}]}`),
			[]string{"bad: no message", "bad: no time", "bad: no author", "bad: no id", "bad: no chat", "bad: no time", "5 5 Ines /kiln: hi", "bad: broken file", "5 6 Ines /kiln: hi"}},
	} {
		t.Run(name, func(t *testing.T) {
			if n := sure(t, "zulip", c.src); n < 90 {
				t.Errorf("known by %d", n)
			}
			got, err := toldBy(t, "zulip", c.src, ingest.ReadOptions{})
			if err != nil {
				t.Fatal(err)
			}
			same(t, got, c.want...)
		})
	}
	got, err := toldBy(t, "zulip", files("realm.json", zulipTables[:99], "messages-000001.json", `{"zerver_message":[]}`), ingest.ReadOptions{})
	if err == nil || !strings.Contains(err.Error(), "realm.json") || len(got) > 0 {
		t.Errorf("names that are missing: %q, %v", got, err)
	}
}

// TestZulipUnfinished: an export that did not come to its end says so, also in a tar.
func TestZulipUnfinished(t *testing.T) {
	const row = `{"zerver_message":[{"id":1,"sender":7,"recipient":9,"date_sent":1769990001,"content":"a"}]}`
	path := write(t, "zulip.tar", tarOf(t, entry{"x/realm.json", "{}"}, entry{"x/messages-000001.json", row}, entry{"x/messages-000002.json.partial", row}, entry{"x/messages-000003.json.locked", row}))
	chats, bad, _, err := brought(t, path)
	if err != nil || len(chats) != 1 || strings.Join(bad, ", ") != "x/messages-000002.json.partial: unfinished, x/messages-000003.json.locked: unfinished" {
		t.Errorf("%v, %q, %v", chats, bad, err)
	}
}

// TestTarNamesOthers: what of a tar is no export is named, as of a folder; how far it is read counts anew.
func TestTarNamesOthers(t *testing.T) {
	path := write(t, "x.tar", tarOf(t, entry{"a.jsonl", message("a")}, entry{"notes.docx", "x"}))
	if n := open(t, path).BytesRead(); n != 0 {
		t.Errorf("%d bytes are read before the import", n)
	}
	_, _, passed, err := brought(t, path)
	if err != nil || strings.Join(passed, ",") != "notes.docx" {
		t.Errorf("passed over %q, %v", passed, err)
	}
}

func FuzzZulip(f *testing.F) {
	raw, err := os.ReadFile("testdata/zulip/zulip-export-7d2a/messages-000001.json")
	if err != nil {
		f.Fatal(err)
	}
	f.Add(zulipTables, string(raw))
	f.Add("{}", `{"messages":[{"id":1,"sender_id":1,"stream_id":5,"timestamp":1,"content":"<p>a</p><blockquote><b>&lt;"},{"id":1,"sender_id":1,"display_recipient":[{"id":2}],"timestamp":1,"content":"@_**a** [x](/near/1):\n`+"```quote"+`\na"}]}`)
	f.Fuzz(func(t *testing.T, tables, messages string) {
		for _, src := range []ingest.Source{file("x.json", messages), files("realm.json", tables, "messages-000001.json", messages)} {
			sure(t, "zulip", src)
			readAnything(t, "zulip", src)
		}
	})
}
