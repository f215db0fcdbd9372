package answer

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// trueLines are lines as the jobs ask for them. Their texts hold what damage is easily mistaken for.
var trueLines = []string{
	`{"action":"create","statement":"Maya moved to Lisbon with her two cats","type":"fact","change_reason":"she says so","tags":["home","pets"],"evidence":[{"message":4,"quote":"we moved to Lisbon"}]}`,
	`{"action":"update","old_id":"m3","statement":"Ben's standup is at 9:30, on Mondays, in room {4}","change_reason":"moved: it was 9:00","tags":["work"],"evidence":[{"message":12,"quote":"standup is at 9:30 now"}]}`,
	`{"action":"delete","old_id":"m7","change_reason":"no longer true","evidence":[{"message":2,"quote":"we gave up the garden"}]}`,
	`{"action":"keep","old_id":"m1","evidence":[{"message":31}]}`,
	`{"action":"create","statement":"小林喜欢喝乌龙茶，不喝咖啡；周末常去爬山","change_reason":"他自己说的","tags":["饮食","爱好"],"evidence":[{"message":8,"quote":"我只喝乌龙茶"}]}`,
	`{"action":"update","old_id":"m9","statement":"群里约定：每周五（含节假日）晚上八点开会","change_reason":"时间改了，从七点到八点","evidence":[{"message":20,"quote":"改到八点吧"}]}`,
	`{"action":"create","statement":"Ola calls the boat \"The Gull\", after a bird","change_reason":"told, with \"love\"","tags":["boat"],"evidence":[{"message":5,"quote":"she is called \"The Gull\""}]}`,
	`{"type":"preference","content":"Lin prefers tea, not coffee: green, no sugar","tags":["drink"],"confidence":0.9,"replace":"m2","evidence":[{"message":1,"quote":"tea, please"}]}`,
	`{"type":"todo","content":"The trip to Porto [in May] is not booked yet","confidence":0.75,"sources":["m1","m4"],"done":false}`,
	`{"subject":"Maya","kind":"person","aliases":["May"],"impressions":[{"text":"patient, and kind to new members","confidence":0.8,"evidence":[{"message":3,"quote":"take your time, really"}]}]}`,
}

// behindText finds the keys that stand behind a text in trueLines.
var behindText = regexp.MustCompile(`", ?"(change_reason|tags|confidence|evidence|kind|type)":`)

// spaced is a line with spaces behind its punctuation, as most models write it.
func spaced(line string) string {
	var b strings.Builder
	in := false
	for i := 0; i < len(line); i++ {
		c := line[i]
		b.WriteByte(c)
		switch {
		case in && c == '\\':
			i++
			b.WriteByte(line[i])
		case c == '"':
			in = !in
		case !in && (c == ':' || c == ','):
			b.WriteByte(' ')
		}
	}
	return b.String()
}

// outside replaces marks that stand outside of strings.
func outside(from, to string) func(string) string {
	return func(line string) string {
		var b strings.Builder
		in := false
		for i := 0; i < len(line); i++ {
			switch {
			case in && line[i] == '\\':
				b.WriteByte(line[i])
				i++
			case line[i] == '"':
				in = !in
			case !in && line[i:i+1] == from:
				b.WriteString(to)
				continue
			}
			b.WriteByte(line[i])
		}
		return b.String()
	}
}

// delimiters writes the strings of a line between other marks. Marks of the text that would end it are escaped
// where escaped says so.
func delimiters(begin, end string, escaped bool) func(string) string {
	return func(line string) string {
		return regexp.MustCompile(`"((?:[^"\\]|\\.)*)"`).ReplaceAllStringFunc(line, func(s string) string {
			var text string
			_ = json.Unmarshal([]byte(s), &text)
			if escaped && begin == end {
				text = strings.ReplaceAll(text, end, `\`+end)
			}
			return begin + text + end
		})
	}
}

func replaceLast(s, from, to string) string {
	at := strings.LastIndex(s, from)
	if at < 0 {
		return s
	}
	return s[:at] + to + s[at+len(from):]
}

// slip bends the key behind the first text; its first group is the key.
func slip(to string) func(string) string {
	return func(line string) string {
		at := behindText.FindStringSubmatchIndex(line)
		if at == nil {
			return line
		}
		return line[:at[0]] + strings.ReplaceAll(to, "K", line[at[2]:at[3]]) + line[at[1]:]
	}
}

func around(before, after string) func(string) string {
	return func(line string) string { return before + line + after }
}

func first(of, with string) func(string) string {
	return func(line string) string { return strings.Replace(line, of, with, 1) }
}

func escapedOnce(line string) string {
	return strings.ReplaceAll(strings.ReplaceAll(line, `\`, `\\`), `"`, `\"`)
}

func pretty(prefix, indent string) func(string) string {
	return func(line string) string {
		var b bytes.Buffer
		_ = json.Indent(&b, []byte(line), prefix, indent)
		return b.String()
	}
}

// damages are ways in which models bend a line. A line that one does not touch does not count for it.
var damages = map[string]func(string) string{
	// decoration
	"fence":                   around("```json\n", "\n```"),
	"fence on the line":       around("```json ", " ```"),
	"tildes":                  around("~~~\n", "\n~~~"),
	"unclosed fence":          around("```\n", ""),
	"backtick":                around("`", "`"),
	"two backticks":           around("``", "``"),
	"bullet":                  around("- ", ""),
	"star":                    around("* ", ""),
	"round bullet":            around("• ", ""),
	"arrow":                   around("→ ", ""),
	"ASCII arrow":             around("=> ", ""),
	"number":                  around("1. ", ""),
	"number in brackets":      around("[1] ", ""),
	"number, colon":           around("1: ", ""),
	"number, tab":             around("1\t", ""),
	"bold":                    around("**", "**"),
	"bold bullet":             around("- **", "**"),
	"italic":                  around("_", "_"),
	"bold number":             around("**1.** ", ""),
	"label":                   around("Line 1: ", ""),
	"bold label":              around("**Line 1:** ", ""),
	"Chinese label":           around("第1行：", ""),
	"JSON label":              around("JSON: ", ""),
	"Output label":            around("Output:\n", ""),
	"Chinese introduction":    around("以下是结果：", ""),
	"introduction":            around("Here is your JSON: ", ""),
	"introduction, line":      around("Here is your JSON:\n", "\nDone."),
	"introduction with quote": around(`Here is the "action" I propose: `, ""),
	"remark behind":           around("", " Hope this helps!"),
	"remark in brackets":      around("", "  (supported by message 4)"),
	"table row":               around("| ", " |"),
	"numbered table row":      around("| 1 | ", " |"),
	"block quote":             around("> ", ""),
	"assignment":              around("const line = ", ";"),
	"return":                  around("return ", ";"),
	"call":                    around("callback(", ");"),
	"brackets":                around("(", ")"),
	"tag":                     around("<json>", "</json>"),
	"tag on lines":            around("<json>\n", "\n</json>"),
	"tag of ours":             around("<answer>\n", "\n</answer>"),
	"tag with attribute":      around(`<output format="json">`, "</output>"),
	"data event":              around("data: ", "\n\ndata: [DONE]"),
	"end mark":                around("", "<|im_end|>"),
	"roles":                   around("assistant: ", ""),
	"comment behind":          around("", " // new"),
	"comment before":          around("/* new */ ", ""),
	"byte order mark":         around("\uFEFF", ""),
	"zero width":              around("\u200B", "\u200B"),
	"indented":                around("\t    ", "  "),
	"thought":                 around("<think>{\"action\":\"none\"}</think>\n", ""),
	"semicolon behind":        around("", ";"),
	"comma behind":            around("", ","),
	// nesting
	"array":                  around("[", "]"),
	"array, trailing comma":  around("[\n", ",\n]"),
	"array without end":      around("[", ""),
	"array of arrays":        around("[[", "]]"),
	"wrapper":                around(`{"actions":[`, "]}"),
	"wrapper of one":         around(`{"result":`, "}"),
	"wrapper by its number":  around(`{"1":`, "}"),
	"double braces":          around("{", "}"),
	"double braces, spaced":  around("{ ", " }"),
	"brace too many":         around("", "}"),
	"bracket too many":       around("", "]"),
	"escaped":                escapedOnce,
	"escaped in quotes":      func(line string) string { return `"` + escapedOnce(line) + `"` },
	"escaped twice":          func(line string) string { return escapedOnce(escapedOnce(line)) },
	"in single quotes":       around("'", "'"),
	"array of strings":       func(line string) string { return `["` + escapedOnce(line) + `"]` },
	"string in a wrapper":    func(line string) string { return `{"result":"` + escapedOnce(line) + `"}` },
	"pretty":                 pretty("", "  "),
	"pretty, tabs":           pretty("", "\t"),
	"pretty, quoted":         func(line string) string { return "> " + pretty("> ", "  ")(line) },
	"pretty, escaped breaks": func(line string) string { return strings.ReplaceAll(pretty("", "  ")(line), "\n", `\n`) },
	// punctuation
	"single quotes": delimiters("'", "'", true),
	"single quotes, Python": func(l string) string {
		return strings.NewReplacer("false", "False", "null", "None").Replace(delimiters("'", "'", true)(l))
	},
	"backtick quotes":    delimiters("`", "`", true),
	"curly quotes":       delimiters("“", "”", false),
	"low quotes":         delimiters("„", "“", false),
	"corner quotes":      delimiters("「", "」", false),
	"angle quotes":       delimiters("«", "»", false),
	"wide quotes":        delimiters("＂", "＂", false),
	"two apostrophes":    delimiters("''", "''", false),
	"doubled quotes":     func(l string) string { return strings.ReplaceAll(l, `"`, `""`) },
	"entities":           func(l string) string { return strings.ReplaceAll(l, `"`, "&quot;") },
	"bare keys":          func(l string) string { return regexp.MustCompile(`([{,])"([a-z_]+)":`).ReplaceAllString(l, "$1$2:") },
	"single quoted keys": func(l string) string { return regexp.MustCompile(`([{,])"([a-z_]+)":`).ReplaceAllString(l, "$1'$2':") },
	"spaces in keys": func(l string) string {
		return regexp.MustCompile(`([{,])"([a-z_]+)":`).ReplaceAllString(l, `$1" $2 ":`)
	},
	"capital keys":        func(l string) string { return strings.Replace(l, `"action"`, `"Action"`, 1) },
	"wide punctuation":    func(l string) string { return outside(":", "：")(outside(",", "，")(l)) },
	"wide brackets":       func(l string) string { return outside("{", "｛")(outside("}", "｝")(l)) },
	"semicolons":          outside(",", ";"),
	"wide semicolons":     outside(",", "；"),
	"enumeration commas":  outside(",", "、"),
	"no commas":           outside(",", " "),
	"no commas, lines":    func(l string) string { return outside(",", "\n")(l) },
	"commas twice":        outside(",", ",,"),
	"trailing comma":      func(l string) string { return replaceLast(l, "}", ",}") },
	"trailing commas":     func(l string) string { return outside("]", ",]")(l) },
	"leading comma":       first("{", "{,"),
	"equals signs":        outside(":", "="),
	"arrows":              outside(":", "=>"),
	"colons twice":        outside(":", "::"),
	"no breaks in space":  func(l string) string { return strings.ReplaceAll(spaced(l), `": `, "\":\u00A0") },
	"wide space":          func(l string) string { return strings.ReplaceAll(spaced(l), `": `, "\":\u3000") },
	"comments inside":     func(l string) string { return strings.Replace(l, `,"`, `, /* next */ "`, 1) },
	"quotes not escaped":  func(l string) string { return strings.ReplaceAll(l, `\"`, `"`) },
	"apostrophes escaped": func(l string) string { return strings.ReplaceAll(l, `'`, `\'`) },
	"break in the text":   first(" ", "\n"),
	"number as text": func(l string) string {
		return regexp.MustCompile(`"message":([0-9]+)`).ReplaceAllString(l, `"message":$1.`)
	},
	"plus sign": func(l string) string {
		return regexp.MustCompile(`"message":([0-9]+)`).ReplaceAllString(l, `"message":+$1`)
	},
	"value without quotes": func(l string) string {
		return regexp.MustCompile(`"(action|type|kind|old_id)":"(\w+)"`).ReplaceAllString(l, `"$1":$2`)
	},
	"undefined":                func(l string) string { return replaceLast(l, "}", `,"due":undefined}`) },
	"missing brace, next line": func(l string) string { return strings.TrimSuffix(l, "}") + "\n" + `{"action":"none"}` },
	"wrong last bracket":       func(l string) string { return strings.TrimSuffix(l, "}") + ")" },
	"opening brace missing":    func(l string) string { return strings.TrimPrefix(l, "{") },
	// slips at a key behind a text
	"key: no opening quote":      slip(`", K": `),
	"key: no closing quote":      slip(`", "K: `),
	"key: no quotes":             slip(`", K: `),
	"key: opening quote twice":   slip(`", ""K": `),
	"key: closing quote twice":   slip(`", "K"": `),
	"key: quotes twice":          slip(`", ""K"": `),
	"key: escaped opening quote": slip(`", \"K": `),
	"key: escaped closing quote": slip(`", "K\": `),
	"key: escaped quotes":        slip(`", \"K\": `),
	"key: no colon":              slip(`", "K" `),
	"key: equals":                slip(`", "K"= `),
	"key: equals, no quotes":     slip(`", K=`),
	"key: arrow":                 slip(`", "K" => `),
	"key: colon in the quotes":   slip(`", "K:" `),
	"key: wide comma":            slip(`"，"K"：`),
	"key: semicolon":             slip(`"; "K": `),
	"key: full stop":             slip(`". "K": `),
	"key: comma in the text":     slip(`," "K": `),
	"key: no comma":              slip(`" "K": `),
	"key: no comma, no quote":    slip(`" K": `),
	"key: text's quote missing":  slip(`, "K": `),
	"key: text's quote twice":    slip(`"", "K": `),
	"key: text's quote escaped":  slip(`\", "K": `),
	"key: all escaped":           slip(`\", \"K\": `),
	"key: curly quotes":          slip(`", “K”: `),
	"key: text's quote curly":    slip(`”, "K": `),
	"key: single quote, mixed":   slip(`", 'K": `),
	"key: text in single quotes": slip(`', "K": `),
	"value: no opening quote": func(l string) string {
		return regexp.MustCompile(`"change_reason":"`).ReplaceAllString(l, `"change_reason":`)
	},
	"value: opening quote twice": func(l string) string {
		return regexp.MustCompile(`"change_reason":"`).ReplaceAllString(l, `"change_reason":""`)
	},
	"text: no opening quote": func(l string) string {
		return regexp.MustCompile(`"(statement|content)":"`).ReplaceAllString(l, `"$1":`)
	},
	"text: opening quote escaped": func(l string) string {
		return regexp.MustCompile(`"(statement|content)":"`).ReplaceAllString(l, `"$1":\"`)
	},
	"text: opening quote twice": func(l string) string {
		return regexp.MustCompile(`"(statement|content)":"`).ReplaceAllString(l, `"$1":""`)
	},
}

// same tells whether an object says what a line says, but for the spaces of its texts that were broken and
// numbers that became texts.
func same(t *testing.T, object, line string) bool {
	t.Helper()
	norm := func(s string) any {
		var v map[string]any
		if err := json.Unmarshal([]byte(s), &v); err != nil {
			t.Fatalf("%s: %v", s, err)
		}
		lower := map[string]any{}
		for k, v := range v {
			if v != nil {
				lower[strings.ToLower(k)] = v
			}
		}
		if lower["due"] == "undefined" {
			delete(lower, "due")
		}
		return lower
	}
	plain := regexp.MustCompile(`"message":"?\+?([0-9]+)\.?"?`)
	fit := func(s string) string { return strings.ReplaceAll(plain.ReplaceAllString(s, `"message":$1`), `\n`, " ") }
	return reflect.DeepEqual(norm(fit(object)), norm(fit(line)))
}

// A line comes back as it was, or not at all, whatever has bent it.
func TestReadDamage(t *testing.T) {
	const none = `{"action":"none"}`
	total, recovered := 0, 0
	for _, name := range slices.Sorted(maps.Keys(damages)) {
		of, back := 0, 0
		var lost string
		for _, plain := range trueLines {
			for _, line := range []string{plain, spaced(plain)} {
				bent := damages[name](line)
				if bent == line {
					continue
				}
				of++
				res := Read(bent)
				for _, fault := range faults(bent, res) {
					t.Errorf("%s: Read(%q): %s", name, bent, fault)
				}
				found := false
				for _, l := range res.Lines {
					switch {
					case string(l.Object) == none:
					case same(t, string(l.Object), plain):
						found = true
					default:
						t.Errorf("%s: altered:\n   %s\nto %s", name, bent, l.Object)
					}
				}
				if found {
					back++
				} else {
					lost = fmt.Sprintf("%.300s: %v", bent, res.Skipped)
				}
			}
		}
		if of == 0 {
			t.Errorf("%s touches no line", name)
		}
		total, recovered = total+of, recovered+back
		if back < of {
			t.Logf("%d of %d recovered: %s: %s", back, of, name, lost)
		}
	}
	t.Logf("%d of %d lines recovered over %d kinds of damage", recovered, total, len(damages))
	if recovered < total*93/100 {
		t.Errorf("%d of %d lines recovered", recovered, total)
	}
}
