package answer

import (
	"bytes"
	"encoding/json"
	"fmt"
	"html"
	"io"
	"regexp"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
)

// faults checks what must hold of every result, whatever the answer.
func faults(answer string, res Result) (found []string) {
	add := func(format string, args ...any) { found = append(found, fmt.Sprintf(format, args...)) }
	answer = strings.ToValidUTF8(answer, "\uFFFD")
	if len(res.Lines) > MaxLines || len(res.Skipped) > 2*MaxLines+1 {
		add("%d lines and %d skips", len(res.Lines), len(res.Skipped))
	}
	last := strings.Count(answer, "\n") + strings.Count(answer, "\r") + 1
	plain, unescaped := bare(answer), bare(unescape(html.UnescapeString(answer)))
	var objects []string
	for i, l := range res.Lines {
		if l.No < 1 || l.No > last || i > 0 && l.No < res.Lines[i-1].No {
			add("line number %d of %d", l.No, last)
		}
		if fault := objectFault(l.Object); fault != "" {
			add("%s: %s", fault, l.Object)
			continue
		}
		for _, text := range texts(l.Object) {
			if b := bare(text); !strings.Contains(plain, b) && !strings.Contains(unescaped, b) {
				add("%q is not in the answer", text)
			}
		}
		said := quotedWords.ReplaceAll(l.Object, nil)
		for _, key := range keys {
			for _, bent := range []string{`", "` + key + `"`, `","` + key + `"`, `", "` + key + `:`, `", ` + key + `":`} {
				if bent, _ := json.Marshal(bent); bytes.Contains(said, bent[1:len(bent)-1]) {
					add("the key %s in a text of %s", key, l.Object)
				}
			}
		}
		objects = append(objects, string(l.Object))
	}
	for _, s := range res.Skipped {
		if s.No < 1 || s.No > last || s.Reason == "" || utf8.RuneCountInString(s.Excerpt) > maxExcerpt {
			add("skip %+v", s)
		}
		if strings.ContainsFunc(s.Excerpt, func(c rune) bool { return !unicode.IsPrint(c) }) {
			add("excerpt %q", s.Excerpt)
		}
	}
	if again := strings.Join(objects, "\n"); len(again) <= MaxAnswer {
		var second []string
		for _, l := range Read(again).Lines {
			second = append(second, string(l.Object))
		}
		if diff := cmp.Diff(objects, second); diff != "" {
			add("read again, it differs (-first +second):\n%s", diff)
		}
	}
	return found
}

// quotedWords are the quotes of an object's evidence, which may hold what they like.
var quotedWords = regexp.MustCompile(`(?i)"quote":(\["?)?"(?:[^"\\]|\\.)*"`)

// objectFault says what is wrong with an object of a result.
func objectFault(object []byte) string {
	var compact bytes.Buffer
	if err := json.Compact(&compact, object); err != nil {
		return err.Error()
	}
	if object[0] != '{' || !bytes.Equal(compact.Bytes(), object) || len(object) > MaxObject {
		return "not one compact object"
	}
	dec := json.NewDecoder(bytes.NewReader(object))
	dec.UseNumber()
	return repeats(dec)
}

// repeats looks for a key that occurs twice, in the next value.
func repeats(dec *json.Decoder) string {
	t, err := dec.Token()
	if err != nil {
		return err.Error()
	}
	switch t {
	case json.Delim('{'):
		var keys []string
		for dec.More() {
			key, _ := dec.Token()
			for _, k := range keys {
				if strings.EqualFold(k, key.(string)) {
					return "key twice: " + k
				}
			}
			keys = append(keys, key.(string))
			if fault := repeats(dec); fault != "" {
				return fault
			}
		}
		_, _ = dec.Token()
	case json.Delim('['):
		for dec.More() {
			if fault := repeats(dec); fault != "" {
				return fault
			}
		}
		_, _ = dec.Token()
	}
	return ""
}

// texts lists the keys, strings and numbers of an object.
func texts(object []byte) (out []string) {
	dec := json.NewDecoder(bytes.NewReader(object))
	dec.UseNumber()
	for {
		t, err := dec.Token()
		if err == io.EOF {
			return out
		}
		switch v := t.(type) {
		case string:
			out = append(out, v)
		case json.Number:
			out = append(out, v.String())
		}
	}
}

// bare drops what may be written in more than one way: backslashes, quotes, and
// what could not be decoded.
func bare(s string) string {
	return strings.Map(func(c rune) rune {
		if c == '\\' || c == utf8.RuneError || isQuote(c) {
			return -1
		}
		return c
	}, s)
}

// unescape decodes the escapes of JSON wherever they stand.
func unescape(s string) string {
	var b strings.Builder
	for i := 0; i < len(s); i++ {
		if s[i] != '\\' || i+1 == len(s) {
			b.WriteByte(s[i])
			continue
		}
		n := 2
		if s[i+1] == 'u' {
			n = 6
			if strings.HasPrefix(s[min(len(s), i+6):], `\u`) {
				n = 12
			}
		}
		var text string
		for ; n >= 2 && text == ""; n -= 6 {
			piece := s[i:min(len(s), i+n)]
			if err := json.Unmarshal([]byte(`"`+piece+`"`), &text); err == nil && n == 12 && strings.ContainsRune(text, utf8.RuneError) {
				text = "" // two characters, not one
			}
			if text != "" {
				i += len(piece) - 1
			}
		}
		if text == "" {
			text = `\`
		}
		b.WriteString(text)
	}
	return b.String()
}
