package ingest_test

import (
	"encoding/json"
	"fmt"
	"os"
	"strings"
	"testing"

	"reverie/internal/ingest"
)

func jsonOf(t testing.TB, v any) string {
	t.Helper()
	text, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// matrixEvent is one event as JSON, with what is added of it.
func matrixEvent(id, sender string, second int, rest string) string {
	return fmt.Sprintf(`{"type":"m.room.message","event_id":"$%s","room_id":"!r:x","sender":"@%s:x","origin_server_ts":%d,%s}`, id, sender, 1768464000000+second*1000, rest)
}

func matrixText(id, sender string, second int, text string) string {
	return matrixEvent(id, sender, second, fmt.Sprintf(`"content":{"msgtype":"m.text","body":%q}`, text))
}

func matrixEdit(id, sender string, second int, target, text string) string {
	return matrixEvent(id, sender, second, fmt.Sprintf(`"content":{"msgtype":"m.text","body":"* x","m.new_content":{"msgtype":"m.text","body":%q},"m.relates_to":{"rel_type":"m.replace","event_id":"$%s"}}`, text, target))
}

// TestMatrixEvent reads what events say.
func TestMatrixEvent(t *testing.T) {
	for name, c := range map[string]struct{ event, want string }{
		"an answer":            {`"content":{"msgtype":"m.text","body":"> <@b:x> a\n> b\n\n> mine\nc","m.relates_to":{"m.in_reply_to":{"event_id":"$0"}}}`, "Ada ^$0: > mine\nc"},
		"a quotation":          {`"content":{"msgtype":"m.text","body":"> <@b:x> a\n\nc"}`, "Ada: > <@b:x> a\n\nc"},
		"an answer of today":   {`"content":{"msgtype":"m.text","body":"> I quote\n\nc","m.relates_to":{"m.in_reply_to":{"event_id":"$0"}}}`, "Ada ^$0: > I quote\n\nc"},
		"in a thread":          {`"content":{"msgtype":"m.text","body":"c","m.relates_to":{"rel_type":"m.thread","event_id":"$0","is_falling_back":true,"m.in_reply_to":{"event_id":"$5"}}}`, "Ada ^$0 /$0: c"},
		"to one in a thread":   {`"content":{"msgtype":"m.text","body":"c","m.relates_to":{"rel_type":"m.thread","event_id":"$0","m.in_reply_to":{"event_id":"$5"}}}`, "Ada ^$5 /$0: c"},
		"a thread's first":     {`"content":{"msgtype":"m.text","body":"c"},"unsigned":{"m.relations":{"m.thread":{"count":2}}}`, "Ada /$1: c"},
		"mentions":             {`"content":{"msgtype":"m.text","body":"@a:x [B](https://matrix.to/#/@b:x) https://matrix.to/#/%40c:x?via=x @d:x","m.mentions":{"user_ids":["@a:x","@a:x",7]}}`, "Ada: @Ada @B @c @d:x"},
		"mentions by id":       {`"content":{"msgtype":"m.text","body":"@a:x and @b:x","m.mentions":{"user_ids":["@a:x","@b:x"]}}`, "Ada: @Ada and @b"},
		"edited by the server": {`"content":{"msgtype":"m.text","body":"old"},"unsigned":{"m.relations":{"m.replace":{"origin_server_ts":9,"content":{"m.new_content":{"msgtype":"m.text","body":"new"}}}}}`, "Ada: new"},
		"taken back":           {`"content":{},"unsigned":{"redacted_because":{"type":"m.room.redaction"}}`, "Ada event: "},
		"a picture":            {`"content":{"msgtype":"m.image","body":"x.jpg","filename":"x.jpg"}`, "Ada: "},
		"a caption":            {`"content":{"msgtype":"m.file","body":"our plan","filename":"x.pdf"}`, "Ada: our plan"},
		"a place":              {`"content":{"msgtype":"m.location","body":"Location was shared","geo_uri":"geo:1,2"}`, "Ada: "},
		"a program":            {`"content":{"msgtype":"m.notice","body":"beep"}`, "Ada bot: beep"},
		"a check of keys":      {`"content":{"msgtype":"m.key.verification.request","body":"x"}`, "Ada event: "},
		"a sticker":            {`"content":{"body":"smile","url":"mxc://x/y"},"type":"m.sticker"`, "Ada: "},
		"an older poll":        {`"type":"org.matrix.msc3381.poll.start","content":{"org.matrix.msc3381.poll.start":{"question":{"org.matrix.msc1767.text":"When?"},"answers":[{"id":"1","org.matrix.msc1767.text":"now"}]}}`, "Ada: When?\n- now"},
		"a name":               {`"type":"m.room.name","content":{"name":"Moths"}`, "Ada event: named the room Moths"},
		"one who is removed":   {`"type":"m.room.member","state_key":"@b:x","content":{"membership":"leave"},"unsigned":{"prev_content":{"membership":"join"}}`, "Ada event: removed b"},
		"another picture":      {`"type":"m.room.member","state_key":"@b:x","content":{"membership":"join","displayname":"Bo"},"unsigned":{"prev_content":{"membership":"join"}}`, "Ada event: "},
		"a body that is none":  {`"content":{"msgtype":"m.text","body":["x"]}`, "Ada: "},
		"content that is none": {`"content":"x"`, "Ada event: "},
		"encrypted":            {`"type":"m.room.encrypted","content":{"algorithm":"m.megolm"}`, "bad: not decrypted"},
		"not decrypted":        {`"content":{"msgtype":"m.bad.encrypted","body":"** Unable to decrypt **"}`, "bad: not decrypted"},
		"no time":              {`"content":{},"origin_server_ts":-1`, "bad: no time"},
		"a time beyond":        {`"content":{},"origin_server_ts":99999999999999999`, "bad: no time"},
		"no id":                {`"content":{},"event_id":""`, "bad: no id"},
		"nobody":               {`"content":{},"sender":null,"sender":""`, "bad: no author"},
		"no event":             {`"content":{},"sender":7`, "bad: no event"},
	} {
		t.Run(name, func(t *testing.T) {
			join := `{"type":"m.room.member","event_id":"$j","room_id":"!r:x","sender":"@a:x","state_key":"@a:x","origin_server_ts":1768464000000,"content":{"membership":"join","displayname":"Ada"}}`
			got, err := toldBy(t, "matrix", file("x.json", "["+join+","+matrixEvent("1", "a", 1, c.event)+"]"), ingest.ReadOptions{})
			if err != nil {
				t.Fatal(err)
			}
			if strings.HasPrefix(c.want, "bad") { // at once, when the ones before are still held
				same(t, got, c.want, "!r:x $j Ada event: joined")
				return
			}
			same(t, got, "!r:x $j Ada event: joined", "!r:x $1 "+c.want)
		})
	}
}

// TestMatrixForms reads the documents that events come in, in either order, with what is
// done to messages later.
func TestMatrixForms(t *testing.T) {
	first, second, edit := matrixText("1", "a", 1, "teh"), matrixText("2", "b", 2, "hi"), matrixEdit("3", "a", 3, "1", "the")
	later, forged := matrixEdit("4", "a", 4, "1", "the end"), matrixEdit("5", "b", 5, "1", "I was here")
	gone := matrixEvent("6", "b", 6, `"type":"m.room.redaction","content":{"redacts":"$2"}`)
	answer := matrixEvent("7", "b", 7, `"content":{"msgtype":"m.text","body":"c","m.relates_to":{"rel_type":"m.thread","event_id":"$1","is_falling_back":true}}`)
	events := []string{first, second, later, edit, forged, gone, answer}
	told := []string{"!r:x $1 a /$1: the end", "!r:x $2 b event: ", "!r:x $4 a event: ", "!r:x $3 a event: ", "!r:x $5 b event: ", "!r:x $6 b event: ", "!r:x $7 b ^$1 /$1: c"}
	backwards, toldBackwards := []string{}, []string{}
	for i := range events {
		backwards, toldBackwards = append(backwards, events[len(events)-1-i]), append(toldBackwards, told[len(told)-1-i])
	}
	toldBackwards = append(toldBackwards, "!r:x $1 becomes I was here by @b:x") // which the store does not believe
	bare := func(event string) string { return strings.Replace(event, `"room_id":"!r:x",`, "", 1) }
	for name, c := range map[string]struct {
		src  ingest.Source
		chat string
		want []string
	}{
		"an array":           {file("x.json", "["+strings.Join(events, ",")+"]"), "", told},
		"lines":              {file("x.json", strings.Join(events, "\n\n")+"\n"), "!r:x", told},
		"the server's way":   {file("x.json", `{"start":"t1","chunk":[`+strings.Join(backwards, ",")+`],"end":"t2"}`), "", toldBackwards},
		"Element's":          {file("x.json", `{"room_name":"Moths","export_date":"x","messages":[`+strings.Join(events, ",")+`]}`), "Moths", told},
		"in an archive":      {files("export.json", `{"room_name":"Moths","messages":[`+strings.Join(events, ",")+`]}`, "images/export.json", "{}"), "", told},
		"in a folder":        {files("chat/export.json", `{"room_name":"Moths","messages":[`+first+`]}`), "", []string{"!r:x $1 a: teh"}},
		"some without rooms": {file("x.json", `{"room_name":"Moths","messages":[`+bare(first)+","+second+`]}`), "", []string{"!r:x $1 a: teh", "!r:x $2 b: hi"}},
		"none with a room":   {file("x.json", `{"room_name":"Moths","messages":[`+bare(first)+`]}`), "", []string{"Moths $1 a: teh"}},
		"another chat":       {file("x.json", `{"room_name":"Moths","messages":[`+first+`]}`), "Bees", nil},
		"none at all":        {file("x.json", `{"room_name":"Moths","export_date":"x","messages": []}`), "", nil},
		"a sync":             {file("x.json", `{"next_batch":"s1","rooms":{"join":{"!s:x":{"timeline":{"events":[`+bare(first)+`]}}}}}`), "", []string{"!s:x $1 a: teh"}},
		"over several lines": {file("x.json", strings.ReplaceAll(strings.Join(events, "\n"), ",", ",\n")), "", told},
		"other lists":        {file("x.json", `{"events":[`+strings.Join(events, ",")+`]}`), "", told},
		"around one":         {file("x.json", `{"events_before":[`+first+`],"event":`+second+`,"events_after":[]}`), "", []string{"!r:x $1 a: teh", "!r:x $2 b: hi"}},
		"rooms left":         {file("x.json", `{"rooms":{"leave":{"!s:x":{"timeline":{"events":[`+bare(first)+`]}}}}}`), "", []string{"!s:x $1 a: teh"}},
	} {
		t.Run(name, func(t *testing.T) {
			if n := sure(t, "matrix", c.src); n < 90 {
				t.Errorf("known by %d", n)
			}
			got, err := toldBy(t, "matrix", c.src, ingest.ReadOptions{Chat: c.chat})
			if err != nil {
				t.Fatal(err)
			}
			same(t, got, c.want...)
		})
	}
}

// TestMatrixAmongOthers leaves a folder of several exports to be read one by one.
func TestMatrixAmongOthers(t *testing.T) {
	one := `{"room_name":"Moths","messages":[` + matrixText("1", "a", 1, "hi") + `]}`
	for _, src := range []ingest.Source{files("a/export.json", one, "b/export.json", one), files("export.json", one, "discord.json", "{}"), files("moths.json", one)} {
		if n := sure(t, "matrix", src); n > 0 {
			t.Errorf("known by %d", n)
		}
	}
}

// TestMatrixTimeAsFloat: programs that know no integers write times as floats.
func TestMatrixTimeAsFloat(t *testing.T) {
	const event = `{"type":"m.room.message","event_id":"$1","room_id":"!r","sender":"@a:x","origin_server_ts":%s,"content":{"body":"hi"}}`
	for _, at := range []string{"1768500245000", "1.768500245e12"} {
		got, err := timesIn(t, "matrix", file("x.json", fmt.Sprintf(event, at)), ingest.ReadOptions{})
		if err != nil || len(got) != 1 || !strings.HasPrefix(got[0], "2026-01-15 18:04:05") {
			t.Errorf("%s: %q, %v", at, got, err)
		}
	}
}

func FuzzMatrix(f *testing.F) {
	raw, err := os.ReadFile("testdata/matrix.json")
	if err != nil {
		f.Fatal(err)
	}
	f.Add(string(raw))
	f.Add("[" + matrixText("1", "a", 1, "x") + "," + matrixEdit("2", "a", 2, "1", "y") + "]")
	f.Add(matrixEdit("2", "a", 2, "1", "y") + "\n" + matrixText("1", "a", 1, "x"))
	f.Fuzz(func(t *testing.T, content string) {
		sure(t, "matrix", file("x.json", content))
		readAnything(t, "matrix", file("x.json", content))
	})
}

// TestMatrixReactions: events that are not all of a room add reactions to a message and take them back, whichever
// comes first. Element's export tells all that there are.
func TestMatrixReactions(t *testing.T) {
	reacts := func(to, key string) string {
		return `"type":"m.reaction","content":{"m.relates_to":{"rel_type":"m.annotation","event_id":"$` + to + `","key":"` + key + `"}}`
	}
	events := []string{matrixEvent("1", "a", 1, `"content":{"msgtype":"m.text","body":"x"}`),
		matrixEvent("2", "b", 2, reacts("1", "+")), matrixEvent("3", "c", 3, reacts("1", "+")), matrixEvent("4", "b", 4, reacts("1", ":moth:")),
		matrixEvent("5", "b", 5, `"type":"m.room.redaction","redacts":"$2","content":{}`), matrixEvent("6", "b", 6, reacts("0", "-")),
		matrixEvent("7", "a", 7, reacts("1", strings.Repeat("long", 30)))}
	first, all := []string{}, []string{}
	for _, of := range []string{`[%s]`, `{"room_name":"R","messages":[%s]}`} {
		f, err := ingest.Named("matrix")
		check(t, err)
		for r, err := range f.Read(t.Context(), file("x.json", fmt.Sprintf(of, strings.Join(events, ","))), ingest.ReadOptions{}) {
			check(t, err)
			if r.Change != nil {
				first = append(first, fmt.Sprint(r.Change.ID, r.Change.Reactions))
			}
			if r.Message.ID == "$1" {
				all = append(all, fmt.Sprint(r.Reactions))
			}
		}
	}
	same(t, first, "$0[{- @b:x 1}]", "$1[{+ @b:x 0} {+ @c:x 1} {:moth: @b:x 1}]", "$0[{- @b:x 1}]")
	same(t, all, "[]", "[{+ @b:x 0} {+ @c:x 1} {:moth: @b:x 1}]")
}
