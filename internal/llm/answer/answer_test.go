package answer

import (
	"fmt"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// reading is a case of the table: an answer, and what Read makes of it, in the
// notation of show.
type reading struct {
	name string
	in   string
	want []string
}

// show writes a result as "No object", with a tilde where it was repaired, and
// "No reason" for what was skipped, behind the objects.
func show(res Result) []string {
	var out []string
	for _, l := range res.Lines {
		sep := " "
		if l.Repaired {
			sep = "~"
		}
		out = append(out, fmt.Sprintf("%d%s%s", l.No, sep, l.Object))
	}
	for _, s := range res.Skipped {
		out = append(out, fmt.Sprintf("%d %s", s.No, s.Reason))
	}
	return out
}

func testReadings(t *testing.T, readings []reading) {
	t.Helper()
	for _, c := range readings {
		t.Run(c.name, func(t *testing.T) {
			res := Read(c.in)
			if diff := cmp.Diff(c.want, show(res)); diff != "" {
				t.Errorf("Read(%q) (-want +got):\n%.2000s", excerpt(c.in), diff)
			}
			for _, fault := range faults(c.in, res) {
				t.Errorf("Read(%q): %.2000s", excerpt(c.in), fault)
			}
		})
	}
}

func TestReadTolerates(t *testing.T) {
	testReadings(t, []reading{
		{"nothing", "", nil},
		{"white space", " \n\t\n", nil},
		{"plain", `{"action":"keep","old_id":"m1"}` + "\n" + `{"action":"none"}`, []string{`1 {"action":"keep","old_id":"m1"}`, `2 {"action":"none"}`}},
		{"compacted", `{ "a" : [ 1 , 2 ] , "b" : { } }`, []string{`1 {"a":[1,2],"b":{}}`}},
		{"nested values", `{"evidence":[{"message":1,"quote":"x"}],"o":{"p":null}}`, []string{`1 {"evidence":[{"message":1,"quote":"x"}],"o":{"p":null}}`}},
		{"escapes kept", `{"a":"\u4f60\n\"\\"}`, []string{`1 {"a":"\u4f60\n\"\\"}`}},

		{"bare keys", `{action:"keep",old_id:"m1"}`, []string{`1~{"action":"keep","old_id":"m1"}`}},
		{"bare values", `{action: keep, statement: likes green tea}`, []string{`1~{"action":"keep","statement":"likes green tea"}`}},
		{"bare apostrophe", `{statement: they don't meet}`, []string{`1~{"statement":"they don't meet"}`}},
		{"trailing comma", `{"a":1,}`, []string{`1~{"a":1}`}},
		{"trailing commas inside", `{"a":[1,2,],"b":{"c":1,},}`, []string{`1~{"a":[1,2],"b":{"c":1}}`}},
		{"missing comma", `{"a":"x" "b":"y"}`, []string{`1~{"a":"x","b":"y"}`}},
		{"missing comma at a line's end", "{\"a\":\"x\"\n\"b\":1\n\"c\":2}", []string{`1~{"a":"x","b":1,"c":2}`}},
		{"missing comma after a word", `{"a":1 "b":2}`, []string{`1~{"a":1,"b":2}`}},
		{"missing comma between objects", `{"a":[{"b":1} {"b":2}],"c":0}`, []string{`1~{"a":[{"b":1},{"b":2}],"c":0}`}},
		{"single quotes", `{'action':'keep','old_id':'m1'}`, []string{`1~{"action":"keep","old_id":"m1"}`}},
		{"apostrophes in single quotes", `{'statement':'it's the members' choice, don't ask'}`, []string{`1~{"statement":"it's the members' choice, don't ask"}`}},
		{"escaped apostrophe", `{"a":'it\'s'}`, []string{`1~{"a":"it's"}`}},
		{"Python literals", `{"a":True,"b":False,"c":None,}`, []string{`1~{"a":true,"b":false,"c":null}`}},
		{"raw break in a string", "{\"a\":\"one\ntwo\tthree\"}", []string{`1~{"a":"one\ntwo\tthree"}`}},
		{"raw control in a string", "{\"a\":\"bell\x07\"}", []string{`1~{"a":"bell\u0007"}`}},
		{"stray backslash", `{"a":"C:\games \alpha \_"}`, []string{`1~{"a":"C:\\games \\alpha \\_"}`}},
		{"comma too many", `{"a":1,,"b":2}`, []string{`1~{"a":1,"b":2}`}},
		{"comma first", `{,"a":1}`, []string{`1~{"a":1}`}},
		{"semicolon for a comma", `{"a":1；"b":2}`, []string{`1~{"a":1,"b":2}`}},
		{"missing quote", `{"a":b","c":"d"}`, []string{`1~{"a":"b","c":"d"}`}},
		{"curly end quote", `{"s":"x”,"old_id":"m1"}`, []string{`1~{"s":"x","old_id":"m1"}`}},
		{"quotes not escaped", `{"statement":"he said "hi" today"}`, []string{`1~{"statement":"he said \"hi\" today"}`}},
		{"quotes, comma inside", `{"statement":"he said "hi", then left","tags":[]}`, []string{`1~{"statement":"he said \"hi\", then left","tags":[]}`}},
		{"quotes at the ends", `{"statement":""hi" is what he said "bye""}`, []string{`1~{"statement":"\"hi\" is what he said \"bye\""}`}},
		{"one quote not escaped", `{"statement":"the 27" screen","n":1}`, []string{`1~{"statement":"the 27\" screen","n":1}`}},
		{"word like a number", `{"message": 007, "date": 2026-01-15}`, []string{`1~{"message":"007","date":"2026-01-15"}`}},
		{"not UTF-8", "{\"a\":\"\xff\"}", []string{`1 {"a":"` + "\uFFFD" + `"}`}},
	})
}

func TestReadWidePunctuation(t *testing.T) {
	testReadings(t, []reading{
		{"brackets, colons, commas", `｛"a"：1，"b"：［1，2］｝`, []string{`1~{"a":1,"b":[1,2]}`}},
		{"curly quotes", `{“action”：“keep”，“old_id”：“m1”}`, []string{`1~{"action":"keep","old_id":"m1"}`}},
		{"curly single quotes", `{‘a’：‘it’s’}`, []string{`1~{"a":"it’s"}`}},
		{"wide quotes", `{＂a＂:＂b＂}`, []string{`1~{"a":"b"}`}},
		{"one curly quote for both ends", `{“a“:“b“}`, []string{`1~{"a":"b"}`}},
		{"curly quotes around quotes", `{“statement”：“他说：“好”，就走了”}`, []string{`1~{"statement":"他说：“好”，就走了"}`}},
		{"wide punctuation in strings stays", `{"a"："你好，｛世界｝：“嗨”"}`, []string{`1~{"a":"你好，｛世界｝：“嗨”"}`}},
		{"plain object with wide text", `{"a":"｛，：｝“”"}`, []string{`1 {"a":"｛，：｝“”"}`}},
		{"wide space", "{\u3000\"a\":\u30001\u3000}", []string{`1~{"a":1}`}},
		{"wide array", "［｛\"a\"：1｝，\n｛\"a\"：2｝］", []string{`1~{"a":1}`, `2~{"a":2}`}},
	})
}

func TestReadDecoration(t *testing.T) {
	testReadings(t, []reading{
		{"fence", "```json\n{\"a\":1}\n```", []string{`2 {"a":1}`}},
		{"fence of tildes", "~~~\n{\"a\":1}\n~~~~", []string{`2 {"a":1}`}},
		{"fence, any info", "```jsonl title=\"answer {x}\" \n{\"a\":1}\n```", []string{`2 {"a":1}`}},
		{"fence with attributes", "```{.json}\n{\"a\":1}\n```", []string{`2 {"a":1}`}},
		{"indented fence", "  - x\n    ```json\n    {\"a\":1}\n    ```", []string{`3 {"a":1}`, `1 prose`}},
		{"fence on one line", "```json {\"a\":1}```\n{\"a\":2}", []string{`1 {"a":1}`, `2 {"a":2}`}},
		{"fence never closed", "```\n{\"a\":1}", []string{`2 {"a":1}`}},
		{"code spans", "`{\"a\":1}`\n``{\"a\":2}``", []string{`1 {"a":1}`, `2 {"a":2}`}},
		{"comment lines", "// one\n{\"a\":1}\n# two\n/* three\n{\"b\":1}\n*/\n{\"a\":2}\n<!-- {\"c\":1} -->", []string{`2 {"a":1}`, `7 {"a":2}`}},
		{"commented out", "// {\"a\":1}\n# {\"a\":2}\n/*{\"a\":3}*/", nil},
		{"trailing comments", "{\"a\":1} // one\n{\"a\":2} # two\n{\"a\":3}, /* three */ {\"a\":4}", []string{`1 {"a":1}`, `2 {"a":2}`, `3 {"a":3}`, `3 {"a":4}`}},
		{"comments inside", "{ // one\n\"a\": 1, # two\n/* three */ \"b\": \"x\" // four\n}", []string{`1~{"a":1,"b":"x"}`}},
		{"comment marks in strings", `{"a":"http://x /* y */ # z",}`, []string{`1~{"a":"http://x /* y */ # z"}`}},
		{"bullets", "- {\"a\":1}\n* {\"a\":2}\n• {\"a\":3}\n  + {\"a\":4}", []string{`1 {"a":1}`, `2 {"a":2}`, `3 {"a":3}`, `4 {"a":4}`}},
		{"numbering", "1. {\"a\":1}\n2) {\"a\":2}\n(3) {\"a\":3}\n4、{\"a\":4}", []string{`1 {"a":1}`, `2 {"a":2}`, `3 {"a":3}`, `4 {"a":4}`}},
		{"byte order mark", "\uFEFF{\"a\":1}", []string{`1 {"a":1}`}},
		{"CRLF", "{\"a\":1}\r\n{\"a\":2}\r\n", []string{`1 {"a":1}`, `2 {"a":2}`}},
		{"CR", "{\"a\":1}\r{\"a\":2}", []string{`1 {"a":1}`, `2 {"a":2}`}},
		{"line separator", "x\u2028{\"a\":1}\u2029- {\"a\":2}", []string{`1 {"a":1}`, `1 {"a":2}`, `1 prose`}},
		{"line separator in a string", "{\"a\":\"x\u2028y\"}\n{\"a\":2}", []string{"1 {\"a\":\"x\u2028y\"}", `2 {"a":2}`}},
		{"over several lines", "{\n  \"a\": 1,\n  \"b\": [\n    {\"c\": 2}\n  ]\n}\n{\n\"a\":\n2\n}", []string{`1 {"a":1,"b":[{"c":2}]}`, `7 {"a":2}`}},
		{"several on a line", `{"a":1}{"a":2} {"a":3}, {"a":4}; {"a":5}`, []string{`1 {"a":1}`, `1 {"a":2}`, `1 {"a":3}`, `1 {"a":4}`, `1 {"a":5}`}},
		{"a brace too many", "{\"a\":1}}\n{\"a\":2}]", []string{`1 {"a":1}`, `2 {"a":2}`}},
		{"prose around", "Sure! Here:\n{\"a\":1}\nI kept it.", []string{`2 {"a":1}`, `1 prose`, `3 prose`}},
		{"remark behind", `{"a":1} as discussed`, []string{`1 {"a":1}`, `1 prose`}},
	})
}

func TestReadArrays(t *testing.T) {
	testReadings(t, []reading{
		{"on one line", `[{"a":1},{"a":2}]`, []string{`1 {"a":1}`, `1 {"a":2}`}},
		{"over lines", "[\n  {\"a\":1},\n  {\n    \"a\":2\n  },\n]", []string{`2 {"a":1}`, `3 {"a":2}`}},
		{"hanging", "[{\"a\":1},\n {\"a\":2}]", []string{`1 {"a":1}`, `2 {"a":2}`}},
		{"empty", "[]", nil},
		{"nested", `[[{"a":1}],[{"a":2}]]`, []string{`1 {"a":1}`, `1 {"a":2}`}},
		{"one element broken", "[\n{\"a\":1},\n{\"a\":\n{\"a\":2}\n]", []string{`2 {"a":1}`, `4 {"a":2}`, `3 broken`}},
		{"one element broken, hanging", "[{\"a\":\"x},\n {\"a\":2}]", []string{`2 {"a":2}`, `1 cut off`}},
		{"without an end", "[{\"a\":1},", []string{`1 {"a":1}`}},
		{"of scalars", `["{\"a\":1}", 2]`, []string{`1 prose`}},
		{"not an array", "[1] {\"a\":1}", []string{`1 prose`}},
		{"array in an item", "- [{\"a\":1}]", []string{`1 {"a":1}`}},

		{"wrapper", `{"actions":[{"action":"keep"},{"action":"none"}]}`, []string{`1 {"action":"keep"}`, `1 {"action":"none"}`}},
		{"wrapper over lines", "{\n  \"actions\": [\n    {\"a\":1},\n    {\"a\":2}\n  ]\n}\n{\"a\":3}", []string{`1 {"a":1}`, `1 {"a":2}`, `7 {"a":3}`}},
		{"wrapper with more", `{"summary":"x","actions":[{"a":1}],"tags":["y"]}` + "\n" + `{"a":2}`, []string{`1 {"a":1}`, `2 {"a":2}`}},
		{"wrapper, any name", `{"plan":[{"a":1}]}`, []string{`1 {"a":1}`}},
		{"wrapper in a wrapper", `{"result":[{"actions":[{"a":1}],"n":1},{"a":2}]} {"a":3}`, []string{`1 {"a":1}`, `1 {"a":2}`, `1 {"a":3}`}},
		{"wrapper to repair", `{actions:[{"a":1},{'a':2,}],}`, []string{`1~{"a":1}`, `1~{"a":2}`}},
		{"wrapper broken in an element", "{\"actions\":[\n{\"a\":1},\n{\"a\":,},\n{\"a\":2}]}", []string{`2 {"a":1}`, `4 {"a":2}`, `3 broken`}},
		{"wrapper without an end", `{"actions":[{"a":1},{"a":`, []string{`1 {"a":1}`, `1 cut off`}},
		{"an action is no wrapper", `{"action":"update","actions":[{"a":1}]}`, []string{`1 {"action":"update","actions":[{"a":1}]}`}},
		{"evidence is no wrapper", `{"subject":"x","evidence":[{"message":1}]}`, []string{`1 {"subject":"x","evidence":[{"message":1}]}`}},
		{"two arrays are no wrapper", `{"facts":[{"a":1}],"items":[{"a":2}]}`, []string{`1 {"facts":[{"a":1}],"items":[{"a":2}]}`}},
		{"mixed elements are no wrapper", `{"actions":[{"a":1},2]}`, []string{`1 {"actions":[{"a":1},2]}`}},
		{"an empty wrapper stays", `{"actions":[]}`, []string{`1 {"actions":[]}`}},
	})
}

func TestReadThoughts(t *testing.T) {
	testReadings(t, []reading{
		{"block", "<think>\n{\"a\":1}\n</think>\n{\"b\":2}", []string{`4 {"b":2}`}},
		{"block on the line", "<thinking>{\"a\":1}</thinking>{\"b\":2}", []string{`1 {"b":2}`}},
		{"other names and case", "<THOUGHT>x</Thought>\n<reasoning>{\"a\":1}</reasoning>\n{\"b\":2}", []string{`3 {"b":2}`}},
		{"between objects", "{\"a\":1}\n<think>{\"b\":2}</think>\n{\"c\":3}", []string{`1 {"a":1}`, `3 {"c":3}`}},
		{"never closed", "{\"a\":1}\n<think>\n{\"b\":2}", []string{`1 {"a":1}`, `2 thought`}},
		{"bare end", "So I keep it.\n</think>\n{\"a\":1}", []string{`3 {"a":1}`, `1 prose`}},
		{"bare end drops drafts", "{\"a\":1}\nNo, better:</think>{\"a\":2}", []string{`2 {"a":2}`, `1 thought`}},
		{"bare end behind a draft", "{\"a\":1}</think>\n{\"a\":2}", []string{`2 {"a":2}`, `1 thought`}},
		{"bare end behind a broken draft", "{\"a\":1}\n{\"a\": \"maybe\n</think>\n{\"a\":2}", []string{`4 {"a":2}`, `1 thought`, `2 cut off`}},
		{"bare end in a heading", "{\"a\":1}\n# done </think>\n{\"a\":2}", []string{`3 {"a":2}`, `1 thought`}},
		{"text in a string", `{"a":"<think>x"}` + "\n" + `{"a":"</think>"}`, []string{`1 {"a":"<think>x"}`, `2 {"a":"</think>"}`}},
		{"text in a repaired string", `{'a':'<think>x</think>'}`, []string{`1~{"a":"<think>x</think>"}`}},
		{"mentioned in prose", "I use <think> tags.\n{\"a\":1}", []string{`2 {"a":1}`, `1 prose`}},
	})
}

// TestReadTo: what a prompt shows as an example is nobody's memory, whatever a line says beside it;
// a line that asks for nothing to be remembered, or shows three dots, is read as ever.
func TestReadTo(t *testing.T) {
	const prompt = "Answer so:\n" + `{"action":"create","evidence":[{"message":4,"quote":"no nuts"}],"statement":"Piet cannot eat nuts."}` + "\n" +
		`{"type":"summary","content":"They sang."}` + "\n" + `{"action":"keep","old_id":"m2","statement":"..."}` + "\nNothing else."
	for line, read := range map[string]bool{
		`{"action":"create","statement":"piet cannot eat nuts","evidence":[{"message":1,"quote":"hello"}]}`: false,
		`{"type":"fact","content":"Piet cannot eat nuts."}`:                                                 false,
		`{"summary":"They sang."}`:                                     false,
		`{"action":"create","statement":"Piet cannot eat fish."}`:      true,
		`{"action":"keep","old_id":"m2","statement":"..."}`:            true,
		`{"action":"keep","old_id":"m2"}`:                              true,
		`{"statement":["Piet cannot eat nuts."],"content":"They fly"}`: true,
	} {
		got := ReadTo(prompt, "Well:\n"+line)
		skipped := slices.ContainsFunc(got.Skipped, func(s Skip) bool { return s.Reason == ReasonExample && s.No == 2 })
		if len(got.Lines) == 1 != read || skipped == read {
			t.Errorf("%s: %+v", line, got)
		}
	}
}
