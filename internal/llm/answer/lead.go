package answer

import (
	"encoding/json"
	"html"
	"strings"

	"reverie/internal/text"
)

// Objects that do not start their line, and answers that are escaped inside another text.

const (
	tagMark = `</?[A-Za-z][^<>{}\n]{0,60}>`
	marks   = "[*_|(\\s`" + `\x{3000}\x{feff}-]|→|=>|->|\[[0-9]{1,4}\]|#?[0-9]{1,4}[.)、．）:：]?|` + tagMark + `|(?:jsonl?\s)`
	label   = `(?:` + wrapperNames + `|(?i:jsonl?|lines?|rows?|steps?|items?|output|action|fact|assistant)|` +
		`第\s*[0-9一二三四五六七八九十]{1,4}\s*[行条個个项項])\s*#?[0-9]{0,4}\s*[*_]{0,3}[:：]`
	assigned = `(?:(?:const|let|var|export|return)\s+)?(?:[A-Za-z_$][\w.$]{0,40})?\s*[=(]|return\s`
	tailMark = `[\s*_|)\],;.，；。` + "`" + `\x{3000}]`
)

var (
	// Leading matches what may precede an object on its line; its groups are a quote and the beginning of the object.
	leading = text.NewPattern(`^(?:` + marks + `|` + label + `)*(?:` + assigned + `)?(?:` + marks + `)*(["']?)([{｛\[［])`)
	// Introduction matches a sentence that ends in a colon.
	introduction = text.NewPattern(`^[^{}｛｝\[\]\n\r]{1,200}[:：](?:` + marks + `)*(["']?)([{｛\[［])`)
	trailing     = text.NewPattern(`^` + tailMark + `*(?:(?:` + tagMark + `|<\|[a-z_]+\|>)` + tailMark + `*)*$`)
	equalSign    = text.NewPattern(`^` + equals)
	// EncodedStart matches a brace and the next character, if that is not a JSON quote.
	encodedStart = text.NewPattern(`^.[ \t]*(\\|&|""|'')`)
)

// lead reads objects after something else on their line: marks, a label, an introducing sentence. The objects must
// have known keys, and nothing but marks may follow.
func (r *reader) lead() bool {
	end := lineEnd(r.src, r.pos)
	window := r.src[r.pos:min(end, r.pos+maxAhead)]
	groups := leading.FindStringSubmatchIndex(window)
	if groups == nil && len(r.res.Lines) == 0 && len(r.res.Skipped) < 3 {
		groups = introduction.FindStringSubmatchIndex(window)
	}
	if groups == nil {
		return false
	}
	mark, pos := window[groups[2]:groups[3]], r.pos+groups[4]
	var found []finding
	var starts []int
	for pos < len(r.src) {
		switch structural(r.src[pos:]) {
		case '[':
			pos = skipBlank(r.src, pos+width(r.src[pos:]))
			continue
		case '{':
		default:
			return false
		}
		f := r.find(pos)
		if f.reason != "" && f.reason != ReasonSwallowed {
			return r.encoded(pos, mark)
		}
		if f.reason == "" && !isOurs(f.object) && wrapped(f.object) == nil {
			return false
		}
		found, starts = append(found, f), append(starts, pos)
		end = lineEnd(r.src, f.end)
		if trailing.MatchString(strings.Replace(r.src[f.end:end], mark, "", 1)) {
			pos = end
			break
		}
		pos = skip(r.src[:end], f.end, func(c rune) bool { return isBlank(c) || isSeparator(c) })
	}
	for i, f := range found {
		if f.reason != "" {
			r.skip(starts[i], f.reason, r.src[starts[i]:f.end])
			continue
		}
		r.take(starts[i], f.object, f.repaired)
	}
	r.pos = pos
	return len(found) > 0
}

// maxNested bounds the depth of texts inside texts.
const maxNested = 3

// encoded reads the object at a brace whose quotes are all written differently: escaped, doubled, or as HTML.
// Everything up to the last brace of the line must decode to JSON. mark is the quote before it, if any.
func (r *reader) encoded(at int, mark string) bool {
	inner := encodedStart.FindStringSubmatch(r.src[at:min(len(r.src), at+maxAhead)])
	if inner == nil {
		return false
	}
	line := r.src[at:lineEnd(r.src, at)]
	r.work -= len(line)
	end := strings.LastIndex(line, "}") + 1
	if end == 0 || !trailing.MatchString(strings.Replace(line[end:], mark, "", 1)) {
		return false
	}
	plain := ""
	switch sign := inner[1]; sign {
	case `\`:
		if json.Unmarshal([]byte(`"`+line[:end]+`"`), &plain) != nil {
			return false
		}
	case "&":
		plain = html.UnescapeString(line[:end])
	default:
		plain = strings.ReplaceAll(line[:end], sign, `"`)
	}
	if !r.nested(at, plain) {
		return false
	}
	r.pos = at + len(line)
	return true
}

// quotedAnswer reads a JSON string, or an array of strings, that contains only objects.
func (r *reader) quotedAnswer() bool {
	rest := r.src[r.pos:]
	if !strings.HasPrefix(strings.TrimLeft(strings.TrimPrefix(rest, "["), " \t\r\n"), `"`) {
		return false
	}
	dec := json.NewDecoder(strings.NewReader(rest[:min(len(rest), MaxObject)]))
	var value json.RawMessage
	var list []string
	if dec.Decode(&value) != nil {
		return false
	}
	if json.Unmarshal(value, &list) != nil {
		list = []string{""}
		if json.Unmarshal(value, &list[0]) != nil {
			return false
		}
	}
	end := r.pos + int(dec.InputOffset())
	if !trailing.MatchString(r.src[end:lineEnd(r.src, end)]) || !r.nested(r.pos, strings.Join(list, "\n")) {
		return false
	}
	r.pos = lineEnd(r.src, end)
	return true
}

// nested adds the objects in an inner text, if it consists only of JSON objects with known keys.
func (r *reader) nested(at int, plain string) bool {
	if r.depth >= maxNested || !strings.ContainsAny(plain, "{[") {
		return false
	}
	inner := newReader(plain)
	inner.depth = r.depth + 1
	for inner.pos < len(inner.src) && !inner.stopped {
		inner.step()
	}
	for _, l := range inner.res.Lines {
		if l.Repaired || !isOurs(l.Object) {
			return false
		}
	}
	if len(inner.res.Lines) == 0 || len(inner.res.Skipped) > 0 {
		return false
	}
	for _, l := range inner.res.Lines {
		r.take(at, l.Object, r.depth == 0)
	}
	return true
}
