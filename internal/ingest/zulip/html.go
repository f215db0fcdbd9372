package zulip

import (
	"cmp"
	"encoding/xml"
	"errors"
	"io"
	"strconv"
	"strings"

	"reverie/internal/ingest/export"
)

// markdown turns HTML as Zulip renders it back into the Markdown that it was made of,
// as far as that is read. What is no HTML loses its tags.
func markdown(s string) string {
	d := xml.NewDecoder(strings.NewReader(s))
	d.Strict, d.AutoClose, d.Entity = false, xml.HTMLAutoClose, xml.HTMLEntity
	stack := []*element{{}}
	for {
		token, err := d.Token()
		if errors.Is(err, io.EOF) && len(stack) == 1 {
			return stack[0].text.String()
		}
		if err != nil || len(stack) > maxHTML {
			return plainHTML(s)
		}
		top := stack[len(stack)-1]
		switch t := token.(type) {
		case xml.CharData:
			top.text.Write(t)
		case xml.StartElement:
			stack = append(stack, &element{name: strings.ToLower(t.Name.Local), attr: t.Attr})
		case xml.EndElement:
			if len(stack) == 1 {
				return plainHTML(s)
			}
			said := top.markdown()
			stack = stack[:len(stack)-1]
			stack[len(stack)-1].text.WriteString(said)
		}
	}
}

// maxHTML is how deep HTML is read; Zulip's own stays far below it.
const maxHTML = 100

// element is an element of HTML that is being read, with the text so far.
type element struct {
	name string
	attr []xml.Attr
	text strings.Builder
}

func (e *element) get(name string) string {
	for _, a := range e.attr {
		if a.Name.Local == name {
			return a.Value
		}
	}
	return ""
}

// is tells whether the element is of a class.
func (e *element) is(class string) bool {
	for _, c := range strings.Fields(e.get("class")) {
		if c == class {
			return true
		}
	}
	return false
}

// markdown is what the element, which has come to its end, was in Markdown.
func (e *element) markdown() string {
	said := e.text.String()
	switch e.name {
	case "ul", "ol":
		return export.JoinLines(strings.Split(said, "\n")...) + "\n"
	case "p", "tr", "h1", "h2", "h3", "h4", "h5", "h6":
		return said + "\n"
	case "br":
		return "\n"
	case "hr":
		return "---\n"
	case "li":
		return "- " + strings.TrimSpace(said) + "\n"
	case "td", "th":
		return said + " "
	case "code":
		return said
	case "pre":
		return "```\n" + strings.Trim(said, "\n") + "\n```\n"
	case "blockquote":
		fence := zulipFence(said)
		return fence + "quote\n" + strings.Trim(said, "\n") + "\n" + fence + "\n"
	case "div":
		if e.is("message_inline_image") || e.is("message_embed") || e.is("inline-preview-twitter") {
			return "" // of a link that stands in the text
		}
		return said
	case "img":
		if e.is("emoji") {
			return e.get("alt")
		}
		return ""
	case "a":
		return e.link(said)
	case "mrow":
		return "" // what stands beside it as it was written
	case "annotation":
		return "$$" + said + "$$"
	case "time":
		return cmp.Or(e.get("datetime"), said)
	case "span":
		return e.span(said)
	}
	return said
}

// zulipFence is a fence that none within the text is as long as.
func zulipFence(text string) string {
	run, longest := 0, 2
	for i := range len(text) {
		if run++; text[i] != '`' {
			run = 0
		}
		longest = max(longest, run)
	}
	return strings.Repeat("`", longest+1)
}

func (e *element) link(said string) string {
	address := e.get("href")
	switch {
	case strings.TrimSpace(said) == "" || e.is("stream") || e.is("stream-topic") || e.is("message-link"):
		return said
	case said == address || address == "":
		return said
	}
	return "[" + said + "](" + address + ")"
}

func (e *element) span(said string) string {
	switch {
	case e.is("user-mention") && e.is("silent"):
		return "@_**" + said + "**"
	case e.is("user-mention"):
		return "@**" + strings.TrimPrefix(said, "@") + "**"
	case e.is("user-group-mention"):
		return "@*" + strings.TrimPrefix(said, "@") + "*"
	case e.is("katex-html"):
		return "" // what is drawn; what was written stands beside it
	case e.is("emoji"):
		for _, class := range strings.Fields(e.get("class")) {
			if codes, ok := strings.CutPrefix(class, "emoji-"); ok {
				return cmp.Or(emojiOf(codes), said)
			}
		}
	}
	return said
}

// emojiOf is the emoji of hexadecimal code points such as 1f44d, or "".
func emojiOf(codes string) string {
	var out strings.Builder
	for code := range strings.SplitSeq(codes, "-") {
		n, err := strconv.ParseUint(code, 16, 21)
		if err != nil || n < 0x20 {
			return ""
		}
		out.WriteRune(rune(n))
	}
	return out.String()
}
