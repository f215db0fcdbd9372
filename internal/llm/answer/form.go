package answer

import (
	_ "embed" // for the lines of each prompt
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"sync"

	"reverie/internal/text"
)

//go:embed lines.toml
var linesFile string

// forms is the content of lines.toml.
type forms struct {
	Values map[string][2]string
	Lists  map[string]struct {
		Of          []string
		Least, Most int
	}
	Prompts map[string]Form
}

var allForms = sync.OnceValue(func() forms { return text.ReadTOML[forms](linesFile) })

// Form describes the lines that one prompt asks for, each as a list of key=value.
type Form struct {
	Alone, First, Last []string
	Any                [][]string
	Most               int
}

// FormOf returns the form of a prompt's answers, by the prompt's name with or without its language. A short prompt
// has its own form.
func FormOf(prompt string) (form Form, found bool) {
	name, of, _ := strings.Cut(prompt, ".")
	if strings.HasPrefix(of, "small") {
		name += "_small"
	}
	form, found = allForms().Prompts[name]
	return form, found
}

// pair parses key=value or key?=value.
func pair(field string) (key, value string, optional bool) {
	key, value, _ = strings.Cut(field, "=")
	key, optional = strings.CutSuffix(key, "?")
	return key, value, optional
}

// Grammar returns the form as a GBNF grammar of JSON Lines. It allows at most one space between tokens, since a
// model that may write any number of them may never stop. preface is a rule for a line before all others; "" means
// none.
func (f Form) Grammar(preface string) string {
	var anyLine []string
	for _, line := range f.Any {
		anyLine = append(anyLine, grammarOf(line))
	}
	root, more := "", fmt.Sprintf(`("\n" any){0,%d}`, max(f.Most-1, 0))
	if f.Alone != nil {
		root = grammarOf(f.Alone)
	}
	switch {
	case f.First != nil:
		root = grammarOf(f.First) + " " + more
	case f.Last != nil:
		root = fmt.Sprintf(`(any "\n"){0,%d} `, f.Most) + grammarOf(f.Last)
	case anyLine != nil && f.Alone != nil:
		root += " | any " + more
	case anyLine != nil:
		root = "any " + more
	}
	if preface != "" {
		root = preface + ` "\n" (` + root + ")"
	}
	rules := []string{"root ::= " + root, `space ::= " "?`,
		`char ::= [^"\\\x00-\x1F] | "\\" (["\\/bfnrt] | "u" [0-9a-fA-F]{4})`}
	if anyLine != nil {
		rules = append(rules, "any ::= "+strings.Join(anyLine, " | "))
	}
	all := allForms()
	for _, name := range slices.Sorted(maps.Keys(all.Values)) {
		rules = append(rules, name+" ::= "+all.Values[name][0])
	}
	for _, name := range slices.Sorted(maps.Keys(all.Lists)) {
		l := all.Lists[name]
		some := fmt.Sprintf(`%s ("," space %[1]s){0,%d}`, grammarOf(l.Of), l.Most-1)
		if l.Least == 0 {
			some = "(" + some + ")?"
		}
		rules = append(rules, name+` ::= "[" `+some+` "]"`)
	}
	return strings.Join(rules, "\n") + "\n"
}

// grammarOf returns the rule of an object, or of the one value of a list.
func grammarOf(fields []string) string {
	if len(fields) == 1 && !strings.Contains(fields[0], "=") {
		return fields[0]
	}
	var b strings.Builder
	for i, field := range fields {
		key, value, optional := pair(field)
		one := strconv.Quote(strconv.Quote(key)+":") + " space " + valueOf(value,
			func(word string) string { return strconv.Quote(strconv.Quote(word)) }, " | ", "(%s)", value)
		switch {
		case i == 0:
			b.WriteString(`"{" ` + one)
		case optional:
			b.WriteString(` ("," space ` + one + `)?`)
		default:
			b.WriteString(` "," space ` + one)
		}
	}
	return b.String() + ` "}"`
}

// valueOf returns the rule of a value, or the alternatives of its words.
func valueOf(value string, quote func(string) string, between, around, named string) string {
	all := allForms()
	if _, is := all.Lists[value]; is || all.Values[value][0] != "" {
		return named
	}
	var words []string
	for word := range strings.SplitSeq(value, "|") {
		words = append(words, quote(word))
	}
	return fmt.Sprintf(around, strings.Join(words, between))
}

// Schema returns the form as a JSON schema. A schema cannot describe JSON Lines, so it describes one object: the
// line, or one whose "lines" are all of them. Keys are in their order, which servers follow.
func (f Form) Schema() json.RawMessage {
	var lines []string
	for _, line := range append([][]string{f.First, f.Alone, f.Last}, f.Any...) {
		if line != nil {
			lines = append(lines, schemaOf(line))
		}
	}
	if len(f.Any) == 0 {
		return json.RawMessage(lines[0])
	}
	return fmt.Appendf(nil, `{"type":"object","properties":{"lines":{"type":"array","items":{"anyOf":[%s]},`+
		`"minItems":1,"maxItems":%d}},"required":["lines"],"additionalProperties":false}`, strings.Join(lines, ","), f.Most+1)
}

// schemaOf returns the schema of an object, or of the one value of a list.
func schemaOf(fields []string) string {
	all := allForms()
	if len(fields) == 1 && !strings.Contains(fields[0], "=") {
		return all.Values[fields[0]][1]
	}
	var properties, required []string
	for _, field := range fields {
		key, value, optional := pair(field)
		named := all.Values[value][1]
		if l, is := all.Lists[value]; is {
			named = fmt.Sprintf(`{"type":"array","items":%s,"minItems":%d,"maxItems":%d}`, schemaOf(l.Of), l.Least, l.Most)
		}
		properties = append(properties, strconv.Quote(key)+":"+valueOf(value, strconv.Quote, ",", `{"enum":[%s]}`, named))
		if !optional {
			required = append(required, strconv.Quote(key))
		}
	}
	return fmt.Sprintf(`{"type":"object","properties":{%s},"required":[%s],"additionalProperties":false}`,
		strings.Join(properties, ","), strings.Join(required, ","))
}
