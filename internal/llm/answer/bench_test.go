package answer

import (
	"maps"
	"slices"
	"strings"
	"testing"
)

// hostile are texts that make a careless reader quadratic when repeated.
var hostile = map[string]string{
	"braces":            "{",
	"braces and breaks": "{\n",
	"brackets":          "[",
	"bracket lines":     "[\n",
	"quotes":            `"`,
	"apostrophes":       "'",
	"backslashes":       `\`,
	"closers":           "}",
	"open strings":      `{"`,
	"open values":       "{\"a\":\"\n",
	"nested objects":    "{\"a\":\n",
	"nested arrays":     "{\"a\":[\n",
	"nested in a line":  `{"a":[`,
	"unclosed elements": "{\"a\":[\n{},{},{},{},{},{},{},{},\n",
	"inner quotes":      `{"a":" " " " " " " `,
	"quotes, remarks":   `{"a":" " // " // `,
	"quotes, blanks":    `{"a":"` + strings.Repeat(`"    `, 40),
	"open comments":     "{ /*\n",
	"comments":          "{ /* */ # \n",
	"thoughts":          "<think>",
	"ends of thoughts":  "</think>",
	"fences":            "```\n",
	"commas":            `{"a":1,,,,,,`,
	"bare keys":         "{a:1,b:2,c:3\n",
	"wrappers":          `{"actions":[{`,
	"wide punctuation":  "｛“",
	"escapes":           `{"a":"\u00`,
	"carriage returns":  "\r",
	"separators":        "\u2028",
	"objects":           `{}`,
	"not UTF-8":         "{\"\xff",
	"prose":             "not json, and \"quoted\" }\n",
	"markers":           "1. ",
	"one long string":   "",
}

func hostileAnswer(name string, size int) string {
	if name == "one long string" {
		return `{"a":"` + strings.Repeat("x", size)
	}
	unit := hostile[name]
	return strings.Repeat(unit, size/len(unit)+1)[:size]
}

func BenchmarkReadHostile(b *testing.B) {
	for _, name := range slices.Sorted(maps.Keys(hostile)) {
		b.Run(name, func(b *testing.B) {
			answer := hostileAnswer(name, 1<<20)
			b.SetBytes(int64(len(answer)))
			for b.Loop() {
				Read(answer)
			}
		})
	}
}

// BenchmarkReadBroken is the dearest honest work: each object needs the library.
func BenchmarkReadBroken(b *testing.B) {
	for name, unit := range map[string]string{
		"lines":          "{action:'create', statement:'the group meets on \"Fridays\"', tags:['a','b',], evidence:[{message:1,quote:'x'},],}\n",
		"missing commas": "{a:[" + strings.Repeat("1\n", 20_000) + "]}\n",
		"trailing":       "{a:[" + strings.Repeat("{b:1,}\n", 8_000) + "]}\n",
		"bare":           "{a:[" + strings.Repeat("[],\n", 12_000) + "]}\n",
		"keys":           "{" + strings.Repeat("k:1\n", 1) + strings.Repeat("j:[]\n", 10_000) + "}\n",
	} {
		b.Run(name, func(b *testing.B) {
			answer := strings.Repeat(unit, 1<<20/len(unit)+1)
			b.SetBytes(int64(len(answer)))
			for b.Loop() {
				Read(answer)
			}
		})
	}
}

func BenchmarkReadPlain(b *testing.B) {
	line := `{"action":"update","old_id":"m3","statement":"The group plays badminton on Thursdays; 林 books the court.","change_reason":"more precise","tags":["habit"],"evidence":[{"message":12,"quote":"court is booked"},{"message":31,"quote":"see you Thursday"}]}` + "\n"
	answer := strings.Repeat(line, 1<<20/len(line))
	b.SetBytes(int64(len(answer)))
	for b.Loop() {
		Read(answer)
	}
}
