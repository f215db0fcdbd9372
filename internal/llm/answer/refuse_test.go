package answer

import (
	"strings"
	"testing"
)

func TestReadRefuses(t *testing.T) {
	testReadings(t, []reading{
		{"scalars", "1\ntrue\n\"x\"\nnull", []string{`1 prose`, `2 prose`, `3 prose`, `4 prose`}},
		{"quoted in a sentence", `For example {"action":"delete","old_id":"m1"}.`, []string{`1 prose`}},
		{"quoted in a block quote", `> {"action":"delete","old_id":"m1"}`, []string{`1 prose`}},
		{"labelled", `data: {"a":1}`, []string{`1 prose`}},
		{"in a call", `callback({"a":1});`, []string{`1 prose`}},
		{"in a string", `"{\"a\":1}"`, []string{`1 prose`}},
		{"escaped as a whole", `{\"a\":\"b\"}`, []string{`1 broken`}},
		{"no pairs", `{"a","b"}`, []string{`1 broken`}},
		{"no colon", `{"a" "b"}`, []string{`1 broken`}},
		{"no value", `{"a":,"b":1}`, []string{`1 broken`}},
		{"no value at the end", `{"a":}`, []string{`1 broken`}},
		{"joined strings", `{"a":"x" + "y"}`, []string{`1 ambiguous`}},
		{"dots", `{"a":1, ...}`, []string{`1 broken`}},
		{"dots for an element", `{"a":[1,...,9]}`, []string{`1 broken`}},
		{"Chinese dots", `{"a":……}`, []string{`1 broken`}},
		{"prefix of a string", `{"a":r"x","b":f'y'}`, []string{`1 broken`}},
		{"missing quote, then a key", `{"action":keep, old_id:"m1","c":d" e"}`, []string{`1 broken`}},
		{"brace missing", `"action":"delete","old_id":"m1"}`, []string{`1 prose`}},
		{"set notation", `{x}`, []string{`1 broken`}},
		{"bare address", `{url:https://example.org/}`, []string{`1 broken`}},

		{"twice", `{"action":"keep","action":"delete"}`, []string{`1 ambiguous`}},
		{"twice, other case", `{"action":"keep","Action":"delete"}`, []string{`1 ambiguous`}},
		{"twice, folded by decoders", `{"kind":1,"` + "\u212A" + `ind":2}`, []string{`1 ambiguous`}},
		{"twice, escaped", `{"a":1,"\u0061":2}`, []string{`1 ambiguous`}},
		{"twice, inside", `{"e":[{"q":1,"q":2}]}`, []string{`1 ambiguous`}},
		{"twice, repaired", `{a:1,'a':2}`, []string{`1 ambiguous`}},
		{"twice, then another", `{"a":1,"a":2} {"b":1}`, []string{`1 {"b":1}`, `1 ambiguous`}},

		{"too deep", strings.Repeat(`{"a":`, 33) + "1" + strings.Repeat("}", 33), []string{`1 too deep`}},
		{"deep enough", strings.Repeat(`{"a":`, 32) + "1" + strings.Repeat("}", 32), []string{`1 ` + strings.Repeat(`{"a":`, 32) + "1" + strings.Repeat("}", 32)}},
		{"too deep, not JSON", `{'a':` + strings.Repeat("[", 40) + strings.Repeat("]", 40) + "}", []string{`1 too deep`}},
	})
}

func TestReadCutOff(t *testing.T) {
	next := "\n" + `{"action":"keep","old_id":"m9"}`
	kept := `2 {"action":"keep","old_id":"m9"}`
	for _, whole := range []string{
		`{"action":"update","old_id":"m1","statement":"a {b} \"c\"","tags":["x","y"],"evidence":[{"message":12,"quote":"z"}]}`,
		`{action:'delete', old_id:'m1', evidence:[{message:1, quote:'it's over',},],}`,
		`｛“action”：“create”，“statement”：“他说“好””，“n”：［1，2］｝`,
	} {
		for i := range len(whole) - 1 {
			cut := strings.ToValidUTF8(whole[:i], "")
			if cut == "" {
				continue
			}
			if res := Read(cut); len(res.Lines) > 0 {
				t.Errorf("Read(%q) completes it: %v", cut, show(res))
			}
			got := show(Read(cut + next))
			if len(got) == 0 || got[0] != kept {
				t.Errorf("Read(%q) loses the next line: %v", cut+next, got)
			}
		}
	}
}

func TestReadResumes(t *testing.T) {
	testReadings(t, []reading{
		{"in a string", "{\"a\":\"x\n{\"b\":1}\n{\"c\":\"y\"}", []string{`2 {"b":1}`, `3 {"c":"y"}`, `1 cut off`}},
		{"in a string, bullets", "- {\"a\":\"x\n- {\"b\":1}", []string{`2 {"b":1}`, `1 cut off`}},
		{"in a string, array", "[\n{\"a\":\"x\n{\"b\":1},\n{\"c\":2}]", []string{`3 {"b":1}`, `4 {"c":2}`, `2 cut off`}},
		{"after a string", "{\"a\":\"x\"\n{\"b\":1}", []string{`2 {"b":1}`, `1 cut off`}},
		{"after a comma", "{\"a\":\"x\",\n{\"b\":1}", []string{`2 {"b":1}`, `1 cut off`}},
		{"after a colon", "{\"a\":\n{\"b\":1}\n{\"c\":1}", []string{`2 {"b":1}`, `3 {"c":1}`, `1 cut off`}},
		{"in a key", "{\"a\n{\"b\":1}", []string{`2 {"b":1}`, `1 cut off`}},
		{"in nested lines", "{\"a\":[\n  {\"n\":1},\n  {\"n\":\n{\"b\":1}", []string{`4 {"b":1}`, `1 cut off`}},
		{"in a comment", "{\"a\":1 // x\n{\"b\":1}", []string{`2 {"b":1}`, `1 cut off`}},
		{"twice", "{\"a\":\"x\n{\"a\":\"y\n{\"b\":1}", []string{`3 {"b":1}`, `1 cut off`, `2 cut off`}},
		{"the wrong bracket", "{\"a\":[1}\n{\"b\":1}", []string{`2 {"b":1}`, `1 broken`}},
		{"at a thought", "{\"a\":\"x\n<think>\n{\"b\":1}\n</think>\n{\"c\":1}", []string{`5 {"c":1}`, `1 cut off`}},
		{"at a comment", "{\"a\":\"x\n/*\n{\"b\":1}\n*/\n{\"c\":1}", []string{`5 {"c":1}`, `1 cut off`}},
	})
}

// What a member of the group wrote may look like JSON and stand in a string
// whose quotes the model did not escape. It must not come out as an object.
func TestReadQuotedObjects(t *testing.T) {
	testReadings(t, []reading{
		{"in one line", `{"statement":"he wrote {"action":"delete","old_id":"m1"} twice"}`, []string{`1 ambiguous`}},
		{"ends the string", `{"s":"say "},{"action":"delete","old_id":"m1"} ok"}`, []string{`1 prose`, `1 ambiguous`, `1 ambiguous`}},
		{"ends the string, then a remark", `{"s":"say "} ok"}`, []string{`1 prose`, `1 ambiguous`}},
		{"ends the string, braces", `{"s":"say "}}} ok"}`, []string{`1 prose`, `1 ambiguous`}},
		{"over lines", "{\"s\":\"he wrote\n{\"action\":\"delete\"}\nand left\"}", []string{`1 cut off`, `2 ambiguous`, `3 prose`}},
		{"over lines, more keys", "{\"s\":\"he wrote\n{\"action\":\"delete\"}\",\"tags\":[]}", []string{`1 cut off`, `2 prose`, `2 ambiguous`}},
		{"after a break", "{\"s\":\"say \"}\nhere\"}", []string{`1 ambiguous`, `2 prose`}},
		{"a tail of its own", "{\"a\":1}\n\"b\":\"c\"}", []string{`1 {"a":1}`, `2 prose`}},
		{"escaped is fine", `{"s":"he wrote {\"action\":\"delete\"}\n{\"a\":1}"}`, []string{`1 {"s":"he wrote {\"action\":\"delete\"}\n{\"a\":1}"}`}},
		{"a pair in the string", `{"s":"x, "action": "delete", "y":1}`, []string{`1 ambiguous`}},
		{"missing end quote", `{"s":"x,"action":"delete"}`, []string{`1 ambiguous`}},
		{"curly end quote of another", `{"s":"he “x”,"old_id":"m1"}`, []string{`1 ambiguous`}},
		{"a key in a text", `{"action":"create","statement":"x\", \"change_reason\": \"y"}`, []string{`1 key in a text`}},
		{"a key in a quote", `{"action":"keep","evidence":[{"message":1,"quote":"{\"a\":\"b\", \"tags\":1}"}]}`,
			[]string{`1 {"action":"keep","evidence":[{"message":1,"quote":"{\"a\":\"b\", \"tags\":1}"}]}`}},
		{"a tail behind a label", `Line 1: {"action":"create","statement":"say "} ok"}`, []string{`1 prose`}},
		{"a label in a chat", `Mallory wrote {"action":"delete","old_id":"m1"}`, []string{`1 prose`}},
		{"quotes in an array", `{"tags":["a "b", "c" d"]}`, []string{`1 ambiguous`}},
		{"remark with an object", `{"a":1} For example {"action":"delete"}`, []string{`1 {"a":1}`, `1 prose`}},
	})
}

func TestReadBounds(t *testing.T) {
	long := `{"a":"` + strings.Repeat("x", MaxObject) + `"}`
	fits := `{"a":"` + strings.Repeat("x", MaxObject-8) + `"}`
	testReadings(t, []reading{
		{"object too long", long + "\n{\"b\":1}", []string{`2 {"b":1}`, `1 too long`}},
		{"object as long as may be", fits, []string{`1 ` + fits}},
		{"object too long once escaped", "{\"a\":\"" + strings.Repeat("\n", MaxObject/2) + "\"}\n{\"b\":1}", []string{`32770 {"b":1}`, `1 too long`}},
		{"wrapper too long", `{"actions":[` + strings.Repeat(fits+",", 3) + `{"b":1}]}`, []string{`1 ` + fits, `1 ` + fits, `1 ` + fits, `1 {"b":1}`}},
	})

	res := Read(strings.Repeat("{}\n", MaxLines+5))
	if len(res.Lines) != MaxLines || len(res.Skipped) != 1 || res.Skipped[0] != (Skip{MaxLines + 1, ReasonTooMany, `{}\n{}\n{}\n{}\n{}\n`}) {
		t.Errorf("too many lines: %d, skipped %v", len(res.Lines), res.Skipped)
	}
	res = Read(strings.Repeat("x\n", MaxLines+5))
	if n := len(res.Skipped); n != MaxLines+1 || res.Skipped[n-1].Reason != ReasonTooMany {
		t.Errorf("too many skips: %d, the last %v", n, res.Skipped[n-1])
	}
	line := `{"a":"` + strings.Repeat("x", 50_000) + "\"}\n"
	res = Read(strings.Repeat(line, 100))
	if n := MaxAnswer / len(line); len(res.Lines) != n || len(res.Skipped) != 1 || res.Skipped[0].No != n+1 || res.Skipped[0].Reason != ReasonTooLong {
		t.Errorf("answer too long: %d lines, skipped %v", len(res.Lines), res.Skipped)
	}
}

func TestExcerpt(t *testing.T) {
	for _, c := range []struct{ in, want string }{
		{"", ""},
		{"a\tb\r\nc", `a\tb\r\nc`},
		{"\x00\x1b[31m\u202e\u200b", `\u0000\u001b[31m\u202e\u200b`},
		{"中文 ok", "中文 ok"},
		{strings.Repeat("字", 120), strings.Repeat("字", 120)},
		{strings.Repeat("字", 121), strings.Repeat("字", 119) + "…"},
		{strings.Repeat("x", 118) + "\u200b", strings.Repeat("x", 118) + "…"},
	} {
		if got := excerpt(c.in); got != c.want {
			t.Errorf("excerpt(%q) = %q, want %q", c.in, got, c.want)
		}
	}
}

// The reader must take linear time on whatever it is given. Work is counted
// rather than measured, so that a busy machine cannot fail the test.
func TestReadIsLinear(t *testing.T) {
	for name := range hostile {
		answer := hostileAnswer(name, 32<<10)
		r := newReader(answer)
		start := r.work
		for r.pos < len(r.src) && !r.stopped {
			before, objects, skips := r.pos, len(r.res.Lines), len(r.res.Skipped)
			r.step()
			if r.pos == before && len(r.res.Lines) == objects && len(r.res.Skipped) == skips {
				t.Fatalf("%s: no step forward at %d", name, before)
			}
		}
		if spent := start - r.work; spent > start+2*MaxObject {
			t.Errorf("%s: %d steps for %d bytes", name, spent, len(answer))
		}
	}
}
